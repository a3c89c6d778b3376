//! Reading JSON with serde, so that each text is known with the place where it stands.
//!
//! What comes from a cluster is read once, member by member: derived structs would take a list for
//! an object, and refuse the second of two equal keys where the API server's decoder takes the
//! last. A place is a part of the payload itself, borrowed; nobody counts bytes.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess,
    Unexpected, Visitor,
};
use serde_json::value::RawValue;

use crate::text_edit::{between, offset_in};

/// A string, and where it stands.
#[derive(Clone, Debug, Default)]
pub struct JsonString<'a> {
    /// What it says, without quotes and escapes.
    pub value: Cow<'a, str>,
    /// The part of the payload that it is, quotes included.
    pub raw: &'a str,
}

impl<'a> JsonString<'a> {
    /// Reads a value that stands in the payload.
    ///
    /// # Errors
    /// It is no string.
    pub fn read<E: Error>(raw: &'a str) -> Result<Self, E> {
        let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
        let value = match inner {
            None => {
                let found = Unexpected::Other(kind_of(raw));
                return Err(E::invalid_type(found, &"a string"));
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

/// The key of an object's member.
#[derive(Clone, Debug)]
pub struct JsonKey<'a>(Cow<'a, str>);

impl<'a> JsonKey<'a> {
    /// What it says.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Where it stands in the payload, to find its value there with [`value_of`].
    ///
    /// # Errors
    /// A key that is written with escapes stands nowhere as it reads. No API server writes the
    /// names of its own fields so.
    pub fn place<E: Error>(&self) -> Result<&'a str, E> {
        match self.0 {
            Cow::Borrowed(place) => Ok(place),
            Cow::Owned(_) => Err(E::custom(
                "has a name that is written with escapes: write it plainly",
            )),
        }
    }
}

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

/// An object that is read member by member. The last of equal keys wins.
pub trait Members<'a> {
    /// Takes the value of one member, or [skips](skip) it.
    ///
    /// # Errors
    /// The value is not what it should be.
    fn member<A: MapAccess<'a>>(&mut self, key: &JsonKey<'a>, map: &mut A) -> Result<(), A::Error>;

    /// The field that it must have and lacks, once all members were read.
    fn missing(&self) -> Option<&'static str> {
        None
    }
}

/// Passes over a value.
///
/// # Errors
/// It is not JSON.
pub fn skip<'a, A: MapAccess<'a>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(drop)
}

/// Reads the members of an object into `target`.
pub struct Object<'t, T>(pub &'t mut T);

impl<'a, T: Members<'a>> DeserializeSeed<'a> for Object<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'a, T: Members<'a>> Visitor<'a> for Object<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<JsonKey<'_>>()? {
            self.0
                .member(&key, &mut map)
                .map_err(|error| below(key.name(), &error))?;
        }
        self.0
            .missing()
            .map_or(Ok(()), |field| Err(A::Error::missing_field(field)))
    }
}

/// Reads the members of an object into `target`, and says whether there is one; `null` is none.
pub struct OptionalObject<'t, T>(pub &'t mut T);

impl<'a, T: Members<'a>> DeserializeSeed<'a> for OptionalObject<'_, T> {
    type Value = bool;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'a, T: Members<'a>> Visitor<'a> for OptionalObject<'_, T> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_none<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_some<D: Deserializer<'a>>(self, deserializer: D) -> Result<bool, D::Error> {
        Object(self.0).deserialize(deserializer).map(|()| true)
    }
}

/// Reads a list of objects, each into what `new` makes for its index; `null` is an empty list.
pub struct Objects<T, F>(F, PhantomData<T>);

impl<T, F: FnMut(usize) -> T> Objects<T, F> {
    /// A reader of such a list.
    pub fn new(new: F) -> Self {
        Self(new, PhantomData)
    }
}

impl<'a, T: Members<'a>, F: FnMut(usize) -> T> DeserializeSeed<'a> for Objects<T, F> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'a>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'a, T: Members<'a>, F: FnMut(usize) -> T> Visitor<'a> for Objects<T, F> {
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
            let mut item = (self.0)(items.len());
            let read = list.next_element_seed(Object(&mut item));
            let read = read.map_err(|error| below(&format!("[{}]", items.len()), &error));
            if read?.is_none() {
                return Ok(items);
            }
            items.push(item);
        }
    }
}

/// What parts the steps of a path, and the path from what is wrong there: no key of a valid object
/// has it unescaped.
const STEP: char = '\u{1f}';

/// An error as the object or list above sees it. On its way up it collects the path, which costs
/// nothing as long as nothing is wrong.
fn below<E: Error>(step: &str, error: &E) -> E {
    E::custom(format_args!("{step}{STEP}{error}"))
}

/// Reads a whole text that is an object into `target`. What it is called where there is no path
/// that could be named: `whole`.
///
/// # Errors
/// Says what is wrong, with the path to it.
pub fn read<'a, T: Members<'a>>(text: &'a str, whole: &str, target: &mut T) -> Result<(), String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Object(target).deserialize(&mut reader);
    read.and_then(|()| reader.end())
        .map_err(|error| sentence(text, "", whole, &error))
}

/// Reads a whole text that stands at a path.
///
/// # Errors
/// Says what is wrong, with the path to it.
pub fn read_at<'a, S: DeserializeSeed<'a>>(
    text: &'a str,
    path: &str,
    seed: S,
) -> Result<S::Value, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = seed.deserialize(&mut reader);
    read.map_err(|error| sentence(text, path, path, &error))
}

/// The value of the member whose key stands there, in a text that was read before.
#[must_use]
pub fn value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let mut value = serde_json::Deserializer::from_str(from_value_of(text, key)?);
    <&RawValue>::deserialize(&mut value).ok().map(RawValue::get)
}

/// The same where the key of the next member is known, up to which the value reaches.
#[must_use]
pub fn value_before<'a>(text: &'a str, key: &str, next: &str) -> Option<&'a str> {
    let value = between(text, from_value_of(text, key)?, next)?;
    let value = value.strip_suffix('"')?.trim_end().strip_suffix(',')?;
    Some(value.trim_end())
}

/// What stands in a text from the first byte of that value on. Nobody has to look for its end.
#[must_use]
pub fn from_value_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let end = offset_in(text, key)?.checked_add(key.len())?;
    let (_, value) = text.get(end..)?.split_once(':')?;
    Some(value.trim_start())
}

/// The elements of a list, in a text that was read before; `null` has none.
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

/// A string as it stands in JSON.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What kind of value a text in JSON is.
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

/// A path, and one below it.
fn join(path: &str, below: &str) -> String {
    match below {
        "" => path.to_owned(),
        _ if path.is_empty() || below.starts_with('[') => format!("{path}{below}"),
        _ => format!("{path}.{below}"),
    }
}

/// Says in words of our own what serde has to say of a text. Serde's repeat values, and a Pod's
/// environment may not leave the module.
fn sentence(text: &str, path: &str, whole: &str, error: &serde_json::Error) -> String {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return "the request is not JSON".to_owned();
    }
    let error = error.to_string();
    let error = error
        .rsplit_once(" at line ")
        .map_or(&*error, |(error, _)| error);
    let (steps, error) = error.rsplit_once(STEP).unwrap_or(("", error));
    let path = steps
        .split(STEP)
        .fold(path.to_owned(), |path, step| join(&path, step));
    if let Some(field) = error.strip_prefix("missing field `") {
        return format!("{} is missing", join(&path, field.trim_end_matches('`')));
    }
    let place = if path.is_empty() { whole } else { &path };
    let Some(types) = error.strip_prefix("invalid type: ") else {
        return format!("{place} {error}");
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
        Some(own) => own,
        None => "another value",
    };
    format!("{place} must be {expected}, not {found}")
}
