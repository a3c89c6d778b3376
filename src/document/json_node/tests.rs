use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// Random JSON. Some of its keys are read at once.
fn any_json() -> impl Strategy<Value = Value> {
    let key = prop_oneof![
        Just("spec".to_owned()),
        Just("containers".to_owned()),
        Just("image".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let members = prop::collection::btree_map(key.clone(), inner.clone(), 0..6);
        prop_oneof![
            prop::collection::vec(inner, 0..6).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Compares a node and all values in it with a value.
fn assert_same(node: &JsonNode<'_>, expected: &Value) {
    assert_eq!(
        &serde_json::from_str::<Value>(node.text()).unwrap(),
        expected
    );
    match expected {
        Value::Object(members) => {
            assert_eq!(node.members().len(), members.len());
            for (key, value) in members {
                assert_same(&node.required_for_test(key), value);
            }
        }
        Value::Array(elements) => {
            assert_eq!(node.elements().len(), elements.len());
            for (node, element) in node.elements().iter().zip(elements) {
                assert_same(node, element);
            }
        }
        Value::String(text) => assert_eq!(node.as_string().unwrap(), *text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl<'a> JsonNode<'a> {
    fn required_for_test(&self, key: &str) -> JsonNode<'a> {
        self.member(key).unwrap().unwrap()
    }
}

proptest! {
    #[test]
    fn each_value_knows_its_text(json in any_json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&json).unwrap()
        } else {
            json.to_string()
        };
        assert_same(&JsonNode::read(&text).unwrap(), &json);
    }
}

#[test]
fn any_depth_is_read() {
    let depth = 100_000;
    for (open, close) in [("[", "]"), (r#"{"spec":"#, "}"), (r#"{"x":"#, "}")] {
        let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        let mut node = JsonNode::read(&text).unwrap();
        for _ in 0..50 {
            node = match node.elements().into_iter().next() {
                Some(element) => element,
                None => node.members()[0].1.clone(),
            };
        }
        assert_eq!(
            node.text().len(),
            text.len() - 50 * (open.len() + close.len())
        );
    }
}

#[test]
fn a_text_that_is_not_json_is_refused() {
    for text in [
        "",
        "{",
        r#"{"a":1,}"#,
        "[1 2]",
        r#"{"spec":{"a":}}"#,
        "1 2",
        "\"\u{1}\"",
    ] {
        assert!(JsonNode::read(text).is_err(), "{text:?}");
    }
}
