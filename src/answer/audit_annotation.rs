//! The audit annotations of an answer. A list is written as JSON inside of a JSON string, straight into the answer: for
//! a large request, each copy of the list would take as much memory as the list.

use std::fmt::{self, Display, Write};

use serde::{Serialize, Serializer};

/// An audit annotation: a list as JSON.
pub(super) struct AuditAnnotation<'a>(Box<dyn Display + 'a>);

impl<'a> AuditAnnotation<'a> {
    /// A list with these entries. Each entry becomes a text first, because `serde_json` writes an entry in many small
    /// parts, and the cost of a write into the answer depends little on its size.
    pub(super) fn list<I: Iterator<Item: Serialize> + Clone + 'a>(entries: I) -> Self {
        Self(Box::new(fmt::from_fn(move |f| {
            f.write_char('[')?;
            for (index, entry) in entries.clone().enumerate() {
                if index > 0 {
                    f.write_char(',')?;
                }
                f.write_str(&serde_json::to_string(&entry).map_err(|_| fmt::Error)?)?;
            }
            f.write_char(']')
        })))
    }
}

impl Serialize for AuditAnnotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}
