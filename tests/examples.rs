//! The examples can be applied as they are, and the settings that a user can copy are valid: those
//! of all examples, and those in README.md and docs.

mod admission;
mod corpus;
mod does_it_act;
mod jobs;
mod pairs;
mod switched_off;
mod without_kubewarden;

use consistent_pull_policy_promises::repository::{captured, documents, files, text};
use consistent_pull_policy_survey::AdmissionPolicy;
use serde_json::{Value, json};

use crate::common::settings_problems;

/// A file in `examples/`.
struct Example {
    /// The name without its extension.
    name: String,
    text: String,
    manifests: Vec<Value>,
}

fn examples() -> Vec<Example> {
    let files = files("examples", ".yaml").into_iter();
    files
        .map(|(name, text)| Example {
            name,
            manifests: documents(&text),
            text,
        })
        .collect()
}

fn is_policy(manifest: &Value) -> bool {
    manifest["kind"] == "ClusterAdmissionPolicy"
}

/// The policies of all examples that use this policy's module: one of each file.
fn policies() -> Vec<AdmissionPolicy> {
    let mut policies = Vec::new();
    for example in examples() {
        let mut manifests = example.manifests.iter().filter(|one| is_policy(one));
        let Some(manifest) = manifests.next() else {
            continue;
        };
        assert!(
            manifests.next().is_none(),
            "{} has two policies",
            example.name
        );
        let policy = AdmissionPolicy::new(manifest).expect("CEL");
        assert_eq!(file(&policy), example.name);
        policies.push(policy);
    }
    assert!(policies.len() > 14, "{}", policies.len());
    policies
}

/// The name of the file with a policy.
fn file(policy: &AdmissionPolicy) -> &str {
    let file = policy.name.strip_prefix("consistent-pull-policy-");
    file.expect("the start of a name")
}

fn policy(name: &str) -> AdmissionPolicy {
    let mut policies = policies().into_iter();
    policies.find(|policy| file(policy) == name).expect(name)
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

/// Whether the API server sends UPDATEs of Pods to the policy.
fn registers_updates(policy: &AdmissionPolicy) -> bool {
    registers(policy, "pods", "UPDATE")
}

/// The expressions of `matchConditions`.
fn conditions(spec: &Value) -> Vec<&Value> {
    let conditions = spec["matchConditions"].as_array().into_iter().flatten();
    conditions
        .map(|condition| &condition["expression"])
        .collect()
}

#[test]
fn each_example_has_valid_settings_and_is_mutating_only_if_it_can_change_pods() {
    for AdmissionPolicy { name, spec, .. } in policies() {
        let settings = &spec["settings"];
        assert_eq!(settings_problems(&settings.to_string()), None, "{name}");
        let fixes = settings["mode"] == "Fix" && spec["rules"][0]["resources"] == json!(["pods"]);
        assert_eq!(spec["mutating"] == true, fixes, "{name}");
    }
}

/// A line such as `# images: {…}` at the end of an example is a setting that a user can turn on.
#[test]
fn the_suggested_settings_are_valid() {
    let mut count = 0;
    for example in examples() {
        if !example.manifests.iter().any(is_policy) {
            continue;
        }
        let suggested = example
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("    # "));
        for line in suggested.filter(|line| line.contains(": {")) {
            count += 1;
            let mut settings = example.manifests[0]["spec"]["settings"].clone();
            let setting = documents(line).remove(0);
            for (key, value) in setting.as_object().expect("a setting") {
                assert!(
                    settings[key].is_null(),
                    "{}: {line} is set already",
                    example.name
                );
                settings[key] = value.clone();
            }
            assert_eq!(
                settings_problems(&settings.to_string()),
                None,
                "{}: {line}",
                example.name
            );
        }
    }
    assert!(count > 1, "{count}");
}

/// The header of a file says what a reader asks before installing it, and which cluster test
/// applies it.
#[test]
fn each_header_answers_the_same_questions() {
    for example in examples() {
        let mut manifests = example.manifests.iter().filter(|one| is_policy(one));
        if !manifests.any(|manifest| conditions(&manifest["spec"]).iter().all(|c| *c != "false")) {
            continue;
        }
        let name = &example.name;
        let header = example
            .text
            .lines()
            .take_while(|line| line.starts_with('#'));
        let answer = |question: &str| {
            let start = format!("# {question}: ");
            header.clone().find_map(|line| line.strip_prefix(&*start))
        };
        for question in [
            "For",
            "Changes",
            "Needs",
            "Policy server away",
            "Not beside",
        ] {
            assert!(answer(question).is_some(), "{name}: {question}");
        }
        let incidents = answer("Image missing, registry away");
        for incident in ["Image missing", "Registry away"] {
            assert!(
                answer(incident).or(incidents).is_some(),
                "{name}: {incident}"
            );
        }
        let path = answer("Cluster test").unwrap_or_else(|| panic!("{name}: no cluster test"));
        let test = text(path);
        let applies = test.split(|c: char| !(c.is_alphanumeric() || c == '-'));
        assert!(
            applies.into_iter().any(|word| word == name),
            "{path} doesn't apply {name}"
        );
    }
}

/// Whether the policy selects only the Pods of one CI controller.
fn is_for_one_controller(policy: &AdmissionPolicy) -> bool {
    let labels = policy.spec["objectSelector"]["matchExpressions"].as_array();
    labels.into_iter().flatten().any(|label| {
        label["operator"] == "Exists"
            && ["buildkite.com/job-uuid", "tekton.dev/taskRun"]
                .iter()
                .any(|key| label["key"] == *key)
    })
}

/// Whether a condition of the policy chooses the Pods of Jobs.
fn selects_pods_of_jobs(policy: &AdmissionPolicy) -> bool {
    let conditions = &policy.spec["matchConditions"];
    conditions
        .to_string()
        .contains("batch.kubernetes.io/job-name")
}

/// Whether the settings pin digests: of all tags, or of those with `Always`.
fn pins(settings: &Value) -> bool {
    ["Pin", "PinAlways"]
        .iter()
        .any(|lookup| settings["registry"]["lookup"] == *lookup)
}

/// Whether a failed lookup changes a pull policy: of a new ephemeral container too.
fn uses_cached(settings: &Value) -> bool {
    let failures = ["onNotFound", "onDenied", "onUnavailable"];
    let registry = &settings["registry"];
    failures
        .iter()
        .any(|failure| registry[failure] == "UseCached")
}

/// UPDATEs of Pods are registered only for settings that need them, and sent only if they change an
/// image. Otherwise, while the policy server is away, no Pod could lose its finalizer. Nobody
/// changes the images of a job's Pod.
#[test]
fn each_example_registers_only_what_it_acts_on() {
    let pinning = policy("pin-digests");
    for policy in policies() {
        let AdmissionPolicy { name, spec, .. } = &policy;
        let settings = &spec["settings"];
        // A preference is no reason to see each UPDATE.
        let images = settings["images"].as_object();
        let has_limits =
            images.is_some_and(|images| images.keys().any(|key| key != "preferAlways"));
        let is_for_jobs = is_for_one_controller(&policy) || selects_pods_of_jobs(&policy);
        let may_update = (has_limits || pins(settings)) && !is_for_jobs;
        assert_eq!(
            registers(&policy, "pods/ephemeralcontainers", "UPDATE"),
            may_update || uses_cached(settings) && !is_for_jobs,
            "{name}"
        );
        assert!(may_update || !registers_updates(&policy), "{name}");
        if registers_updates(&policy) {
            assert_eq!(conditions(spec), conditions(&pinning.spec), "{name}");
        } else if !policy.is_audit && !selects_pods_of_jobs(&policy) {
            assert!(conditions(spec).is_empty(), "{name}");
        }
    }
}

/// A policy that selects more than one controller's Pods leaves `kube-system` out, so that the
/// cluster can start.
#[test]
fn no_example_acts_on_what_the_cluster_needs_to_start() {
    for policy in policies() {
        let AdmissionPolicy { name, spec, .. } = &policy;
        let namespaces = &spec["namespaceSelector"];
        let left_out = &namespaces["matchExpressions"][0];
        let leaves_out = left_out["operator"] == "NotIn"
            && strings(&left_out["values"]).contains(&"kube-system");
        assert!(
            is_for_one_controller(&policy) || leaves_out,
            "{name} acts in kube-system"
        );
        // Kubewarden's controller passes on the expressions of a namespaceSelector, and drops its
        // labels.
        assert!(namespaces["matchLabels"].is_null(), "{name}");
    }
}

/// Neither a policy server nor a registry that doesn't answer blocks more than the example says.
#[test]
fn no_example_makes_an_incident_larger() {
    for policy in policies() {
        let AdmissionPolicy { name, spec, .. } = &policy;
        if policy.is_audit {
            assert_eq!(
                spec["failurePolicy"], "Ignore",
                "{name}: an audit blocks nothing"
            );
            assert_eq!(spec["mode"], "monitor", "{name}: an audit blocks nothing");
        } else if spec["failurePolicy"] == "Ignore" {
            // If the policy server ends first, its answer is an error 500, which rejects.
            assert!(spec["timeoutSeconds"].is_number(), "{name}");
            assert_eq!(spec["timeoutSeconds"], spec["timeoutEvalSeconds"], "{name}");
        }
        let registry = &spec["settings"]["registry"];
        if registry["lookup"].is_null() {
            continue;
        }
        assert_eq!(
            spec["failurePolicy"], "Ignore",
            "{name}: a registry may never answer"
        );
        assert_eq!(
            spec["backgroundAudit"] == false,
            !policy.is_audit,
            "{name}: audits look up every image"
        );
        for failure in ["onDenied", "onUnavailable"] {
            assert_ne!(registry[failure], "Reject", "{name}: {failure}");
        }
        let examples = examples();
        let manifests = examples
            .iter()
            .filter(|example| example.name == file(&policy))
            .flat_map(|e| &e.manifests);
        let mut servers = manifests.filter(|manifest| manifest["kind"] == "PolicyServer");
        let has_its_own = servers.any(|server| server["metadata"]["name"] == spec["policyServer"]);
        assert!(
            has_its_own,
            "{name}: lookups hold up the other policies of a policy server"
        );
    }
}

/// Whether the policy is a second one: its settings have `mode: Reject` and `templates: "Off"`. The
/// chart knows it by the same settings.
fn is_second(policy: &AdmissionPolicy) -> bool {
    policy.spec["settings"]["mode"] == "Reject" && policy.spec["settings"]["podTemplates"] == "Off"
}

/// The first policy's file of each second policy.
const FIRST: [(&str, &str); 2] = [
    ("multi-tenant-second", "multi-tenant"),
    ("second-policy", "jobs"),
];

/// A second policy has the selectors and the settings of its first one, apart from what an ordinary
/// second installation needs.
#[test]
fn each_second_policy_follows_its_first_one() {
    let seconds = policies().into_iter().filter(is_second);
    let files: Vec<String> = seconds.map(|second| file(&second).to_owned()).collect();
    assert_eq!(files, FIRST.map(|(second, _)| second));
    for (second, first) in FIRST {
        let (first, second) = (policy(first), policy(second));
        let mut expected = first.spec["settings"].clone();
        let keys = expected.as_object_mut().expect("settings");
        keys.remove("registry");
        expected["mode"] = json!("Reject");
        expected["podTemplates"] = json!("Off");
        if !expected["imageChecks"].is_null() {
            expected["imageChecks"]["onMissing"] = json!("Warn");
        }
        assert_eq!(second.spec["settings"], expected);
        for key in ["namespaceSelector", "objectSelector", "matchConditions"] {
            assert_eq!(second.spec[key], first.spec[key], "{}: {key}", second.name);
        }
        // It is told nothing about pod templates.
        let mut rules = first.spec["rules"].clone();
        rules
            .as_array_mut()
            .expect("rules")
            .retain(|rule| rule["apiGroups"] == json!([""]));
        assert_eq!(second.spec["rules"], rules, "{}", second.name);
    }
}

/// An `Always` that *preferred-policy* writes and that gets no digest would make a kubelet ask more
/// than before.
#[test]
fn an_example_that_pins_what_it_prefers_prefers_nothing_else() {
    let mut count = 0;
    for AdmissionPolicy { name, spec, .. } in policies() {
        let settings = &spec["settings"];
        let preferred = &settings["images"]["preferAlways"];
        if !preferred.is_null() {
            count += 1;
            assert_eq!(*preferred, settings["registry"]["images"], "{name}");
        }
    }
    assert!(count > 0);
}

/// Whether the settings have a check template. The test fails if an added check would end a Pod's
/// quality of service `Guaranteed`. Init containers count for this class, so a check's requests
/// have to equal its limits. The template for agent-stack-k8s is the exception: it has the
/// resources of the controller's own checks.
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

/// A check that agent-stack-k8s 0.47 made, from a captured request. The numbers in the names of
/// checks are random, so the check is found by its image.
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
    for AdmissionPolicy { name, spec, .. } in policies() {
        count += usize::from(template_keeps_guaranteed_pods(&spec["settings"], &name));
    }
    assert!(count > 1, "{count}");
}

#[test]
fn the_check_template_for_agent_stack_is_the_check_that_the_controller_makes() {
    let policy = policy("agent-stack-k8s");
    let template = &policy.spec["settings"]["imageChecks"]["template"];
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

/// A service mesh may add its containers before or after this policy runs. If the images of meshes
/// are exempt, this order doesn't matter: this policy demands no check and no pin for these
/// containers.
#[test]
fn an_example_that_demands_checks_or_pins_exempts_the_images_of_meshes() {
    let mesh = [
        "docker.io/istio/proxyv2",
        "gcr.io/istio-release/proxyv2",
        "registry.istio.io/release/proxyv2",
        "cr.l5d.io/linkerd/*",
    ];
    let mut count = 0;
    for AdmissionPolicy { name, spec, .. } in policies() {
        let settings = &spec["settings"];
        let coverage = &settings["imageChecks"]["onMissing"];
        let checks = coverage == "Add" || coverage == "Reject";
        if checks || pins(settings) {
            count += 1;
            let list = if checks {
                &settings["exempt"]["images"]
            } else {
                &settings["registry"]["skipImages"]
            };
            let exempt = strings(list);
            for image in mesh {
                assert!(exempt.contains(&image), "{name}: {image}");
            }
        }
    }
    assert!(count > 5, "{count}");
}

#[test]
fn the_settings_in_the_documentation_are_valid() {
    let schema = serde_json::to_value(consistent_pull_policy::settings::Settings::schema());
    let schema = schema.expect("a schema");
    let keys = schema["properties"].as_object().expect("properties");
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
                template_keeps_guaranteed_pods(&settings, &page);
                assert_eq!(
                    settings_problems(&settings.to_string()),
                    None,
                    "{page}: {block}"
                );
            }
        }
    }
    assert!(count > 4, "{count}");
}
