//! `cargo xtask show`: tells the stories of `stories.yaml`, as `make run` does.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use xtask::host::input::{Settings, parse_review, read_settings};
use xtask::host::module::Module;
use xtask::host::registry::nothing_granted;

use crate::workspace;

/// The contents of `stories.yaml`.
#[derive(Deserialize)]
struct Tour {
    introduction: String,
    stories: Vec<Story>,
    next: String,
}

/// A captured Pod, and what happens to it.
#[derive(Deserialize)]
struct Story {
    title: String,
    text: String,
    review: PathBuf,
    /// The path of a file, or the settings themselves.
    settings: String,
}

pub(crate) fn run() -> Result<()> {
    let root = workspace::root();
    let module = Module::load(&root.join("annotated-policy.wasm"))?;
    let tour = yaml_serde::from_str(include_str!("stories.yaml")).context("in stories.yaml")?;
    let Tour {
        introduction,
        stories,
        next,
    } = tour;
    println!("{introduction}");
    for story in stories {
        let Story {
            title,
            text,
            review,
            settings,
        } = story;
        let file = root.join(&settings);
        let value = if file.is_file() {
            read_settings(Some(&file), None)?
        } else {
            yaml_serde::from_str(&settings)?
        };
        println!("{title} (settings: {settings})\n{text}");
        for line in outcome(&module, &fs::read_to_string(root.join(review))?, &value)? {
            println!("    {line}");
        }
        println!();
    }
    print!("{next}");
    Ok(())
}

/// The message of a rejection, or else the changes and the warnings.
fn outcome(module: &Module, review: &str, settings: &Settings) -> Result<Vec<String>> {
    let answer = module.validate(&nothing_granted(), settings, &parse_review(review)?)?;
    let annotations = answer.audit_annotations.unwrap_or_default();
    let changes = annotations.get("changes").map_or("[]", String::as_str);
    let changes: Vec<Value> = serde_json::from_str(changes)?;
    let mut lines: Vec<String> = changes.iter().filter_map(line).collect();
    lines.extend(answer.message);
    lines.extend(answer.warnings.into_iter().flatten());
    Ok(lines)
}

/// A change, such as `container-0: Always -> IfNotPresent (pull-once)`. `None` for an addition, of
/// which a warning tells.
fn line(change: &Value) -> Option<String> {
    let text = |key: &str| change[key].as_str();
    let (container, from, to, rule) = (
        text("container")?,
        text("from")?,
        text("to")?,
        text("rule")?,
    );
    Some(format!("{container}: {from} -> {to} ({rule})"))
}
