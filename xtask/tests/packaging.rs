//! Tests of the package for Artifact Hub.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A file of this repository.
fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn package() -> Value {
    yaml_serde::from_str(&file("artifacthub-pkg.yml")).expect("YAML")
}

/// Artifact Hub shows the changes of a version as a list, so this list has to be short.
#[test]
fn artifact_hub_gets_a_short_list_of_changes() {
    let package = package();
    let changes = package["changes"].as_array().expect("changes");
    assert!((1..=12).contains(&changes.len()), "{}", changes.len());
    let changelog = file("CHANGELOG.md");
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
    let package = package();
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
