//! Random JSON of any shape. All keys and strings are words that occur in Pods or settings.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value};

use super::Source;

const WORDS: [&str; 40] = [
    "initContainers",
    "containers",
    "ephemeralContainers",
    "volumes",
    "volumeMounts",
    "volumeDevices",
    "mountPath",
    "image",
    "name",
    "imagePullPolicy",
    "pullPolicy",
    "reference",
    "restartPolicy",
    "Always",
    "imagecheck-0",
    "app:v1",
    "nodeSelector",
    "affinity",
    "os",
    "windows",
    "mode",
    "imageChecks",
    "as",
    "ImageVolume",
    "coverage",
    "template",
    "command",
    "namePrefixes",
    "registry",
    "overrides",
    "platform",
    "lookup",
    "Pin",
    "maxLookups",
    "exempt",
    "images",
    "requireAlways",
    "forbidNever",
    "Fix",
    "resources",
];

/// Returns the value that is made from these random bytes. Each word of `WORDS` may be a key or a
/// string anywhere in the value.
#[must_use]
pub fn any_shape(bytes: &[u8]) -> Value {
    Source(Unstructured::new(bytes))
        .shape(5)
        .unwrap_or_default()
}

impl Source<'_> {
    fn shape(&mut self, depth: u8) -> Result<Value> {
        let most = if depth == 0 { 3 } else { 6 };
        Ok(match self.0.int_in_range(0..=most)? {
            0 => Value::Null,
            1 => self.0.arbitrary::<bool>()?.into(),
            2 => self.0.int_in_range(-2..=200)?.into(),
            3 => self.pick(&WORDS)?.into(),
            4 => {
                let mut list = Vec::new();
                for _ in 0..self.0.int_in_range(0..=3)? {
                    list.push(self.shape(depth - 1)?);
                }
                list.into()
            }
            _ => {
                let mut members = Map::new();
                for _ in 0..self.0.int_in_range(0..=5)? {
                    members.insert(self.pick(&WORDS)?.to_owned(), self.shape(depth - 1)?);
                }
                members.into()
            }
        })
    }
}
