//! The texts of an object in sentences for people.
//!
//! Names, images and other texts of an object may have line breaks, or be very long. A sentence shows such a text only by
//! [`shown`]. Only checked digests are shown as they are.

use std::borrow::Cow;

/// The maximum length of an object's text in an answer, in characters.
const MAX: usize = 200;
/// The mark in place of the middle of a text that is longer.
const ELLIPSIS: &str = "...";

/// A text that this policy didn't write, as a sentence shows it.
///
/// White space becomes `_`. Otherwise the text could form a phrase that a controller reads as a network error, for
/// example `connection refused`. Control and format characters become `_` too, so that the text can't break a line or hide
/// a part of itself. A text with more than 200 characters is cut in the middle.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    let is_long = text.len() > MAX && text.chars().nth(MAX).is_some();
    let text = if is_long { Cow::Owned(cut(text)) } else { Cow::Borrowed(text) };
    let is_visible = text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_visible && text.contains(is_hidden) {
        Cow::Owned(text.replace(is_hidden, "_"))
    } else {
        text
    }
}

/// The start and the end of a long text. Its middle is not read, because a text may be very long.
fn cut(text: &str) -> String {
    let half = MAX.saturating_sub(ELLIPSIS.len()) / 2;
    let start = text.chars().take(half);
    let end: Vec<char> = text.chars().rev().take(half).collect();
    start.chain(ELLIPSIS.chars()).chain(end.into_iter().rev()).collect()
}

/// Whether a character is white space or invisible. Invisible are Unicode's categories Cc (control) and Cf (format).
/// Rust's `Debug` escapes them, and few others: characters without a meaning of their own, and marks that are drawn on the
/// character before them.
fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_control() || c == ' '
    } else {
        c.is_whitespace() || c.escape_debug().next() == Some('\\')
    }
}

#[cfg(test)]
mod tests {
    use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

    use super::*;

    #[test]
    fn white_space_control_and_format_characters_are_hidden() {
        for c in '\0'..=char::MAX {
            let category = c.general_category();
            if c.is_whitespace()
                || matches!(category, GeneralCategory::Control | GeneralCategory::Format)
            {
                assert!(is_hidden(c), "{c:?}");
            }
        }
        let visible = ('!'..='~').chain("éßЖאع日한→€".chars());
        assert_eq!(visible.filter(|c| is_hidden(*c)).collect::<String>(), "");
    }

    #[test]
    fn only_long_texts_are_cut_and_in_the_middle() {
        let longest = "ä".repeat(MAX);
        assert_eq!(shown(&longest), longest);
        assert_eq!(shown("a\nb c"), "a_b_c");
        let long = format!("start{}end", "x".repeat(MAX));
        let shown = shown(&long);
        assert!(
            shown.starts_with("startx") && shown.contains("x...x") && shown.ends_with("xend"),
            "{shown}"
        );
        assert!(shown.chars().count() <= MAX);
    }
}
