//! `cargo xtask show`: shows what this policy does to captured requests. For each request and settings, it
//! prints the images with their old and new pull policies, the patch, the message and the warnings.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::commands::outcome::{AuditEntry, Outcome, object_kind, object_name};
use crate::host::capabilities::nothing_granted;
use crate::host::policy_module::{Engine, PolicyModule};
use crate::host::request::{AdmissionRequest, parse_review};
use crate::host::response::AdmissionResponse;
use crate::host::settings::read_settings;
use crate::terminal::{self, BAD, BOLD, GOOD, NOTICE, paragraph};
use crate::workspace::{self, ANNOTATED_POLICY, module_or};

/// The captured reviews that are shown by default. Each review has several settings whose results
/// differ. Settings are JSON, or the name of a file in `examples/settings`. The first three reviews have
/// Pods that agent-stack-k8s 0.47 created for three steps.
const DEFAULT: [(&str, &[&str]); 5] = [
    ("agent-stack-0.47-real-weak-checks-pod-create", &MODES),
    (
        "agent-stack-0.47-real-step-image-pod-create",
        &["{}", "agent-stack-k8s.yaml"],
    ),
    (
        "agent-stack-0.47-real-podspecpatch-image-pod-create",
        &["{}", "agent-stack-k8s.yaml"],
    ),
    (
        "deployment-create",
        &[
            r#"{"images":{"forbidAlways":["nginx"]}}"#,
            r#"{"images":{"forbidAlways":["nginx"]},"mode":"Reject"}"#,
        ],
    ),
    (
        "pod-create",
        &[
            r#"{"defaults":{"imagePullPolicy":"IfNotPresent"}}"#,
            r#"{"images":{"requireAlways":["*"]}}"#,
        ],
    ),
];

/// Settings for each mode. A review that the command line names is shown with all three, unless the command
/// line has settings too.
const MODES: [&str; 3] = ["{}", r#"{"mode":"Reject"}"#, r#"{"mode":"Warn"}"#];

/// Shows what this policy does to captured requests
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The policy's settings in JSON; may be given more than once
    #[arg(long, value_name = "VALUE")]
    settings_json: Vec<String>,
    /// The policy's module
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Files with an admission review, or the request in it; by default some of the captured ones
    reviews: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    let path = module_or(args.module.as_deref(), ANNOTATED_POLICY)?;
    // There is no time limit, so that the answer of a slow policy is shown too.
    let module = PolicyModule::load(&path, Engine::default(), None)?;
    let mut selection: Vec<(PathBuf, &[&str])> = Vec::new();
    for review in &args.reviews {
        selection.push((review.clone(), &MODES));
    }
    for (name, settings) in DEFAULT.iter().filter(|_| args.reviews.is_empty()) {
        let path = root.join(format!("test_data/reviews/{name}.json"));
        selection.push((path, settings));
    }
    let own: Vec<&str> = args.settings_json.iter().map(String::as_str).collect();
    for (review, default) in selection {
        let text = fs::read_to_string(&review)
            .with_context(|| format!("cannot read review {}", review.display()))?;
        let request =
            parse_review(&text).with_context(|| format!("in review {}", review.display()))?;
        let name = review.strip_prefix(&root).unwrap_or(&review);
        for settings in if own.is_empty() { default } else { &own } {
            let page = page(&module, &request, name, settings)?;
            terminal::print(&format!("{page}\n"))?;
        }
    }
    Ok(())
}

/// The text about one evaluation.
fn page(
    module: &PolicyModule,
    request: &AdmissionRequest,
    review: &Path,
    settings: &str,
) -> Result<String> {
    let file = Path::new("examples/settings").join(settings);
    let path = workspace::root().join(&file);
    let (shown, settings) = if path.is_file() {
        (
            file.display().to_string(),
            read_settings(Some(&path), None)?,
        )
    } else {
        (settings.to_owned(), read_settings(None, Some(settings))?)
    };
    let mut page = format!("{BOLD}{}{BOLD:#}\n", title(request));
    writeln!(page, "  review    {}", review.display())?;
    writeln!(page, "  settings  {shown}")?;
    let validation = module.judge_settings(&settings)?;
    if !validation.valid {
        writeln!(page, "  verdict   {BAD}settings refused{BAD:#}")?;
        block(&mut page, "message", "", validation.message.as_slice());
        return Ok(page);
    }
    let response = module.evaluate(&nothing_granted(), &settings, request)?;
    let status = response.status.as_ref();
    let code = status.and_then(|status| status.code);
    let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
    let (verdict, style) = match Outcome::of(&response) {
        Outcome::Rejected => (format!("rejected{code}"), BAD),
        Outcome::Changed => ("allowed, repaired".to_owned(), NOTICE),
        Outcome::Warned => ("allowed, with warnings".to_owned(), NOTICE),
        Outcome::Allowed => ("allowed, unchanged".to_owned(), GOOD),
    };
    writeln!(page, "  verdict   {style}{verdict}{style:#}")?;

    let operations = response.patch_operations();
    if let Some(before) = &request.object {
        let rows = rows(before, &patched(before, &operations)?, &response);
        if !rows.is_empty() {
            let header = ["container", "image", "pull policy", "why"];
            let table = terminal::table(&header, rows.into_iter(), terminal::width());
            writeln!(page, "\n{table}")?;
        }
    }
    let lines: Vec<String> = operations.iter().map(operation).collect();
    block(&mut page, "patch", "", &lines);
    let message = status.and_then(|status| status.message.clone());
    block(&mut page, "message", "", message.as_slice());
    let warnings = response.warnings.as_deref().unwrap_or_default();
    block(&mut page, "warnings", "- ", warnings);
    Ok(page)
}

fn block(page: &mut String, label: &str, bullet: &str, texts: &[String]) {
    if texts.is_empty() {
        return;
    }
    page.extend(["\n  ", label, "\n"]);
    let indent = " ".repeat(4 + bullet.len());
    for text in texts {
        page.push_str(&paragraph(text, &format!("    {bullet}"), &indent));
        page.push('\n');
    }
}

/// The title of a page: the kind and the name of the object, and the operation.
fn title(request: &AdmissionRequest) -> String {
    let (kind, name) = (object_kind(request), object_name(request));
    format!("{kind} {name}, {}", request.operation)
}

fn patched(object: &Value, operations: &[Value]) -> Result<Value> {
    let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations.to_vec()))
        .context("the policy's patch is invalid")?;
    let mut object = object.clone();
    json_patch::patch(&mut object, &patch).context("the policy's patch doesn't apply")?;
    Ok(object)
}

/// An operation of a patch in one line.
fn operation(operation: &Value) -> String {
    let text = |key: &str| operation[key].as_str().unwrap_or_default();
    let value = operation.get("value").map(Value::to_string);
    let line = [text("op"), text("path"), &value.unwrap_or_default()].join(" ");
    terminal::shorten(line.trim_end())
}

/// A container or an image volume.
#[derive(Debug, PartialEq)]
struct ContainerOrVolume {
    list: &'static str,
    /// The name in the table, such as `init imagecheck-0`.
    label: String,
    /// A JSON pointer to the container or volume.
    pointer: String,
    name: String,
    image: String,
    pull_policy: String,
}

/// The lists with images, in the order in which the kubelet pulls the images. Each list has a
/// prefix for the labels of its elements.
const LISTS: [(&str, &str); 4] = [
    ("volumes", "volume "),
    ("initContainers", "init "),
    ("containers", ""),
    ("ephemeralContainers", "ephemeral "),
];

/// The containers and image volumes of a Pod, or of the pod template in a workload.
fn containers_and_volumes(object: &Value) -> Vec<ContainerOrVolume> {
    let pointers = [
        "/spec/jobTemplate/spec/template/spec",
        "/spec/template/spec",
        "/template/spec",
        "/spec",
    ];
    let spec = pointers
        .into_iter()
        .filter_map(|pointer| Some((pointer, object.pointer(pointer)?)))
        .find(|(_, spec)| spec.get("containers").is_some());
    let mut found = Vec::new();
    let Some((base, spec)) = spec else {
        return found;
    };
    let text = |value: &Value, default: &str| value.as_str().unwrap_or(default).to_owned();
    for (list, kind) in LISTS {
        let elements = spec[list].as_array();
        for (index, element) in elements.into_iter().flatten().enumerate() {
            let (holder, image, pull_policy) = match (list, element.get("image")) {
                ("volumes", None) => continue,
                ("volumes", Some(image)) => (image, "reference", "pullPolicy"),
                _ => (element, "image", "imagePullPolicy"),
            };
            let name = text(&element["name"], "");
            found.push(ContainerOrVolume {
                list,
                label: format!("{kind}{name}"),
                pointer: format!("{base}/{list}/{index}"),
                name,
                image: text(&holder[image], ""),
                pull_policy: text(&holder[pull_policy], "(not set)"),
            });
        }
    }
    found
}

/// The rows of the table, one for each container and image volume in `after`: the label, the new image,
/// the old and new pull policy, and the reasons. `image` is a reason if the image changed.
fn rows(before: &Value, after: &Value, response: &AdmissionResponse) -> Vec<[String; 4]> {
    let entries = ["changes", "findings"].map(|key| AuditEntry::read_all(response, key));
    let old_elements = containers_and_volumes(before);
    let row = |new: ContainerOrVolume| {
        let mut old_elements = old_elements.iter();
        let old = old_elements.find(|old| (old.list, &old.name) == (new.list, &new.name));
        let pull_policy = match old {
            None => format!("(new) -> {}", new.pull_policy),
            Some(old) if old.pull_policy != new.pull_policy => {
                format!("{} -> {}", old.pull_policy, new.pull_policy)
            }
            Some(_) => new.pull_policy.clone(),
        };
        let mut why = reasons(&entries, old, &new);
        if old.is_some_and(|old| old.image != new.image) {
            why.insert(0, "image".to_owned());
        }
        [new.label, new.image, pull_policy, why.join(", ")]
    };
    containers_and_volumes(after).into_iter().map(row).collect()
}

/// The rules that changed a container or volume, and the rules that have a finding about it. A finding is
/// left out if its rule also changed this container or volume.
///
/// The path of a change is a path in the repaired object. The path of a finding, or of a container that
/// the repair removes, is a path in the object of the request. A container can have two different paths,
/// because a repair can add or remove init containers.
fn reasons(
    [changes, findings]: &[Vec<AuditEntry>; 2],
    old: Option<&ContainerOrVolume>,
    new: &ContainerOrVolume,
) -> Vec<String> {
    let changes: Vec<&AuditEntry> = changes
        .iter()
        .filter(|change| concerns(change, new))
        .collect();
    let is_repaired = |finding: &AuditEntry| changes.iter().any(|one| one.rule == finding.rule);
    let findings = findings
        .iter()
        .filter(|finding| old.is_some_and(|old| concerns(finding, old)))
        .filter(|finding| !is_repaired(finding));
    let mut reasons: Vec<String> = Vec::new();
    for entry in changes.iter().copied().chain(findings) {
        let reason = match entry.expected.as_str() {
            Some(expected @ ("Always" | "IfNotPresent" | "Never")) => {
                format!("{}: should be {expected}", entry.rule)
            }
            _ => entry.rule.clone(),
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons
}

/// Whether an entry's path (`spec.containers[0].image`) leads to this element or to a field in it.
/// If the entry has no path, the name of the container decides.
fn concerns(entry: &AuditEntry, element: &ContainerOrVolume) -> bool {
    if entry.path.is_empty() {
        return entry.container.as_deref() == Some(element.name.as_str());
    }
    let path = entry.path.replace(['[', '.'], "/").replace(']', "");
    format!("/{path}/").starts_with(&format!("{}/", element.pointer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod() -> Value {
        json!({"spec": {
            "volumes": [{"name": "data", "image": {"reference": "data:v1"}}, {"name": "empty", "emptyDir": {}}],
            "initContainers": [{"name": "imagecheck-0", "image": "app:v1", "imagePullPolicy": "IfNotPresent"}],
            "containers": [{"name": "app", "image": "app:v1", "imagePullPolicy": "Always"}, {"name": "bare"}],
            "ephemeralContainers": [{"name": "debug", "image": "busybox"}],
        }})
    }

    fn response(annotations: &Value) -> AdmissionResponse {
        let answer = json!({"accepted": true, "audit_annotations": annotations});
        let answer = serde_json::from_value(answer).expect("an answer");
        AdmissionResponse::new("u".to_owned(), None, answer)
    }

    #[test]
    fn every_container_and_image_volume_has_a_row() {
        let rows: Vec<String> = rows(&pod(), &pod(), &response(&json!({})))
            .iter()
            .map(|row| row.join("|"))
            .collect();
        assert_eq!(
            rows,
            [
                "volume data|data:v1|(not set)|",
                "init imagecheck-0|app:v1|IfNotPresent|",
                "app|app:v1|Always|",
                "bare||(not set)|",
                "ephemeral debug|busybox|(not set)|",
            ]
        );
    }

    #[test]
    fn pod_templates_have_rows_too() {
        for wrapped in [
            json!({"spec": {"template": pod()}}),
            json!({"template": pod()}),
            json!({"spec": {"jobTemplate": {"spec": {"template": pod()}}}}),
        ] {
            assert_eq!(containers_and_volumes(&wrapped).len(), 5, "{wrapped}");
        }
        assert_eq!(
            containers_and_volumes(&json!({"spec": {"replicas": 3}})),
            []
        );
    }

    #[test]
    fn a_row_has_the_change_and_its_rules() {
        let mut after = pod();
        after["spec"]["initContainers"][0]["imagePullPolicy"] = json!("Always");
        after["spec"]["containers"][0]["image"] = json!("app:v2");
        let checks = after["spec"]["initContainers"]
            .as_array_mut()
            .expect("checks");
        checks.push(json!({"name": "imagecheck-1", "image": "b", "imagePullPolicy": "Always"}));
        let changes =
            json!([{"path": "spec.initContainers[0].imagePullPolicy", "rule": "weak-check"}]);
        let findings = json!([
            {"path": "spec.initContainers[0].imagePullPolicy", "rule": "weak-check", "expected": "Always"},
            {"path": "spec.containers[0]", "rule": "default", "expected": "Never"},
            {"path": "spec.containers[01]", "rule": "elsewhere"},
            {"path": "", "container": "app", "rule": "missing-check"},
        ]);
        let response =
            response(&json!({"changes": changes.to_string(), "findings": findings.to_string()}));
        let rows = rows(&pod(), &after, &response);
        assert_eq!(rows[1][2..], ["IfNotPresent -> Always", "weak-check"]);
        assert_eq!(rows[2][2..], ["(new) -> Always", ""]);
        assert_eq!(rows[3][3], "image, default: should be Never, missing-check");
    }

    #[test]
    fn a_finding_is_shown_at_the_container_that_it_was_found_in() {
        let clone = json!({"name": "clone", "image": "git"});
        let check = pod()["spec"]["initContainers"][0].clone();
        let [mut before, mut after] = [pod(), pod()];
        before["spec"]["initContainers"] = json!([check, clone]);
        after["spec"]["initContainers"] = json!([clone]);
        let findings = json!([
            {"path": "spec.initContainers[0].imagePullPolicy", "rule": "weak-check"},
            {"path": "spec.initContainers[1].image", "rule": "registry"},
        ]);
        let response = response(&json!({"findings": findings.to_string()}));
        let rows = rows(&before, &after, &response);
        assert_eq!([&rows[1][0], &rows[1][3]], ["init clone", "registry"]);
    }

    #[test]
    fn a_title_has_kind_name_and_operation() {
        let request = |object: Value, part: &str| -> AdmissionRequest {
            let request = json!({
                "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "operation": "UPDATE", "userInfo": {}, "object": object, "subResource": part,
            });
            parse_review(&request.to_string()).expect("a request")
        };
        for (object, part, expected) in [
            (
                json!({"metadata": {"name": "a", "generateName": "g-"}}),
                "",
                "Pod a, UPDATE",
            ),
            (
                json!({"metadata": {"generateName": "g-"}}),
                "",
                "Pod g-*, UPDATE",
            ),
            (json!({}), "resize", "Pod/resize (no name), UPDATE"),
        ] {
            assert_eq!(title(&request(object, part)), expected);
        }
    }
}
