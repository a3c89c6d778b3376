//! What a user can copy is accepted by the module: the settings of all examples, and of the
//! documentation.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use common::settings_problems;
use serde::Deserialize;
use serde_json::Value;

fn files(folder: &str, extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = fs::read_dir(&folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|found| found == extension));
    paths.sort();
    assert!(!paths.is_empty(), "{}", folder.display());
    paths
}

fn documents(text: &str) -> Vec<Value> {
    let documents = yaml_serde::Deserializer::from_str(text);
    documents
        .map(|document| Value::deserialize(document).expect("YAML"))
        .collect()
}

/// The specifications of this policy in a manifest, members of a group included.
fn policies(manifest: &Value) -> Vec<&Value> {
    let spec = &manifest["spec"];
    let mut policies: Vec<&Value> = match spec["policies"].as_object() {
        Some(members) => members.values().collect(),
        None => vec![spec],
    };
    policies.retain(|policy| {
        let module = policy["module"].as_str().expect("a module");
        module.contains("/consistent-pull-policy:")
    });
    policies
}

#[test]
fn the_settings_of_each_example_are_valid_and_it_may_change_what_they_repair() {
    for path in files("examples", "yaml") {
        let name = path.display();
        let text = fs::read_to_string(&path).expect("an example");
        let manifests = documents(&text);
        assert!(manifests.iter().any(|m| !policies(m).is_empty()), "{name}");
        for manifest in &manifests {
            for policy in policies(manifest) {
                let settings = &policy["settings"];
                assert_eq!(settings_problems(settings), None, "{name}");
                let fixes = settings["mode"].is_null() || settings["mode"] == "Fix";
                if manifest["spec"]["policies"].is_null() {
                    assert_eq!(policy["mutating"] == true, fixes, "{name}");
                } else {
                    assert!(!fixes, "{name}: a member of a group can't change anything");
                }
            }
        }
    }
}

/// An added check counts for the Pod's quality of service, as all init containers do.
fn keeps_guaranteed_pods(settings: &Value, name: &str) -> bool {
    let template = &settings["imageChecks"]["template"];
    if template.is_null() {
        return false;
    }
    let resources = &template["resources"];
    for resource in ["cpu", "memory"] {
        let limit = &resources["limits"][resource];
        assert!(limit.is_string(), "{name}: no limit of {resource}");
        assert_eq!(
            &resources["requests"][resource], limit,
            "{name}: {resource}"
        );
    }
    true
}

#[test]
fn the_templates_of_checks_have_requests_like_their_limits() {
    let mut count = 0;
    for path in files("examples", "yaml") {
        let name = path.display().to_string();
        let manifests = documents(&fs::read_to_string(&path).expect("an example"));
        for policy in manifests.iter().flat_map(policies) {
            count += usize::from(keeps_guaranteed_pods(&policy["settings"], &name));
        }
    }
    for path in files("examples/settings", "yaml") {
        let name = path.display().to_string();
        let settings = documents(&fs::read_to_string(&path).expect("settings"));
        for settings in &settings {
            count += usize::from(keeps_guaranteed_pods(settings, &name));
        }
    }
    assert!(count > 1, "{count}");
}

#[test]
fn settings_that_stand_beside_an_example_are_its_own() {
    for path in files("examples/settings", "yaml") {
        let name = path.display();
        let settings = documents(&fs::read_to_string(&path).expect("settings"));
        let beside = path.parent().and_then(Path::parent).expect("examples");
        let example = beside.join(path.file_name().expect("a name"));
        let manifests = documents(&fs::read_to_string(&example).expect("its example"));
        assert!(
            manifests
                .iter()
                .any(|m| m["spec"]["settings"] == settings[0]),
            "{name} differs from {}",
            example.display()
        );
    }
}

#[test]
fn the_settings_in_the_documentation_are_valid() {
    let schema = serde_json::to_value(consistent_pull_policy::settings::Settings::schema());
    let schema = schema.expect("a schema");
    let keys = schema["properties"].as_object().expect("properties");
    let mut count = 0;
    for path in files("docs", "md") {
        let text = fs::read_to_string(&path).expect("a page");
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            let Ok(settings) = yaml_serde::from_str::<Value>(block) else {
                panic!("{}: no YAML: {block}", path.display());
            };
            let is_settings = settings
                .as_object()
                .is_some_and(|settings| settings.keys().all(|key| keys.contains_key(key)));
            if is_settings {
                count += 1;
                keeps_guaranteed_pods(&settings, &path.display().to_string());
                assert_eq!(
                    settings_problems(&settings),
                    None,
                    "{}: {block}",
                    path.display()
                );
            }
        }
    }
    assert!(count > 10, "{count}");
}
