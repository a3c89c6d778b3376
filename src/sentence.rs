//! Sentences for people, in messages and warnings.
//!
//! Names, images and other texts of an object may have line breaks, or be very long. A [`Sentence`]
//! accepts such a text only as an [`UntrustedText`], and always cleans and cuts the text. The other
//! parts of a sentence are words of this policy and checked digests. So no rule can forget to clean a
//! text.

use std::borrow::Cow;

use crate::pull_policy::PullPolicy;

/// Makes a [`Sentence`](crate::sentence::Sentence) from its parts.
#[macro_export]
macro_rules! sentence {
    ($($part:expr),+ $(,)?) => {{
        let mut sentence = $crate::sentence::Sentence::default();
        $(sentence.push($part);)+
        sentence
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
/// Each control character becomes `_`, so that the text can't break a line.
///
/// ```
/// use consistent_pull_policy::sentence::shorten;
///
/// assert_eq!(shorten("container-0", 11), "container-0");
/// assert_eq!(shorten("registry.example.com/team/app:v1", 15), "regist...app:v1");
/// assert_eq!(shorten("two\nlines", 15), "two_lines");
/// ```
#[must_use]
pub fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    // A text has at most as many characters as bytes. So a text with at most `max` bytes always fits.
    let fits = text.len() <= max || text.chars().count() <= max;
    let text = without(text, char::is_control);
    if fits {
        return text;
    }
    let kept = max.saturating_sub(ELLIPSIS.len());
    let tail = kept / 2;
    let head = kept.saturating_sub(tail);
    let mut short: String = text.chars().take(head).collect();
    short.push_str(ELLIPSIS);
    let skipped = text.chars().count().saturating_sub(tail);
    short.extend(text.chars().skip(skipped));
    Cow::Owned(short)
}

/// The text with `_` in place of each refused character.
fn without(text: &str, is_refused: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().any(&is_refused) {
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
pub struct UntrustedText<'t>(pub &'t str);

impl<'t> UntrustedText<'t> {
    fn cleaned(self) -> Cow<'t, str> {
        without(self.0, |c| c.is_control() || c.is_whitespace())
    }
}

/// Several texts that this policy didn't write, as one list. The whole list is cut as one text.
#[derive(Clone, Debug, Default)]
pub struct UntrustedTexts(String);

impl<'t> FromIterator<UntrustedText<'t>> for UntrustedTexts {
    fn from_iter<I: IntoIterator<Item = UntrustedText<'t>>>(texts: I) -> Self {
        let texts: Vec<Cow<'_, str>> = texts.into_iter().map(UntrustedText::cleaned).collect();
        Self(texts.join(", "))
    }
}

/// A part of a sentence.
#[derive(Clone, Copy, Debug)]
enum SentencePart<'t> {
    /// Words of this policy.
    Words(&'static str),
    /// A text that is cleaned and cut when the sentence is written.
    Text(UntrustedText<'t>),
    /// A list of texts that are cleaned already. The list is cut when the sentence is written.
    Texts(&'t str),
    /// A digest. It is never cut, so that a person can copy it.
    Digest(&'t str),
}

/// A sentence, put together from words of this policy, untrusted texts and digests. The macro
/// [`sentence!`](crate::sentence!) makes one.
#[derive(Clone, Debug, Default)]
pub struct Sentence<'t>(Vec<SentencePart<'t>>);

impl<'t> Sentence<'t> {
    /// Adds a part at the end.
    pub fn push(&mut self, part: impl SentencePiece<'t>) {
        part.add_to(self);
    }

    // About two hundred places call this function. The module would be larger if it were inlined there.
    #[inline(never)]
    fn add(&mut self, part: SentencePart<'t>) {
        self.0.push(part);
    }

    /// A sentence that is only a digest. The caller must have checked the digest, because it is neither
    /// cleaned nor cut.
    #[must_use]
    pub fn of_digest(digest: &'t str) -> Self {
        Self(vec![SentencePart::Digest(digest)])
    }

    /// The whole sentence. Only untrusted texts of more than 512 characters are cut.
    #[must_use]
    pub fn in_full(&self) -> String {
        self.with_texts_of(TEXT_MAX)
    }

    /// The sentence with each untrusted text cut to at most `max` characters.
    fn with_texts_of(&self, max: usize) -> String {
        let mut written = String::new();
        for part in &self.0 {
            match part {
                SentencePart::Words(words) => written.push_str(words),
                SentencePart::Text(text) => written.push_str(&shorten(&text.cleaned(), max)),
                SentencePart::Texts(texts) => written.push_str(&shorten(texts, max)),
                SentencePart::Digest(digest) => written.push_str(digest),
            }
        }
        written
    }
}

/// A value that can be a part of a sentence.
pub trait SentencePiece<'t> {
    /// Adds the value at the end of a sentence.
    fn add_to(self, sentence: &mut Sentence<'t>);
}

impl<'t> SentencePiece<'t> for &'static str {
    fn add_to(self, sentence: &mut Sentence<'t>) {
        sentence.add(SentencePart::Words(self));
    }
}

impl<'t> SentencePiece<'t> for PullPolicy {
    fn add_to(self, sentence: &mut Sentence<'t>) {
        self.as_str().add_to(sentence);
    }
}

impl<'t> SentencePiece<'t> for UntrustedText<'t> {
    fn add_to(self, sentence: &mut Sentence<'t>) {
        sentence.add(SentencePart::Text(self));
    }
}

impl<'t> SentencePiece<'t> for &'t UntrustedTexts {
    fn add_to(self, sentence: &mut Sentence<'t>) {
        sentence.add(SentencePart::Texts(&self.0));
    }
}

impl<'t> SentencePiece<'t> for Sentence<'t> {
    #[inline(never)]
    fn add_to(self, sentence: &mut Sentence<'t>) {
        sentence.0.extend(self.0);
    }
}

impl From<&'static str> for Sentence<'_> {
    fn from(words: &'static str) -> Self {
        sentence!(words)
    }
}

impl<'t> From<UntrustedText<'t>> for Sentence<'t> {
    fn from(text: UntrustedText<'t>) -> Self {
        sentence!(text)
    }
}

/// How much room a sentence has. Some sentences say less if there is little room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentenceLength {
    /// There is room for the full sentence, for example in the message of a rejection.
    Full,
    /// There is one line, in a warning, and the full sentence doesn't fit into this line.
    Line,
}

/// Writes the sentence of `say` as a line of at most `max` characters. The untrusted texts are cut in
/// steps until the line fits. None if `say` returns no sentence.
#[must_use]
pub fn line<'t>(
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
    fn long_texts_are_shortened_in_the_middle() {
        assert_eq!(shorten("container-0", 11), "container-0");
        assert_eq!(shorten("abcdefghij", 7), "ab...ij");
        assert_eq!(shorten("äöüäöüä", 7), "äöüäöüä");
        assert_eq!(shorten("äöüäöüäöüä", 7), "äö...üä");
        assert_eq!(shorten("abcdef", 2), "...");
    }

    #[test]
    fn a_line_has_no_control_characters() {
        assert_eq!(shorten("a\nb\u{7f}c\u{85}", 20), "a_b_c_");
        assert_eq!(shorten("a\nbcdefghi", 7), "a_...hi");
    }

    #[test]
    fn a_sentence_fits_however_long_its_texts_are() {
        let image = "registry.example.com/team/".to_owned() + &"x".repeat(300);
        for max in [120, 60, 20] {
            let sentence = line(max, |_| {
                let image = UntrustedText(&image);
                Some(sentence!("container-0 pulls ", image, " with Always"))
            })
            .expect("a sentence");
            assert!(sentence.chars().count() <= max, "{sentence}");
        }
        let whole = line(120, |_| Some(UntrustedText("nginx").into()));
        assert_eq!(whole.as_deref(), Some("nginx"));
        assert_eq!(line(120, |_| None), None);
    }

    #[test]
    fn texts_of_an_object_have_no_white_space_in_a_sentence() {
        let texts: UntrustedTexts = ["linux/amd 64", "linux/arm64"]
            .map(UntrustedText)
            .into_iter()
            .collect();
        let sentence = sentence!(UntrustedText("ngi nx\u{a0}x\t"), " has ", &texts);
        assert_eq!(
            sentence.in_full(),
            "ngi_nx_x_ has linux/amd_64, linux/arm64"
        );
    }

    #[test]
    fn a_digest_is_never_cut() {
        let digest = format!("sha256:{}", "1".repeat(64));
        let line = line(100, |_| {
            Some(sentence!("pin to @", Sentence::of_digest(&digest)))
        });
        assert!(line.expect("a line").ends_with(&digest));
    }
}
