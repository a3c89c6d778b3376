//! Reads settings from a tree of JSON values, with the conventions of settings.
//!
//! The deserializer of `serde_json` doesn't know them: which values mean "not set", and that a bare
//! `Off` in YAML is `false`. It also reads a list into a struct.

use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// Whether a setting with this value counts as not set.
pub fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}

/// Reads a list of strings. `""` counts as absent, because forms leave it behind. An error begins
/// with the position in the list.
pub fn strings<'de, D, T>(source: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let elements = Vec::<Value>::deserialize(source)?.into_iter().enumerate();
    elements
        .filter(|(_, element)| element != "")
        .map(|(index, element)| {
            T::deserialize(element)
                .map_err(|problem| D::Error::custom(format_args!("[{index}]: {problem}")))
        })
        .collect()
}

/// A value of the settings. Where a type asks for an object or for one of several words, the
/// conventions apply. Everything else is read as `serde_json` reads it.
pub struct SettingsValue<'v>(pub &'v Value);

impl<'v> IntoDeserializer<'v, serde_json::Error> for SettingsValue<'v> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for SettingsValue<'de> {
    type Error = serde_json::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let Value::Object(map) = self.0 else {
            return Err(Error::custom("must be an object"));
        };
        // Unknown keys stay, whatever they hold, so that they are errors.
        let set = map
            .iter()
            .filter(|(key, value)| !is_unset(value) || !fields.contains(&&***key))
            .map(|(key, value)| (&**key, Self(value)));
        visitor.visit_map(MapDeserializer::new(set))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        let word = match self.0 {
            Value::String(word) => word,
            Value::Bool(false) if variants.contains(&"Off") => "Off",
            _ => {
                let words = variants.join(", ");
                return Err(Error::custom(format_args!("must be one of {words}")));
            }
        };
        visitor.visit_enum(word.into_deserializer())
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.0.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}
