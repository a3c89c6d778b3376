//! Values with random shapes where Kubernetes and the settings have others.

use arbitrary::Result;
use serde_json::{Value, json};

use super::Source;

/// Returns a value in which these random bytes replace some values, at any depth, by values of
/// other types.
#[must_use]
pub fn any_shape(value: &Value, bytes: &[u8]) -> Value {
    let mut value = value.clone();
    // If the bytes end, the rest of the value keeps its shape.
    let _ = Source::new(bytes).reshape(&mut value);
    value
}

impl Source<'_> {
    fn reshape(&mut self, value: &mut Value) -> Result<()> {
        if self.chance(1, 12)? {
            let others = [
                Value::Null,
                json!(true),
                json!(7),
                json!("text"),
                json!([]),
                json!({}),
                json!([value]),
                json!({"name": value}),
            ];
            *value = self.bytes.choose(&others)?.clone();
        }
        match value {
            Value::Array(list) => list.iter_mut().try_for_each(|one| self.reshape(one)),
            Value::Object(members) => members.values_mut().try_for_each(|one| self.reshape(one)),
            _ => Ok(()),
        }
    }
}
