//! Pages that are made from other files: docs/values.md from the comments of chart/values.yaml, and
//! docs/alerts.md from monitoring/alerts.yaml.
//!
//! `PAGES=write cargo test --profile xtask --test policy generated` writes both.

use std::fs;

use consistent_pull_policy_promises::repository::{documents, path, text};

/// Compares a page with what it is made from, or writes it.
fn is_current(page: &str, wanted: &str) {
    if std::env::var("PAGES").is_ok() {
        fs::write(path(page), wanted).expect(page);
    }
    let current = fs::read_to_string(path(page)).unwrap_or_default();
    assert!(
        current == wanted,
        "{page} is not current: PAGES=write cargo test --profile xtask --test policy generated"
    );
}

/// The text of a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The text with a link in place of each `"Heading" in docs/page.md`.
fn linked(text: &str) -> String {
    let mut parts = text.split('"');
    let mut result = parts.next().unwrap_or_default().to_owned();
    while let (Some(heading), Some(rest)) = (parts.next(), parts.next()) {
        let link = rest.strip_prefix(" in docs/").and_then(|rest| {
            let (page, rest) = rest.split_once(".md")?;
            let anchor = heading.to_lowercase().replace(' ', "-");
            Some(format!("[{heading}]({page}.md#{anchor}){rest}"))
        });
        result += &link.unwrap_or_else(|| format!("\"{heading}\"{rest}"));
    }
    result
}

/// A row for each key that has a value or a comment. A key that holds other keys has no default.
fn rows_of_values(values: &str) -> Vec<String> {
    let mut rows = Vec::new();
    // The keys around a line, with their columns.
    let mut parents: Vec<(usize, &str)> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    for line in values.lines() {
        let content = line.trim_start();
        let column = line.len() - content.len();
        if let Some(words) = content.strip_prefix('#') {
            comment.push(words.trim());
            continue;
        }
        let Some((key, default)) = content.split_once(':') else {
            comment.clear();
            continue;
        };
        parents.retain(|(parent, _)| *parent < column);
        parents.push((column, key));
        let names: Vec<&str> = parents.iter().map(|(_, name)| *name).collect();
        let default = match default.trim() {
            "" => String::new(),
            default => format!("`{}`", cell(default)),
        };
        if !(default.is_empty() && comment.is_empty()) {
            rows.push(format!(
                "| `{}` | {default} | {} |",
                names.join("."),
                cell(&comment.join(" "))
            ));
        }
        comment.clear();
    }
    rows
}

#[test]
fn the_page_about_the_values_of_the_chart_is_current() {
    let rows = rows_of_values(&text("chart/values.yaml")).join("\n");
    let page = format!(
        "# The chart's values\n\n\
         A test writes this page from [chart/values.yaml](../chart/values.yaml). \
         [Install](install.md#the-chart) says which values you will often need.\n\n\
         | value | default | meaning |\n|---|---|---|\n{rows}\n"
    );
    is_current("docs/values.md", &page);
}

#[test]
fn the_page_about_the_alerts_is_current() {
    let alerts = documents(&text("monitoring/alerts.yaml")).remove(0);
    let groups = alerts["spec"]["groups"].as_array().expect("groups");
    let rules = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().expect("rules"));
    let rows: Vec<String> = rules
        .map(|rule| {
            let words = |pointer| {
                cell(
                    rule.pointer(pointer)
                        .and_then(|one| one.as_str())
                        .expect(pointer),
                )
            };
            format!(
                "| {} | {} | {} | {} |",
                words("/alert"),
                words("/labels/severity"),
                words("/annotations/summary"),
                linked(&words("/annotations/description"))
            )
        })
        .collect();
    let page = format!(
        "# Alerts\n\n\
         A test writes this page from [monitoring/alerts.yaml](../monitoring/alerts.yaml). \
         [Monitoring](monitoring.md) says how to install them, and where they don't work.\n\n\
         | alert | severity | meaning | what to do |\n|---|---|---|---|\n{}\n",
        rows.join("\n")
    );
    is_current("docs/alerts.md", &page);
}
