//! `cargo xtask soak --transcripts`: compares the evaluations of the end-to-end tests with the
//! specification. It also checks that this policy keeps its promises for the same requests: for example,
//! the module runs again on each object that it returned.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use consistent_pull_policy_spec::compare::Observed;
use consistent_pull_policy_spec::differential::Policy;
use consistent_pull_policy_spec::events::Event;
use consistent_pull_policy_spec::generate::Case;
use consistent_pull_policy_spec::promises::broken_promises;
use consistent_pull_policy_spec::transcript::{Evaluation, host_calls, replay};
use serde_json::{Value, json};

use crate::host::request;

/// Pods with more list entries than this are not compared with the specification. It is simple and slow: its
/// time grows with the cube of the number of list entries.
const ENTRIES_MAX: usize = 200;

/// An evaluation of the end-to-end tests: its place in the transcripts, and a line of JSON.
pub(super) type Row = (String, String);

/// The evaluations in all transcripts of a directory.
pub(super) fn rows(directory: &Path) -> Result<Vec<Row>> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("no transcripts in {}: make e2e-tests", directory.display()))?;
    let mut rows = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let text = fs::read_to_string(&path)
            .with_context(|| format!("cannot read transcript {}", path.display()))?;
        let lines = text.lines().enumerate();
        rows.extend(lines.map(|(index, line)| {
            let place = format!("{}:{}", path.display(), index + 1);
            (place, line.to_owned())
        }));
    }
    Ok(rows)
}

/// Compares an evaluation with the specification, and checks the promises for its request.
pub(super) fn check(policy: &impl Policy, (place, line): &Row) -> Result<()> {
    let evaluation = read(line).with_context(|| place.clone())?;
    let mut lines = Vec::new();
    if entry_count(&evaluation.case.request) <= ENTRIES_MAX {
        lines.extend(replay(&evaluation));
    }
    if evaluation.refusal.is_none() {
        lines.extend(broken(policy, &evaluation.case));
    }
    ensure!(lines.is_empty(), "{place}\n{}", lines.join("\n"));
    Ok(())
}

/// The promises that this policy breaks for a case, one line each.
fn broken(policy: &impl Policy, case: &Case) -> Vec<String> {
    match broken_promises(policy, case, Event::Created) {
        Ok(broken) => broken
            .into_iter()
            .map(|one| format!("{}: {}", one.promise, one.details))
            .collect(),
        Err(problem) => vec![problem],
    }
}

/// The number of init containers, app containers, volumes and volume mounts of a Pod. A pod template
/// counts as 0, because the end-to-end tests have no large pod template.
fn entry_count(request: &Value) -> usize {
    let spec = &request["object"]["spec"];
    let size = |list: &Value| list.as_array().map_or(0, Vec::len);
    let mounts = ["initContainers", "containers"].map(|list| {
        let containers = spec[list].as_array().into_iter().flatten();
        containers.map(|one| size(&one["volumeMounts"])).sum()
    });
    let lists = ["initContainers", "containers", "volumes"].map(|list| size(&spec[list]));
    lists.into_iter().chain(mounts).sum()
}

fn read(line: &str) -> Result<Evaluation> {
    let line: Value = serde_json::from_str(line)?;
    let text = line["request"].as_str().unwrap_or_default();
    // The host drops the fields that admission/v1 doesn't define, so the module never sees these fields.
    let request = serde_json::to_value(request::parse_review(text)?)?;
    let (calls, answers) = host_calls(line["calls"].as_array().map_or(&[], Vec::as_slice));
    Ok(Evaluation {
        refusal: line["refused"].as_str().map(str::to_owned),
        observed: Observed {
            answer: answer(&line["response"], &request["object"])?,
            calls,
        },
        case: Case {
            request,
            settings: line["settings"].clone(),
            answers,
        },
    })
}

/// Reconstructs the answer of the module from the host's response.
fn answer(response: &Value, object: &Value) -> Result<Value> {
    let mutated = match response["patch"].as_str() {
        Some(patch) => {
            let patch: json_patch::Patch = serde_json::from_slice(&STANDARD.decode(patch)?)?;
            let mut object = object.clone();
            json_patch::patch(&mut object, &patch)?;
            object
        }
        None => Value::Null,
    };
    Ok(json!({
        "accepted": response["allowed"],
        "message": response["status"]["message"],
        "code": response["status"]["code"],
        "mutated_object": mutated,
        "audit_annotations": response["auditAnnotations"],
        "warnings": response["warnings"],
    }))
}
