//! JSON lists of limited size: the audit annotations and the record.

use serde::Serialize;

/// The largest size of a list, in bytes.
pub(super) const LIST_MAX: usize = 16 * 1024;
/// Enough for the entry that counts what is left out: `{"more":18446744073709551615}` and a comma.
const MORE_MAX: usize = 32;

/// A value as JSON. serde can write every value of this policy's answers.
pub(super) fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// These entries as a list of at most `LIST_MAX` bytes. The entries that do not fit are counted.
pub(super) fn joined(entries: &[String]) -> String {
    joined_within(entries, 0, LIST_MAX).unwrap_or_default()
}

/// These entries as a list of at most `max` bytes. Entries that do not fit are counted, together with `more`. None if there is
/// no room for the count.
pub(super) fn joined_within(entries: &[String], more: usize, max: usize) -> Option<String> {
    let mut list = String::from("[");
    let mut left_out = more.saturating_add(entries.len());
    for entry in entries {
        let size = list
            .len()
            .saturating_add(entry.len())
            .saturating_add(MORE_MAX);
        if size > max {
            break;
        }
        list.extend([entry, ","]);
        left_out = left_out.saturating_sub(1);
    }
    if left_out > 0 {
        list.push_str(&format!("{{\"more\":{left_out}}}"));
    } else {
        list.pop();
    }
    list.push(']');
    (list.len() <= max).then_some(list)
}
