//! The resources that a container or a Pod asks for, as far as the rules need them.

use serde_json::{Map, Value};

/// `resources` of a container or of a Pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResourceFlags {
    /// Whether `resources` has a request or a limit of any resource.
    pub has_any: bool,
    /// Whether `resources` has a request or a limit of cpu or memory above zero. Only cpu and
    /// memory above zero count for the quality of service. Source: `ComputePodQOS` in
    /// `pkg/apis/core/helper/qos/qos.go`.
    pub has_cpu_or_memory: bool,
}

impl ResourceFlags {
    /// Reads the text of `resources`. `null` counts as empty. Any other value that is no object also
    /// counts as empty: the API server refuses such a value, so the result doesn't matter.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let resources: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
        Self::of(&resources)
    }

    /// Reads the value of `resources`.
    #[must_use]
    pub fn of(resources: &Map<String, Value>) -> Self {
        let lists = ["requests", "limits"].map(|key| resources.get(key).and_then(Value::as_object));
        let mut read = Self::default();
        for (name, quantity) in lists.into_iter().flatten().flatten() {
            read.has_any = true;
            if matches!(name.as_str(), "cpu" | "memory") && !is_zero(quantity) {
                read.has_cpu_or_memory = true;
            }
        }
        read
    }
}

/// Whether a quantity is zero: its digits before the suffix are all zeros.
/// Source: `Quantity` in `apimachinery/pkg/api/resource/quantity.go`.
fn is_zero(quantity: &Value) -> bool {
    let text = match quantity {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let number = text.trim_start_matches(['+', '-']);
    let mut digits = number
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == '.');
    digits.all(|c| matches!(c, '0' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_cpu_and_memory_above_zero_count_for_the_quality_of_service() {
        for (resources, has_any, has_cpu_or_memory) in [
            ("null", false, false),
            ("{}", false, false),
            (
                r#"{"requests": {}, "claims": [{"name": "gpu"}]}"#,
                false,
                false,
            ),
            (r#"{"requests": {"cpu": "100m"}}"#, true, true),
            (r#"{"limits": {"memory": 1}}"#, true, true),
            (
                r#"{"limits": {"cpu": "0", "memory": "0.0Mi"}}"#,
                true,
                false,
            ),
            (r#"{"requests": {"cpu": "0e3"}}"#, true, false),
            (r#"{"requests": {"ephemeral-storage": "1Gi"}}"#, true, false),
        ] {
            let expected = ResourceFlags {
                has_any,
                has_cpu_or_memory,
            };
            assert_eq!(ResourceFlags::read(resources), expected, "{resources}");
        }
    }
}
