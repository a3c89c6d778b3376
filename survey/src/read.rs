//! Reads the input in pieces of any length: JSON and YAML, several documents, several outputs of
//! kubectl one after another. Each object of a list is handed on as soon as it is complete, so that
//! a list of any length takes no more memory than its largest object.

use std::mem::take;

use serde::de::DeserializeSeed;
use serde_json::Value;

use crate::json::text;
use crate::prune::Part;

/// The command whose output the survey reads.
pub const COMMAND: &str =
    "kubectl get pods,jobs,cronjobs,namespaces,nodes --all-namespaces --output json";

/// Reads pieces of text.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    /// What is kept of each object.
    part: Part,
    state: State,
    /// The document, without the elements of its list.
    head: Vec<u8>,
    /// The present element of a list.
    element: Vec<u8>,
    /// How many objects were handed on.
    objects: usize,
    problem: Option<String>,
}

/// The document that is being read.
#[derive(Debug, Default)]
enum State {
    /// None: before its first character.
    #[default]
    Between,
    Json(Json),
    Yaml(Yaml),
}

/// A JSON document, as far as it was read.
#[derive(Debug, Default)]
struct Json {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
    /// The depth at which the elements of a list stand, while there are more of them.
    elements: Option<usize>,
    in_element: bool,
}

/// Why a scan of JSON stops.
enum Stop {
    /// The piece has no more.
    Piece,
    /// After a bracket behind which the elements of a list may come.
    Open,
    /// Before an element.
    Element,
    /// After an element.
    Elements,
    /// Before the end of a list.
    List,
    /// After the document.
    Document,
}

#[derive(Debug, Default)]
struct Yaml {
    /// The present line, as far as it was read.
    line: Vec<u8>,
    is_list: bool,
    /// Whether the lines are elements of the list.
    in_items: bool,
    has_version: bool,
}

impl Reader {
    /// A reader that drops nothing.
    pub(crate) fn of_everything() -> Self {
        Self {
            part: Part::Everything,
            ..Self::default()
        }
    }

    /// Reads a piece, and hands on the objects that are complete, without what nobody reads.
    pub(crate) fn read(&mut self, piece: &[u8], objects: &mut dyn FnMut(Value)) {
        let mut rest = piece;
        while self.problem.is_none() && !rest.is_empty() {
            rest = match &self.state {
                State::Between => self.begin(rest),
                State::Json(_) => self.json(rest, objects),
                State::Yaml(_) => self.yaml(rest, objects),
            };
        }
    }

    /// Ends the input.
    ///
    /// # Errors
    /// The input is no output of kubectl, or its end is missing. The sentence says what to do.
    pub(crate) fn finish(&mut self, objects: &mut dyn FnMut(Value)) -> Result<(), String> {
        if let State::Yaml(yaml) = &mut self.state {
            let line = take(&mut yaml.line);
            self.yaml_line(&line, objects);
            let State::Yaml(yaml) = &self.state else {
                return self.problem.take().map_or(Ok(()), Err);
            };
            let is_cut = yaml.is_list && !self.head.split(|byte| *byte == b'\n').any(is_kind);
            self.end_document(objects);
            if is_cut || (self.problem.is_some() && self.objects > 0) {
                self.problem = Some(self.cut_off());
            }
        } else if matches!(self.state, State::Json(_)) {
            self.problem.get_or_insert(self.cut_off());
        }
        if self.objects == 0 && self.problem.is_none() {
            self.problem = Some(format!(
                "there is no object in the input: give the output of `{COMMAND}`"
            ));
        }
        self.problem.take().map_or(Ok(()), Err)
    }

    fn cut_off(&self) -> String {
        format!(
            "the input ends in the middle of an object, after {} complete ones: its end was cut off. \
             Write the whole output into a file: {COMMAND} > cluster.json",
            self.objects
        )
    }

    fn begin<'p>(&mut self, piece: &'p [u8]) -> &'p [u8] {
        let piece = piece.strip_prefix("\u{feff}".as_bytes()).unwrap_or(piece);
        let piece = piece.trim_ascii_start();
        self.state = match piece.first() {
            None => State::Between,
            Some(b'{' | b'[') => State::Json(Json::default()),
            Some(_) => State::Yaml(Yaml::default()),
        };
        piece
    }

    /// Reads JSON up to the next object, and returns the rest.
    fn json<'p>(&mut self, piece: &'p [u8], objects: &mut dyn FnMut(Value)) -> &'p [u8] {
        let State::Json(json) = &mut self.state else {
            return piece;
        };
        let (length, stop) = json.scan(piece);
        let (read, rest) = piece.split_at_checked(length).unwrap_or((piece, &[]));
        if json.in_element || matches!(stop, Stop::Elements) {
            self.element.extend_from_slice(read);
        } else if json.elements.is_none() {
            self.head.extend_from_slice(read);
        }
        match stop {
            Stop::Piece => {}
            Stop::Open => {
                if json.depth == 1 || ends_with_items(&self.head) {
                    json.elements = Some(json.depth);
                }
            }
            Stop::Element => json.in_element = true,
            Stop::Elements => {
                let element = take(&mut self.element);
                self.emit_json(&element, objects);
            }
            Stop::List => json.elements = None,
            Stop::Document => self.end_document(objects),
        }
        rest
    }

    /// Hands on the element of a list in JSON. The API's own lists (`PodList`) name the kind of
    /// their elements, and kubectl's lists don't.
    fn emit_json(&mut self, element: &[u8], objects: &mut dyn FnMut(Value)) {
        let mut deserializer = serde_json::Deserializer::from_slice(element);
        match self.part.deserialize(&mut deserializer) {
            Ok(mut object) => {
                if let Some(members) = object.as_object_mut().filter(|it| !it.contains_key("kind"))
                {
                    let list = [&self.head, b"]}".as_slice()].concat();
                    let list: Value = serde_json::from_slice(&list).unwrap_or_default();
                    let kind = text(&list, &["kind"]).trim_end_matches("List");
                    members.insert("kind".to_owned(), kind.into());
                    members.insert("apiVersion".to_owned(), text(&list, &["apiVersion"]).into());
                }
                self.emit(object, objects);
            }
            Err(error) => self.is_unreadable(&error.to_string()),
        }
    }

    /// Reads a line of YAML, and returns the rest.
    fn yaml<'p>(&mut self, piece: &'p [u8], objects: &mut dyn FnMut(Value)) -> &'p [u8] {
        let State::Yaml(yaml) = &mut self.state else {
            return piece;
        };
        let end = piece.iter().position(|byte| *byte == b'\n');
        let length = end.map_or(piece.len(), |end| end.saturating_add(1));
        let (read, rest) = piece.split_at_checked(length).unwrap_or((piece, &[]));
        yaml.line.extend_from_slice(read);
        if end.is_some() {
            let line = take(&mut yaml.line);
            self.yaml_line(&line, objects);
        }
        rest
    }

    fn yaml_line(&mut self, line: &[u8], objects: &mut dyn FnMut(Value)) {
        if let Some(after) = line.strip_prefix(b"---") {
            self.end_document(objects);
            // What follows the dashes in their line belongs to the next document.
            return self.read(after, objects);
        }
        if line.starts_with(b"{") {
            // Another output in JSON.
            self.end_document(objects);
            return self.read(line, objects);
        }
        let State::Yaml(yaml) = &mut self.state else {
            return self.read(line, objects);
        };
        let line = with_booleans(line);
        let is_inner = line.first().is_none_or(u8::is_ascii_whitespace) || line.starts_with(b"#");
        if yaml.in_items && is_inner {
            return self.element.extend_from_slice(&line);
        }
        if yaml.in_items {
            let element = take(&mut self.element);
            yaml.in_items = line.starts_with(b"- ");
            self.emit_yaml(&element, objects);
        }
        let State::Yaml(yaml) = &mut self.state else {
            return;
        };
        if yaml.in_items {
            self.element = [b"  ", line.get(2..).unwrap_or_default()].concat();
        } else if line.trim_ascii_end() == b"items:" {
            (yaml.is_list, yaml.in_items) = (true, true);
        } else if line.starts_with(b"apiVersion:") && yaml.has_version {
            // Another output without dashes before it.
            self.end_document(objects);
            self.read(&line, objects);
        } else {
            yaml.has_version |= line.starts_with(b"apiVersion:");
            self.head.extend_from_slice(&line);
        }
    }

    fn emit_yaml(&mut self, document: &[u8], objects: &mut dyn FnMut(Value)) {
        if document.trim_ascii().is_empty() {
            return;
        }
        match self
            .part
            .deserialize(yaml_serde::Deserializer::from_slice(document))
        {
            Ok(object) => self.emit(object, objects),
            Err(error) => self.is_unreadable(&error.to_string()),
        }
    }

    /// Ends a document, and hands it on if it is no list.
    fn end_document(&mut self, objects: &mut dyn FnMut(Value)) {
        let head = take(&mut self.head);
        match take(&mut self.state) {
            State::Between => {}
            State::Json(_) => match serde_json::from_slice::<Value>(&head) {
                Ok(list) if list.is_array() || list.get("items").is_some() => {}
                _ => self.emit_json(&head, objects),
            },
            State::Yaml(yaml) => {
                let element = take(&mut self.element);
                self.emit_yaml(&element, objects);
                if !yaml.is_list {
                    self.emit_yaml(&head, objects);
                }
            }
        }
    }

    fn emit(&mut self, value: Value, objects: &mut dyn FnMut(Value)) {
        match value {
            Value::Null => {}
            Value::Array(values) => {
                for value in values {
                    self.emit(value, objects);
                }
            }
            Value::Object(_) if !text(&value, &["kind"]).is_empty() => {
                self.objects = self.objects.saturating_add(1);
                objects(value);
            }
            Value::String(table) if is_table(&table) => {
                self.problem.get_or_insert(format!(
                    "this is a table for people, without the objects: give the output of `{COMMAND}`"
                ));
            }
            _ => self.is_unreadable("it has no kind"),
        }
    }

    fn is_unreadable(&mut self, why: &str) {
        let number = self.objects.saturating_add(1);
        self.problem.get_or_insert(format!(
            "object {number} of the input is no Kubernetes object ({why}): give the output of \
             `{COMMAND}`"
        ));
    }
}

impl Json {
    /// Reads up to the next stop, and returns how many bytes were read.
    fn scan(&mut self, piece: &[u8]) -> (usize, Stop) {
        for (index, byte) in piece.iter().enumerate() {
            let after = index.saturating_add(1);
            if self.in_string {
                self.in_string = self.is_escaped || *byte != b'"';
                self.is_escaped = !self.is_escaped && *byte == b'\\';
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' if self.elements == Some(self.depth) && !self.in_element => {
                    return (index, Stop::Element);
                }
                b'{' | b'[' => {
                    self.depth = self.depth.saturating_add(1);
                    if *byte == b'[' && self.elements.is_none() && self.depth <= 2 {
                        return (after, Stop::Open);
                    }
                }
                b'}' | b']' if self.elements == Some(self.depth) && !self.in_element => {
                    return (index, Stop::List);
                }
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.elements == Some(self.depth) {
                        self.in_element = false;
                        return (after, Stop::Elements);
                    }
                    if self.depth == 0 {
                        return (after, Stop::Document);
                    }
                }
                _ => {}
            }
        }
        (piece.len(), Stop::Piece)
    }
}

/// Whether the elements of `items` come next.
fn ends_with_items(head: &[u8]) -> bool {
    let key = head
        .strip_suffix(b"[")
        .and_then(|head| head.trim_ascii_end().strip_suffix(b":"));
    key.is_some_and(|key| key.trim_ascii_end().ends_with(b"\"items\""))
}

fn is_kind(line: &[u8]) -> bool {
    line.starts_with(b"kind:")
}

/// Whether a text is a table of `kubectl get`: its first line has the names of columns.
fn is_table(text: &str) -> bool {
    let mut words = text.split_whitespace().take(2).peekable();
    words.peek().is_some()
        && words.all(|word| word.chars().all(|letter| letter.is_ascii_uppercase()))
}

/// The line with `true` or `false` in place of YAML 1.1's other words for them, as kubectl reads
/// them.
fn with_booleans(line: &[u8]) -> Vec<u8> {
    let text = line.trim_ascii_end();
    let colon = text.windows(2).rposition(|pair| pair == b": ");
    let (key, value) = colon
        .and_then(|colon| text.split_at_checked(colon.saturating_add(2)))
        .unwrap_or((text, b""));
    let word = match value.trim_ascii() {
        b"yes" | b"Yes" | b"YES" | b"on" | b"On" | b"ON" => "true",
        b"no" | b"No" | b"NO" | b"off" | b"Off" | b"OFF" => "false",
        _ => return line.to_vec(),
    };
    [key, word.as_bytes(), b"\n"].concat()
}
