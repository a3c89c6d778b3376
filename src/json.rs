//! Reads JSON with serde, and can keep the part of the text that a value was read from.
//!
//! An object from a cluster is read member by member. Structs that derive `Deserialize` don't fit:
//! they accept a list in place of an object. They also refuse a second member with the same key,
//! while the API server's decoder takes the last such member. Each part that is kept is a slice of the
//! payload, so its address shows its position, and no code has to count bytes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;
use settings_reader::Step;

use crate::text_edit::{between, offset_in};

/// A JSON string, with the part of the payload that it was read from.
#[derive(Clone, Debug, Default)]
pub struct JsonString<'a> {
    /// The text of the string, without quotes and escapes.
    pub value: Cow<'a, str>,
    /// The string in the payload, with quotes and escapes.
    pub raw: &'a str,
}

impl<'a> JsonString<'a> {
    /// Reads a value of the payload.
    ///
    /// # Errors
    /// The value is not a string, or one of its escapes doesn't encode a character.
    pub fn read<E: Error>(raw: &'a str) -> Result<Self, E> {
        let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
        let value = match inner {
            None => {
                let found = kind_of(raw);
                return Err(E::custom(format_args!("must be a string, not {found}")));
            }
            Some(inner) if inner.as_bytes().contains(&b'\\') => {
                let unescaped = serde_json::from_str(raw);
                Cow::Owned(unescaped.map_err(|_| E::custom("has an escape of no character"))?)
            }
            Some(inner) => Cow::Borrowed(inner),
        };
        Ok(Self { value, raw })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for JsonString<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(<&RawValue>::deserialize(deserializer)?.get())
    }
}

/// The key of an object member, without escapes.
struct JsonKey<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonKey<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;

        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = JsonKey<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(JsonKey(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(JsonKey(Cow::Owned(key.to_owned())))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// A type that is read from an object, member by member. Of members with the same key, the last
/// one counts.
pub trait Members<'a> {
    /// Reads the value of one member, or [skips](Member::skip) it.
    ///
    /// # Errors
    /// The value is wrong.
    fn member<A: MapAccess<'a>>(&mut self, member: Member<'_, 'a, A>) -> Result<(), A::Error>;

    /// The name of a required field that the object lacks. Called after the last member was read.
    fn missing(&self) -> Option<&'static str> {
        None
    }
}

/// A member of an object, after its key was read and before its value is read.
pub struct Member<'m, 'a, A> {
    key: &'m JsonKey<'a>,
    map: &'m mut A,
    /// The steps to a wrong value, the innermost step first. The list is empty until a value is wrong.
    steps: &'m mut Vec<Step>,
}

impl<'a, A: MapAccess<'a>> Member<'_, 'a, A> {
    /// The key, without quotes and escapes.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.key.0
    }

    /// The key in the payload, without quotes. [`value_of`] finds the value of this key.
    ///
    /// # Errors
    /// The key is written with escapes, so it can't be borrowed from the payload. No API server
    /// writes the names of its fields with escapes.
    pub fn raw_key(&self) -> Result<&'a str, A::Error> {
        match self.key.0 {
            Cow::Borrowed(raw) => Ok(raw),
            Cow::Owned(_) => Err(A::Error::custom(
                "has a name that is written with escapes: write it plainly",
            )),
        }
    }

    /// Reads a value as a whole, and not member by member.
    ///
    /// # Errors
    /// The value is wrong.
    pub fn read<T: Deserialize<'a>>(self) -> Result<T, A::Error> {
        self.map.next_value()
    }

    /// Skips the value.
    ///
    /// # Errors
    /// The value is not JSON.
    pub fn skip(self) -> Result<(), A::Error> {
        self.map.next_value::<IgnoredAny>().map(drop)
    }

    /// Reads an object into `target`.
    ///
    /// # Errors
    /// The value is no object, or something in it is wrong.
    pub fn object<T: Members<'a>>(self, target: &mut T) -> Result<(), A::Error> {
        self.map.next_value_seed(MembersVisitor {
            target,
            steps: self.steps,
        })
    }

    /// Reads an object or `null` into `target`, and returns whether the value is an object.
    ///
    /// # Errors
    /// The value is neither an object nor `null`, or something in it is wrong.
    pub fn optional_object<T: Members<'a>>(self, target: &mut T) -> Result<bool, A::Error> {
        self.map
            .next_value_seed(OptionalObjectReader(MembersVisitor {
                target,
                steps: self.steps,
            }))
    }

    /// Reads a list of objects. `new` makes the target for the object at an index. `null` counts as
    /// an empty list.
    ///
    /// # Errors
    /// The value is no list, or something in it is wrong.
    pub fn object_list<T: Members<'a>>(
        self,
        new: impl FnMut(usize) -> T,
    ) -> Result<Vec<T>, A::Error> {
        self.map.next_value_seed(ObjectListReader {
            new,
            steps: self.steps,
            item: PhantomData,
        })
    }
}

/// Reads the members of an object.
struct MembersVisitor<'t, T> {
    target: &'t mut T,
    steps: &'t mut Vec<Step>,
}

impl<'a, T: Members<'a>> DeserializeSeed<'a> for MembersVisitor<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a, T: Members<'a>> Visitor<'a> for MembersVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<JsonKey<'_>>()? {
            let member = Member {
                key: &key,
                map: &mut map,
                steps: self.steps,
            };
            if let Err(error) = self.target.member(member) {
                self.steps.push(Step::Key(key.0.into_owned()));
                return Err(error);
            }
        }
        if let Some(field) = self.target.missing() {
            self.steps.push(Step::Key(field.to_owned()));
            return Err(A::Error::custom("is missing"));
        }
        Ok(())
    }
}

/// Reads the members of an object, or `null`.
struct OptionalObjectReader<'t, T>(MembersVisitor<'t, T>);

impl<'a, T: Members<'a>> DeserializeSeed<'a> for OptionalObjectReader<'_, T> {
    type Value = bool;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'a, T: Members<'a>> Visitor<'a> for OptionalObjectReader<'_, T> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_some<D: Deserializer<'a>>(self, deserializer: D) -> Result<bool, D::Error> {
        self.0.deserialize(deserializer).map(|()| true)
    }
}

/// Reads a list of objects, or `null`.
struct ObjectListReader<'t, T, F> {
    new: F,
    steps: &'t mut Vec<Step>,
    item: PhantomData<T>,
}

impl<'a, T: Members<'a>, F: FnMut(usize) -> T> DeserializeSeed<'a> for ObjectListReader<'_, T, F> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'a, T: Members<'a>, F: FnMut(usize) -> T> Visitor<'a> for ObjectListReader<'_, T, F> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_none<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'a>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut list: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        loop {
            let mut item = (self.new)(items.len());
            let reader = MembersVisitor {
                target: &mut item,
                steps: self.steps,
            };
            match list.next_element_seed(reader) {
                Ok(Some(())) => items.push(item),
                Ok(None) => return Ok(items),
                Err(error) => {
                    self.steps.push(Step::Index(items.len()));
                    return Err(error);
                }
            }
        }
    }
}

/// The reason why a text can't be read. Its `Display` is a sentence for a person.
///
/// The sentence never contains a value of the request, because the environment variables of a Pod
/// may hold secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The text is not JSON.
    NotJson,
    /// A value in the text is wrong, or it is missing.
    WrongValue {
        /// The path to the value, or the name of the whole text.
        path: String,
        /// The problem, e.g. `must be a list, not null`.
        problem: String,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson => f.write_str("the request is not JSON"),
            Self::WrongValue { path, problem } => write!(f, "{path} {problem}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl ReadError {
    /// The error of a text. `root` is the path of the text. If the path to the wrong value is empty,
    /// the error shows the name `whole` in place of the path. `steps` has the innermost step first.
    #[cold]
    #[inline(never)]
    fn new(
        text: &str,
        (root, whole): (&str, &str),
        steps: &[Step],
        error: &serde_json::Error,
    ) -> Self {
        if serde_json::from_str::<IgnoredAny>(text).is_err() {
            return Self::NotJson;
        }
        let path = Step::path(root, steps.iter().rev());
        Self::WrongValue {
            path: if path.is_empty() {
                whole.to_owned()
            } else {
                path
            },
            problem: problem(error),
        }
    }
}

/// Reads a text that consists of one object into `target`. `whole` is the name of the text. It is shown
/// if the text itself is wrong, e.g. if it is a list.
///
/// # Errors
/// The text is not JSON, or it has a wrong value. The error has the path to this value.
pub fn read<'a, T: Members<'a>>(
    text: &'a str,
    whole: &str,
    target: &mut T,
) -> Result<(), ReadError> {
    let mut steps = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let reader = MembersVisitor {
        target,
        steps: &mut steps,
    };
    reader
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end())
        .map_err(|error| ReadError::new(text, ("", whole), &steps, &error))
}

/// Reads the text of a list of objects, or of `null`. `path` is the path of the list, and `new`
/// makes the target for the object at an index.
///
/// # Errors
/// The list has a wrong value. The error has the path to this value.
pub fn read_object_list<'a, T: Members<'a>>(
    text: &'a str,
    path: &str,
    new: impl FnMut(usize) -> T,
) -> Result<Vec<T>, ReadError> {
    let mut steps = Vec::new();
    let reader = ObjectListReader {
        new,
        steps: &mut steps,
        item: PhantomData,
    };
    reader
        .deserialize(&mut serde_json::Deserializer::from_str(text))
        .map_err(|error| ReadError::new(text, (path, path), &steps, &error))
}

/// The value of a member of the JSON `text`. `key` is the member's key, borrowed from `text`. None if
/// `key` doesn't belong to `text`, or if no JSON value follows it.
#[must_use]
pub fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut value = serde_json::Deserializer::from_str(from_value_of(text, key)?);
    <&RawValue>::deserialize(&mut value).ok().map(RawValue::get)
}

/// The value of a member, if `next` is the key of the next member. This function is cheaper than
/// [`value_of`], because `next` shows where the value ends.
#[must_use]
pub fn value_before<'a>(text: &'a str, key: &str, next: &str) -> Option<&'a str> {
    let value = between(text, from_value_of(text, key)?, next)?;
    let value = value.strip_suffix('"')?.trim_end().strip_suffix(',')?;
    Some(value.trim_end())
}

/// The rest of `text` from the first byte of a member's value. This function is cheaper than
/// [`value_of`] and [`value_before`], because it doesn't find the end of the value.
#[must_use]
pub fn from_value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let end = offset_in(text, key)?.checked_add(key.len())?;
    let (_, value) = text.get(end..)?.split_once(':')?;
    Some(value.trim_start())
}

/// The elements of a list, each as its part of the text. Empty if the text is not a list.
#[must_use]
pub fn elements(list: &str) -> Vec<&str> {
    serde_json::from_str::<Option<Vec<&RawValue>>>(list)
        .ok()
        .flatten()
        .unwrap_or_default()
        .into_iter()
        .map(RawValue::get)
        .collect()
}

/// Writes a text as a JSON string, with quotes and escapes.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The type of a value in JSON, as a noun with its article. The first byte decides.
#[must_use]
pub fn kind_of(raw: &str) -> &'static str {
    match raw.bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// The problem that an error of `serde_json` reports, in this policy's words.
///
/// An `invalid type` error may quote the wrong value, so only the types are taken from it. The text of
/// every other error is kept, without the position. Most of these texts are already this policy's own.
fn problem(error: &serde_json::Error) -> String {
    let error = error.to_string();
    let error = error
        .rsplit_once(" at line ")
        .map_or(&*error, |(error, _)| error);
    let Some(types) = error.strip_prefix("invalid type: ") else {
        return error.to_owned();
    };
    let (found, expected) = types
        .rsplit_once(", expected ")
        .unwrap_or((types, "another"));
    let expected = match expected {
        "a sequence" => "a list",
        other => other,
    };
    let found = match found.split(['`', '"']).next().map(str::trim_end) {
        Some("boolean") => "a boolean",
        Some("integer" | "floating point") => "a number",
        Some("string") => "a string",
        Some("sequence") => "a list",
        Some("map") => "an object",
        Some(other) => other,
        None => "another value",
    };
    format!("must be {expected}, not {found}")
}
