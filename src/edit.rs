//! Editing a text in place: parts of it are replaced, everything else stays byte for byte.
//!
//! A part is borrowed from the text itself. This file knows nothing of what the text means.

use std::collections::BTreeMap;

/// A part of a text, and what stands there afterwards. An empty part is a place to insert at.
#[derive(Clone, Debug)]
pub struct Edit<'a> {
    /// The part.
    pub part: &'a str,
    /// What replaces it.
    pub with: String,
}

impl<'a> Edit<'a> {
    /// Replaces a part.
    #[must_use]
    pub const fn replace(part: &'a str, with: String) -> Self {
        Self { part, with }
    }

    /// Inserts straight before a part.
    #[must_use]
    pub fn before(part: &'a str, with: String) -> Self {
        let (start, _) = part.split_at(0);
        Self { part: start, with }
    }

    /// Inserts straight after a part.
    #[must_use]
    pub fn after(part: &'a str, with: String) -> Self {
        let (_, end) = part.split_at(part.len());
        Self { part: end, with }
    }
}

/// Where a part of a text begins in it, in bytes. None if it is no part of that text.
#[must_use]
pub fn offset_in(text: &str, part: &str) -> Option<usize> {
    let offset = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = offset.checked_add(part.len())?;
    (end <= text.len()).then_some(offset)
}

/// The text from the beginning of one of its parts to the beginning of another.
#[must_use]
pub fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    text.get(offset_in(text, from)?..offset_in(text, to)?)
}

/// The text with all edits made; inserts at the same place stand in their order. None if a part
/// is not of this text, or if two parts overlap.
#[must_use]
pub fn apply(text: &str, edits: &[Edit<'_>]) -> Option<String> {
    let mut placed = BTreeMap::new();
    for (number, edit) in edits.iter().enumerate() {
        placed.insert((offset_in(text, edit.part)?, number), edit);
    }
    let inserted: usize = edits.iter().map(|edit| edit.with.len()).sum();
    let mut edited = String::with_capacity(text.len().saturating_add(inserted));
    let mut rest = text;
    for edit in placed.into_values() {
        let before = offset_in(rest, edit.part)?;
        edited.push_str(rest.get(..before)?);
        edited.push_str(&edit.with);
        rest = rest.get(before.checked_add(edit.part.len())?..)?;
    }
    edited.push_str(rest);
    Some(edited)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part<'a>(text: &'a str, part: &str) -> &'a str {
        let start = text.find(part).expect("a part of the text");
        &text[start..start + part.len()]
    }

    #[test]
    fn parts_are_replaced_and_the_rest_stays() {
        let text = "one two three";
        let edits = [
            Edit::replace(part(text, "three"), "3".to_owned()),
            Edit::after(part(text, "one"), ",".to_owned()),
            Edit::after(part(text, "one"), ";".to_owned()),
            Edit::replace(part(text, "two"), String::new()),
        ];
        assert_eq!(apply(text, &edits).as_deref(), Some("one,;  3"));
        assert_eq!(apply(text, &[]).as_deref(), Some(text));
    }

    #[test]
    fn what_can_not_be_edited_is_not() {
        let text = "one two three";
        let other = "one two three".to_owned();
        let outside = [Edit::replace(part(&other, "two"), String::new())];
        assert_eq!(apply(text, &outside), None);
        let overlapping = [
            Edit::replace(part(text, "one two"), String::new()),
            Edit::replace(part(text, "two three"), String::new()),
        ];
        assert_eq!(apply(text, &overlapping), None);
    }

    #[test]
    fn a_part_reaches_from_one_to_another() {
        let text = "one two three";
        assert_eq!(
            between(text, part(text, "two"), part(text, "three")),
            Some("two ")
        );
        assert_eq!(between(text, part(text, "three"), part(text, "two")), None);
    }
}
