//! Text for a terminal: aligned columns, shortened and wrapped lines, colour where somebody looks.

use std::env;
use std::io::{ErrorKind, IsTerminal, Write};

use anyhow::{Context, Result};

/// How wide a line may be.
pub(crate) const WIDTH: usize = 100;

/// Between two columns.
const GAP: &str = "  ";

/// What a piece of text is, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// A title.
    Bold,
    /// A label.
    Dim,
    /// As it should be.
    Good,
    /// Changed, or worth a look.
    Notice,
    /// Rejected.
    Bad,
}

/// Whether text gets colours at all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    colours: bool,
}

impl Paint {
    /// Colours for a person at a terminal who doesn't object (<https://no-color.org>).
    pub(crate) fn of_stdout() -> Self {
        let objects = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            colours: std::io::stdout().is_terminal() && !objects,
        }
    }

    /// `text` in its colour.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if !self.colours {
            return text.to_owned();
        }
        let code = match style {
            Style::Bold => "1",
            Style::Dim => "2",
            Style::Good => "32",
            Style::Notice => "33",
            Style::Bad => "31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Prints to standard output. A reader that has seen enough, such as `head`, is no error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
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

/// Keeps both ends of a text that is too long: an image's registry and its tag say more than what
/// stands between them.
pub(crate) fn shorten(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(3);
    let head = kept / 2;
    let tail = kept - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}...{end}")
}

/// Breaks a text between words; a word that is longer than a line stays whole.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Lines of aligned columns, the first row being the header. Where they don't fit into `width`, the
/// column `elastic` is shortened, and then the last one.
pub(crate) fn align<const N: usize>(
    rows: &[[String; N]],
    elastic: usize,
    width: usize,
) -> Vec<String> {
    const LEAST: usize = 24;
    let mut widths = [0; N];
    for row in rows {
        for (column, cell) in widths.iter_mut().zip(row) {
            *column = (*column).max(cell.chars().count());
        }
    }
    let others: usize = widths
        .iter()
        .enumerate()
        .filter(|(index, _)| *index != elastic)
        .map(|(_, column)| column + GAP.len())
        .sum();
    if let Some(column) = widths.get_mut(elastic) {
        *column = (*column).min(width.saturating_sub(others).max(LEAST));
    }
    let total: usize = widths.iter().map(|column| column + GAP.len()).sum();
    let excess = total.saturating_sub(width + GAP.len());
    if let Some(column) = widths.last_mut() {
        *column = column.saturating_sub(excess);
    }
    rows.iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(widths)
                .map(|(cell, width)| format!("{:<width$}", shorten(cell, width)))
                .collect();
            cells.join(GAP).trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_both_ends() {
        for (text, width, expected) in [
            ("nginx", 10, "nginx"),
            ("0123456789", 10, "0123456789"),
            ("registry.example/app:v1", 13, "regis...pp:v1"),
            ("ééééééééé", 7, "éé...éé"),
            ("abcdef", 2, "..."),
        ] {
            assert_eq!(shorten(text, width), expected);
        }
    }

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrap("aa bb ccccccc d", 5), ["aa bb", "ccccccc", "d"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn columns_are_aligned_and_fit() {
        let rows = [
            ["name", "image", "x"],
            ["a", "registry.example/some/image:v1.2.3", "y"],
            ["longer", "b", ""],
        ]
        .map(|row| row.map(str::to_owned));
        let lines = align(&rows, 1, 40);
        assert_eq!(lines[0], "name    image                          x");
        assert_eq!(lines[1], "a       registry.exam.../image:v1.2.3  y");
        assert!(
            lines.iter().all(|line| line.chars().count() <= 40),
            "{lines:?}"
        );
        assert_eq!(lines[2], "longer  b");
        let rows = [[
            "name",
            "registry.example/some/image:v1.2.3",
            "a reason that is too long for the line",
        ]
        .map(str::to_owned)];
        assert_eq!(
            align(&rows, 1, 50),
            ["name  registry.e...mage:v1.2.3  a reaso...the line"]
        );
    }

    #[test]
    fn without_a_terminal_there_are_no_colours() {
        let plain = Paint { colours: false };
        assert_eq!(plain.paint(Style::Bad, "x"), "x");
        let coloured = Paint { colours: true };
        assert_eq!(coloured.paint(Style::Bad, "x"), "\x1b[31mx\x1b[0m");
    }
}
