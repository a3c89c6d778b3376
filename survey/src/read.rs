//! Reads the input in pieces of any length: JSON and YAML, several documents, several outputs of
//! kubectl one after another. JSON is read as it comes, each object of a list as soon as it is
//! complete, so that a list of any length takes little more memory than its largest object. YAML is
//! read when its file ends.

use std::mem::take;

use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Map, Value};

use crate::json::documents;
use crate::prune::Kept;

/// The command whose output the survey reads.
pub const COMMAND: &str =
    "kubectl get pods,jobs,cronjobs,namespaces,nodes --all-namespaces --output json";

/// Reads pieces of text.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    state: State,
    /// What isn't read yet.
    unread: Vec<u8>,
    /// How many objects were handed on.
    objects: usize,
    problem: Option<String>,
}

#[derive(Debug, Default)]
enum State {
    /// A document may begin.
    #[default]
    Between,
    Json(Json),
    /// YAML up to the end of the file.
    Yaml,
    /// UTF-16 up to the end of the file, as Windows PowerShell writes it.
    Utf16,
}

/// A JSON document, as far as it was read.
#[derive(Debug, Default)]
struct Json {
    place: Place,
    /// Its members, without the `items` that were handed on.
    members: Map<String, Value>,
    /// Items without a kind: a list can name it after them.
    nameless: Vec<Value>,
}

/// Where in a JSON document the next part is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Members,
    Items,
    Array,
    End,
}

impl Reader {
    /// Reads a piece, and hands on the objects that are complete.
    pub(crate) fn read<T: Kept>(&mut self, piece: &[u8], objects: &mut dyn FnMut(Value)) {
        let mut text = take(&mut self.unread);
        text.extend_from_slice(piece);
        let mut rest = &*text;
        while self.problem.is_none() {
            let length = match &mut self.state {
                State::Between => self.begin(rest),
                State::Json(json) => match json.next::<T>(rest) {
                    Ok((length, value)) => {
                        if json.place == Place::End {
                            self.state = State::Between;
                        }
                        self.emit(value.unwrap_or_default(), objects);
                        length
                    }
                    Err(error) => {
                        let error = error.to_string();
                        // The line would be one of this part.
                        self.is_unreadable(error.split(" at line").next().unwrap_or_default());
                        0
                    }
                },
                State::Yaml | State::Utf16 => break,
            };
            rest = rest.get(length..).unwrap_or_default();
            if length == 0 {
                break;
            }
        }
        let read = text.len().saturating_sub(rest.len());
        text.drain(..read);
        self.unread = text;
    }

    /// Ends a file.
    ///
    /// # Errors
    /// It is no output of kubectl, or its end is missing. The sentence says what to do.
    pub(crate) fn end_file<T: Kept>(
        &mut self,
        objects: &mut dyn FnMut(Value),
    ) -> Result<(), String> {
        let unread = take(&mut self.unread);
        match take(&mut self.state) {
            State::Between => {}
            State::Json(_) => self.is_cut_off(),
            State::Yaml => self.yaml::<T>(&unread, objects),
            State::Utf16 => {
                self.read::<T>(utf8(&unread).as_bytes(), objects);
                return self.end_file::<T>(objects);
            }
        }
        self.problem.take().map_or(Ok(()), Err)
    }

    /// Ends the input.
    ///
    /// # Errors
    /// The last file is no output of kubectl, or there is no object.
    pub(crate) fn finish<T: Kept>(&mut self, objects: &mut dyn FnMut(Value)) -> Result<(), String> {
        self.end_file::<T>(objects)?;
        if self.objects == 0 {
            return Err(format!(
                "there is no object in the input: give the output of `{COMMAND}`"
            ));
        }
        Ok(())
    }

    /// Begins a document, and returns the length of its start.
    fn begin(&mut self, text: &[u8]) -> usize {
        let rest = text.trim_ascii_start();
        let rest = rest.strip_prefix("\u{feff}".as_bytes()).unwrap_or(rest);
        let (state, length) = match rest {
            // More of a byte order mark may come.
            [] | [0xef] | [0xef, 0xbb] => (State::Between, 0),
            [0xfe | 0xff, ..] => (State::Utf16, 0),
            [b'{', ..] => (State::Json(Json::default()), 1),
            [b'[', ..] => (State::Json(Json::of_array()), 1),
            _ => (State::Yaml, 0),
        };
        self.state = state;
        text.len().saturating_sub(rest.len()).saturating_add(length)
    }

    fn yaml<T: Kept>(&mut self, text: &[u8], objects: &mut dyn FnMut(Value)) {
        if is_table(text) {
            return self.is_wrong("this is a table for people, without the objects");
        }
        match documents::<T>(text) {
            Ok(documents) => {
                // kubectl writes the kind of a list after its items.
                let is_list = |it: &&Value| it.get("items").is_some() && it.get("kind").is_none();
                let is_cut = documents.last().as_ref().is_some_and(is_list);
                for document in documents {
                    self.emit(document, objects);
                }
                if is_cut {
                    self.problem = None;
                    self.is_cut_off();
                }
            }
            Err(why) => self.is_wrong(&format!(
                "the input is no YAML ({why}); several documents need a line --- between them"
            )),
        }
    }

    /// Hands on an object, or those of a list. The API's own lists (`PodList`) name the kind of
    /// their items, and kubectl's lists don't.
    fn emit(&mut self, value: Value, objects: &mut dyn FnMut(Value)) {
        let mut members = match value {
            Value::Null => return,
            Value::Array(values) => {
                return values.into_iter().for_each(|it| self.emit(it, objects));
            }
            Value::Object(members) => members,
            _ => return self.is_unreadable("it has no kind"),
        };
        let kind = members.get("kind").and_then(Value::as_str);
        let kind = kind.unwrap_or_default().to_owned();
        let of_items = kind.strip_suffix("List").unwrap_or_default();
        match members.remove("items") {
            Some(Value::Array(items)) => {
                for mut item in items {
                    if let Some(item) = item.as_object_mut().filter(|it| !it.contains_key("kind")) {
                        item.insert("kind".to_owned(), of_items.into());
                        let version = members.get("apiVersion").cloned().unwrap_or_default();
                        item.insert("apiVersion".to_owned(), version);
                    }
                    self.emit(item, objects);
                }
            }
            _ if kind.is_empty() => self.is_unreadable("it has no kind"),
            _ if of_items.is_empty() && kind != "List" => {
                self.objects = self.objects.saturating_add(1);
                objects(members.into());
            }
            _ => {}
        }
    }

    fn is_cut_off(&mut self) {
        let number = self.objects;
        self.problem.get_or_insert(format!(
            "the input ends in the middle of an object, after {number} complete ones: its end was cut \
             off. Write the whole output into a file: {COMMAND} > cluster.json"
        ));
    }

    fn is_unreadable(&mut self, why: &str) {
        let number = self.objects.saturating_add(1);
        self.is_wrong(&format!(
            "object {number} of the input is no Kubernetes object ({why})"
        ));
    }

    fn is_wrong(&mut self, sentence: &str) {
        self.problem
            .get_or_insert(format!("{sentence}: give the output of `{COMMAND}`"));
    }
}

impl Json {
    fn of_array() -> Self {
        Self {
            place: Place::Array,
            ..Self::default()
        }
    }

    /// Reads the next part of the document: its length, and an object that is complete, or the rest
    /// of the document. The length is 0 if more text is needed.
    fn next<T: Kept>(&mut self, text: &[u8]) -> serde_json::Result<(usize, Option<Value>)> {
        let rest = after(text, b",");
        let Some(byte) = rest.first() else {
            return Ok((0, None));
        };
        let (mut length, mut value) = (1, None);
        match (self.place, byte) {
            (Place::Items, b']') => self.place = Place::Members,
            (Place::Members, b'}') => {
                self.place = Place::End;
                let mut members = take(&mut self.members);
                if !self.nameless.is_empty() {
                    members.insert("items".to_owned(), take(&mut self.nameless).into());
                }
                value = Some(T::deserialize(Value::Object(members))?.into());
            }
            (Place::Members, _) => length = self.member(rest)?,
            (Place::Array, b']') | (Place::End, _) => self.place = Place::End,
            (Place::Items | Place::Array, _) => {
                let Some((item, end)) = first::<T>(rest)? else {
                    return Ok((0, None));
                };
                length = end;
                let item = item.into();
                if self.place == Place::Items && item.get("kind").is_none() {
                    self.nameless.push(item);
                } else {
                    value = Some(item);
                }
            }
        }
        if length > 0 {
            length = length.saturating_add(text.len().saturating_sub(rest.len()));
        }
        Ok((length, value))
    }

    /// Reads a member, of `items` only its start, and returns its length.
    fn member(&mut self, text: &[u8]) -> serde_json::Result<usize> {
        let Some((key, length)) = first::<String>(text)? else {
            return Ok(0);
        };
        let value = after(text.get(length..).unwrap_or_default(), b":");
        let before = text.len().saturating_sub(value.len());
        if key == "items" && value.starts_with(b"[") {
            self.place = Place::Items;
            return Ok(before.saturating_add(1));
        }
        let Some((value, length)) = first::<Value>(value)? else {
            return Ok(0);
        };
        self.members.insert(key, value);
        Ok(before.saturating_add(length))
    }
}

/// The text after this sign and the white space around it.
fn after<'t>(text: &'t [u8], sign: &[u8]) -> &'t [u8] {
    let text = text.trim_ascii_start();
    text.strip_prefix(sign).unwrap_or(text).trim_ascii_start()
}

/// The JSON value with which a text begins, and its length. `None` if more text is needed.
fn first<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<Option<(T, usize)>> {
    let mut values = Deserializer::from_slice(text).into_iter::<T>();
    match values.next() {
        // A number at the end may have more digits.
        Some(Ok(value)) if values.byte_offset() < text.len() => {
            Ok(Some((value, values.byte_offset())))
        }
        Some(Err(error)) if !error.is_eof() => Err(error),
        _ => Ok(None),
    }
}

/// A text in UTF-16 with a byte order mark, in UTF-8.
fn utf8(text: &[u8]) -> String {
    let is_big = text.starts_with(&[0xfe]);
    let from_bytes = if is_big {
        u16::from_be_bytes
    } else {
        u16::from_le_bytes
    };
    let units = text.as_chunks::<2>().0.iter().skip(1);
    let units = units.map(|unit| from_bytes(*unit));
    let letters = char::decode_utf16(units);
    letters.map(Result::unwrap_or_default).collect()
}

/// Whether a text is a table of `kubectl get`: its first line has the names of columns.
fn is_table(text: &[u8]) -> bool {
    let words = text
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty());
    let mut words = words.take(2).peekable();
    words.peek().is_some() && words.all(|word| word.iter().all(u8::is_ascii_uppercase))
}
