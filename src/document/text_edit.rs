//! Editing a text: parts of it are replaced, and everything else stays byte for byte.
//!
//! A part is a slice of the text itself, so its position is known. This file doesn't know JSON.

use std::collections::BTreeMap;

/// A part of a text and its replacement. An empty part marks a position to insert at.
pub(crate) struct TextEdit<'a> {
    /// The part that is replaced.
    pub(crate) part: &'a str,
    /// The new text.
    pub(crate) with: String,
}

impl<'a> TextEdit<'a> {
    /// Replaces a part.
    pub(crate) const fn replace(part: &'a str, with: String) -> Self {
        Self { part, with }
    }

    /// Inserts straight before a part.
    pub(crate) fn before(part: &'a str, with: String) -> Self {
        let (start, _) = part.split_at(0);
        Self { part: start, with }
    }

    /// Inserts straight after a part.
    pub(crate) fn after(part: &'a str, with: String) -> Self {
        let (_, end) = part.split_at(part.len());
        Self { part: end, with }
    }
}

/// The offset of a part in its text, in bytes. None if the part doesn't belong to that text.
pub(crate) fn offset_in(text: &str, part: &str) -> Option<usize> {
    let offset = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let end = offset.checked_add(part.len())?;
    (end <= text.len()).then_some(offset)
}

/// The text with all edits made. Texts inserted at the same position keep the order of `edits`. None if
/// a part doesn't belong to this text, if two parts overlap, or if `edits` first replaces a part and
/// later inserts text before the same part.
pub(crate) fn apply_edits(text: &str, edits: &[TextEdit<'_>]) -> Option<String> {
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
    fn overlapping_edits_and_edits_of_another_text_are_refused() {
        let text = "one two three";
        let other = "one two three".to_owned();
        let outside = [TextEdit::replace(part(&other, "two"), String::new())];
        assert_eq!(apply_edits(text, &outside), None);
        let overlapping = [
            TextEdit::replace(part(text, "one two"), String::new()),
            TextEdit::replace(part(text, "two three"), String::new()),
        ];
        assert_eq!(apply_edits(text, &overlapping), None);
    }
}
