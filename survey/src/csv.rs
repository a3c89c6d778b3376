//! The rows as CSV (RFC 4180): a line for each workload and each preset that selects it, each with
//! the incident. A workload that no preset selects has one line too.

use crate::incident::{End, Fate};
use crate::survey::{Effect, Outcome, Row, Survey};

const HEADER: [&str; 13] = [
    "kind",
    "namespace",
    "name",
    "number",
    "nodes",
    "incident",
    "before",
    "before_old",
    "preset",
    "outcome",
    "after",
    "after_old",
    "reasons",
];

impl Survey {
    /// The rows that were worked out, as CSV.
    pub fn csv(&self) -> String {
        let mut lines = vec![HEADER.map(str::to_owned).to_vec()];
        for row in self.rows() {
            let of_row = lines.len();
            for (preset, effect) in self.presets().iter().zip(&row.results) {
                if let Some(effect) = effect {
                    lines.push(self.line_of(row, &preset.name, Some(effect)));
                }
            }
            if lines.len() == of_row {
                lines.push(self.line_of(row, "", None));
            }
        }
        let line = |cells: &Vec<String>| {
            let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
            cells.join(",") + "\r\n"
        };
        lines.iter().map(line).collect()
    }

    fn line_of(&self, row: &Row, preset: &str, effect: Option<&Effect>) -> Vec<String> {
        let end = |end: Option<End>| {
            let texts = end.map(|end| [end.fate.word().to_owned(), end.is_old.to_string()]);
            texts.unwrap_or_default()
        };
        let [before, before_old] = end(Some(row.before));
        let [after, after_old] = end(effect.map(|effect| effect.after));
        vec![
            row.kind.clone(),
            row.namespace.clone(),
            row.name.clone(),
            row.number.to_string(),
            row.nodes.to_string(),
            self.question().incident.words(),
            before,
            before_old,
            preset.to_owned(),
            effect.map_or("", |effect| effect.outcome.word()).to_owned(),
            after,
            after_old,
            effect.map_or_else(String::new, |effect| effect.reasons.join("; ")),
        ]
    }
}

fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

impl Fate {
    /// The word for it in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Starts => "starts",
            Self::Rejected => "rejected",
            Self::Waits => "waits",
            Self::Half => "half",
        }
    }
}

impl Outcome {
    /// The word for it in tables.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Warned => "warned",
            Self::Changed => "changed",
            Self::Reported => "reported",
            Self::Rejected => "rejected",
        }
    }
}
