//! Text for a terminal.

use std::io::{ErrorKind, Write, stdout};

use anyhow::{Context, Result};
use comfy_table::{Table, presets};

/// Prints to standard output. It is no error if the reader closes the pipe early, as `head` does.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to standard output")
        }
        _ => Ok(()),
    }
}

/// Aligned columns under a header, with two spaces before each column.
pub(crate) fn table<const N: usize>(
    header: &[&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    table.set_header(header).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    table.trim_fmt()
}
