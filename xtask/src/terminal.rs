//! Text for a terminal: paragraphs and columns that fit, colour where somebody looks.

use std::io::{ErrorKind, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
use anyhow::{Context, Result};
use comfy_table::{ContentArrangement, Table, presets};

/// How wide a line may be.
const WIDTH: u16 = 100;

/// Titles.
pub(crate) const BOLD: Style = Style::new().bold();
/// As it should be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// Changed, or worth a look.
pub(crate) const NOTICE: Style = AnsiColor::Yellow.on_default();
/// Rejected.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();

/// Prints to standard output; colours only for a person who looks and doesn't object. A reader that
/// has seen enough, such as `head`, is no error.
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

/// A paragraph, or several, each line of it after `indent`, the first after `first`.
pub(crate) fn paragraph(text: &str, first: &str, indent: &str) -> String {
    let options = textwrap::Options::new(usize::from(WIDTH))
        .initial_indent(first)
        .subsequent_indent(indent)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::fill(text, options)
}

/// The beginning of a text that is too long for a line.
pub(crate) fn shorten(text: &str) -> String {
    const MOST: usize = WIDTH as usize - 4;
    if text.chars().count() <= MOST {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(MOST - 3).collect();
    beginning + "..."
}

/// Aligned columns under a header, two spaces before each. Long cells are wrapped on a terminal; in
/// a file or a pipe they stay whole, where names are searched for.
pub(crate) fn columns(header: &[&str], rows: Vec<Vec<String>>) -> String {
    arranged(header, rows, width())
}

/// How wide a table may be, if a person reads it.
pub(crate) fn width() -> Option<u16> {
    std::io::stdout().is_terminal().then_some(WIDTH)
}

/// [`columns`] of a given width, or as wide as they are.
pub(crate) fn arranged(header: &[&str], rows: Vec<Vec<String>>, width: Option<u16>) -> String {
    let mut table = Table::new();
    if let Some(width) = width {
        table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(width);
    }
    table
        .load_preset(presets::NOTHING)
        .set_header(header.iter().copied())
        .add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((2, 0));
    }
    table.trim_fmt()
}

/// A table in Markdown, figures to the right: it can be read as it is, and pasted into a page.
#[cfg(feature = "wasmtime")]
pub(crate) fn markdown(header: &[&str], rows: Vec<Vec<String>>) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::ASCII_MARKDOWN)
        .set_header(header.iter().copied())
        .add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(comfy_table::CellAlignment::Right);
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_fit() {
        let long = "x".repeat(150);
        let rows = [["a", "1"], ["longer", &long]].map(|row| row.map(str::to_owned).to_vec());
        let text = arranged(&["name", "image"], rows.to_vec(), Some(WIDTH));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["  name    image", "  a       1"]);
        assert!(lines.len() > 3, "{text}");
        assert!(lines.iter().all(|line| line.len() <= 100), "{text}");
        assert_eq!(text.matches('x').count(), 150);
        let whole = arranged(&["name", "image"], rows.to_vec(), None);
        assert_eq!(whole.lines().nth(2), Some(&*format!("  longer  {long}")));
    }

    #[test]
    fn long_lines_lose_their_end() {
        assert_eq!(shorten("short"), "short");
        assert_eq!(shorten(&"é".repeat(97)), "é".repeat(93) + "...");
    }

    #[test]
    fn words_stay_whole() {
        let long = "x".repeat(150);
        assert_eq!(
            paragraph(&format!("one two-three {long} four"), "- ", "  "),
            format!("- one two-three\n  {long}\n  four")
        );
    }
}
