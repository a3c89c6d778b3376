//! JSON lists of limited size: the audit annotations and the record.

use serde::Serialize;

/// The largest size of a list, in bytes.
pub(super) const LIST_MAX: usize = 16 * 1024;
/// Enough for the entry that counts what is left out: `{"more":18446744073709551615}` and a comma.
const MORE_MAX: usize = 32;

/// A value as JSON. serde can write every value of this policy's answers.
pub(super) fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Entries as a list of at most `max` bytes. The last entry counts what is left out: those of the
/// `count` entries that don't fit, and `more` that an earlier list has left out. None if not even
/// this entry fits.
pub(super) fn joined(
    entries: impl Iterator<Item = String>,
    count: usize,
    more: u64,
    max: usize,
) -> Option<String> {
    let mut list = String::from("[");
    let mut left_out = u64::try_from(count)
        .unwrap_or(u64::MAX)
        .saturating_add(more);
    for entry in entries {
        let size = list
            .len()
            .saturating_add(entry.len())
            .saturating_add(MORE_MAX);
        if size > max {
            break;
        }
        list.extend([&entry, ","]);
        left_out = left_out.saturating_sub(1);
    }
    if left_out > 0 {
        list.extend(["{\"more\":", &left_out.to_string(), "}"]);
    } else if list.ends_with(',') {
        list.pop();
    }
    list.push(']');
    (list.len() <= max).then_some(list)
}
