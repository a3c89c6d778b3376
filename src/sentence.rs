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
    let mut short: String = text.chars().take(kept - tail).map(clean).collect();
    short.push_str(ELLIPSIS);
    let skipped = text.chars().count() - tail;
    short.extend(text.chars().skip(skipped).map(clean));
    Cow::Owned(short)
}

/// Fills the `{}` of a template with the parts, in their order. `format!` would do it too, with
/// machinery that is larger than all sentences together.
#[must_use]
pub fn fill(template: &str, parts: &[&str]) -> String {
    let length = parts.iter().map(|part| part.len()).sum::<usize>();
    let mut sentence = String::with_capacity(template.len() + length);
    let mut rest = template;
    for part in parts {
        let Some((before, after)) = part_at(rest, "{}") else {
            break;
        };
        sentence.push_str(before);
        sentence.push_str(part);
        rest = after;
    }
    sentence.push_str(rest);
    sentence
}

/// Parts a text before and after the first occurrence of a phrase. The standard library's search
/// is made for long texts, and is larger than what it would search here.
#[must_use]
pub fn part_at<'t>(text: &'t str, phrase: &str) -> Option<(&'t str, &'t str)> {
    let mut windows = text.as_bytes().windows(phrase.len());
    let position = windows.position(|window| window == phrase.as_bytes())?;
    Some((text.get(..position)?, text.get(position + phrase.len()..)?))
}

/// Whether a phrase occurs in a text.
#[must_use]
pub fn has(text: &str, phrase: &str) -> bool {
    part_at(text, phrase).is_some()
}

/// Bytes as text; a `?` where they are no UTF-8.
#[must_use]
pub fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or("?")
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

/// Writes a sentence of at most `max` characters, with names as long as they can be.
#[must_use]
pub fn fit(max: usize, write: impl Fn(Names) -> String) -> String {
    let mut sentence = String::new();
    for length in LENGTHS {
        sentence = write(Names { max: length });
        if sentence.chars().count() <= max {
            return sentence;
        }
    }
    shorten(&sentence, max).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_shortened_in_the_middle() {
        assert_eq!(shorten("container-0", 11), "container-0");
        assert_eq!(shorten("abcdefghij", 7), "ab...ij");
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
                ["container-0 pulls ", &names.show(&image), " with Always"].concat()
            });
            assert!(sentence.chars().count() <= max, "{sentence}");
        }
        let whole = fit(120, |names| names.show("nginx").into_owned());
        assert_eq!(whole, "nginx");
    }
}
