//! JSON as a tree of values. Each value knows its part of the text, so that an edit can leave every
//! other byte as it is.
//!
//! The tree judges no shapes. A getter that finds a wrong value reports it, and the path to the value
//! is only worked out for the message.

mod json_node;
pub(crate) mod text_edit;
mod wrong_value;

pub(crate) use self::json_node::JsonNode;
use self::text_edit::TextEdit;
pub(crate) use self::wrong_value::{WrongValue, type_of};

/// Writes a text as a JSON string, with quotes and escapes.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_default()
}

/// Replaces the value of a member. If the object lacks the member, it becomes the first member. `value`
/// is JSON. None if `object` is not an object.
pub(crate) fn set_member<'a>(
    object: &JsonNode<'a>,
    key: &str,
    value: &str,
) -> Option<TextEdit<'a>> {
    if let Some(present) = object.member(key).ok()? {
        return Some(TextEdit::replace(present.text(), value.to_owned()));
    }
    let comma = if object.members().is_empty() { "" } else { "," };
    let inner = object.text().strip_prefix('{')?;
    let member = [&quoted(key), ":", value, comma].concat();
    Some(TextEdit::before(inner, member))
}

/// Adds elements at the end of a list. If the list is `null` or missing, it is written anew. `elements`
/// is JSON, with commas between the elements. None if `parent` is not an object.
pub(crate) fn append<'a>(parent: &JsonNode<'a>, key: &str, elements: &str) -> Option<TextEdit<'a>> {
    match parent.list(key).ok()?.last() {
        Some(last) => Some(TextEdit::after(last.text(), format!(",{elements}"))),
        None => set_member(parent, key, &format!("[{elements}]")),
    }
}
