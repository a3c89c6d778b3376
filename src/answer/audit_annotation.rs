//! The audit annotations of an answer. A list is written as JSON inside of a JSON string, straight into the answer: for
//! a large request, each copy of the list would take as much memory as the list.

use std::fmt;
use std::io;

use serde::{Serialize, Serializer};

/// An audit annotation: a function that writes a list as JSON.
pub(super) struct AuditAnnotation<'a>(Box<WriteList<'a>>);

type WriteList<'a> = dyn Fn(&mut dyn io::Write) -> serde_json::Result<()> + 'a;

impl<'a> AuditAnnotation<'a> {
    /// A list with these entries.
    pub(super) fn list<I: Iterator<Item: Serialize> + Clone + 'a>(entries: I) -> Self {
        Self(Box::new(move |writer| {
            serde_json::Serializer::new(writer).collect_seq(entries.clone())
        }))
    }
}

impl Serialize for AuditAnnotation<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for AuditAnnotation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0(&mut FormatterWriter(f)).map_err(|_| fmt::Error)
    }
}

/// Passes JSON on to a formatter. `serde_json` writes whole characters.
struct FormatterWriter<'f, 'g>(&'f mut fmt::Formatter<'g>);

impl io::Write for FormatterWriter<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(bytes).map_err(io::Error::other)?;
        self.0.write_str(text).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
