//! A deserializer that reads a tree of `serde_json` values, and its error type.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Value, map};

use crate::{ProblemKind, SettingsOrKubernetesObject, Step, is_empty_string, is_unset};

/// The problem of one value, and the path to this value.
///
/// Every `Result` of the deserializer reserves room for an error. The box keeps this room small.
#[derive(Debug)]
pub(crate) struct DeserializeError(Box<(ProblemKind, Vec<Step>)>);

impl DeserializeError {
    /// Adds the index of the list element that contains the problem.
    #[cold]
    #[inline(never)]
    fn in_element(mut self, index: usize) -> Self {
        self.0.1.push(Step::Index(index));
        self
    }

    /// Adds the key of the object member that contains the problem.
    #[cold]
    #[inline(never)]
    fn in_member(mut self, key: &str) -> Self {
        self.0.1.push(Step::Key(key.to_owned()));
        self
    }

    /// The problem, and the steps from the root of the tree to the wrong value.
    pub(crate) fn into_parts(self) -> (ProblemKind, Vec<Step>) {
        let (kind, mut steps) = *self.0;
        // The innermost step was added first.
        steps.reverse();
        (kind, steps)
    }
}

impl From<ProblemKind> for DeserializeError {
    fn from(kind: ProblemKind) -> Self {
        Self(Box::new((kind, Vec::new())))
    }
}

impl fmt::Display for DeserializeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value is wrong")
    }
}

impl std::error::Error for DeserializeError {}

impl serde::de::Error for DeserializeError {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        ProblemKind::Refused(problem.to_string()).into()
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        ProblemKind::MustBe(expected.to_string()).into()
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        ProblemKind::MustBe(expected.to_string()).into()
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        ProblemKind::NoneOf(expected).into()
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        ProblemKind::UnknownKey(expected).into()
    }

    fn missing_field(field: &'static str) -> Self {
        ProblemKind::MissingField(field).into()
    }
}

/// A value that is about to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ValueDeserializer<'v> {
    value: &'v Value,
    kind: SettingsOrKubernetesObject,
}

impl<'v> ValueDeserializer<'v> {
    pub(crate) const fn new(value: &'v Value, kind: SettingsOrKubernetesObject) -> Self {
        Self { value, kind }
    }

    const fn inside(self, value: &'v Value) -> Self {
        Self { value, ..self }
    }

    const fn elements(self, list: &'v [Value]) -> ListElements<'v> {
        ListElements {
            list: self,
            rest: list,
            index: 0,
            skips_empty_strings: false,
        }
    }

    /// The members of an object. `fields` are the fields of the struct that the object is read
    /// into. In settings, a member is skipped if its key is one of these fields and [`is_unset`] is
    /// true for its value.
    fn members(self, map: &'v Map, fields: &'static [&'static str]) -> ObjectMembers<'v> {
        ObjectMembers {
            map: self,
            fields,
            rest: map.iter(),
            last: None,
        }
    }
}

type Map = serde_json::Map<String, Value>;

/// The elements of a list. An error in an element gets the element's index.
struct ListElements<'v> {
    list: ValueDeserializer<'v>,
    rest: &'v [Value],
    index: usize,
    /// Whether elements that are `""` are skipped. A skipped element still counts for `index`.
    skips_empty_strings: bool,
}

impl<'de> SeqAccess<'de> for ListElements<'de> {
    type Error = DeserializeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DeserializeError> {
        let (element, index) = loop {
            let Some((element, rest)) = self.rest.split_first() else {
                return Ok(None);
            };
            self.rest = rest;
            let index = self.index;
            self.index = index.saturating_add(1);
            if !(self.skips_empty_strings && is_empty_string(element)) {
                break (element, index);
            }
        };
        let read = seed.deserialize(self.list.inside(element));
        read.map(Some).map_err(|error| error.in_element(index))
    }
}

/// The members of an object. An error in a member gets the member's key.
struct ObjectMembers<'v> {
    map: ValueDeserializer<'v>,
    fields: &'static [&'static str],
    rest: map::Iter<'v>,
    last: Option<(&'v str, &'v Value)>,
}

impl<'v> ObjectMembers<'v> {
    fn next(&mut self) -> Option<&'v str> {
        let is_set = |key: &str, value| match self.map.kind {
            SettingsOrKubernetesObject::Settings => !is_unset(value) || !self.fields.contains(&key),
            SettingsOrKubernetesObject::KubernetesObject => true,
        };
        let (key, value) = self.rest.find(|(key, value)| is_set(key, value))?;
        self.last = Some((key, value));
        Some(key)
    }
}

impl<'de> MapAccess<'de> for ObjectMembers<'de> {
    type Error = DeserializeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DeserializeError> {
        let Some(key) = self.next() else {
            return Ok(None);
        };
        let read = seed.deserialize(key.into_deserializer());
        read.map(Some)
            .map_err(|error: DeserializeError| error.in_member(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(
        &mut self,
        seed: V,
    ) -> Result<V::Value, DeserializeError> {
        let (key, value) = self.last.unwrap_or(("", &Value::Null));
        let read = seed.deserialize(self.map.inside(value));
        read.map_err(|error| error.in_member(key))
    }
}

impl<'de> Deserializer<'de> for ValueDeserializer<'de> {
    type Error = DeserializeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
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
            Value::Array(list) => visitor.visit_seq(self.elements(list)),
            Value::Object(map) => visitor.visit_map(self.members(map, &[])),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        visitor.visit_newtype_struct(self)
    }

    /// Accepts only an object. serde's derived code would also read the elements of a list as struct
    /// fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match self.value {
            Value::Object(map) => visitor.visit_map(self.members(map, fields)),
            _ => Err(ProblemKind::MustBeObject.into()),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DeserializeError> {
        match self.value {
            // The setting `imageChecks.template` is read into a `Value`, which calls
            // `deserialize_any` and not this function. So lists in the template keep empty strings.
            Value::Array(list) => visitor.visit_seq(ListElements {
                skips_empty_strings: self.kind == SettingsOrKubernetesObject::Settings
                    && !list.iter().any(Value::is_object),
                ..self.elements(list)
            }),
            _ => Err(ProblemKind::MustBe("a list".to_owned()).into()),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DeserializeError> {
        match self.value {
            Value::String(word) => visitor.visit_enum(word.as_str().into_deserializer()),
            // kubectl reads YAML 1.1, in which `Off` without quotes means `false`. So `false` is
            // read as `Off`.
            Value::Bool(false) if variants.contains(&"Off") => {
                visitor.visit_enum("Off".into_deserializer())
            }
            _ => Err(ProblemKind::NoneOf(variants).into()),
        }
    }

    /// Reports a field that Kubernetes doesn't know. The structs of `k8s-openapi` call this function
    /// to ignore the value of an unknown field.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, DeserializeError> {
        Err(ProblemKind::UnknownField.into())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct identifier
    }
}
