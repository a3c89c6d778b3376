//! Lists as JSON texts of limited size: the record, and the audit annotations.

use std::borrow::Cow;

use serde::Serialize;

/// The largest size of a list, in bytes.
pub(super) const LIST_MAX: usize = 16 * 1024;

/// The first entries that fit, as a JSON list. The others are only counted.
pub(super) fn limited_json_list(entries: impl ExactSizeIterator<Item: Serialize>) -> String {
    let count = entries.len();
    let entries = entries.map(|entry| json(&entry));
    list_of_texts(entries, count, 0, LIST_MAX).unwrap_or_default()
}

/// An entry as JSON.
pub(super) fn json(entry: &impl Serialize) -> Cow<'static, str> {
    serde_json::to_string(entry).unwrap_or_default().into()
}

/// The first of `count` entries that fit into `room` bytes, as a JSON list. Each entry is a JSON text. The last element
/// of the list counts the other entries, and `more` further ones. None if there is no room for brackets and a count.
pub(super) fn list_of_texts<'e>(
    entries: impl Iterator<Item = Cow<'e, str>>,
    count: usize,
    more: u32,
    room: usize,
) -> Option<String> {
    // Brackets and the count of the other entries need some room.
    let mut left = room.checked_sub(40)?;
    let fits = |entry: &Cow<'_, str>| {
        let rest = left.checked_sub(entry.len().saturating_add(1));
        left = rest.unwrap_or_default();
        rest.is_some()
    };
    let mut kept: Vec<_> = entries.take_while(fits).collect();
    let left_out = u32::try_from(count.saturating_sub(kept.len()));
    let more = more.saturating_add(left_out.unwrap_or(u32::MAX));
    if more > 0 {
        kept.push(Cow::Owned(format!("{{\"more\":{more}}}")));
    }
    Some(format!("[{}]", kept.join(",")))
}
