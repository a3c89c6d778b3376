//! `cargo xtask show`: shows what this policy does to captured requests. For each request and settings, it
//! prints the images with their old and new pull policies, the message and the warnings.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::host::capabilities::nothing_granted;
use crate::host::policy_module::{Engine, PolicyModule, ValidationResponse, payload};
use crate::host::request::parse_review;
use crate::host::settings::read_settings;
use crate::terminal;
use crate::workspace::{self, ANNOTATED_POLICY, module_or};

/// The captured reviews that are shown by default, with settings: JSON, or the name of a file in
/// `examples/settings`. The first reviews have Pods that agent-stack-k8s 0.47 created for three steps.
const DEFAULT: [(&str, &str); 9] = [
    ("agent-stack-0.47-real-weak-checks-pod-create", "{}"),
    (
        "agent-stack-0.47-real-weak-checks-pod-create",
        r#"{"mode":"Reject"}"#,
    ),
    (
        "agent-stack-0.47-real-weak-checks-pod-create",
        r#"{"mode":"Warn"}"#,
    ),
    ("agent-stack-0.47-real-step-image-pod-create", "{}"),
    (
        "agent-stack-0.47-real-step-image-pod-create",
        "agent-stack-k8s.yaml",
    ),
    ("agent-stack-0.47-real-podspecpatch-image-pod-create", "{}"),
    (
        "agent-stack-0.47-real-podspecpatch-image-pod-create",
        "agent-stack-k8s.yaml",
    ),
    (
        "deployment-create",
        r#"{"images":{"forbidAlways":["nginx"]}}"#,
    ),
    ("pod-create", r#"{"images":{"requireAlways":["*"]}}"#),
];

/// Shows what this policy does to captured requests
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The policy's settings in JSON
    #[arg(long, value_name = "VALUE", default_value = "{}")]
    settings_json: String,
    /// The policy's module
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Files with an admission review, or the request in it; by default some of the captured ones
    reviews: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let module = module_or(args.module.as_deref(), ANNOTATED_POLICY)?;
    let module = PolicyModule::load(&module, Engine::default())?;
    let named = args.reviews.iter();
    let mut selection: Vec<(PathBuf, &str)> = named
        .map(|review| (review.clone(), args.settings_json.as_str()))
        .collect();
    if selection.is_empty() {
        let path = |name| PathBuf::from(format!("test_data/reviews/{name}.json"));
        selection
            .extend(DEFAULT.map(|(name, settings)| (workspace::root().join(path(name)), settings)));
    }
    for (review, settings) in selection {
        let page = page(&module, &review, settings);
        let page = page.with_context(|| format!("in review {}", review.display()))?;
        terminal::print(&format!("{page}\n"))?;
    }
    Ok(())
}

/// The text about one evaluation.
fn page(module: &PolicyModule, review: &Path, settings: &str) -> Result<String> {
    let request = parse_review(&fs::read_to_string(review)?)?;
    let file = workspace::root().join("examples/settings").join(settings);
    let is_file = file.is_file().then_some(file.as_path());
    let settings_read = read_settings(is_file, Some(settings))?;
    let payload = payload(&request, &settings_read)?;
    let answer = module.validate(&nothing_granted(), &payload)?;
    let answer: ValidationResponse = serde_json::from_slice(&answer)?;

    let warnings = answer.warnings.as_deref().unwrap_or_default();
    let verdict = match &answer.mutated_object {
        _ if !answer.accepted => format!("rejected ({})", answer.code.unwrap_or_default()),
        Some(_) => "accepted and repaired".to_owned(),
        None if warnings.is_empty() => "accepted unchanged".to_owned(),
        None => "accepted with warnings".to_owned(),
    };
    let review = review.file_stem().unwrap_or_default().display();
    let mut page = format!("review    {review}\nsettings  {settings}\nverdict   {verdict}\n");
    if let Some(before) = request.get("object") {
        let after = answer.mutated_object.as_ref().unwrap_or(before);
        let header = ["container", "image", "pull policy", "why"];
        let rows = rows(before, after, &AuditEntry::read_all(&answer)).into_iter();
        page.extend(["\n", &terminal::table(&header, rows), "\n"]);
    }
    for text in answer.message.iter().chain(warnings) {
        page.extend(["\n  ", text, "\n"]);
    }
    Ok(page)
}

/// An element of the audit annotations `changes` and `findings`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AuditEntry {
    /// The id of the rule.
    rule: String,
    /// The path of the field, such as `spec.containers[0].image`. The path of the whole object is empty.
    path: String,
    /// The name of the container or volume.
    container: Option<String>,
}

impl AuditEntry {
    fn read_all(answer: &ValidationResponse) -> Vec<Self> {
        let annotations = answer.audit_annotations.iter().flatten();
        annotations
            .filter(|(key, _)| ["changes", "findings"].contains(&key.as_str()))
            .flat_map(|(_, json)| serde_json::from_str::<Vec<Self>>(json).unwrap_or_default())
            .collect()
    }
}

/// A container or an image volume.
struct Place<'a> {
    /// The key of its list in the Pod spec.
    list: &'static str,
    name: &'a str,
    image: &'a str,
    pull_policy: &'a str,
}

/// The lists with images, in the order in which the kubelet pulls the images. Each list has a
/// prefix for the names of its elements.
const LISTS: [(&str, &str); 4] = [
    ("volumes", "volume "),
    ("initContainers", "init "),
    ("containers", ""),
    ("ephemeralContainers", "ephemeral "),
];

/// The containers and image volumes of a Pod, or of the pod template in a workload.
fn places(object: &Value) -> Vec<Place<'_>> {
    let pointers = [
        "/spec/jobTemplate/spec/template/spec",
        "/spec/template/spec",
        "/template/spec",
        "/spec",
    ];
    let spec = pointers.iter().find_map(|pointer| object.pointer(pointer));
    let mut places = Vec::new();
    for (list, _) in LISTS {
        let elements = spec.and_then(|spec| spec[list].as_array());
        for element in elements.into_iter().flatten() {
            let (holder, image, pull_policy) = match list {
                "volumes" => (&element["image"], "reference", "pullPolicy"),
                _ => (element, "image", "imagePullPolicy"),
            };
            if holder.is_object() {
                places.push(Place {
                    list,
                    name: element["name"].as_str().unwrap_or_default(),
                    image: holder[image].as_str().unwrap_or_default(),
                    pull_policy: holder[pull_policy].as_str().unwrap_or("(not set)"),
                });
            }
        }
    }
    places
}

/// The rows of the table, one for each container and image volume in `after`: the name, the new image, the old
/// and new pull policy, and the rules with a change or a finding.
fn rows(before: &Value, after: &Value, entries: &[AuditEntry]) -> Vec<[String; 4]> {
    let old_places = places(before);
    let row = |new: Place<'_>| {
        let same = |old: &&Place<'_>| (old.list, old.name) == (new.list, new.name);
        let pull_policy = match old_places.iter().find(same) {
            None => format!("(new) -> {}", new.pull_policy),
            Some(old) if old.pull_policy != new.pull_policy => {
                format!("{} -> {}", old.pull_policy, new.pull_policy)
            }
            Some(_) => new.pull_policy.to_owned(),
        };
        let mut rules = Vec::new();
        for entry in entries {
            let is_in_list =
                entry.path.is_empty() || entry.path.contains(&format!("{}[", new.list));
            if entry.container.as_deref() == Some(new.name)
                && is_in_list
                && !rules.contains(&entry.rule)
            {
                rules.push(entry.rule.clone());
            }
        }
        let kind = LISTS.iter().find(|(list, _)| *list == new.list);
        let name = format!("{}{}", kind.map_or("", |(_, kind)| kind), new.name);
        [name, new.image.to_owned(), pull_policy, rules.join(", ")]
    };
    places(after).into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_has_the_pull_policies_and_the_rules() {
        let pod = |check: &str, checks: &[Value]| {
            let check =
                json!({"name": "imagecheck-0", "image": "app:v1", "imagePullPolicy": check});
            let checks = [&[check], checks].concat();
            json!({"spec": {
                "volumes": [{"name": "data", "image": {"reference": "data:v1"}}, {"name": "empty", "emptyDir": {}}],
                "initContainers": checks,
                "containers": [{"name": "app", "image": "app:v1", "imagePullPolicy": "Always"}],
                "ephemeralContainers": [{"name": "debug", "image": "busybox"}],
            }})
        };
        let before = pod("IfNotPresent", &[]);
        let added = json!({"name": "imagecheck-1", "image": "b", "imagePullPolicy": "Always"});
        let after = pod("Always", &[added]);
        let entry = |rule: &str, path: &str, container: &str| AuditEntry {
            rule: rule.to_owned(),
            path: path.to_owned(),
            container: Some(container.to_owned()),
        };
        let entries = [
            entry(
                "weak-check",
                "spec.initContainers[0].imagePullPolicy",
                "imagecheck-0",
            ),
            entry(
                "weak-check",
                "spec.initContainers[0].imagePullPolicy",
                "imagecheck-0",
            ),
            entry("default", "spec.containers[0]", "app"),
            entry("elsewhere", "spec.initContainers[0]", "app"),
            entry("missing-check", "", "app"),
        ];
        let expected = [
            "volume data|data:v1|(not set)|",
            "init imagecheck-0|app:v1|IfNotPresent -> Always|weak-check",
            "init imagecheck-1|b|(new) -> Always|",
            "app|app:v1|Always|default, missing-check",
            "ephemeral debug|busybox|(not set)|",
        ];
        for wrap in [
            |pod| pod,
            |pod| json!({"spec": {"template": pod}}),
            |pod| json!({"template": pod}),
            |pod| json!({"spec": {"jobTemplate": {"spec": {"template": pod}}}}),
        ] {
            let rows = rows(&wrap(before.clone()), &wrap(after.clone()), &entries);
            let rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
            assert_eq!(rows, expected);
        }
    }
}
