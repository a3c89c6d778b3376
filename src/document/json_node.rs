//! A value of a JSON text, with its part of the text.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::wrong_value::WrongValue;
use crate::document::text_edit::offset_in;

/// The number of objects and lists inside each other that are read at once. In the object with the
/// longest path, a `CronJob`, an image volume is at level 11.
const LEVELS_MAX: usize = 12;

/// Whether nearly every request needs the contents of the object or list with this key. They are read
/// together with the whole text. The contents of all others are read when somebody asks for them.
fn is_read_at_once(key: &str) -> bool {
    matches!(
        key,
        "request"
            | "kind"
            | "userInfo"
            | "object"
            | "oldObject"
            | "metadata"
            | "annotations"
            | "ownerReferences"
            | "spec"
            | "template"
            | "jobTemplate"
            | "initContainers"
            | "containers"
            | "ephemeralContainers"
            | "volumes"
            | "image"
    )
}

/// A value of a JSON text. A clone is cheap.
#[derive(Clone, Debug)]
pub(crate) struct JsonNode<'a> {
    text: &'a str,
    /// All values that were read together with this one, in the order of the text.
    nodes: Rc<Vec<JsonNodeEntry<'a>>>,
    /// The index of this value among them.
    index: usize,
}

/// A value in the list of all values. Its members or elements follow it.
#[derive(Debug)]
struct JsonNodeEntry<'a> {
    /// The key, if the value is a member of an object.
    key: Cow<'a, str>,
    text: &'a str,
    /// The index of the first value after this value and its contents.
    end: usize,
    /// Whether the contents were read.
    has_contents: bool,
}

impl<'a> JsonNode<'a> {
    /// Reads a text.
    ///
    /// # Errors
    /// The text is not JSON.
    pub(crate) fn read(text: &'a str) -> serde_json::Result<Self> {
        /// The usual size of a value in a request, in bytes.
        const VALUE: usize = 48;
        let mut nodes = Vec::with_capacity((text.len() / VALUE).saturating_add(1));
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let reader = JsonNodeReader {
            nodes: &mut nodes,
            key: Cow::default(),
            rest: text.trim_ascii_start(),
            levels: LEVELS_MAX,
        };
        let text = reader.deserialize(&mut deserializer)?;
        deserializer.end()?;
        Ok(Self {
            text,
            nodes: Rc::new(nodes),
            index: 0,
        })
    }

    /// The value in the text.
    pub(crate) const fn text(&self) -> &'a str {
        self.text
    }

    /// Whether the value is an object.
    pub(crate) fn is_object(&self) -> bool {
        self.text.starts_with('{')
    }

    /// This value, after its contents were read.
    fn with_contents(&self) -> Self {
        match self.nodes.get(self.index) {
            Some(entry) if !entry.has_contents => {
                Self::read(self.text).unwrap_or_else(|_| self.clone())
            }
            _ => self.clone(),
        }
    }

    /// The members or elements, each with its index among all values.
    fn contents(&self) -> impl Iterator<Item = (usize, &JsonNodeEntry<'a>)> {
        let end = self.nodes.get(self.index).map_or(0, |entry| entry.end);
        let mut next = self.index.saturating_add(1);
        std::iter::from_fn(move || {
            let index = next;
            let entry = self.nodes.get(index).filter(|_| index < end)?;
            next = entry.end;
            Some((index, entry))
        })
    }

    /// The value with this index.
    fn at(&self, (index, entry): (usize, &JsonNodeEntry<'a>)) -> Self {
        Self {
            text: entry.text,
            nodes: Rc::clone(&self.nodes),
            index,
        }
    }

    /// The value of a member, `null` included. If the object has the key more than once, the last
    /// value counts, as in the API server's decoder.
    ///
    /// # Errors
    /// This value is not an object.
    pub(crate) fn member(&self, key: &str) -> Result<Option<Self>, WrongValue<'a>> {
        if !self.is_object() {
            return Err(WrongValue::of_type(self.text, "an object"));
        }
        let object = self.with_contents();
        let members = object.contents().filter(|(_, entry)| entry.key == key);
        Ok(members.last().map(|member| object.at(member)))
    }

    /// The value of a member. `null` counts as not set, as in the API server.
    ///
    /// # Errors
    /// This value is not an object.
    pub(crate) fn optional(&self, key: &str) -> Result<Option<Self>, WrongValue<'a>> {
        Ok(self.member(key)?.filter(|value| value.text != "null"))
    }

    /// The value of a member that has to be there.
    ///
    /// # Errors
    /// This value is not an object, or it lacks the member.
    pub(crate) fn required(&self, key: &'static str) -> Result<Self, WrongValue<'a>> {
        self.member(key)?
            .ok_or_else(|| WrongValue::missing(self.text, key))
    }

    /// The text of a member that is a string. None if the member is not set.
    ///
    /// # Errors
    /// This value is not an object, or the member is not a string.
    pub(crate) fn string(&self, key: &str) -> Result<Option<Cow<'a, str>>, WrongValue<'a>> {
        self.optional(key)?
            .map(|value| value.as_string())
            .transpose()
    }

    /// The value of a member that is `true` or `false`. None if the member is not set.
    ///
    /// # Errors
    /// This value is not an object, or the member is not a boolean.
    pub(crate) fn boolean(&self, key: &str) -> Result<Option<bool>, WrongValue<'a>> {
        self.optional(key)?
            .map(|value| match value.text {
                "true" => Ok(true),
                "false" => Ok(false),
                _ => Err(WrongValue::of_type(value.text, "a boolean")),
            })
            .transpose()
    }

    /// The elements of a member that is a list. The list is empty if the member is not set.
    ///
    /// # Errors
    /// This value is not an object, or the member is not a list.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Self>, WrongValue<'a>> {
        self.optional(key)?
            .map_or(Ok(Vec::new()), |value| value.as_list())
    }

    /// The elements of a list.
    ///
    /// # Errors
    /// The value is not a list.
    pub(crate) fn as_list(&self) -> Result<Vec<Self>, WrongValue<'a>> {
        if !self.text.starts_with('[') {
            return Err(WrongValue::of_type(self.text, "a list"));
        }
        let list = self.with_contents();
        Ok(list.contents().map(|element| list.at(element)).collect())
    }

    /// The text of a string, without quotes and escapes.
    ///
    /// # Errors
    /// The value is not a string, or one of its escapes doesn't encode a character.
    pub(crate) fn as_string(&self) -> Result<Cow<'a, str>, WrongValue<'a>> {
        let inner = self.text.strip_prefix('"');
        let Some(inner) = inner.and_then(|text| text.strip_suffix('"')) else {
            return Err(WrongValue::of_type(self.text, "a string"));
        };
        if !inner.as_bytes().contains(&b'\\') {
            return Ok(Cow::Borrowed(inner));
        }
        let unescaped = serde_json::from_str(self.text).map(Cow::Owned);
        unescaped.map_err(|_| WrongValue::new(self.text, "has an escape of no character"))
    }

    /// The value of a member. None if it is not set, or if this value is not an object.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        self.optional(key).ok()?
    }

    /// The elements of a list. Empty if the value is not a list.
    pub(crate) fn elements(&self) -> Vec<Self> {
        self.as_list().unwrap_or_default()
    }

    /// The members of an object, with their keys. Empty if the value is not an object.
    pub(crate) fn members(&self) -> Vec<(Cow<'a, str>, Self)> {
        if !self.is_object() {
            return Vec::new();
        }
        let object = self.with_contents();
        let member = |(index, entry): (usize, &JsonNodeEntry<'a>)| {
            (entry.key.clone(), object.at((index, entry)))
        };
        object.contents().map(member).collect()
    }

    /// The sentence for a person about a wrong value in this one: the path to the wrong value, and the
    /// problem. `name` is the name of this value, which is shown if this value itself is wrong.
    #[cold]
    pub(crate) fn sentence_about(&self, wrong: &WrongValue<'_>, name: &str) -> String {
        let mut path = self.path_to(wrong.text);
        if let Some(key) = wrong.missing {
            path = format!("{path}.{key}");
        }
        let path = match path.trim_start_matches('.') {
            "" => name,
            path => path,
        };
        format!("{path} {}", wrong.problem)
    }

    /// The path to the value with this text, e.g. `.spec.containers[0].image`.
    #[cold]
    fn path_to(&self, text: &str) -> String {
        let mut path = String::new();
        let mut node = self.clone();
        while !std::ptr::eq(node.text, text) {
            let outer = node.with_contents();
            let mut contents = outer.contents().enumerate();
            let step = contents.find(|(_, (_, entry))| offset_in(entry.text, text).is_some());
            let Some((number, (index, entry))) = step else {
                break;
            };
            if outer.is_object() {
                path.push('.');
                path.push_str(&entry.key);
            } else {
                path.push_str(&["[", &number.to_string(), "]"].concat());
            }
            node = outer.at((index, entry));
        }
        path
    }
}

/// Reads one value, and returns its text.
struct JsonNodeReader<'r, 'a> {
    nodes: &'r mut Vec<JsonNodeEntry<'a>>,
    key: Cow<'a, str>,
    /// The text from the first byte of the value on.
    rest: &'a str,
    /// How many levels of the value are read. With none, the value is only checked to be JSON.
    levels: usize,
}

impl<'a> JsonNodeReader<'_, 'a> {
    /// Adds the value that is read, without its contents.
    fn add(&mut self, text: &'a str) -> usize {
        let index = self.nodes.len();
        self.nodes.push(JsonNodeEntry {
            key: std::mem::take(&mut self.key),
            text,
            end: index.saturating_add(1),
            has_contents: false,
        });
        index
    }

    /// Completes the value with this index, after its contents were read. `last` is the text of its last
    /// member or element. If there is none, `last` is the opening bracket.
    fn complete(self, index: usize, last: &str) -> &'a str {
        let at_end = behind(self.rest, last);
        let end = self
            .rest
            .len()
            .saturating_sub(at_end.len())
            .saturating_add(1);
        let text = self.rest.get(..end).unwrap_or_default();
        let end = self.nodes.len();
        if let Some(entry) = self.nodes.get_mut(index) {
            (entry.text, entry.end, entry.has_contents) = (text, end, true);
        }
        text
    }
}

/// The text behind one of its parts and the white space after this part.
fn behind<'a>(text: &'a str, part: &str) -> &'a str {
    let end = offset_in(text, part).map_or(text.len(), |start| start.saturating_add(part.len()));
    text.get(end..).unwrap_or_default().trim_ascii_start()
}

/// The text behind its first byte, a separator, and the white space after it.
fn behind_separator(text: &str) -> &str {
    text.get(1..).unwrap_or_default().trim_ascii_start()
}

impl<'a> DeserializeSeed<'a> for JsonNodeReader<'_, 'a> {
    type Value = &'a str;

    fn deserialize<D: Deserializer<'a>>(mut self, source: D) -> Result<&'a str, D::Error> {
        match self.rest.as_bytes().first() {
            Some(b'{') if self.levels > 0 => source.deserialize_map(self),
            Some(b'[') if self.levels > 0 => source.deserialize_seq(self),
            _ => {
                let text = <&RawValue>::deserialize(source)?.get();
                self.add(text);
                Ok(text)
            }
        }
    }
}

impl<'a> Visitor<'a> for JsonNodeReader<'_, 'a> {
    type Value = &'a str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or a list")
    }

    fn visit_map<A: MapAccess<'a>>(mut self, mut map: A) -> Result<&'a str, A::Error> {
        let index = self.add("");
        let mut last = self.rest.get(..1).unwrap_or_default();
        while let Some(Key(key)) = map.next_key()? {
            // The text shows where a key without escapes ends, so that the value begins behind it.
            let (rest, levels) = match key {
                Cow::Borrowed(key) if is_read_at_once(key) => {
                    let quote = behind(self.rest, key);
                    let colon = behind_separator(quote);
                    (behind_separator(colon), self.levels.saturating_sub(1))
                }
                _ => ("", 0),
            };
            let nodes = &mut *self.nodes;
            last = map.next_value_seed(JsonNodeReader {
                nodes,
                key,
                rest,
                levels,
            })?;
        }
        Ok(self.complete(index, last))
    }

    fn visit_seq<A: SeqAccess<'a>>(mut self, mut elements: A) -> Result<&'a str, A::Error> {
        let index = self.add("");
        let mut last = self.rest.get(..1).unwrap_or_default();
        let mut rest = behind(self.rest, last);
        while let Some(element) = elements.next_element_seed(JsonNodeReader {
            nodes: self.nodes,
            key: Cow::default(),
            rest,
            levels: self.levels.saturating_sub(1),
        })? {
            last = element;
            rest = behind_separator(behind(self.rest, last));
        }
        Ok(self.complete(index, last))
    }
}

/// A key, without quotes and escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests;
