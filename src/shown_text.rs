//! The texts of an object in sentences for people, and the length of these sentences.
//!
//! Names, images and other texts of an object may have line breaks, or be very long. A sentence shows such a text
//! only by [`TextLimit::show`], which cleans and cuts the text. Only checked digests are shown as they are.

use std::borrow::Cow;

/// The mark in place of the middle of a shortened text.
const ELLIPSIS: &str = "...";
/// The maximum length of an object's text in an answer, in characters. The longest valid image has
/// about this length, so valid images are hardly ever cut.
pub(crate) const TEXT_MAX: usize = 512;
/// The maximum lengths of an object's texts in a line, in characters. They are tried in this order
/// until the line fits.
const TEXT_MAX_IN_LINE: [usize; 9] = [TEXT_MAX, 64, 48, 36, 30, 24, 18, 14, 10];

/// The maximum length of each of the object's texts in a sentence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextLimit(usize);

impl TextLimit {
    /// The limit in a sentence of any length, for example in the message of a rejection.
    pub(crate) const LONGEST: Self = Self(TEXT_MAX);

    /// Whether the sentence has to fit into one line, and didn't fit with longer texts. Some sentences say less then.
    pub(crate) const fn is_for_line(self) -> bool {
        self.0 < TEXT_MAX
    }

    /// A text that this policy didn't write, as a sentence shows it: a name, an image, a pattern, a platform.
    ///
    /// Each white space of the text becomes `_`. Otherwise the text could form a phrase that a controller
    /// reads as a network error, for example `connection refused`.
    pub(crate) fn show(self, text: &str) -> Cow<'_, str> {
        cleaned(shorten(text, self.0), char::is_whitespace)
    }

    /// Texts that this policy didn't write, with `, ` between them. The whole list is cut.
    pub(crate) fn show_list(self, texts: &[String]) -> String {
        let texts: Vec<_> = texts.iter().map(|text| self.show(text)).collect();
        shorten(&texts.join(", "), self.0).into_owned()
    }
}

/// Shortens a text in the middle to at most `max` characters, or to `...` if `max` is less than three.
/// Each invisible character becomes `_`, so that the text can't break a line.
pub(crate) fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    let is_short = text.len() <= max || text.chars().nth(max).is_none();
    let shortened = if is_short {
        Cow::Borrowed(text)
    } else {
        // The middle is not read: a text may be very long.
        let kept = max.saturating_sub(ELLIPSIS.len());
        let tail = kept / 2;
        let head: String = text.chars().take(kept.saturating_sub(tail)).collect();
        let tail: Vec<char> = text.chars().rev().take(tail).collect();
        let tail: String = tail.into_iter().rev().collect();
        Cow::Owned([&head, ELLIPSIS, &tail].concat())
    };
    cleaned(shortened, is_invisible)
}

/// The text with `_` in place of each refused character.
fn cleaned(text: Cow<'_, str>, is_refused: fn(char) -> bool) -> Cow<'_, str> {
    if text.contains(is_refused) {
        Cow::Owned(text.replace(is_refused, "_"))
    } else {
        text
    }
}

/// Whether a character can break a line, hide a part of a text, or turn the direction in which it is read. These are
/// Unicode's categories Cc (control) and Cf (format). Rust's `Debug` escapes them, and few others: characters without
/// a meaning of their own, and marks that are drawn on the character before them.
fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_control()
    } else {
        c.escape_debug().next() == Some('\\')
    }
}

/// Writes a sentence as a line of at most `max` characters. The object's texts are cut in steps until the line
/// fits.
pub(crate) fn line(max: usize, sentence: impl Fn(TextLimit) -> String) -> String {
    let mut line = String::new();
    for text_max in TEXT_MAX_IN_LINE {
        line = sentence(TextLimit(text_max));
        if line.chars().count() <= max {
            break;
        }
    }
    shorten(&line, max).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_format_characters_are_invisible() {
        use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};
        for c in '\0'..=char::MAX {
            let category = c.general_category();
            if matches!(category, GeneralCategory::Control | GeneralCategory::Format) {
                assert!(is_invisible(c), "{c:?}");
            }
        }
        let visible = ('!'..='~').chain("éßЖאع日한→€".chars());
        assert_eq!(visible.filter(|c| is_invisible(*c)).collect::<String>(), "");
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
