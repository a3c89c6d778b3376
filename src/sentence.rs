//! Sentences for people: names that fit, and nothing that breaks a line.

use std::borrow::Cow;

/// What stands for the part of a name that was left out.
const ELLIPSIS: &str = "...";
/// The longest name in a rejection, in characters: a valid image is at most about as long.
const NAME_MAX: usize = 512;
/// The lengths that names are cut to, until the sentence fits.
const LENGTHS: [usize; 9] = [NAME_MAX, 64, 48, 36, 30, 24, 18, 14, 10];

/// Shortens a text in the middle to at most `max` characters. Control characters become `?`, so
/// that a name can't break a line.
#[must_use]
pub fn shorten(text: &str, max: usize) -> Cow<'_, str> {
    // Bytes are no less than characters, so most texts need no counting.
    let fits = text.len() <= max || text.chars().count() <= max;
    if fits && !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let clean = |c: char| if c.is_control() { '?' } else { c };
    if fits {
        return Cow::Owned(text.chars().map(clean).collect());
    }
    let kept = max.saturating_sub(ELLIPSIS.len());
    let tail = kept / 2;
    let head = kept.saturating_sub(tail);
    let mut short: String = text.chars().take(head).map(clean).collect();
    short.push_str(ELLIPSIS);
    let skipped = text.chars().count().saturating_sub(tail);
    short.extend(text.chars().skip(skipped).map(clean));
    Cow::Owned(short)
}

/// How long names may be in the sentence that is being written.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    max: usize,
}

impl Names {
    /// Names as they are, unless they are longer than any valid one.
    #[must_use]
    pub const fn whole() -> Self {
        Self { max: NAME_MAX }
    }

    /// Whether names need not be cut.
    #[must_use]
    pub const fn are_whole(self) -> bool {
        self.max == NAME_MAX
    }

    /// A name, cut where it is longer than the sentence has room for.
    #[must_use]
    pub fn show<'t>(&self, name: &'t str) -> Cow<'t, str> {
        shorten(name, self.max)
    }
}

/// Writes a sentence of at most `max` characters, with names as long as they can be. None where
/// there is nothing to say.
#[must_use]
pub fn fit(max: usize, write: impl Fn(Names) -> Option<String>) -> Option<String> {
    let mut sentence = String::new();
    for length in LENGTHS {
        sentence = write(Names { max: length })?;
        if sentence.chars().count() <= max {
            return Some(sentence);
        }
    }
    Some(shorten(&sentence, max).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened_in_the_middle() {
        assert_eq!(shorten("container-0", 11), "container-0");
        assert_eq!(shorten("abcdefghij", 7), "ab...ij");
        assert_eq!(shorten("äöüäöüä", 7), "äöüäöüä");
        assert_eq!(shorten("äöüäöüäöüä", 7), "äö...üä");
        assert_eq!(shorten("abcdef", 2), "...");
    }

    #[test]
    fn control_characters_never_reach_a_line() {
        assert_eq!(shorten("a\nb\u{7f}c\u{85}", 20), "a?b?c?");
        assert_eq!(shorten("a\nbcdefghi", 7), "a?...hi");
    }

    #[test]
    fn a_sentence_fits_whatever_its_names() {
        let image = "registry.example.com/team/".to_owned() + &"x".repeat(300);
        for max in [120, 60, 20] {
            let sentence = fit(max, |names| {
                Some(format!(
                    "container-0 pulls {} with Always",
                    names.show(&image)
                ))
            })
            .expect("a sentence");
            assert!(sentence.chars().count() <= max, "{sentence}");
        }
        let whole = fit(120, |names| Some(names.show("nginx").into_owned()));
        assert_eq!(whole.as_deref(), Some("nginx"));
        assert_eq!(fit(120, |_| None), None);
    }
}
