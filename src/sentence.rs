//! Sentences for people, in messages and warnings.
//!
//! Names, images and other texts of an object may have line breaks, or be very long. A [`Sentence`]
//! accepts such a text only as an [`UntrustedText`], and always cleans and cuts the text. The other
//! pieces of a sentence are words of this policy and checked digests. So no rule can forget to clean a
//! text.

use std::borrow::Cow;

/// Makes a [`Sentence`](crate::sentence::Sentence) from a template and a piece for each hole `{}`.
#[macro_export]
macro_rules! sentence {
    ($template:literal $(, $piece:expr)* $(,)?) => {{
        const PIECES: &[&str] = &[$(stringify!($piece)),*];
        const { assert!($crate::sentence::holes($template) == PIECES.len()) };
        $crate::sentence::Sentence {
            template: $template,
            pieces: vec![$($crate::sentence::SentencePiece::from($piece)),*],
        }
    }};
}

/// The mark in place of the middle of a shortened text.
const ELLIPSIS: &str = "...";
/// The maximum length of an object's text in a rejection, in characters. The longest valid image has
/// about this length, so valid images are hardly ever cut.
const TEXT_MAX: usize = 512;
/// The maximum lengths of an object's texts in a line, in characters. They are tried in this order
/// until the line fits.
const SHORTER_TEXTS: [usize; 8] = [64, 48, 36, 30, 24, 18, 14, 10];

/// Shortens a text in the middle to at most `max` characters, or to `...` if `max` is less than three.
/// Each invisible character becomes `_`, so that the text can't break a line.
pub(crate) fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    shorten_without(text, max, is_invisible)
}

/// Shortens a text, and writes `_` for each refused character. The parts that are left out are not read: a text may
/// be very long.
fn shorten_without(text: &str, max: usize, is_refused: fn(char) -> bool) -> Cow<'_, str> {
    if text.len() <= max || text.chars().nth(max).is_none() {
        return without(text, is_refused);
    }
    let kept = max.saturating_sub(ELLIPSIS.len());
    let tail = kept / 2;
    let head = kept.saturating_sub(tail);
    let head: String = text.chars().take(head).collect();
    let tail: Vec<char> = text.chars().rev().take(tail).collect();
    let tail: String = tail.into_iter().rev().collect();
    let (head, tail) = (without(&head, is_refused), without(&tail, is_refused));
    Cow::Owned([&head, ELLIPSIS, &tail].concat())
}

/// Whether a character has no shape of its own: Unicode's categories Cc (control) and Cf (format). Such a character can
/// break a line, hide a part of a text, or turn the direction in which it is read.
///
/// Source: `UnicodeData.txt` of Unicode 17. The tests compare this with a package that has all categories.
fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}'
                | '\u{2066}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0001}'
                | '\u{e0020}'..='\u{e007f}'
        )
}

/// The text with `_` in place of each refused character.
fn without(text: &str, is_refused: fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().any(is_refused) {
        let clean = |c: char| if is_refused(c) { '_' } else { c };
        Cow::Owned(text.chars().map(clean).collect())
    } else {
        Cow::Borrowed(text)
    }
}

/// A text that this policy didn't write: a name, an image, a pattern, a platform. This type has no
/// `Display`, so that nobody writes the text without cleaning and cutting it.
///
/// In a sentence, each white space of the text becomes `_`. Otherwise the text could form a phrase
/// that a controller reads as a network error, for example `connection refused`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UntrustedText<'t>(pub &'t str);

impl<'t> UntrustedText<'t> {
    fn shortened(self, max: usize) -> Cow<'t, str> {
        shorten_without(self.0, max, |c| is_invisible(c) || c.is_whitespace())
    }
}

/// A value in a sentence.
#[derive(Clone, Debug)]
pub(crate) enum SentencePiece<'t> {
    /// Words of this policy.
    Words(&'static str),
    /// A text that is cleaned and cut when the sentence is written.
    Text(UntrustedText<'t>),
    /// Texts that this policy didn't write, with `, ` between them. Each text is cleaned, and the whole
    /// list is cut.
    List(&'t [String]),
    /// Texts that this policy didn't write, with ` or ` between them. Each text is cleaned and cut.
    OneOf(&'t [&'t str]),
    /// A digest. It is neither cleaned nor cut, so that a person can copy it. Whoever makes this piece
    /// must have checked the digest.
    Digest(&'t str),
    /// Another sentence.
    Sentence(Sentence<'t>),
}

impl SentencePiece<'_> {
    fn write(&self, max: usize, written: &mut String) {
        match self {
            Self::Words(words) => written.push_str(words),
            Self::Text(text) => written.push_str(&text.shortened(max)),
            Self::List(texts) => {
                let texts = texts.iter().map(|text| UntrustedText(text).shortened(max));
                let list = texts.collect::<Vec<_>>().join(", ");
                written.push_str(&shorten(&list, max));
            }
            Self::OneOf(texts) => {
                let texts = texts.iter().map(|text| UntrustedText(text).shortened(max));
                written.push_str(&texts.collect::<Vec<_>>().join(" or "));
            }
            Self::Digest(digest) => written.push_str(digest),
            Self::Sentence(sentence) => sentence.write(max, written),
        }
    }
}

impl From<&'static str> for SentencePiece<'_> {
    fn from(words: &'static str) -> Self {
        Self::Words(words)
    }
}

impl<'t> From<UntrustedText<'t>> for SentencePiece<'t> {
    fn from(text: UntrustedText<'t>) -> Self {
        Self::Text(text)
    }
}

impl<'t> From<Sentence<'t>> for SentencePiece<'t> {
    fn from(sentence: Sentence<'t>) -> Self {
        Self::Sentence(sentence)
    }
}

/// A template of this policy, with a piece for each hole `{}`. The macro
/// [`sentence!`](crate::sentence!) makes one.
#[derive(Clone, Debug)]
pub(crate) struct Sentence<'t> {
    /// The template.
    pub(crate) template: &'static str,
    /// The pieces, one for each hole.
    pub(crate) pieces: Vec<SentencePiece<'t>>,
}

impl Sentence<'_> {
    /// The whole sentence. Only untrusted texts of more than 512 characters are cut.
    pub(crate) fn in_full(&self) -> String {
        self.with_texts_of(TEXT_MAX)
    }

    /// The sentence with each untrusted text cut to at most `max` characters.
    fn with_texts_of(&self, max: usize) -> String {
        let mut written = String::new();
        self.write(max, &mut written);
        written
    }

    fn write(&self, max: usize, written: &mut String) {
        let mut pieces = self.pieces.iter();
        for words in self.template.split("{}") {
            written.push_str(words);
            if let Some(piece) = pieces.next() {
                piece.write(max, written);
            }
        }
    }
}

/// The number of holes `{}` in a template.
pub(crate) const fn holes(template: &str) -> usize {
    let mut rest = template.as_bytes();
    let mut holes: usize = 0;
    loop {
        rest = match rest {
            [b'{', b'}', rest @ ..] => {
                holes = holes.saturating_add(1);
                rest
            }
            [_, rest @ ..] => rest,
            [] => return holes,
        };
    }
}

/// How much room a sentence has. Some sentences say less if there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SentenceLength {
    /// There is room for the full sentence, for example in the message of a rejection.
    Full,
    /// There is one line, in a warning, and the full sentence doesn't fit into this line.
    Line,
}

/// Writes the sentence of `say` as a line of at most `max` characters. The untrusted texts are cut in
/// steps until the line fits. None if `say` returns no sentence.
pub(crate) fn line<'t>(
    max: usize,
    say: impl Fn(SentenceLength) -> Option<Sentence<'t>>,
) -> Option<String> {
    let full = say(SentenceLength::Full)?.in_full();
    if full.chars().count() <= max {
        return Some(full);
    }
    let short = say(SentenceLength::Line)?;
    let mut line = String::new();
    for length in SHORTER_TEXTS {
        line = short.with_texts_of(length);
        if line.chars().count() <= max {
            return Some(line);
        }
    }
    Some(shorten(&line, max).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_format_characters_are_invisible() {
        use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
        for c in '\0'..=char::MAX {
            let category = c.general_category();
            let is_expected =
                matches!(category, GeneralCategory::Control | GeneralCategory::Format);
            assert_eq!(is_invisible(c), is_expected, "{c:?}");
        }
    }

    #[test]
    fn long_texts_are_shortened_in_the_middle() {
        assert_eq!(shorten("container-0", 11), "container-0");
        assert_eq!(shorten("abcdefghij", 7), "ab...ij");
        assert_eq!(shorten("äöüäöüä", 7), "äöüäöüä");
        assert_eq!(shorten("äöüäöüäöüä", 7), "äö...üä");
        assert_eq!(shorten("abcdef", 2), "...");
        assert_eq!(shorten("a\nbcdefghi", 7), "a_...hi");
    }
}
