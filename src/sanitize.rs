//! Makes a text of the object safe for a sentence: no line break, no hidden character, not too long.

use std::borrow::Cow;

/// The maximum length of an object's text in an answer, in characters.
const MAX: usize = 200;
/// How much of each end of a longer text is kept, in characters.
const END: usize = 98;

/// A text that this policy didn't write, for a sentence. Only checked digests need no such call.
///
/// A text with more than 200 characters is cut in the middle. Then white space, control characters
/// and format characters are escaped: `\u{20}`. So no text can contain a phrase of several words
/// that a controller reads as a network error, for example `connection refused`, and no text can
/// break a line or hide a character.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        return text.into();
    }
    let is_long = text.chars().nth(MAX).is_some();
    let text = if is_long { cut(text) } else { text.into() };
    text.chars().map(escaped).collect()
}

/// The start and the end of a long text. Its middle is not read, because a text may be very long.
fn cut(text: &str) -> Cow<'_, str> {
    let start: String = text.chars().take(END).collect();
    let end = text.char_indices().nth_back(END - 1);
    let end = end.and_then(|(at, _)| text.get(at..)).unwrap_or_default();
    [&start, "...", end].concat().into()
}

fn escaped(c: char) -> String {
    if is_hidden(c) {
        c.escape_unicode().collect()
    } else {
        c.into()
    }
}

/// Whether a character is white space, or one that Rust's debug format escapes because it can't be
/// printed, or because it is drawn on the letter before it. Unicode's categories Cc (control) and Cf
/// (format) are among them.
fn is_hidden(c: char) -> bool {
    c.is_whitespace() || !c.is_ascii_graphic() && c.escape_debug().len() > 1
}

#[cfg(test)]
mod tests {
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

    use super::*;

    #[test]
    fn white_space_control_and_format_characters_are_escaped() {
        for c in '\0'..=char::MAX {
            let category = c.general_category();
            let must_be_hidden = c.is_whitespace()
                || matches!(category, GeneralCategory::Control | GeneralCategory::Format);
            assert!(is_hidden(c) || !must_be_hidden, "{c:?}");
            assert!(
                !is_hidden(c) || !c.is_alphanumeric() || !c.is_ascii(),
                "{c:?}"
            );
        }
        assert_eq!(
            sanitize("a\nb c\u{200b}\u{1f600}"),
            "a\\u{a}b\\u{20}c\\u{200b}\u{1f600}"
        );
    }

    #[test]
    fn only_long_texts_are_cut_and_in_the_middle() {
        let longest = "ä".repeat(MAX);
        assert_eq!(sanitize(&longest), longest);
        assert_eq!(sanitize(&" ".repeat(MAX)), "\\u{20}".repeat(MAX));
        // A text is cut before it is escaped.
        let spaces = sanitize(&" ".repeat(MAX + 1)).into_owned();
        assert_eq!(
            spaces,
            ["\\u{20}".repeat(98), "\\u{20}".repeat(98)].join("...")
        );
        let long = format!("start{}end", "x".repeat(MAX));
        let cut = sanitize(&long);
        assert!(
            cut.starts_with("startx") && cut.contains("x...x") && cut.ends_with("xend"),
            "{cut}"
        );
        assert!(cut.chars().count() <= MAX);
    }
}
