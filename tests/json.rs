//! The JSON reader, with `serde_json` as the oracle.

use consistent_pull_policy::json::{Edit, Kind, Reader, Span, write_edited, write_string};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Rebuilds a value with nothing but the reader.
fn rebuild(reader: &mut Reader<'_>) -> Value {
    match reader.peek().expect("a value") {
        Kind::Null => {
            assert!(reader.null().expect("null"));
            Value::Null
        }
        Kind::Boolean => json!(reader.boolean().expect("a boolean")),
        Kind::Number => {
            let span = reader.skip().expect("a number");
            serde_json::from_slice(span.of(reader.text())).expect("a number")
        }
        Kind::String => json!(reader.string().expect("a string").value),
        Kind::List => {
            let mut values = Vec::new();
            reader
                .list(|reader, index| {
                    assert_eq!(index, values.len());
                    values.push(rebuild(reader));
                    Ok(())
                })
                .expect("a list");
            Value::Array(values)
        }
        Kind::Object => {
            let mut members = serde_json::Map::new();
            reader
                .object(|reader, key| {
                    let key = String::from_utf8(key.to_vec()).expect("a key");
                    members.insert(key, rebuild(reader));
                    Ok(())
                })
                .expect("an object");
            Value::Object(members)
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\\\\"/{}\\[\\],:nullé😀\u{1}\n]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_serde_json_writes_is_read_the_same(value in any_json(), pretty in any::<bool>()) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        let mut reader = Reader::new(text.as_bytes());
        prop_assert_eq!(rebuild(&mut reader), value);
        prop_assert!(reader.end().is_ok());
    }

    #[test]
    fn skipping_covers_exactly_the_value(value in any_json(), tail in "[ ,\\]}]{0,3}") {
        let text = format!(" {value}{tail}");
        let span = Reader::new(text.as_bytes()).skip().unwrap();
        prop_assert_eq!(span, Span { start: 1, end: text.len() - tail.len() });
    }

    #[test]
    fn what_is_written_serde_json_reads_the_same(text in any::<String>()) {
        let mut out = Vec::new();
        write_string(&mut out, &text);
        prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = Reader::new(&bytes).skip();
        let _ = Reader::new(&bytes).string();
        let _ = Reader::new(&bytes).object(|reader, _| reader.skip().map(drop));
        let _ = Reader::new(&bytes).list(|reader, _| reader.skip().map(drop));
    }

    #[test]
    fn no_cut_makes_it_panic_or_pass(value in any_json(), cut in any::<prop::sample::Index>()) {
        let text = json!({ "a": value }).to_string();
        let cut = cut.index(text.len());
        let read = Reader::new(&text.as_bytes()[..cut]).object(|reader, _| reader.skip().map(drop));
        prop_assert!(read.is_err());
    }

    #[test]
    fn an_escaped_string_is_read_the_same(units in prop::collection::vec(any::<char>(), 0..12)) {
        let text: String = units.iter().collect();
        let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        let escaped = units.concat();
        let quoted = format!("\"{escaped}\"");
        let read = Reader::new(quoted.as_bytes()).string().unwrap();
        prop_assert_eq!(read.value, text);
    }
}

#[test]
fn errors_name_the_path_and_what_is_wrong() {
    let cases: [(&str, &str); 5] = [
        (
            r#"{"a":{"b":[1,{"c":"x"}]}}"#,
            "a.b[1].c must be true or false",
        ),
        (r#"{"a":{"b":[1,{"c":true"#, "a.b[1] is not JSON"),
        (r#"{"a":7}"#, "a must be an object, not a number"),
        (r#"{"a":{"b":{}}}"#, "a.b must be a list, not an object"),
        (
            r#"{"a":{"b":[1,null]}}"#,
            "a.b[1] must be an object, not null",
        ),
    ];
    for (text, expected) in cases {
        let error = Reader::new(text.as_bytes())
            .object(|reader, _| {
                reader
                    .object(|reader, _| {
                        reader
                            .list(|reader, index| {
                                if index == 0 {
                                    return reader.skip().map(drop);
                                }
                                reader
                                    .object(|reader, _| reader.boolean().map(drop))
                                    .map(drop)
                            })
                            .map(drop)
                    })
                    .map(drop)
            })
            .expect_err(text);
        let told = error
            .sentence()
            .replace("must be a boolean, not a string", "must be true or false");
        assert_eq!(told, expected, "{text}");
    }
}

#[test]
fn broken_escapes_are_errors() {
    for text in [
        r#""\x""#,
        r#""\u12"#,
        r#""\u12g4""#,
        r#""\ud800""#,
        r#""\ud800\u0041""#,
        r#""\"#,
    ] {
        assert!(Reader::new(text.as_bytes()).string().is_err(), "{text}");
    }
}

#[test]
fn edits_replace_and_insert_in_any_order() {
    let text = br#"{"a":1,"b":2}"#;
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let edits = [
        Edit {
            span: Span { start: 11, end: 12 },
            with: b"30".to_vec(),
        },
        Edit {
            span: Span::at(1),
            with: br#""x":0,"#.to_vec(),
        },
        Edit {
            span: Span { start: 5, end: 6 },
            with: b"10".to_vec(),
        },
    ];
    let mut out = Vec::new();
    write_edited(&mut out, text, whole, &edits);
    assert_eq!(String::from_utf8(out).unwrap(), r#"{"x":0,"a":10,"b":30}"#);
}
