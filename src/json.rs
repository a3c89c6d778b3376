//! Reading JSON where it stands: borrowed text, byte positions, and the path to what is wrong.
//!
//! A fresh instance of the module reads every request, and most requests are accepted as they
//! are. So nothing is built that no rule asks for: values that are not read are skipped, strings
//! are borrowed, and what has to change is changed in the text itself ([`Span`] says where),
//! which is also why no field is ever lost. `serde_json` is the oracle of this module's tests;
//! `docs/performance.md` says what reading with it costs.

mod write;

use std::borrow::Cow;

pub use self::write::{Edit, in_order, write_edited, write_escaped, write_quoted, write_string};
use crate::sentence::text;

/// Where a value stands in the text: from its first byte to the byte after its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset of the byte after the last one.
    pub end: usize,
}

impl Span {
    /// An empty span: the place between two bytes.
    #[must_use]
    pub const fn at(offset: usize) -> Self {
        Self {
            start: offset,
            end: offset,
        }
    }

    /// The text that this span covers; empty when it lies outside.
    #[must_use]
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// A string value: its characters, and where it stands (with its quotes).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text<'a> {
    /// The characters, borrowed from the text unless an escape had to be undone.
    pub value: Cow<'a, str>,
    /// Where the value stands.
    pub span: Span,
}

/// What kind of value stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// A list.
    List,
    /// An object.
    Object,
}

impl Kind {
    /// The name in a sentence: `a list`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::List => "a list",
            Self::Object => "an object",
        }
    }
}

/// Why a text can't be read: the path to the place, and what is wrong there.
///
/// It never carries a value of the text, because a value can be a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<(String, String)>);

impl Error {
    /// An error at the place that is being read; callers prepend the path on the way out.
    #[must_use]
    pub fn new(problem: impl Into<String>) -> Self {
        Self(Box::new((String::new(), problem.into())))
    }

    /// The error of a field that has to be there.
    #[must_use]
    pub fn missing(key: &str) -> Self {
        Self::new("is missing").in_field(key)
    }

    /// The same error, seen from the object that holds the field.
    #[must_use]
    pub fn in_field(self, key: &str) -> Self {
        self.below(key)
    }

    /// The same error, seen from the list that holds the element.
    #[must_use]
    pub fn in_element(self, index: usize) -> Self {
        self.below(&["[", &index.to_string(), "]"].concat())
    }

    fn below(mut self, step: &str) -> Self {
        let path = &mut self.0.0;
        let separator = if path.is_empty() || path.starts_with('[') {
            ""
        } else {
            "."
        };
        *path = [step, separator, path].concat();
        self
    }

    /// The path to the place, as Kubernetes writes field paths: `spec.containers[0].image`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.0
    }

    /// What is wrong there, without the path.
    #[must_use]
    pub fn problem(&self) -> &str {
        &self.0.1
    }

    /// Path and problem in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match (self.path(), self.problem()) {
            ("", problem) => problem.to_owned(),
            (path, problem) => [path, " ", problem].concat(),
        }
    }
}

/// What reading gives.
pub type Result<T> = std::result::Result<T, Error>;

/// A cursor over JSON text.
///
/// Values that are skipped are matched bracket by bracket and not checked further: they go back
/// to the host as they came.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of the text.
    #[must_use]
    pub const fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// A reader at the start of a value that was skipped before.
    #[must_use]
    pub const fn at(text: &'a [u8], span: Span) -> Self {
        Self {
            text,
            at: span.start,
        }
    }

    /// The whole text, for spans.
    #[must_use]
    pub const fn text(&self) -> &'a [u8] {
        self.text
    }

    fn byte(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blank(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Takes the byte if it comes next.
    fn take(&mut self, byte: u8) -> bool {
        self.blank();
        let there = self.byte() == Some(byte);
        if there {
            self.at += 1;
        }
        there
    }

    /// What comes next.
    ///
    /// # Errors
    /// When no value starts here.
    pub fn peek(&mut self) -> Result<Kind> {
        self.blank();
        Ok(match self.byte() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::List,
            Some(b'"') => Kind::String,
            Some(b'n') => Kind::Null,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(_) => return Err(Error::new("is not JSON")),
            None => return Err(Error::new("ends too early")),
        })
    }

    fn expect(&mut self, wanted: Kind) -> Result<()> {
        let found = self.peek()?;
        if found == wanted {
            Ok(())
        } else {
            Err(Error::new(
                ["must be ", wanted.name(), ", not ", found.name()].concat(),
            ))
        }
    }

    /// Takes `null` if it comes next.
    ///
    /// # Errors
    /// When no value starts here.
    pub fn null(&mut self) -> Result<bool> {
        let null = self.peek()? == Kind::Null;
        if null && self.scalar().of(self.text) != b"null" {
            return Err(Error::new("is not JSON"));
        }
        Ok(null)
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// When something else stands here.
    pub fn boolean(&mut self) -> Result<bool> {
        self.expect(Kind::Boolean)?;
        match self.scalar().of(self.text) {
            b"true" => Ok(true),
            b"false" => Ok(false),
            _ => Err(Error::new("is not JSON")),
        }
    }

    /// Reads a string.
    ///
    /// # Errors
    /// When something else stands here, or the string is broken.
    pub fn string(&mut self) -> Result<Text<'a>> {
        let (inner, escaped, span) = self.quoted()?;
        let inner = std::str::from_utf8(inner).map_err(|_| Error::new("is not UTF-8"))?;
        let value = if escaped {
            Cow::Owned(unescape(inner)?)
        } else {
            Cow::Borrowed(inner)
        };
        Ok(Text { value, span })
    }

    /// Reads the key of a member.
    fn key(&mut self) -> Result<Cow<'a, [u8]>> {
        let (inner, escaped, _) = self.quoted()?;
        if escaped {
            let inner = std::str::from_utf8(inner).map_err(|_| Error::new("is not UTF-8"))?;
            Ok(Cow::Owned(unescape(inner)?.into_bytes()))
        } else {
            Ok(Cow::Borrowed(inner))
        }
    }

    /// What stands between the quotes of a string, and whether it has escapes.
    fn quoted(&mut self) -> Result<(&'a [u8], bool, Span)> {
        self.blank();
        if self.byte() != Some(b'"') {
            self.expect(Kind::String)?;
        }
        let start = self.at;
        let escaped = self.pass_string()?;
        let span = Span {
            start,
            end: self.at,
        };
        let inner = Span {
            start: start + 1,
            end: self.at - 1,
        };
        Ok((inner.of(self.text), escaped, span))
    }

    /// Reads a string, or `null` as none.
    ///
    /// # Errors
    /// When something else stands here, or the string is broken.
    pub fn optional_string(&mut self) -> Result<Option<Text<'a>>> {
        if self.null()? {
            Ok(None)
        } else {
            self.string().map(Some)
        }
    }

    /// Reads an object: `field` is called with each key, and has to read or skip its value.
    /// Gives the span of the object. Keys are bytes, as they are only ever compared.
    ///
    /// # Errors
    /// When something else stands here, and what `field` gives, with the key put before its path.
    pub fn object(
        &mut self,
        mut field: impl FnMut(&mut Self, &[u8]) -> Result<()>,
    ) -> Result<Span> {
        self.object_with(&mut field)
    }

    /// One copy for all callers: the module's size is paid at every request.
    #[inline(never)]
    fn object_with(
        &mut self,
        field: &mut dyn FnMut(&mut Self, &[u8]) -> Result<()>,
    ) -> Result<Span> {
        self.expect(Kind::Object)?;
        let start = self.at;
        self.at += 1;
        if !self.take(b'}') {
            loop {
                let key = self.key()?;
                let found = if self.take(b':') {
                    field(self, &key)
                } else {
                    Err(Error::new("is not JSON"))
                };
                found.map_err(|error| error.in_field(text(&key)))?;
                if self.ends_with(b'}')? {
                    break;
                }
            }
        }
        Ok(Span {
            start,
            end: self.at,
        })
    }

    /// Reads a list: `element` is called with each index, and has to read or skip its value.
    /// Gives the span of the list.
    ///
    /// # Errors
    /// When something else stands here, and what `element` gives, with the index put before its
    /// path.
    pub fn list(
        &mut self,
        mut element: impl FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<Span> {
        self.list_with(&mut element)
    }

    #[inline(never)]
    fn list_with(
        &mut self,
        element: &mut dyn FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<Span> {
        self.expect(Kind::List)?;
        let start = self.at;
        self.at += 1;
        if !self.take(b']') {
            let mut index = 0;
            loop {
                element(self, index).map_err(|error| error.in_element(index))?;
                index += 1;
                if self.ends_with(b']')? {
                    break;
                }
            }
        }
        Ok(Span {
            start,
            end: self.at,
        })
    }

    /// Passes over what follows an element: the closing bracket, or a comma.
    fn ends_with(&mut self, bracket: u8) -> Result<bool> {
        self.blank();
        let next = self.byte();
        self.at += 1;
        match next {
            Some(b',') => Ok(false),
            Some(byte) if byte == bracket => Ok(true),
            _ => Err(Error::new("is not JSON")),
        }
    }

    /// Passes over a value, and gives its span.
    ///
    /// # Errors
    /// When no value starts here, or it doesn't end.
    pub fn skip(&mut self) -> Result<Span> {
        let kind = self.peek()?;
        let start = self.at;
        match kind {
            Kind::String => {
                self.pass_string()?;
            }
            Kind::Object | Kind::List => self.pass_brackets()?,
            Kind::Null | Kind::Boolean | Kind::Number => {
                self.scalar();
            }
        }
        Ok(Span {
            start,
            end: self.at,
        })
    }

    /// Nothing but white space may follow.
    ///
    /// # Errors
    /// When something does.
    pub fn end(&mut self) -> Result<()> {
        self.blank();
        if self.byte().is_none() {
            Ok(())
        } else {
            Err(Error::new("goes on after its end"))
        }
    }

    /// Passes over a number or a word.
    fn scalar(&mut self) -> Span {
        let start = self.at;
        while matches!(
            self.byte(),
            Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.')
        ) {
            self.at += 1;
        }
        Span {
            start,
            end: self.at,
        }
    }

    /// Passes over a string, and says whether it has escapes.
    fn pass_string(&mut self) -> Result<bool> {
        let mut escaped = false;
        self.at = end_of_string(self.text, self.at + 1, &mut escaped)
            .ok_or_else(|| Error::new("ends too early"))?;
        Ok(escaped)
    }

    fn pass_brackets(&mut self) -> Result<()> {
        let mut depth = 0_usize;
        let mut at = self.at;
        while let Some(byte) = self.text.get(at) {
            at += 1;
            match byte {
                b'"' => match end_of_string(self.text, at, &mut false) {
                    Some(end) => at = end,
                    None => break,
                },
                b'{' | b'[' => depth += 1,
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        self.at = at;
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err(Error::new("ends too early"))
    }
}

/// The offset after the string whose inner text begins at `at`; notes whether it has escapes.
#[inline]
fn end_of_string(text: &[u8], mut at: usize, escaped: &mut bool) -> Option<usize> {
    loop {
        at = quote_or_backslash(text, at)?;
        if text.get(at) == Some(&b'"') {
            return Some(at + 1);
        }
        *escaped = true;
        at += 2;
    }
}

/// Finds the next `"` or `\\`.
#[inline]
fn quote_or_backslash(text: &[u8], from: usize) -> Option<usize> {
    position(text, from, |word| {
        bytes_equal(word, b'"') | bytes_equal(word, b'\\')
    })
}

/// One in each byte.
const ONES: u64 = u64::from_le_bytes([1; 8]);
/// The highest bit of each byte.
const HIGHEST: u64 = ONES << 7;

/// Finds a byte eight at a time, as most of a request is strings that no rule reads. `found` marks
/// the highest bit of the bytes that are looked for; it need be right only up to the first.
#[inline]
fn position(text: &[u8], from: usize, found: impl Fn(u64) -> u64) -> Option<usize> {
    let (words, tail) = text.get(from..)?.as_chunks::<8>();
    let mut at = from;
    for word in words {
        let found = found(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + (found.trailing_zeros() / 8) as usize);
        }
        at += 8;
    }
    let mut last = [b'x'; 8];
    for (to, from) in last.iter_mut().zip(tail) {
        *to = *from;
    }
    let found = found(u64::from_le_bytes(last));
    (found != 0).then(|| at + (found.trailing_zeros() / 8) as usize)
}

/// Marks the bytes that equal one.
const fn bytes_equal(word: u64, byte: u8) -> u64 {
    let zeros = word ^ (ONES * byte as u64);
    zeros.wrapping_sub(ONES) & !zeros & HIGHEST
}

/// Marks the bytes below one that is no more than 128.
const fn bytes_below(word: u64, byte: u8) -> u64 {
    word.wrapping_sub(ONES * byte as u64) & !word & HIGHEST
}

/// Undoes the escapes of a string's inner text (RFC 8259, section 7).
fn unescape(inner: &str) -> Result<String> {
    let broken = || Error::new("has a broken escape");
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut chars = escape.chars();
        let character = match chars.next().ok_or_else(broken)? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let (unit, after) = hex4(chars.as_str()).ok_or_else(broken)?;
                chars = after.chars();
                if (0xD800..0xDC00).contains(&unit) {
                    let (low, after) = after
                        .strip_prefix("\\u")
                        .and_then(hex4)
                        .filter(|(low, _)| (0xDC00..0xE000).contains(low))
                        .ok_or_else(broken)?;
                    chars = after.chars();
                    let code = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                    char::from_u32(code).ok_or_else(broken)?
                } else {
                    char::from_u32(unit).ok_or_else(broken)?
                }
            }
            literal @ ('"' | '\\' | '/') => literal,
            _ => return Err(broken()),
        };
        out.push(character);
        rest = chars.as_str();
    }
    out.push_str(rest);
    Ok(out)
}

/// The first four characters as a hexadecimal number, and what follows them.
fn hex4(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let mut value = 0;
    for digit in digits.chars() {
        value = value * 16 + digit.to_digit(16)?;
    }
    Some((value, rest))
}
