//! `cargo xtask show`: tells the stories of `stories.yaml`, as `make run` does. Each story shows
//! what this policy does to a request, as a table of the containers or as the message of a
//! rejection.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use xtask::host::input::{Settings, parse_review, read_settings};
use xtask::host::module::Module;
use xtask::host::registry::nothing_granted;

use crate::terminal;
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
    let tour = tour()?;
    terminal::print(&tour.introduction)?;
    for story in tour.stories {
        let file = root.join(&story.settings);
        let settings = if file.is_file() {
            read_settings(Some(&file), None)?
        } else {
            yaml_serde::from_str(&story.settings)?
        };
        let outcome = outcome(&module, &root.join(story.review), &settings)?;
        terminal::print(&format!(
            "\n{} (settings: {})\n{}\n{outcome}",
            story.title, story.settings, story.text
        ))?;
    }
    terminal::print(&format!("\n{}", tour.next))
}

fn tour() -> Result<Tour> {
    yaml_serde::from_str(include_str!("stories.yaml")).context("in stories.yaml")
}

/// The message of a rejection, or else a table of the containers and the warnings.
fn outcome(module: &Module, review: &Path, settings: &Settings) -> Result<String> {
    let shown = review.display();
    let text = fs::read_to_string(review).with_context(|| format!("cannot read review {shown}"))?;
    let request = parse_review(&text).with_context(|| format!("in {shown}"))?;
    let answer = module.validate(&nothing_granted(), settings, &request)?;
    if !answer.accepted {
        let code = answer.code.unwrap_or_default();
        let message = answer.message.unwrap_or_default();
        return Ok(format!("  rejected ({code}): {message}\n"));
    }
    let mut outcome = String::new();
    if let Some(before) = request.get("object") {
        let after = answer.mutated_object.as_ref().unwrap_or(before);
        let annotations = answer.audit_annotations.unwrap_or_default();
        let entries = ["changes", "findings"].into_iter().flat_map(|key| {
            let list = annotations.get(key).map_or("[]", String::as_str);
            serde_json::from_str::<Vec<Value>>(list).unwrap_or_default()
        });
        let rows = rows(before, after, &entries.collect::<Vec<_>>());
        let header = ["container", "image", "pull policy", "rule"];
        outcome = format!("{}\n", terminal::table(&header, rows));
    }
    for (index, warning) in answer.warnings.iter().flatten().enumerate() {
        let gap = if index == 0 { "\n  " } else { "  " };
        outcome.extend([gap, warning, "\n"]);
    }
    Ok(outcome)
}

/// The rows of the table, one for each container and image volume in `after`: the name, the new
/// image, the old and new pull policy, and the rules with a change or a finding.
fn rows(before: &Value, after: &Value, entries: &[Value]) -> Vec<[String; 4]> {
    let old_places = places(before);
    let row = |[name, image, new]: [String; 3]| {
        let pull_policy = match old_places.iter().find(|[old, ..]| *old == name) {
            None => format!("new: {new}"),
            Some([.., old]) if *old != new => format!("{old} -> {new}"),
            Some(_) => new,
        };
        let mut rules: Vec<&str> = Vec::new();
        for entry in entries {
            let container = entry["container"].as_str().unwrap_or_default();
            let rule = entry["rule"].as_str().unwrap_or_default();
            if name.split(' ').next_back() == Some(container) && !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        [name, image, pull_policy, rules.join(", ")]
    };
    places(after).into_iter().map(row).collect()
}

/// The lists with images, in the order in which the kubelet pulls the images. Each list has what
/// the table writes before a name, and the keys of image and pull policy in an element.
const LISTS: [(&str, &str, [&str; 2]); 4] = [
    (
        "volumes",
        "volume ",
        ["/image/reference", "/image/pullPolicy"],
    ),
    ("initContainers", "init ", CONTAINER),
    ("containers", "", CONTAINER),
    ("ephemeralContainers", "ephemeral ", CONTAINER),
];

const CONTAINER: [&str; 2] = ["/image", "/imagePullPolicy"];

/// The name, the image and the pull policy of each container and image volume of a Pod.
fn places(pod: &Value) -> Vec<[String; 3]> {
    let mut places = Vec::new();
    for (list, kind, [image, pull_policy]) in LISTS {
        let elements = pod["spec"][list].as_array();
        for element in elements.into_iter().flatten() {
            let text = |pointer: &str| element.pointer(pointer)?.as_str().map(str::to_owned);
            if let Some(image) = text(image) {
                let name = format!("{kind}{}", text("/name").unwrap_or_default());
                let pull_policy = text(pull_policy).unwrap_or_else(|| "(not set)".to_owned());
                places.push([name, image, pull_policy]);
            }
        }
    }
    places
}
