//! Reads the input in pieces of any length: JSON and YAML, several documents, several outputs of
//! kubectl one after another. JSON is read as it comes, each object of a list as soon as it is
//! complete, so that a list of any length takes little more memory than its largest object. YAML is
//! read when its file ends.

use std::mem::take;

use serde::de::DeserializeOwned;
use serde_json::{Deserializer, Map, Value};

use crate::json::{documents, text};

/// The command whose output the survey reads.
pub const COMMAND: &str =
    "kubectl get pods,jobs,cronjobs,namespaces,nodes --all-namespaces --output json";

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

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
    /// In a JSON object, after these members.
    Members(Map<String, Value>),
    /// In the `items` of a JSON object that has these other members.
    Items(Map<String, Value>),
    /// YAML, or text in UTF-16, up to the end of the file.
    File,
}

/// A part of the text, and what follows it. `None` if more text is needed.
type Part<'t, T> = Option<(T, &'t [u8])>;

impl Reader {
    /// Reads a piece, and hands on the objects that are complete.
    pub(crate) fn read(&mut self, piece: &[u8], objects: &mut dyn FnMut(Value)) {
        let mut text = take(&mut self.unread);
        text.extend_from_slice(piece);
        let mut rest = &*text;
        while self.problem.is_none() {
            match self.next(rest) {
                Ok(Some((value, after))) => {
                    self.emit(value, objects);
                    rest = after;
                }
                Ok(None) => break,
                Err(error) => {
                    let error = error.to_string();
                    // The line would be one of this part.
                    self.refuse_object(error.split(" at line").next().unwrap_or_default());
                }
            }
        }
        let read = text.len().saturating_sub(rest.len());
        text.drain(..read);
        self.unread = text;
    }

    /// Reads the next part: an object if one is complete, or else null.
    fn next<'t>(&mut self, text: &'t [u8]) -> serde_json::Result<Part<'t, Value>> {
        let text = after(text, b",");
        let Some((first_byte, rest)) = text.split_first() else {
            return Ok(None);
        };
        let start = Some((Value::Null, rest));
        Ok(match (take(&mut self.state), first_byte) {
            (State::Between, b'{') => {
                self.state = State::Members(Map::new());
                start
            }
            (State::Between, _) if BYTE_ORDER_MARK.starts_with(text) => None,
            (State::Between, _) if let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) => {
                Some((Value::Null, rest))
            }
            (State::Between | State::File, _) => {
                self.state = State::File;
                None
            }
            (State::Members(members), b'}') => Some((members.into(), rest)),
            (State::Members(members), _) => self.member(members, text)?,
            (State::Items(members), b']') => {
                self.state = State::Members(members);
                start
            }
            (State::Items(members), _) => {
                self.state = State::Items(members);
                first(text)?
            }
        })
    }

    /// Reads a member, of `items` only its start.
    fn member<'t>(
        &mut self,
        mut members: Map<String, Value>,
        text: &'t [u8],
    ) -> serde_json::Result<Part<'t, Value>> {
        let key = first::<String>(text)?;
        let value = key.map(|(key, rest)| (key, after(rest, b":")));
        let read = match value {
            Some((key, [b'[', rest @ ..])) if key == "items" => {
                self.state = State::Items(members);
                return Ok(Some((Value::Null, rest)));
            }
            Some((key, value)) => first(value)?.map(|(value, rest)| {
                members.insert(key, value);
                (Value::Null, rest)
            }),
            None => None,
        };
        self.state = State::Members(members);
        Ok(read)
    }

    /// Ends a file.
    ///
    /// # Errors
    /// It is no output of kubectl, or its end is missing. The sentence says what to do.
    pub(crate) fn end_file(&mut self, objects: &mut dyn FnMut(Value)) -> Result<(), String> {
        let unread = take(&mut self.unread);
        match take(&mut self.state) {
            State::Between => {}
            State::File => {
                if let Some(text) = from_utf16(&unread) {
                    self.read(text.as_bytes(), objects);
                    return self.end_file(objects);
                }
                self.yaml(&unread, objects);
            }
            State::Members(_) | State::Items(_) => self.refuse_cut_off(),
        }
        self.problem.take().map_or(Ok(()), Err)
    }

    fn yaml(&mut self, text: &[u8], objects: &mut dyn FnMut(Value)) {
        if is_table(text) {
            return self.refuse("this is a table for people, without the objects");
        }
        match documents(text) {
            Ok(documents) => {
                // kubectl writes the kind of a list after its items.
                let is_list = |it: &Value| it.get("items").is_some() && it.get("kind").is_none();
                if documents.last().is_some_and(is_list) {
                    return self.refuse_cut_off();
                }
                for document in documents {
                    self.emit(document, objects);
                }
            }
            Err(why) => self.refuse(&format!(
                "the input is no YAML ({why}); several documents need a line --- between them"
            )),
        }
    }

    /// Hands on an object, or those of a list.
    fn emit(&mut self, mut value: Value, objects: &mut dyn FnMut(Value)) {
        match value.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items.into_iter().for_each(|it| self.emit(it, objects)),
            _ if value.is_null() => {}
            _ => match text(&value, "/kind") {
                "" => self.refuse_object("it has no kind"),
                kind if kind.ends_with("List") => {}
                _ => {
                    self.objects = self.objects.saturating_add(1);
                    objects(value);
                }
            },
        }
    }

    fn refuse_cut_off(&mut self) {
        let number = self.objects;
        self.problem.get_or_insert(format!(
            "the input ends in the middle of an object, after {number} complete ones: its end was cut \
             off. Write the whole output into a file: {COMMAND} > cluster.json"
        ));
    }

    fn refuse_object(&mut self, why: &str) {
        let number = self.objects.saturating_add(1);
        self.refuse(&format!(
            "object {number} of the input is no Kubernetes object ({why})"
        ));
    }

    fn refuse(&mut self, sentence: &str) {
        self.problem
            .get_or_insert(format!("{sentence}: give the output of `{COMMAND}`"));
    }
}

/// The text after this sign and the white space around it.
fn after<'t>(text: &'t [u8], sign: &[u8]) -> &'t [u8] {
    let text = text.trim_ascii_start();
    text.strip_prefix(sign).unwrap_or(text).trim_ascii_start()
}

/// The JSON value with which a text begins.
fn first<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<Part<'_, T>> {
    let mut values = Deserializer::from_slice(text).into_iter();
    match values.next() {
        Some(Err(error)) if !error.is_eof() => Err(error),
        Some(Ok(value)) => {
            // A number at the end may have more digits.
            let rest = text.get(values.byte_offset()..).unwrap_or_default();
            Ok((!rest.is_empty()).then_some((value, rest)))
        }
        _ => Ok(None),
    }
}

/// A text in UTF-16, as Windows PowerShell writes it. `None` without its byte order mark.
fn from_utf16(text: &[u8]) -> Option<String> {
    let from_bytes = match text {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units = text.as_chunks().0.iter().map(|unit| from_bytes(*unit));
    Some(String::from_utf16_lossy(&units.collect::<Vec<u16>>()))
}

/// Whether a text is a table of `kubectl get`: its first line has the names of columns.
fn is_table(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    let mut words = text.split_whitespace().take(2).peekable();
    words.peek().is_some() && words.all(|word| word.bytes().all(|byte| byte.is_ascii_uppercase()))
}
