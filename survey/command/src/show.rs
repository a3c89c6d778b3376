//! The report as text and as JSON.

use comfy_table::{ContentArrangement, Table, presets};
use consistent_pull_policy_survey::{Ends, Report, Row, Survey, word};
use serde_json::json;
use terminal_size::{Width, terminal_size};

/// The width of a table that is no terminal's.
const WIDTH: u16 = 120;

/// The report and the rows, as JSON. With a preset, also the command that installs it.
pub(crate) fn json(survey: &Survey, command: Option<&str>) -> Result<String, String> {
    let value = json!({
        "report": survey.report(),
        "rows": survey.rows(),
        "command": command,
    });
    let text = serde_json::to_string_pretty(&value);
    text.map(|text| text + "\n")
        .map_err(|error| error.to_string())
}

/// The answer, and then a line for each preset. With a preset, a line for each workload that it
/// selects, and the command that installs it.
pub(crate) fn text(survey: &Survey, preset: Option<usize>, command: Option<String>) -> String {
    let report = survey.report();
    let answer = &report.answer;
    let mut parts = vec![
        [&*answer.sentence, &answer.unsaved].join("\n"),
        input(&report),
        lines(&report),
    ];
    if let Some(line) = preset.and_then(|index| report.presets.get(index)) {
        parts.push(format!(
            "{}: {}\nNeeds: {}",
            line.name, line.purpose, line.needs
        ));
        parts.push(rows(survey.rows(), preset));
        if let Some(command) = command.filter(|_| line.problem.is_empty()) {
            parts.push("This installs it:".to_owned());
            parts.push(command);
        }
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    parts.join("\n\n") + "\n"
}

/// What was read, and what was assumed.
fn input(report: &Report) -> String {
    let kinds = report.kinds.iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, number)| format!("{number} {kind}"))
        .collect();
    let notes = report
        .assumed
        .iter()
        .map(|assumed| format!("Note: {assumed}."));
    let workloads = format!("{} workloads, from {}.", report.workloads, kinds.join(", "));
    let all: Vec<String> = std::iter::once(workloads).chain(notes).collect();
    all.join("\n")
}

fn lines(report: &Report) -> String {
    let mut table = table(&[
        "preset",
        "selects",
        "changes",
        "warns",
        "rejects",
        "half",
        "wait",
        "old image",
        "note",
    ]);
    for line in &report.presets {
        let change = |of: fn(&Ends) -> usize| {
            let (before, after) = (of(&line.before), of(&line.after));
            if before == after {
                before.to_string()
            } else {
                format!("{before} -> {after}")
            }
        };
        let mut notes = Vec::new();
        if line.is_audit {
            notes.push(format!("reports {}", line.reported));
        }
        notes.extend((!line.problem.is_empty()).then(|| line.problem.clone()));
        if report.is_always && line.undone > 0 {
            notes.push(format!("AlwaysPullImages undoes {}", line.undone));
        }
        table.add_row([
            line.name.clone(),
            line.selected.to_string(),
            line.changed.to_string(),
            line.warned.to_string(),
            line.rejected.to_string(),
            change(|ends| ends.half),
            change(|ends| ends.waits),
            change(|ends| ends.old),
            notes.join("; "),
        ]);
    }
    table.trim_fmt()
}

fn rows(rows: &[Row], preset: Option<usize>) -> String {
    let mut table = table(&[
        "workload", "number", "outcome", "before", "after", "reasons",
    ]);
    for row in rows {
        let Some(effect) = preset.and_then(|index| row.results.get(index)?.as_ref()) else {
            continue;
        };
        table.add_row([
            format!("{} {}/{}", row.kind, row.namespace, row.name),
            row.number.to_string(),
            word(effect.outcome),
            word(row.before.fate),
            word(effect.after.fate),
            effect.reasons.join("; "),
        ]);
    }
    table.trim_fmt()
}

/// A table as wide as the terminal.
fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    let width = terminal_size().map_or(WIDTH, |(Width(width), _)| width);
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(header);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table
}
