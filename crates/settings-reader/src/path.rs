//! The path to a value in a JSON document.

use serde_json::Value;

/// One step of the path from a document to a value in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The object member with this key.
    Key(String),
    /// The list element at this index. The first index is 0.
    Index(usize),
}

impl Step {
    /// Writes a path as people write it, e.g. `registry.overrides[2].images`.
    ///
    /// `root` is the path of the document itself. It is empty, unless the document is part of a larger
    /// document.
    pub fn path<'s>(root: &str, steps: impl IntoIterator<Item = &'s Self>) -> String {
        let mut path = root.to_owned();
        for step in steps {
            match step {
                Self::Index(index) => {
                    path.push('[');
                    path.push_str(&index.to_string());
                    path.push(']');
                }
                Self::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
        path
    }

    /// The value at the end of a path, or `None` if the document has no such value.
    pub(crate) fn follow<'v>(steps: &[Self], document: &'v mut Value) -> Option<&'v mut Value> {
        steps.iter().try_fold(document, |value, step| match step {
            Self::Key(key) => value.get_mut(key),
            Self::Index(index) => value.get_mut(index),
        })
    }
}
