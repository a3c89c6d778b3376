//! Tests of the examples' settings, and of the package for Artifact Hub.

use std::fs;
use std::path::{Path, PathBuf};

use consistent_pull_policy::evaluate::validate_settings;
use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn yaml(path: &Path) -> Vec<Value> {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.split("\n---")
        .map(|document| {
            yaml_serde::from_str(document)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
}

/// The problems of settings. `None` if the settings are valid.
fn problems(settings: &Value) -> Option<String> {
    let answer = validate_settings(settings.to_string().as_bytes());
    let answer = answer.expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("the answer is JSON");
    match answer["valid"].as_bool() {
        Some(true) => None,
        _ => Some(answer["message"].to_string()),
    }
}

/// This policy's settings in a document: a settings file, or a manifest with a policy. The manifest of a
/// policy group may have several settings. For a manifest without settings, the result is one `null`.
fn settings_in(document: &Value) -> Vec<Value> {
    let spec = &document["spec"];
    if let Some(members) = spec["policies"].as_object() {
        return members
            .values()
            .filter(|member| {
                member["module"]
                    .to_string()
                    .contains("consistent-pull-policy")
            })
            .map(|member| member["settings"].clone())
            .collect();
    }
    match document.get("kind") {
        Some(_) => vec![spec["settings"].clone()],
        None => vec![document.clone()],
    }
}

#[test]
fn every_example_has_valid_settings() {
    let mut seen = 0;
    for folder in ["examples", "examples/settings"] {
        for file in fs::read_dir(root().join(folder)).expect("a folder") {
            let path = file.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "yaml") {
                continue;
            }
            for settings in yaml(&path).iter().flat_map(settings_in) {
                assert_eq!(problems(&settings), None, "{path:?}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 15, "{seen} settings");
}

/// A manifest with two policies has one settings file, with the settings of one of the two policies.
#[test]
fn a_manifest_has_the_settings_of_its_settings_file() {
    let folder = root().join("examples/settings");
    for file in fs::read_dir(&folder).expect("a folder") {
        let path = file.expect("a file").path();
        let name = path.file_name().expect("a name");
        let policies = yaml(&root().join("examples").join(name));
        let mut settings = policies.iter().map(settings_in);
        let expected = yaml(&path);
        assert!(settings.any(|settings| settings == expected), "{path:?}");
    }
}

/// Artifact Hub shows the changes of a version as a list, so this list has to be short.
#[test]
fn artifact_hub_gets_a_short_list_of_changes() {
    let package = &yaml(&root().join("artifacthub-pkg.yml"))[0];
    let changes = package["changes"].as_array().expect("changes");
    assert!((1..=12).contains(&changes.len()), "{}", changes.len());
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).expect("the changelog");
    let releases = changelog
        .lines()
        .filter(|line| line.starts_with("## [") && !line.contains("Unreleased"));
    // The first release has no release before it, so every entry is an addition.
    if releases.count() <= 1 {
        assert!(changes.iter().all(|change| change["kind"] == "added"));
    }
}

/// The keywords contain words that a person whose job hangs searches for.
#[test]
fn artifact_hub_finds_the_policy_by_the_problem() {
    let package = &yaml(&root().join("artifacthub-pkg.yml"))[0];
    let keywords = package["keywords"].as_array().expect("keywords");
    for word in [
        "ImagePullBackOff",
        "ErrImagePull",
        "imagePullPolicy",
        "agent-stack-k8s",
    ] {
        assert!(keywords.contains(&word.into()), "{word}");
    }
}
