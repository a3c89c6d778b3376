//! Writing JSON: strings, and a text with some places replaced.

use std::collections::BinaryHeap;

use super::{Span, bytes_below, bytes_equal, position};

/// Writes a JSON string, with its quotes.
pub fn write_string(out: &mut Vec<u8>, value: &str) {
    write_quoted(out, value.as_bytes());
}

/// Writes UTF-8 text as a JSON string, with its quotes.
pub fn write_quoted(out: &mut Vec<u8>, value: &[u8]) {
    out.reserve(value.len() + 2);
    out.push(b'"');
    write_escaped(out, value);
    out.push(b'"');
}

/// Writes UTF-8 text as a part of a JSON string, without quotes.
pub fn write_escaped(out: &mut Vec<u8>, value: &[u8]) {
    let mut written = 0;
    while let Some(found) = position(value, written, |word| {
        bytes_equal(word, b'"') | bytes_equal(word, b'\\') | bytes_below(word, b' ')
    }) {
        let plain = Span {
            start: written,
            end: found,
        };
        out.extend_from_slice(plain.of(value));
        written = found + 1;
        let byte = value.get(found).copied().unwrap_or_default();
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                let digit = |value: u8| match value {
                    0..10 => b'0' + value,
                    _ => b'a' + value - 10,
                };
                let unit = [b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)];
                out.extend_from_slice(&unit);
            }
        }
    }
    out.extend_from_slice(value.get(written..).unwrap_or_default());
}

/// One replacement in a text; an empty span inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// What stands there afterwards.
    pub with: Vec<u8>,
}

/// Writes the part of `text` that `within` covers, edited. Edits must not overlap; two insertions
/// at one place keep their order.
pub fn write_edited(out: &mut Vec<u8>, text: &[u8], within: Span, edits: &[Edit]) {
    let mut copied = within.start;
    for edit in in_order(edits, |edit| edit.span.start) {
        let before = Span {
            start: copied,
            end: edit.span.start,
        };
        out.extend_from_slice(before.of(text));
        out.extend_from_slice(&edit.with);
        copied = edit.span.end;
    }
    let after = Span {
        start: copied,
        end: within.end,
    };
    out.extend_from_slice(after.of(text));
}

/// Goes through items in the order of a number below 2^32; equals keep their order. Sorting
/// nothing but numbers, in a heap, all callers share one small sort.
pub fn in_order<T>(items: &[T], key: impl Fn(&T) -> usize) -> impl Iterator<Item = &T> {
    let order: BinaryHeap<u64> = items
        .iter()
        .zip(0_u64..)
        .map(|(item, index)| (key(item) as u64) << 32 | index)
        .collect();
    order
        .into_sorted_vec()
        .into_iter()
        .filter_map(|packed| items.get(usize::try_from(packed & 0xFFFF_FFFF).ok()?))
}
