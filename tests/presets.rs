//! The presets can be applied as they are, their headers say what they need and what has to be
//! replaced, and the settings in README.md and docs are valid. What a preset does with objects is in
//! e2e-tests/rows/presets.yaml.

mod admission;
mod objects;
mod pairs;
mod selection;

use std::collections::BTreeSet;

use consistent_pull_policy_promises::answers::Answers;
use consistent_pull_policy_promises::corpus::requests;
use consistent_pull_policy_promises::generate::Case;
use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::promises::broken_promises;
use consistent_pull_policy_promises::repository::{documents, files, text};
use consistent_pull_policy_survey::AdmissionPolicy;
use serde_json::{Value, json};

use crate::common::settings_problems;

/// A file in `examples/`.
struct Preset {
    name: String,
    text: String,
    /// Its only policy.
    policy: AdmissionPolicy,
    /// The names of its policy servers.
    servers: Vec<Value>,
}

impl Preset {
    fn new(name: String, text: String) -> Self {
        let manifests = documents(&text);
        let (policies, servers): (Vec<&Value>, Vec<&Value>) = manifests
            .iter()
            .partition(|manifest| manifest["kind"] == "ClusterAdmissionPolicy");
        let [policy] = policies[..] else {
            panic!("{name} has {} policies", policies.len());
        };
        let policy = AdmissionPolicy::new(policy).expect("CEL");
        assert_eq!(policy.name, format!("consistent-pull-policy-{name}"));
        let servers = servers.into_iter();
        Self {
            servers: servers
                .map(|server| server["metadata"]["name"].clone())
                .collect(),
            name,
            text,
            policy,
        }
    }

    fn settings(&self) -> &Value {
        self.policy.settings()
    }

    fn spec(&self) -> &Value {
        &self.policy.spec
    }

    /// The paragraph of the header that begins with this word.
    fn header(&self, word: &str) -> Option<String> {
        let start = format!("# {word}: ");
        let mut lines = self.text.lines().take_while(|line| line.starts_with('#'));
        let first = lines.find_map(|line| line.strip_prefix(&start))?.to_owned();
        let more = lines.map_while(|line| line.strip_prefix("#  "));
        Some(more.fold(first, |text, line| text + line))
    }
}

fn presets() -> Vec<Preset> {
    let mut files = files("examples", ".yaml");
    files.retain(|(name, _)| name != "pairs");
    let presets: Vec<Preset> = files
        .into_iter()
        .map(|(name, text)| Preset::new(name, text))
        .collect();
    assert_eq!(presets.len(), 9);
    presets
}

/// The strings in a list. The result is empty if there is no list.
fn strings(list: &Value) -> Vec<&str> {
    let list = list.as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn registers(policy: &AdmissionPolicy, resource: &str, operation: &str) -> bool {
    let rules = policy.spec["rules"].as_array().expect("rules");
    rules.iter().any(|rule| {
        strings(&rule["resources"]).contains(&resource)
            && strings(&rule["operations"]).contains(&operation)
    })
}

/// With the setting that a comment suggests, too. A preset that adds no checks doesn't rely on a
/// default.
#[test]
fn each_preset_has_valid_settings_and_is_mutating_only_if_it_can_change_pods() {
    let mut suggestions = 0;
    for Preset {
        name, text, policy, ..
    } in presets()
    {
        let settings = policy.settings();
        assert_eq!(policy.is_mutating(), settings["mode"] == "Fix", "{name}");
        assert!(settings["imageChecks"]["onMissing"].is_string(), "{name}");
        let suggested = text.replace("# forbidAlways:", "forbidAlways:");
        suggestions += usize::from(suggested != text);
        for manifest in [documents(&text), documents(&suggested)] {
            let settings = manifest[0]["spec"]["settings"].to_string();
            assert_eq!(settings_problems(&settings), None, "{name}");
        }
    }
    assert_eq!(suggestions, 2);
}

#[test]
fn with_each_preset_the_corpus_keeps_the_promises() {
    let requests = requests();
    for preset in presets() {
        for (name, request) in &requests {
            let case = Case {
                request: request.clone(),
                settings: preset.settings().clone(),
                answers: Answers::default(),
            };
            let broken = broken_promises(&Native, &case);
            assert_eq!(broken, Ok(Vec::new()), "{name}, {}", preset.name);
        }
    }
}

/// The header says what a reader asks before installing a preset, and which cluster test installs
/// it.
#[test]
fn each_header_answers_the_same_questions() {
    for preset in presets() {
        let name = &preset.name;
        for question in [
            "For",
            "Changes",
            "Needs",
            "Image missing",
            "Registry unreachable",
            "Policy server down",
            "Authors see",
        ] {
            assert!(preset.header(question).is_some(), "{name}: {question}");
        }
        let path = preset.header("Cluster test");
        let path = path.unwrap_or_else(|| panic!("{name}: no cluster test"));
        let test = text(&path);
        let mut words = test.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        assert!(
            words.any(|word| word == name),
            "{path} doesn't install {name}"
        );
    }
}

/// The header names the settings whose values have to be replaced: those with invented names.
#[test]
fn each_header_names_what_has_to_be_replaced() {
    for preset in presets() {
        let header = preset.header("Replace").unwrap_or_default();
        let named: BTreeSet<&str> = header.split('`').skip(1).step_by(2).collect();
        let mut invented = BTreeSet::new();
        let sections = preset.settings().as_object().expect("settings");
        for (section, settings) in sections {
            for (key, list) in settings.as_object().into_iter().flatten() {
                if list.to_string().contains("example") {
                    invented.insert(format!("settings.{section}.{key}"));
                }
            }
        }
        let invented: BTreeSet<&str> = invented.iter().map(|path| &**path).collect();
        assert_eq!(named, invented, "{}", preset.name);
    }
}

/// Whether the preset selects only the Pods of agent-stack-k8s.
fn is_for_agent_stack(preset: &Preset) -> bool {
    let labels = preset.spec()["objectSelector"]["matchExpressions"].as_array();
    labels
        .into_iter()
        .flatten()
        .any(|label| label["key"] == "buildkite.com/job-uuid" && label["operator"] == "Exists")
}

/// UPDATEs of Pods are registered only for settings that need them. Otherwise, while the policy
/// server is down, no Pod could lose its finalizer. Nobody changes the images of a job's Pod.
#[test]
fn each_preset_registers_only_what_it_needs() {
    for preset in presets() {
        let name = &preset.name;
        let registered = |operation, resource| registers(&preset.policy, resource, operation);
        let has_updates = ["always-by-digest", "multi-tenant"].contains(&&**name);
        assert_eq!(registered("UPDATE", "pods"), has_updates, "{name}");
        assert_eq!(
            registered("UPDATE", "pods/ephemeralcontainers"),
            has_updates || ["air-gapped", "always-if-available"].contains(&&**name),
            "{name}"
        );
        assert!(registered("CREATE", "pods"), "{name}");
    }
}

/// A preset that selects more than one controller's Pods excludes `kube-system`, so that the cluster
/// can start, unless somebody chooses its namespaces by a label.
#[test]
fn no_preset_takes_effect_on_what_the_cluster_needs_to_start() {
    for preset in presets() {
        let namespaces = &preset.spec()["namespaceSelector"];
        let first = &namespaces["matchExpressions"][0];
        let is_excluded =
            first["operator"] == "NotIn" && strings(&first["values"]).contains(&"kube-system");
        let is_chosen = first["operator"] == "Exists";
        assert!(
            is_for_agent_stack(&preset) || is_excluded || is_chosen,
            "{} takes effect in kube-system",
            preset.name
        );
        // Kubewarden's controller passes on the expressions of a namespaceSelector, and drops its
        // labels.
        assert!(namespaces["matchLabels"].is_null(), "{}", preset.name);
    }
}

/// Neither a policy server nor a registry that doesn't answer blocks more than the preset says.
#[test]
fn no_preset_makes_an_incident_larger() {
    for preset in presets() {
        let (name, spec) = (&preset.name, preset.spec());
        if preset.policy.is_audit {
            assert_eq!(spec["mode"], "monitor", "{name}: an audit blocks nothing");
        } else if spec["failurePolicy"] == "Ignore" {
            // If the policy server ends first, its answer is an error 500, which rejects.
            assert!(spec["timeoutSeconds"].is_number(), "{name}");
            assert_eq!(spec["timeoutSeconds"], spec["timeoutEvalSeconds"], "{name}");
        }
        let registry = &preset.settings()["registry"];
        if registry["lookup"].is_null() {
            assert!(
                preset.servers.is_empty(),
                "{name}: a server that it doesn't need"
            );
            continue;
        }
        assert_eq!(
            spec["failurePolicy"], "Ignore",
            "{name}: a registry may never answer"
        );
        assert_eq!(
            spec["backgroundAudit"], false,
            "{name}: audits look up every image"
        );
        for failure in ["onDenied", "onUnavailable"] {
            assert_ne!(registry[failure], "Reject", "{name}: {failure}");
        }
        assert_eq!(
            preset.servers,
            [spec["policyServer"].clone()],
            "{name}: lookups hold up the other policies of a policy server"
        );
    }
}

#[test]
fn the_settings_in_the_documentation_are_valid() {
    let all = serde_json::to_value(consistent_pull_policy::settings::Settings::default());
    let all = all.expect("JSON");
    let keys = all.as_object().expect("settings");
    let mut count = 0;
    for (page, text) in [files("docs", ".md"), files(".", ".md")].concat() {
        for block in text.split("```yaml\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            let Ok(mut settings) = yaml_serde::from_str::<Value>(block) else {
                panic!("{page}: no YAML: {block}");
            };
            if settings["kind"] == "ClusterAdmissionPolicy" {
                settings = settings["spec"]["settings"].take();
            } else if settings.get("preset").is_some() {
                settings = settings["settings"].take();
            }
            let is_settings = settings
                .as_object()
                .is_some_and(|settings| settings.keys().all(|key| keys.contains_key(key)));
            if is_settings {
                count += 1;
                assert_eq!(
                    settings_problems(&settings.to_string()),
                    None,
                    "{page}: {block}"
                );
            }
        }
    }
    assert!(count > 2, "{count}");
}

/// The values for the descheduler's chart: the descheduler ends a Pod that has done half of its
/// work, too. So it gets the Pods alone whose work the preset jobs holds up.
#[test]
fn the_descheduler_ends_the_pods_that_jobs_selects() {
    let values = documents(&text("examples/beside/descheduler-values.yaml")).remove(0);
    let arguments = |plugin: &str| {
        let plugins = values["deschedulerPolicy"]["profiles"][0]["pluginConfig"].as_array();
        let mut plugins = plugins.expect("plugins").iter();
        let found = plugins.find(|config| config["name"] == plugin);
        found.expect(plugin)["args"].clone()
    };
    let jobs = presets().into_iter().find(|preset| preset.name == "jobs");
    let spec = jobs.expect("jobs").policy.spec;
    assert_eq!(
        arguments("DefaultEvictor")["namespaceLabelSelector"],
        spec["namespaceSelector"]
    );
    let mut pods = spec["objectSelector"]["matchExpressions"].clone();
    let of_a_job = json!({"key": "batch.kubernetes.io/job-name", "operator": "Exists"});
    pods.as_array_mut()
        .expect("expressions")
        .insert(0, of_a_job);
    assert_eq!(
        arguments("PodLifeTime")["labelSelector"],
        json!({"matchExpressions": pods})
    );
}
