//! The settings that a user can copy are valid: those of all examples, and those in README.md and docs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{captured, settings_problems};
use serde::Deserialize;
use serde_json::{Value, json};

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

/// The example that needs neither Kubewarden nor this policy. tests/comparison.rs evaluates it.
const WITHOUT_KUBEWARDEN: &str = "without-kubewarden.yaml";

/// Each example of this policy: its file's name and its manifests.
fn examples() -> Vec<(String, Vec<Value>)> {
    files("examples", "yaml")
        .iter()
        .filter(|path| !path.ends_with(WITHOUT_KUBEWARDEN))
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy();
            let text = fs::read_to_string(path).expect("an example");
            (name.into_owned(), documents(&text))
        })
        .collect()
}

/// The parts of a manifest that use this policy's module: the manifest's `spec`, or some members of a
/// policy group.
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
fn each_example_has_valid_settings_and_is_mutating_only_in_mode_fix() {
    for (name, manifests) in examples() {
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

/// Whether the settings have a check template. The test fails if an added check would end a Pod's
/// quality of service `Guaranteed`. Init containers count for this class, so a check's requests have
/// to equal its limits. The template for agent-stack-k8s is the exception: it has the resources of
/// the controller's own checks.
fn template_keeps_guaranteed_pods(settings: &Value, name: &str) -> bool {
    let template = &settings["imageChecks"]["template"];
    if template.is_null() {
        return false;
    }
    if settings["imageChecks"]["after"] == json!(["copy-agent"]) {
        assert_eq!(template["resources"], check_of_agent_stack()["resources"]);
        return true;
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

/// A check that agent-stack-k8s 0.47 made, from a captured request.
fn check_of_agent_stack() -> Value {
    let request = captured("agent-stack-0.47-weak-checks-pod-create");
    let containers = request["object"]["spec"]["initContainers"].as_array();
    let check = containers
        .expect("init containers")
        .iter()
        .find(|container| container["name"] == "imagecheck-0");
    check.expect("a check").clone()
}

#[test]
fn the_check_templates_keep_guaranteed_pods_guaranteed() {
    let mut count = 0;
    for (name, manifests) in examples() {
        for policy in manifests.iter().flat_map(policies) {
            count += usize::from(template_keeps_guaranteed_pods(&policy["settings"], &name));
        }
    }
    assert!(count > 1, "{count}");
}

#[test]
fn the_check_template_for_agent_stack_is_the_check_that_the_controller_makes() {
    let (_, manifests) = examples()
        .into_iter()
        .find(|(name, _)| name == "agent-stack-k8s.yaml")
        .expect("the example");
    let template = &manifests[0]["spec"]["settings"]["imageChecks"]["template"];
    let check = check_of_agent_stack();
    for field in ["command", "args", "resources"] {
        assert_eq!(template[field], check[field], "{field}");
    }
    let mounts = check["volumeMounts"].as_array().expect("mounts");
    assert_eq!(template["volumeMounts"], json!([mounts[0]]));
    // With these values, a container meets Pod Security's level `restricted`.
    let security = &template["securityContext"];
    assert_eq!(security["allowPrivilegeEscalation"], false);
    assert_eq!(security["runAsNonRoot"], true);
    assert_ne!(security["runAsUser"], 0);
    assert_eq!(security["capabilities"], json!({"drop": ["ALL"]}));
    assert_eq!(
        security["seccompProfile"],
        json!({"type": "RuntimeDefault"})
    );
}

/// A service mesh may add its containers before or after this policy runs. If the images of meshes are
/// exempt, this order doesn't matter: this policy demands no check and no pin for these containers.
#[test]
fn an_example_that_demands_checks_or_pins_exempts_the_images_of_meshes() {
    let mesh = [
        "docker.io/istio/proxyv2",
        "gcr.io/istio-release/proxyv2",
        "registry.istio.io/release/proxyv2",
        "cr.l5d.io/linkerd/*",
    ];
    let mut count = 0;
    for (name, manifests) in examples() {
        for policy in manifests.iter().flat_map(policies) {
            let settings = &policy["settings"];
            let coverage = &settings["imageChecks"]["coverage"];
            if !(coverage == "Fix"
                || coverage == "Reject"
                || settings["registry"]["lookup"] == "Pin")
            {
                continue;
            }
            count += 1;
            let exempt = settings["exempt"]["images"].as_array().expect("a list");
            for image in mesh {
                assert!(exempt.contains(&json!(image)), "{name}: {image}");
            }
        }
    }
    assert!(count > 5, "{count}");
}

/// The copy has the settings of the first installation, except `mode` and `registry.maxLookups`.
#[test]
fn a_validating_copy_has_the_settings_of_its_first_installation() {
    let examples = examples();
    let settings_of = |file: &str, policy: &str| {
        examples
            .iter()
            .filter(|(name, _)| name == file)
            .flat_map(|(_, manifests)| manifests)
            .find(|manifest| manifest["metadata"]["name"] == policy)
            .expect("the policy")["spec"]["settings"]
            .clone()
    };
    for (first, first_policy, copy, copy_policy) in [
        (
            "pin-digests.yaml",
            "consistent-pull-policy",
            "validating-copy.yaml",
            "consistent-pull-policy-validating",
        ),
        (
            "every-pod-volumes-istio.yaml",
            "consistent-pull-policy-every-pod",
            "every-pod-volumes-istio.yaml",
            "consistent-pull-policy-every-pod-validating",
        ),
    ] {
        let mut expected = settings_of(first, first_policy);
        expected["mode"] = json!("Reject");
        expected["registry"]["maxLookups"] = json!(0);
        assert_eq!(settings_of(copy, copy_policy), expected, "{copy}");
    }
    assert_eq!(
        settings_of(
            "every-pod-volumes-istio.yaml",
            "consistent-pull-policy-every-pod"
        ),
        settings_of("every-pod-volumes.yaml", "consistent-pull-policy-every-pod"),
    );
}

#[test]
fn the_settings_beside_an_example_are_its_own() {
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
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    for path in files("docs", "md").into_iter().chain([readme]) {
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
                template_keeps_guaranteed_pods(&settings, &path.display().to_string());
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
