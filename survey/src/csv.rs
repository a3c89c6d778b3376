//! The rows as CSV (RFC 4180): a line for each workload and each preset that selects it, each with
//! the incident. A workload that no preset selects has one line too.

use crate::json::word;
use crate::survey::{Effect, Row, Survey};

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
        let mut lines = vec![HEADER.map(str::to_owned)];
        for row in self.rows() {
            let results = self.presets().iter().zip(&row.results);
            let effects = results.filter_map(|(preset, effect)| Some((preset, effect.as_ref()?)));
            let of_row = lines.len();
            lines.extend(
                effects.map(|(preset, effect)| self.line_of(row, &preset.name, Some(effect))),
            );
            if lines.len() == of_row {
                lines.push(self.line_of(row, "", None));
            }
        }
        let line = |cells: [String; 13]| cells.map(quoted).join(",") + "\r\n";
        lines.into_iter().map(line).collect()
    }

    fn line_of(&self, row: &Row, preset: &str, effect: Option<&Effect>) -> [String; 13] {
        let of_effect = |text: fn(&Effect) -> String| effect.map_or_else(String::new, text);
        [
            row.kind.clone(),
            row.namespace.clone(),
            row.name.clone(),
            row.number.to_string(),
            row.nodes.to_string(),
            self.question.incident.words(),
            word(row.before.fate),
            row.before.is_old.to_string(),
            preset.to_owned(),
            of_effect(|effect| word(effect.outcome)),
            of_effect(|effect| word(effect.after.fate)),
            of_effect(|effect| effect.after.is_old.to_string()),
            of_effect(|effect| effect.reasons.join("; ")),
        ]
    }
}

fn quoted(cell: String) -> String {
    if cell.contains(['"', ',', '\r', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell
    }
}
