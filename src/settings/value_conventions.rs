//! Reads settings from a tree of JSON values, with the conventions of settings.
//!
//! `serde_json`'s own deserializer doesn't know them: which values mean "not set", and that a bare `Off` in YAML 1.1
//! is `false`. It also reads a list into a struct.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// A value of the settings that is about to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct SettingsValue<'v>(pub(super) &'v Value);

/// Whether a setting with this value counts as not set. Forms write such values for the fields that a person left
/// empty.
pub(super) fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().all(is_empty_text),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The elements of a list of the settings, with their indices. In a list of texts, `""` counts as absent.
pub(super) fn present_elements(list: &[Value]) -> impl Iterator<Item = (usize, &Value)> {
    let has_objects = list.iter().any(Value::is_object);
    let elements = list.iter().enumerate();
    elements.filter(move |(_, element)| has_objects || !is_empty_text(element))
}

fn is_empty_text(value: &Value) -> bool {
    value.as_str() == Some("")
}

impl<'v> IntoDeserializer<'v, serde_json::Error> for SettingsValue<'v> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for SettingsValue<'de> {
    type Error = serde_json::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let Value::Object(map) = self.0 else {
            return Err(invalid_type("an object"));
        };
        let is_set = |key: &str, value| !is_unset(value) || !fields.contains(&key);
        let members = map.iter().filter(|(key, value)| is_set(key, value));
        let members = members.map(|(key, value)| (&**key, SettingsValue(value)));
        visitor.visit_map(MapDeserializer::new(members))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let Value::Array(list) = self.0 else {
            return Err(invalid_type("a list"));
        };
        let elements = present_elements(list).map(|(_, element)| SettingsValue(element));
        visitor.visit_seq(SeqDeserializer::new(elements))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        // A value that is no word can't be a variant. The error has all variants.
        let word = match self.0 {
            Value::String(word) => word,
            Value::Bool(false) => "Off",
            _ => "",
        };
        visitor.visit_enum(word.into_deserializer())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct tuple tuple_struct map identifier ignored_any
    }
}

fn invalid_type(expected: &str) -> serde_json::Error {
    Error::invalid_type(Unexpected::Other("value"), &expected)
}
