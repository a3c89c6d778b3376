//! The deserializer, and its errors.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Value, map};

use crate::{Form, What, is_unset};

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Step {
    /// The value that these steps lead to.
    pub(crate) fn follow<'v>(steps: &[Self], tree: &'v mut Value) -> Option<&'v mut Value> {
        steps.iter().try_fold(tree, |value, step| match step {
            Self::Key(key) => value.get_mut(key),
            Self::Index(index) => value.get_mut(index),
        })
    }
}

/// What is wrong, and where. In a box, as every result on the way up has room for one.
#[derive(Debug)]
pub(crate) struct Wrong(Box<(What, Vec<Step>)>);

impl Wrong {
    /// The same, as the list above sees it.
    #[cold]
    #[inline(never)]
    fn below_index(mut self, index: usize) -> Self {
        self.0.1.push(Step::Index(index));
        self
    }

    /// The same, as the object above sees it.
    #[cold]
    #[inline(never)]
    fn below_key(mut self, key: &str) -> Self {
        self.0.1.push(Step::Key(key.to_owned()));
        self
    }

    /// What is wrong, and the steps that lead there.
    pub(crate) fn into_parts(self) -> (What, Vec<Step>) {
        let (what, mut steps) = *self.0;
        steps.reverse();
        (what, steps)
    }
}

impl From<What> for Wrong {
    fn from(what: What) -> Self {
        Self(Box::new((what, Vec::new())))
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value doesn't fit")
    }
}

impl std::error::Error for Wrong {}

impl serde::de::Error for Wrong {
    fn custom<T: fmt::Display>(problem: T) -> Self {
        What::Refused(problem.to_string()).into()
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        What::MustBe(expected.to_string()).into()
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        What::MustBe(expected.to_string()).into()
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        What::NoneOf(expected).into()
    }

    fn unknown_field(_: &str, expected: &'static [&'static str]) -> Self {
        What::UnknownKey(expected).into()
    }

    fn missing_field(field: &'static str) -> Self {
        What::Lacks(field).into()
    }
}

/// A value that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'v> {
    value: &'v Value,
    form: Form,
}

impl<'v> Source<'v> {
    pub(crate) const fn new(value: &'v Value, form: Form) -> Self {
        Self { value, form }
    }

    const fn inside(self, value: &'v Value) -> Self {
        Self { value, ..self }
    }

    const fn elements(self, list: &'v [Value]) -> Elements<'v> {
        Elements {
            list: self,
            rest: list,
            index: 0,
        }
    }

    /// The members of an object. A struct has these fields; those of them that are not set are
    /// passed over.
    fn members(self, map: &'v Map, fields: &'static [&'static str]) -> Members<'v> {
        Members {
            map: self,
            fields,
            rest: map.iter(),
            last: None,
        }
    }
}

type Map = serde_json::Map<String, Value>;

/// The elements of a list, with what is wrong told by their indexes.
struct Elements<'v> {
    list: Source<'v>,
    rest: &'v [Value],
    index: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Wrong;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        let Some((element, rest)) = self.rest.split_first() else {
            return Ok(None);
        };
        self.rest = rest;
        let index = self.index;
        self.index = index.saturating_add(1);
        let read = seed.deserialize(self.list.inside(element));
        read.map(Some).map_err(|wrong| wrong.below_index(index))
    }
}

/// The members of an object, with what is wrong told by their keys.
struct Members<'v> {
    map: Source<'v>,
    fields: &'static [&'static str],
    rest: map::Iter<'v>,
    last: Option<(&'v str, &'v Value)>,
}

impl<'v> Members<'v> {
    fn next(&mut self) -> Option<&'v str> {
        let is_set = |key: &str, value| match self.map.form {
            Form::Settings => !is_unset(value) || !self.fields.contains(&key),
            Form::Object => true,
        };
        let (key, value) = self.rest.find(|(key, value)| is_set(key, value))?;
        self.last = Some((key, value));
        Some(key)
    }
}

impl<'de> MapAccess<'de> for Members<'de> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        let Some(key) = self.next() else {
            return Ok(None);
        };
        let read = seed.deserialize(key.into_deserializer());
        read.map(Some).map_err(|wrong: Wrong| wrong.below_key(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let (key, value) = self.last.unwrap_or(("", &Value::Null));
        let read = seed.deserialize(self.map.inside(value));
        read.map_err(|wrong| wrong.below_key(key))
    }
}

impl<'de> Deserializer<'de> for Source<'de> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
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

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    /// A list is no struct, though serde's derived structs would take it for their fields.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Object(map) => visitor.visit_map(self.members(map, fields)),
            _ => Err(What::MustBeObject.into()),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        self.deserialize_struct("", &[], visitor)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            Value::Array(list) => visitor.visit_seq(self.elements(list)),
            _ => Err(What::MustBe("a list".to_owned()).into()),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.value {
            Value::String(word) => visitor.visit_enum(word.as_str().into_deserializer()),
            // YAML 1.1, which kubectl reads, takes a bare `Off` for `false`.
            Value::Bool(false) if variants.contains(&"Off") => {
                visitor.visit_enum("Off".into_deserializer())
            }
            _ => Err(What::NoneOf(variants).into()),
        }
    }

    /// Nobody asked for this value: the structs of `k8s-openapi` pass over what they don't know.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Wrong> {
        Err(What::NoField.into())
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct tuple tuple_struct identifier
    }
}
