//! JSON as a tree of values. Each value knows its part of the text, so that an edit can leave every
//! other byte as it is.
//!
//! The tree judges no shapes. A getter that finds a wrong value reports it, and the path to the value
//! is only worked out for the message.

mod edit;
mod node;
pub(crate) mod text_edit;
mod wrong_value;

pub(crate) use self::edit::{append, set_member};
pub(crate) use self::node::Node;
pub(crate) use self::wrong_value::{WrongValue, type_of};

/// Writes a text as a JSON string, with quotes and escapes.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
