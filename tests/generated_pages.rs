//! Pages that are made from other files: docs/values.md from the comments of chart/values.yaml,
//! docs/alerts.md from monitoring/alerts.yaml, and the table in examples/README.md from the presets.
//!
//! `PAGES=write cargo test --profile xtask --test policy generated` writes them.

use std::fs;

use consistent_pull_policy_promises::repository::{documents, files, path, text};
use serde_json::Value;

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
         [Monitoring](monitoring.md) says how to install them, and where they don't work. \
         None reports [failed lookups](monitoring.md#failed-lookups).\n\n\
         | alert | severity | meaning | what to do |\n|---|---|---|---|\n{}\n",
        rows.join("\n")
    );
    is_current("docs/alerts.md", &page);
}

/// A setting of a preset, `key: value`. A long list or object is `…`.
fn setting((key, value): (&String, &Value)) -> String {
    let text = value.to_string();
    let text = value.as_str().unwrap_or(&text);
    format!("{key}: {}", if text.len() > 40 { "…" } else { text })
}

/// The settings of a preset as YAML in one line, without the default `mode: Fix`.
fn settings_line(settings: &Value) -> String {
    let sections = settings.as_object().expect("settings").iter();
    let sections = sections.filter(|(_, section)| *section != "Fix");
    let sections = sections.map(|(name, section)| match section.as_object() {
        Some(keys) => {
            let keys: Vec<String> = keys.iter().map(setting).collect();
            format!("{name}: {{{}}}", keys.join(", "))
        }
        None => setting((name, section)),
    });
    sections.collect::<Vec<String>>().join(", ")
}

#[test]
fn the_table_of_what_each_preset_sets_is_current() {
    let mut presets = files("examples", ".yaml");
    presets.retain(|(name, _)| name != "pairs");
    let words = |list: &Value| {
        let words = list.as_array().expect("a list").iter();
        let words: Vec<&str> = words.filter_map(Value::as_str).collect();
        words.join(", ")
    };
    let rows: Vec<String> = presets
        .iter()
        .map(|(name, text)| {
            let spec = documents(text).remove(0)["spec"].take();
            let rules = spec["rules"].as_array().expect("rules").iter();
            let rules: Vec<String> = rules
                .map(|rule| {
                    format!(
                        "{} {}",
                        words(&rule["resources"]),
                        words(&rule["operations"])
                    )
                })
                .collect();
            let settings = cell(&settings_line(&spec["settings"]));
            format!("{name} | {} | `{settings}`", rules.join("; "))
        })
        .collect();
    let page = text("examples/README.md");
    let head = "preset | requests | settings\n";
    let (before, _) = page.split_once(head).expect("the table");
    let page = format!("{before}{head}---|---|---\n{}\n", rows.join("\n"));
    is_current("examples/README.md", &page);
}
