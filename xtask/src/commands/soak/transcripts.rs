//! `cargo xtask soak --transcripts`: compares the evaluations of the end-to-end tests with the
//! specification.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use consistent_pull_policy_spec::transcript::{Evaluation, RecordedCall, replay};
use serde_json::{Value, json};

use crate::host::request;

/// Pods with more list entries than this are not compared. The specification is simple and slow: its time
/// grows with the cube of the number of list entries.
const ENTRIES_MAX: usize = 200;

/// Compares the evaluations in a directory, except those of too large Pods, and shows the differences.
pub(super) fn compare(directory: &Path) -> Result<()> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("no transcripts in {}: make e2e-tests", directory.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            files.push(path);
        }
    }
    files.sort();
    let (mut count, mut differing, mut too_large) = (0, 0, 0);
    for path in &files {
        let text = fs::read_to_string(path)
            .with_context(|| format!("cannot read transcript {}", path.display()))?;
        for (index, line) in text.lines().enumerate() {
            let at = || format!("{}:{}", path.display(), index + 1);
            let evaluation = read(line).with_context(at)?;
            if entry_count(&evaluation.request) > ENTRIES_MAX {
                too_large += 1;
                continue;
            }
            let lines = replay(&evaluation);
            count += 1;
            if !lines.is_empty() {
                differing += 1;
                eprintln!("{}\n{}\n", at(), lines.join("\n"));
            }
        }
    }
    println!(
        "{count} evaluations of {} files, {differing} differences ({too_large} larger Pods left out)",
        files.len()
    );
    if count == 0 {
        bail!("no transcripts in {}: make e2e-tests", directory.display());
    }
    if differing > 0 {
        bail!("specification and module differ");
    }
    Ok(())
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
    let calls = line["calls"].as_array().into_iter().flatten();
    Ok(Evaluation {
        settings: line["settings"].clone(),
        calls: calls.map(RecordedCall::read).collect(),
        refusal: line["refused"].as_str().map(str::to_owned),
        answer: answer(&line["response"], &request["object"])?,
        request,
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
