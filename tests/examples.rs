//! The examples can be applied as they are, and the settings that a user can copy are valid: those of all
//! examples, and those in README.md and docs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{captured, settings_problems};
use crate::prefilter::match_conditions;
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

/// An example of this policy: a file of manifests.
struct Example {
    name: String,
    text: String,
    manifests: Vec<Value>,
}

/// The files in `examples/` that install this policy.
fn examples() -> Vec<Example> {
    let example = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy();
        let text = fs::read_to_string(path).expect("an example");
        Example {
            name: name.into_owned(),
            manifests: documents(&text),
            text,
        }
    };
    let mut examples: Vec<_> = files("examples", "yaml").iter().map(example).collect();
    examples.retain(|example| example.manifests.iter().any(|m| !policies(m).is_empty()));
    examples
}

fn example(name: &str) -> Example {
    let mut examples = examples().into_iter();
    examples
        .find(|example| example.name == name)
        .unwrap_or_else(|| panic!("{name}"))
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
        let module = policy["module"].as_str().unwrap_or_default();
        module.contains("/consistent-pull-policy:")
    });
    policies
}

/// The settings of all policies of all examples, each with the name of its file.
fn all_settings() -> Vec<(String, Value)> {
    let examples = examples();
    let of_example = |example: &Example| {
        let policies = example.manifests.iter().flat_map(policies);
        let settings = policies.map(|policy| (example.name.clone(), policy["settings"].clone()));
        settings.collect::<Vec<_>>()
    };
    examples.iter().flat_map(of_example).collect()
}

/// The strings in a list. The result is empty if there is no list.
fn strings(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

/// The strings that the entries of a list have under this key.
fn strings_of(list: &Value, key: &str) -> Vec<String> {
    let list = list.as_array().into_iter().flatten();
    list.map(|entry| entry[key].as_str().unwrap_or_default().to_owned())
        .collect()
}

/// The resources whose UPDATEs the API server sends to a policy.
fn updated_resources(manifest: &Value) -> Vec<&str> {
    let rules = manifest["spec"]["rules"].as_array().into_iter().flatten();
    rules
        .filter(|rule| strings(&rule["operations"]).contains(&"UPDATE"))
        .flat_map(|rule| strings(&rule["resources"]))
        .collect()
}

/// Whether the settings lead to lookups. A validating copy has the settings for lookups, but makes none.
fn has_lookups(settings: &Value) -> bool {
    let registry = &settings["registry"];
    let lookup = registry["lookup"].as_str().unwrap_or("Off");
    lookup != "Off" && settings["validatingCopy"] != true
}

#[test]
fn each_example_has_valid_settings_and_is_mutating_only_in_mode_fix() {
    for Example {
        name, manifests, ..
    } in examples()
    {
        for manifest in &manifests {
            for policy in policies(manifest) {
                let settings = &policy["settings"];
                assert_eq!(settings_problems(&settings.to_string()), None, "{name}");
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

/// Each example can be applied as it is, beside any other example and beside other people's policies.
#[test]
fn each_example_can_be_applied_beside_the_others() {
    let [pods, pod_templates] = match_conditions();
    let mut names = BTreeSet::new();
    for example in examples() {
        for manifest in &example.manifests {
            // `kubectl apply` replaces an object of the same kind and name.
            let name = format!("{} {}", manifest["kind"], manifest["metadata"]["name"]);
            assert!(names.insert(name.clone()), "two examples have {name}");

            let spec = &manifest["spec"];
            let conditions = strings_of(&spec["matchConditions"], "expression");
            let updated = updated_resources(manifest);
            if example.name.starts_with("agent-stack-k8s") {
                assert_eq!(
                    updated, [""; 0],
                    "{name}: nobody applies these objects again"
                );
            } else if updated.iter().any(|resource| !resource.starts_with("pods")) {
                assert_eq!(conditions, [&*pods, &pod_templates], "{name}");
            } else if !updated.is_empty() {
                assert_eq!(conditions, [&*pods], "{name}");
            }
            if spec["mode"] == "monitor" {
                assert_eq!(
                    spec["failurePolicy"], "Ignore",
                    "{name}: an audit blocks nothing"
                );
                assert_eq!(conditions, ["false"], "{name}: an audit delays nothing");
            }
            if manifest["kind"] == "ClusterAdmissionPolicyGroup" {
                let labels = &spec["namespaceSelector"]["matchLabels"];
                assert!(labels.is_object(), "{name} acts in every namespace");
            }
            for policy in policies(manifest) {
                let settings = &policy["settings"];
                let servers = example
                    .manifests
                    .iter()
                    .filter(|m| m["kind"] == "PolicyServer");
                let mut servers = servers.map(|server| &server["metadata"]["name"]);
                assert_eq!(
                    has_lookups(settings),
                    servers.any(|server| *server == spec["policyServer"]),
                    "{name}: lookups hold up the other policies of a policy server"
                );
                let is_copy = settings["validatingCopy"] == true;
                assert!(
                    !(settings["mode"] == "Fix" || is_copy)
                        || example.text.contains("AlwaysPullImages"),
                    "{name}: what does AlwaysPullImages need?"
                );
            }
        }
    }
    assert!(names.len() > 18, "{names:?}");
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

/// A check that agent-stack-k8s 0.47 made, from a captured request. The numbers in the names of checks
/// are random, so the check is found by its image.
fn check_of_agent_stack() -> Value {
    let request = captured("agent-stack-0.47-real-weak-checks-pod-create");
    let containers = request["object"]["spec"]["initContainers"].as_array();
    let check = containers
        .expect("init containers")
        .iter()
        .find(|container| container["image"] == "my-app:v1.2.3");
    check.expect("a check").clone()
}

#[test]
fn the_check_templates_keep_guaranteed_pods_guaranteed() {
    let mut count = 0;
    for (name, settings) in all_settings() {
        count += usize::from(template_keeps_guaranteed_pods(&settings, &name));
    }
    assert!(count > 1, "{count}");
}

#[test]
fn the_check_template_for_agent_stack_is_the_check_that_the_controller_makes() {
    let manifests = example("agent-stack-k8s.yaml").manifests;
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
    for (name, settings) in all_settings() {
        let coverage = &settings["imageChecks"]["coverage"];
        if coverage == "Fix" || coverage == "Reject" || settings["registry"]["lookup"] == "Pin" {
            count += 1;
            let exempt = strings(&settings["exempt"]["images"]);
            for image in mesh {
                assert!(exempt.contains(&image), "{name}: {image}");
            }
        }
    }
    assert!(count > 5, "{count}");
}

/// The copy has the settings of the first installation, except `mode` and `validatingCopy`.
#[test]
fn a_validating_copy_has_the_settings_of_its_first_installation() {
    let in_mode = |name: &str, mode: &str| {
        let settings = all_settings().into_iter();
        let mut settings =
            settings.filter(|(file, settings)| file == name && settings["mode"] == mode);
        settings.next().expect("the policy").1
    };
    for (first, copy) in [
        ("pin-digests.yaml", "validating-copy.yaml"),
        (
            "every-pod-volumes-istio.yaml",
            "every-pod-volumes-istio.yaml",
        ),
    ] {
        let mut expected = in_mode(first, "Fix");
        expected["mode"] = json!("Reject");
        expected["validatingCopy"] = json!(true);
        assert_eq!(in_mode(copy, "Reject"), expected, "{copy}");
    }
    assert_eq!(
        in_mode("every-pod-volumes-istio.yaml", "Fix"),
        in_mode("every-pod-volumes.yaml", "Fix"),
    );
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
                    settings_problems(&settings.to_string()),
                    None,
                    "{}: {block}",
                    path.display()
                );
            }
        }
    }
    assert!(count > 10, "{count}");
}
