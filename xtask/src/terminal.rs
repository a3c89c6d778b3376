//! Text for a terminal: paragraphs and tables of a fixed width, with colours.

use std::io::{ErrorKind, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use comfy_table::{ContentArrangement, Table, presets};

/// The width at which paragraphs and tables are wrapped. A long word in a paragraph may exceed this width.
const WIDTH: u16 = 100;

/// The style of titles.
pub(crate) const BOLD: Style = Style::new().bold();
/// The style of the verdict *allowed, unchanged*.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// The style of the verdicts *allowed, repaired* and *allowed, with warnings*.
pub(crate) const NOTICE: Style = AnsiColor::Yellow.on_default();
/// The style of the verdicts *rejected* and *settings refused*.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// Prints to standard output. A terminal gets colours, and a file or a pipe gets none. `NO_COLOR` turns
/// colours off everywhere, and `CLICOLOR_FORCE` turns them on everywhere.
/// It is no error if the reader closes the pipe early, as `head` does.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = anstream::stdout().lock();
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

/// Wraps paragraphs. The first line begins with `first`, each other line with `indent`.
pub(crate) fn paragraph(text: &str, first: &str, indent: &str) -> String {
    let options = textwrap::Options::new(usize::from(WIDTH))
        .initial_indent(first)
        .subsequent_indent(indent)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(text, options)
}

/// Cuts a text that is too long for a line.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = WIDTH as usize - 4;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(MOST - 3).collect();
    beginning + "..."
}

/// The width of a table on a terminal. `None` if the output is a file or a pipe: each cell stays on one
/// line there, so that `grep` finds whole names.
pub(crate) fn width() -> Option<u16> {
    std::io::stdout().is_terminal().then_some(WIDTH)
}

/// Aligned columns under a header, with two spaces before each column. Cells are wrapped to fit a `width`.
pub(crate) fn table<const N: usize>(
    header: &[&str; N],
    rows: impl Iterator<Item = [String; N]>,
    width: Option<u16>,
) -> String {
    let mut table = Table::new();
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    table.load_preset(presets::NOTHING);
    table.set_header(header).add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    table.trim_fmt()
}

/// A table in Markdown. All columns except the first contain numbers, so they are aligned to the right.
#[cfg(feature = "wasmtime")]
pub(crate) fn markdown_table<const N: usize>(
    header: &[&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(header).add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_fit_the_width() {
        let long = "x".repeat(150);
        let rows = [["a", "1"], ["longer", &long]].map(|row| row.map(str::to_owned));
        let text = table(&["name", "image"], rows.clone().into_iter(), Some(WIDTH));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["  name    image", "  a       1"]);
        assert!(lines.len() > 3, "{text}");
        assert!(lines.iter().all(|line| line.len() <= 100), "{text}");
        assert_eq!(text.matches('x').count(), 150);
        let whole = table(&["name", "image"], rows.into_iter(), None);
        assert_eq!(whole.lines().nth(2), Some(&*format!("  longer  {long}")));
    }

    #[test]
    fn long_lines_are_cut() {
        assert_eq!(shorten("short"), "short");
        assert_eq!(shorten(&"é".repeat(97)), "é".repeat(93) + "...");
    }

    #[test]
    fn words_are_not_broken() {
        let long = "x".repeat(150);
        assert_eq!(
            paragraph(&format!("one two-three {long} four"), "- ", "  "),
            format!("- one two-three\n  {long}\n  four")
        );
    }
}
