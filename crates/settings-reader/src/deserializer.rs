//! A deserializer that reads a tree of `serde_json` values, and its error type.

use std::fmt;
use std::iter::Enumerate;
use std::slice;

use serde::de::{
    DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Value, map};

use crate::{SettingsOrKubernetesObject, ValueProblem, ValueProblemKind, is_empty_string};

/// The problem of one value. The path to this value, from the root of the tree, grows while the error is
/// returned: `.exempt.images[2]`.
///
/// Every `Result` of the deserializer reserves room for an error. The box keeps this room small.
#[derive(Debug)]
pub(crate) struct DeserializeError<'v>(Box<ValueProblem<'v>>);

impl<'v> DeserializeError<'v> {
    /// Adds a step of the path: the list element or object member `value` is the wrong value, or
    /// contains it.
    #[cold]
    #[inline(never)]
    fn inside(mut self, value: &'v Value, step: &str) -> Self {
        if self.0.path.is_empty() {
            self.0.found = value;
        }
        self.0.path.insert_str(0, step);
        self
    }

    /// The problem. If its path is empty, the whole tree is wrong.
    pub(crate) fn into_problem(self) -> ValueProblem<'v> {
        *self.0
    }
}

impl From<ValueProblemKind> for DeserializeError<'_> {
    fn from(kind: ValueProblemKind) -> Self {
        Self(Box::new(ValueProblem {
            path: String::new(),
            kind,
            found: &Value::Null,
        }))
    }
}

impl fmt::Display for DeserializeError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value is wrong")
    }
}

impl std::error::Error for DeserializeError<'_> {}

impl serde::de::Error for DeserializeError<'_> {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        ValueProblemKind::Refused(problem.to_string()).into()
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        ValueProblemKind::MustBe(expected.to_string()).into()
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        ValueProblemKind::MustBe(expected.to_string()).into()
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        one_of(expected)
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        ValueProblemKind::UnknownKey(expected).into()
    }

    fn missing_field(field: &'static str) -> Self {
        ValueProblemKind::MissingField(field).into()
    }
}

fn one_of(words: &[&str]) -> DeserializeError<'static> {
    ValueProblemKind::MustBe(format!("one of {}", words.join(", "))).into()
}

/// A value that is about to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueDeserializer<'r, 'v> {
    value: &'v Value,
    kind: SettingsOrKubernetesObject,
    /// The wrong values, which are left out. A list keeps the indexes of its other elements.
    left_out: &'r [&'v Value],
}

impl<'r, 'v> ValueDeserializer<'r, 'v> {
    pub(crate) const fn new(
        value: &'v Value,
        kind: SettingsOrKubernetesObject,
        left_out: &'r [&'v Value],
    ) -> Self {
        Self {
            value,
            kind,
            left_out,
        }
    }

    const fn inside(self, value: &'v Value) -> Self {
        Self { value, ..self }
    }

    fn is_left_out(&self, value: &Value) -> bool {
        let mut left_out = self.left_out.iter();
        left_out.any(|wrong| std::ptr::eq(*wrong, value))
    }

    /// Whether a setting with this value counts as not set. The forms of the Kubewarden UI write such
    /// values for the fields that a person left empty. A list also counts as not set if all its
    /// elements are `""`.
    pub(crate) fn is_unset(&self, value: &Value) -> bool {
        let is_absent = |value| self.is_left_out(value);
        self.kind == SettingsOrKubernetesObject::Settings
            && match value {
                Value::Null => true,
                Value::Array(list) => list.iter().all(|v| is_empty_string(v) || is_absent(v)),
                Value::Object(map) => map.values().all(is_absent),
                Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
            }
    }

    fn elements(self, list: &'v [Value], skips_empty_strings: bool) -> ListElements<'r, 'v> {
        ListElements {
            list: self,
            rest: list.iter().enumerate(),
            skips_empty_strings,
        }
    }

    /// The members of an object. `fields` are the fields of the struct that the object is read
    /// into. In settings, a member is skipped if its key is one of these fields and
    /// [`is_unset`](Self::is_unset) is true for its value.
    fn members(self, map: &'v Map, fields: &'static [&'static str]) -> ObjectMembers<'r, 'v> {
        ObjectMembers {
            map: self,
            fields,
            rest: map.iter(),
            last: ("", &Value::Null),
        }
    }
}

type Map = serde_json::Map<String, Value>;

/// The elements of a list. An error in an element gets the element's index.
struct ListElements<'r, 'v> {
    list: ValueDeserializer<'r, 'v>,
    rest: Enumerate<slice::Iter<'v, Value>>,
    /// Whether elements that are `""` are skipped. A skipped element still counts for the index.
    skips_empty_strings: bool,
}

impl<'de> SeqAccess<'de> for ListElements<'_, 'de> {
    type Error = DeserializeError<'de>;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Self::Error> {
        let (list, skips_empty_strings) = (self.list, self.skips_empty_strings);
        let is_read = |element: &Value| {
            !(list.is_left_out(element) || skips_empty_strings && is_empty_string(element))
        };
        let Some((index, element)) = self.rest.find(|(_, element)| is_read(element)) else {
            return Ok(None);
        };
        let read = seed.deserialize(list.inside(element));
        read.map(Some)
            .map_err(|error| error.inside(element, &format!("[{index}]")))
    }
}

/// The members of an object. An error in a member gets the member's key.
struct ObjectMembers<'r, 'v> {
    map: ValueDeserializer<'r, 'v>,
    fields: &'static [&'static str],
    rest: map::Iter<'v>,
    last: (&'v str, &'v Value),
}

impl<'v> ObjectMembers<'_, 'v> {
    fn in_last(&self, error: DeserializeError<'v>) -> DeserializeError<'v> {
        let (key, value) = self.last;
        error.inside(value, &[".", key].concat())
    }
}

impl<'de> MapAccess<'de> for ObjectMembers<'_, 'de> {
    type Error = DeserializeError<'de>;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Self::Error> {
        let (map, fields) = (self.map, self.fields);
        let is_read = |key: &str, value| {
            !(map.is_left_out(value) || map.is_unset(value) && fields.contains(&key))
        };
        let Some((key, value)) = self.rest.find(|(key, value)| is_read(key, value)) else {
            return Ok(None);
        };
        self.last = (key, value);
        let read = seed.deserialize(key.as_str().into_deserializer());
        read.map(Some).map_err(|error| self.in_last(error))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, Self::Error> {
        let read = seed.deserialize(self.map.inside(self.last.1));
        read.map_err(|error| self.in_last(error))
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'_, 'de> {
    type Error = DeserializeError<'de>;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => {
                if let Some(number) = number.as_u64() {
                    visitor.visit_u64(number)
                } else if let Some(number) = number.as_i64() {
                    visitor.visit_i64(number)
                } else {
                    visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN))
                }
            }
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(list) => visitor.visit_seq(self.elements(list, false)),
            Value::Object(map) => visitor.visit_map(self.members(map, &[])),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        visitor.visit_newtype_struct(self)
    }

    /// Accepts only an object. serde's derived code would also read the elements of a list as struct
    /// fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.value {
            Value::Object(map) => visitor.visit_map(self.members(map, fields)),
            _ => Err(ValueProblemKind::MustBeObject.into()),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        match self.value {
            // The setting `imageChecks.template` is read into a `Value`, which calls
            // `deserialize_any` and not this function. So lists in the template keep empty strings.
            Value::Array(list) => {
                let is_object = |element: &Value| element.is_object() && !self.is_left_out(element);
                let is_settings = self.kind == SettingsOrKubernetesObject::Settings;
                let skips_empty_strings = is_settings && !list.iter().any(is_object);
                visitor.visit_seq(self.elements(list, skips_empty_strings))
            }
            _ => Err(ValueProblemKind::MustBe("a list".to_owned()).into()),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        match self.value {
            Value::String(word) => visitor.visit_enum(word.as_str().into_deserializer()),
            // kubectl reads YAML 1.1, in which `Off` without quotes means `false`. So `false` is
            // read as `Off`.
            Value::Bool(false) if variants.contains(&"Off") => {
                visitor.visit_enum("Off".into_deserializer())
            }
            _ => Err(one_of(variants)),
        }
    }

    /// Reports a field that Kubernetes doesn't know. The structs of `k8s-openapi` call this function
    /// to ignore the value of an unknown field.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(ValueProblemKind::UnknownField.into())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct identifier
    }
}
