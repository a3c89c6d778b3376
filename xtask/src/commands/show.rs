//! `cargo xtask show`: shows what this policy does to requests. Without arguments, it tells a few stories about
//! hanging Pods. For a file, it prints the verdict, the images with their old and new pull policies, and the
//! messages.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::host::capabilities::nothing_granted;
use crate::host::policy_module::{Engine, PolicyModule, ValidationResponse, payload};
use crate::host::request::{AdmissionRequest, parse_review};
use crate::host::settings::{Settings, read_settings};
use crate::terminal;
use crate::workspace::{self, ANNOTATED_POLICY, module_or};

/// A captured Pod, and what happens to it.
struct Story {
    title: &'static str,
    without_this_policy: &'static str,
    with_this_policy: &'static str,
    review: &'static str,
    /// YAML, or the path of a file with settings.
    settings: &'static str,
}

const STORIES: [Story; 4] = [
    Story {
        title: "Half-done work",
        without_this_policy: "migrate changes the database, and report starts. Then upload waits in \
            ImagePullBackOff for ever, because the tag upload:v2 was deleted from its registry.",
        with_this_policy: "both images become volumes of the first init container. So this container waits, \
            migrate never runs, and the Pod's events name the missing image.",
        review: "examples/requests/nightly-report.json",
        settings: "examples/settings/every-pod-volumes.yaml",
    },
    Story {
        title: "A check that passes too easily",
        without_this_policy: "a CI job checks its images with IfNotPresent. The node has old copies, which are \
            enough for the checks. Then container-0 asks the registry, and waits for ever.",
        with_this_policy: "the checks ask the registry, so the job fails early. The containers use the images \
            that the checks pulled.",
        review: "test_data/reviews/agent-stack-0.47-real-weak-checks-pod-create.json",
        settings: "{} # the defaults",
    },
    Story {
        title: "An image without a check",
        without_this_policy: "a step of the CI job names its own image, and the CI controller makes no check for \
            this image. If the image is missing, the agent runs and container-0 waits for ever.",
        with_this_policy: "a check is added, so the job fails early.",
        review: "test_data/reviews/agent-stack-0.47-real-step-image-pod-create.json",
        settings: "examples/settings/agent-stack-k8s.yaml",
    },
    Story {
        title: "A message instead of a repair",
        without_this_policy: "the job of the second case waits for ever.",
        with_this_policy: "the API server rejects the Pod, and this policy's message says what to change.",
        review: "test_data/reviews/agent-stack-0.47-real-weak-checks-pod-create.json",
        settings: "mode: Reject",
    },
];

const INTRODUCTION: &str = "When a Pod is created, this policy repairs imagePullPolicy (Always, IfNotPresent, \
    Never) and adds image checks: init containers or volumes that only prove that an image can be pulled. If an \
    image is missing, the Pod stops before its work begins. The module that was just built answers four requests:";

const WHAT_NEXT: &str = "\
What next

  Try a Pod of your own in the browser:
    https://consistent-pull-policy.github.io/consistent-pull-policy/
  Run the module in Kubewarden's kwctl:
    kwctl run --request-path examples/requests/nightly-report.json \\
      --settings-path examples/settings/every-pod-volumes.yaml \\
      annotated-policy.wasm
  Install this policy in a cluster (README.md, Turn it on):
    kubectl apply -f examples/every-pod-volumes.yaml
";

/// Shows what this policy does to captured requests
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The policy's settings in JSON
    #[arg(long, value_name = "VALUE", default_value = "{}")]
    settings_json: String,
    /// The policy's module
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Files with an admission review, or the request in it; without any, the command tells stories
    reviews: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let module = module_or(args.module.as_deref(), ANNOTATED_POLICY)?;
    let module = PolicyModule::load(&module, Engine::default())?;
    if args.reviews.is_empty() {
        return tell_stories(&module);
    }
    let settings = read_settings(None, Some(&args.settings_json))?;
    for review in &args.reviews {
        let shown = Shown::new(&module, review, &settings)
            .with_context(|| format!("in review {}", review.display()))?;
        let page = shown.page(review, &args.settings_json);
        terminal::print(&format!("{page}\n"))?;
    }
    Ok(())
}

fn tell_stories(module: &PolicyModule) -> Result<()> {
    let root = workspace::root();
    terminal::print(&format!("\n{}\n\n", terminal::wrapped([[INTRODUCTION]])))?;
    for (number, story) in (1..).zip(&STORIES) {
        let file = root.join(story.settings);
        let settings = if file.is_file() {
            read_settings(Some(&file), None)?
        } else {
            yaml_serde::from_str(story.settings)?
        };
        let shown =
            Shown::new(module, &root.join(story.review), &settings).with_context(|| story.title)?;
        let outcome = match &shown.answer.mutated_object {
            Some(_) => terminal::table(
                &["container", "image", "pull policy"],
                shown
                    .rows()
                    .into_iter()
                    .map(|[name, image, policy, _]| [name, image, policy]),
            ),
            None => terminal::wrapped(shown.messages().map(|text| [text])),
        };
        let told = terminal::wrapped([
            ["Without:", story.without_this_policy],
            ["With:", story.with_this_policy],
            ["Settings:", story.settings],
        ]);
        terminal::print(&format!(
            "{number}. {}\n{told}\n\n{outcome}\n\n",
            story.title
        ))?;
    }
    terminal::print(WHAT_NEXT)
}

/// A request, and the answer of this policy.
struct Shown {
    request: AdmissionRequest,
    answer: ValidationResponse,
}

impl Shown {
    fn new(module: &PolicyModule, review: &Path, settings: &Settings) -> Result<Self> {
        let request = parse_review(&fs::read_to_string(review)?)?;
        let answer = module.validate(&nothing_granted(), &payload(&request, settings)?)?;
        let answer = serde_json::from_slice(&answer)?;
        Ok(Self { request, answer })
    }

    /// The message of a rejection, and the warnings.
    fn messages(&self) -> impl Iterator<Item = &str> {
        let warnings = self.answer.warnings.iter().flatten();
        self.answer
            .message
            .iter()
            .chain(warnings)
            .map(String::as_str)
    }

    /// The rows of the table. A request without an object has none.
    fn rows(&self) -> Vec<[String; 4]> {
        let Some(before) = self.request.get("object") else {
            return Vec::new();
        };
        let after = self.answer.mutated_object.as_ref().unwrap_or(before);
        rows(before, after, &AuditEntry::read_all(&self.answer))
    }

    fn page(&self, review: &Path, settings: &str) -> String {
        let verdict = match &self.answer.mutated_object {
            _ if !self.answer.accepted => {
                format!("rejected ({})", self.answer.code.unwrap_or_default())
            }
            Some(_) => "accepted and repaired".to_owned(),
            None if self.messages().next().is_none() => "accepted unchanged".to_owned(),
            None => "accepted with warnings".to_owned(),
        };
        let review = review.file_stem().unwrap_or_default().display();
        let mut page = format!("review    {review}\nsettings  {settings}\nverdict   {verdict}\n");
        if self.request.contains_key("object") {
            let header = ["container", "image", "pull policy", "why"];
            page.extend(["\n", &terminal::table(&header, self.rows()), "\n"]);
        }
        for text in self.messages() {
            page.extend(["\n  ", text, "\n"]);
        }
        page
    }
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
    /// What the table writes before its name.
    kind: &'static str,
    name: &'a str,
    image: &'a str,
    pull_policy: &'a str,
}

/// The lists with images, in the order in which the kubelet pulls the images. Each list has the kind of its
/// elements, and the path of the holder of image and pull policy in an element.
const LISTS: [(&str, &str, [&str; 3]); 4] = [
    ("volumes", "volume ", ["/image", "reference", "pullPolicy"]),
    ("initContainers", "init ", CONTAINER),
    ("containers", "", CONTAINER),
    ("ephemeralContainers", "ephemeral ", CONTAINER),
];

const CONTAINER: [&str; 3] = ["", "image", "imagePullPolicy"];

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
    for (list, kind, [holder, image, pull_policy]) in LISTS {
        let elements = spec.and_then(|spec| spec[list].as_array());
        for element in elements.into_iter().flatten() {
            if let Some(holder) = element.pointer(holder) {
                places.push(Place {
                    list,
                    kind,
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
        let pull_policy = match old_places.iter().find(same).map(|old| old.pull_policy) {
            None => format!("new: {}", new.pull_policy),
            Some(old) if old != new.pull_policy => format!("{old} -> {}", new.pull_policy),
            Some(old) => old.to_owned(),
        };
        let in_list = format!("{}[", new.list);
        let of_place = |entry: &&AuditEntry| {
            entry.container.as_deref() == Some(new.name)
                && (entry.path.is_empty() || entry.path.contains(&in_list))
        };
        let mut rules: Vec<&str> = Vec::new();
        for entry in entries.iter().filter(of_place) {
            if !rules.contains(&entry.rule.as_str()) {
                rules.push(&entry.rule);
            }
        }
        let name = format!("{}{}", new.kind, new.name);
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
            "init imagecheck-1|b|new: Always|",
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
