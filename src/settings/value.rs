//! Reads settings from a tree of JSON values, with the conventions of settings.
//!
//! The deserializer of `serde_json` doesn't know them: which values mean "not set", and that a bare
//! `Off` in YAML is `false`. It also reads a list into a struct.

use serde::de::value::MapDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

/// Reads settings.
///
/// # Errors
/// The path of the first value that can't be read, and what is allowed there.
pub fn read<T: DeserializeOwned + Default>(tree: &Value) -> Result<T, String> {
    if is_unset(tree) {
        return Ok(T::default());
    }
    serde_path_to_error::deserialize(SettingsValue(tree)).map_err(|error| {
        let path = error.path().to_string();
        match (&*path, error.inner().to_string()) {
            (".", problem) => format!("the settings: {problem}"),
            // Inside the check template, the problem begins with the rest of the path.
            (path @ "imageChecks.template", problem) if problem.starts_with('.') => {
                [path, &problem].concat()
            }
            (path, problem) => format!("{path}: {problem}"),
        }
    })
}

/// Reads a list of strings. `""` counts as absent, because forms leave it behind.
pub fn strings<'de, D, T>(source: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<String, Error = String>,
{
    let elements = Vec::<Element<T>>::deserialize(source)?;
    Ok(elements
        .into_iter()
        .filter_map(|element| element.0)
        .collect())
}

/// An element of a list of strings. None for `""`. Each element is read by itself, so that an error
/// has its position.
struct Element<T>(Option<T>);

impl<'de, T: TryFrom<String, Error = String>> Deserialize<'de> for Element<T> {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        let text = String::deserialize(source)?;
        let present = (!text.is_empty()).then(|| T::try_from(text));
        present.transpose().map(Self).map_err(D::Error::custom)
    }
}

/// Whether a setting with this value counts as not set.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A value of the settings. Where a type asks for an object or for one of several words, the
/// conventions apply. Everything else is read as `serde_json` reads it.
#[derive(Clone, Copy)]
struct SettingsValue<'v>(&'v Value);

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
        let is_set = |key: &str, value| !is_unset(value) || !fields.contains(&key);
        let set = map.iter().filter(|(key, value)| is_set(key, value));
        visitor.visit_map(MapDeserializer::new(
            set.map(|(key, value)| (&**key, Self(value))),
        ))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.0 {
            Value::String(_) => self.0.deserialize_enum(name, variants, visitor),
            Value::Bool(false) if variants.contains(&"Off") => {
                visitor.visit_enum("Off".into_deserializer())
            }
            _ => Err(Error::custom(format_args!(
                "must be one of {}",
                variants.join(", ")
            ))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        visitor.visit_some(self)
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.0.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}
