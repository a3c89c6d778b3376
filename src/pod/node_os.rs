//! Whether a Pod asks for Windows nodes.

use serde_json::Value;

/// The node labels whose value is the operating system of the node.
const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];
const WINDOWS: &str = "windows";

/// Whether a Pod is for Windows nodes. `spec.os.name`, the `nodeSelector` and the required node
/// affinity are tried in this order. The first of these that names an operating system decides.
pub(super) fn is_windows(
    os_name: Option<&str>,
    node_selector: Option<&str>,
    affinity: Option<&str>,
) -> bool {
    let read = |text: Option<&str>| -> Value {
        text.and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default()
    };
    if let Some(os) = os_name.filter(|os| !os.is_empty()) {
        return os == WINDOWS;
    }
    if node_selector.is_some() {
        let selector = read(node_selector);
        let os = OS_LABELS.into_iter().find_map(|label| selector.get(label));
        if let Some(os) = os.and_then(Value::as_str) {
            return os == WINDOWS;
        }
    }
    affinity.is_some() && affinity_is_windows(&read(affinity))
}

/// Whether a required node affinity has terms, and each term has an `In` expression that allows only
/// Windows.
fn affinity_is_windows(affinity: &Value) -> bool {
    let terms = affinity
        .pointer("/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms")
        .and_then(Value::as_array);
    terms.is_some_and(|terms| !terms.is_empty() && terms.iter().all(term_is_windows))
}

fn term_is_windows(term: &Value) -> bool {
    let expressions = term.get("matchExpressions").and_then(Value::as_array);
    expressions.into_iter().flatten().any(|expression| {
        let text = |key: &str| expression.get(key).and_then(Value::as_str);
        let values = expression.get("values").and_then(Value::as_array);
        text("key").is_some_and(|key| OS_LABELS.contains(&key))
            && text("operator") == Some("In")
            && values.is_some_and(|values| matches!(&values[..], [only] if only == WINDOWS))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn affinity(terms: &Value) -> String {
        json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": terms,
        }}})
        .to_string()
    }

    fn is_in(key: &str, values: &[&str]) -> Value {
        json!({"matchExpressions": [{"key": key, "operator": "In", "values": values}]})
    }

    #[test]
    fn the_first_field_that_names_an_os_decides() {
        let windows = r#"{"kubernetes.io/os": "windows"}"#;
        let linux = r#"{"beta.kubernetes.io/os": "linux"}"#;
        let other = r#"{"disk": "ssd"}"#;
        let terms = affinity(&json!([is_in("kubernetes.io/os", &["windows"])]));
        for (os_name, selector, affinity, expected) in [
            (None, None, None, false),
            (Some("windows"), Some(linux), None, true),
            (Some("linux"), Some(windows), Some(&*terms), false),
            (None, Some(windows), None, true),
            (Some(""), Some(windows), None, true),
            (None, Some(linux), Some(&*terms), false),
            (None, Some(other), Some(&*terms), true),
            (None, Some("5"), Some("[]"), false),
        ] {
            let found = is_windows(os_name, selector, affinity);
            assert_eq!(found, expected, "{os_name:?} {selector:?} {affinity:?}");
        }
    }

    #[test]
    fn an_affinity_asks_for_windows_only_if_all_its_terms_do() {
        let windows = is_in("kubernetes.io/os", &["windows"]);
        let old_label = is_in("beta.kubernetes.io/os", &["windows"]);
        let both = is_in("kubernetes.io/os", &["windows", "linux"]);
        let other = is_in("kubernetes.io/arch", &["windows"]);
        for (terms, expected) in [
            (json!([]), false),
            (json!([windows]), true),
            (json!([windows, old_label]), true),
            (json!([windows, both]), false),
            (json!([windows, other]), false),
            (json!([{}]), false),
        ] {
            let found = is_windows(None, None, Some(&affinity(&terms)));
            assert_eq!(found, expected, "{terms}");
        }
    }
}
