//! `cargo xtask show`: lets a person see what the policy does to captured requests. Per container
//! image its pull policy before and after, and why; the patch; the message.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anstyle::Style;
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::request::{self, AdmissionRequest};
use crate::host::response::AdmissionResponse;
use crate::host::{Engine, Module, nothing_granted, settings};
use crate::terminal::{self, BAD, BOLD, GOOD, NOTICE, columns, paragraph};
use crate::workspace::{self, ANNOTATED_POLICY};

/// What is shown when nothing is asked for: each captured review with the settings that tell most
/// about it.
const DEFAULT: [(&str, &[&str]); 4] = [
    (
        "agent-stack-pod-create",
        &["{}", r#"{"mode":"Reject"}"#, r#"{"mode":"Warn"}"#],
    ),
    ("pod-create-by-statefulset", &["{}", r#"{"mode":"Reject"}"#]),
    (
        "deployment-create",
        &[
            "{}",
            r#"{"images":{"forbidAlways":["nginx"]}}"#,
            r#"{"images":{"forbidAlways":["nginx"]},"mode":"Reject"}"#,
        ],
    ),
    (
        "pod-create",
        &[
            "{}",
            r#"{"defaults":{"imagePullPolicy":"IfNotPresent"}}"#,
            r#"{"images":{"requireAlways":["*"]}}"#,
        ],
    ),
];

/// The settings for reviews that are named without any.
const MODES: [&str; 3] = ["{}", r#"{"mode":"Reject"}"#, r#"{"mode":"Warn"}"#];

/// Shows what the policy does to captured requests
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The policy's settings in JSON; may be given more than once
    #[arg(long, value_name = "VALUE")]
    settings_json: Vec<String>,
    /// The policy's module
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
    /// Files with an admission review, or the request in it, else some of the captured ones
    reviews: Vec<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let root = workspace::root();
    let path = args
        .module
        .clone()
        .unwrap_or_else(|| root.join(ANNOTATED_POLICY));
    if !path.is_file() {
        bail!(
            "there is no {}; `cargo xtask build` makes it",
            path.display()
        );
    }
    // No limit: whoever debugs a slow policy wants to see its answer.
    let module = Module::load(&path, Engine::default(), None)?;
    for (review, settings) in selection(args, &root) {
        let text = fs::read_to_string(&review)
            .with_context(|| format!("cannot read review {}", review.display()))?;
        let request =
            request::read(&text).with_context(|| format!("in review {}", review.display()))?;
        let name = review.strip_prefix(&root).unwrap_or(&review);
        for settings in settings {
            let page = page(&module, &request, name, &settings)?;
            terminal::print(&format!("{page}\n"))?;
        }
    }
    Ok(())
}

fn selection(args: &Args, root: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let own = |default: &[&str]| -> Vec<String> {
        if args.settings_json.is_empty() {
            default.iter().map(ToString::to_string).collect()
        } else {
            args.settings_json.clone()
        }
    };
    if args.reviews.is_empty() {
        DEFAULT
            .iter()
            .map(|(name, settings)| {
                let path = root.join("test_data/reviews").join(name);
                (path.with_extension("json"), own(settings))
            })
            .collect()
    } else {
        args.reviews
            .iter()
            .map(|path| (path.clone(), own(&MODES)))
            .collect()
    }
}

/// What is printed of one evaluation.
fn page(
    module: &Module,
    request: &AdmissionRequest,
    review: &Path,
    settings_json: &str,
) -> Result<String> {
    let settings = settings::read(None, Some(settings_json))?;
    let mut page = format!("{BOLD}{}{BOLD:#}\n", title(request));
    writeln!(page, "  review    {}", review.display())?;
    writeln!(page, "  settings  {settings_json}")?;
    let validation = module.judge_settings(&settings)?;
    if !validation.valid {
        writeln!(page, "  verdict   {BAD}settings refused{BAD:#}")?;
        block(&mut page, "message", "", validation.message.as_slice());
        return Ok(page);
    }
    let response = module.evaluate(&nothing_granted(), &settings, request)?;
    let (verdict, style) = verdict(&response);
    writeln!(page, "  verdict   {style}{verdict}{style:#}")?;

    let operations = response.patch_operations();
    if let Some(before) = &request.object {
        let rows = rows(before, &patched(before, &operations)?, &response);
        if !rows.is_empty() {
            let header = ["container", "image", "pull policy", "why"];
            writeln!(page, "\n{}", columns(&header, rows))?;
        }
    }
    let lines: Vec<String> = operations.iter().map(operation).collect();
    block(&mut page, "patch", "", &lines);
    let message = response.status.and_then(|status| status.message);
    block(&mut page, "message", "", message.as_slice());
    block(
        &mut page,
        "warnings",
        "- ",
        response.warnings.as_deref().unwrap_or_default(),
    );
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

/// Kind, name and operation.
fn title(request: &AdmissionRequest) -> String {
    let metadata = request
        .object
        .as_ref()
        .or(request.old_object.as_ref())
        .and_then(|object| object.get("metadata"));
    let text = |key: &str| metadata.and_then(|metadata| metadata.get(key)?.as_str());
    let name = text("name").or(request.name.as_deref());
    let name = match (name.filter(|name| !name.is_empty()), text("generateName")) {
        (Some(name), _) => name.to_owned(),
        (None, Some(prefix)) => format!("{prefix}*"),
        (None, None) => "(no name)".to_owned(),
    };
    let part = request.sub_resource.as_deref().unwrap_or_default();
    let slash = if part.is_empty() { "" } else { "/" };
    format!(
        "{}{slash}{part} {name}, {}",
        request.kind.kind, request.operation
    )
}

fn verdict(response: &AdmissionResponse) -> (String, Style) {
    let warned = response
        .warnings
        .as_ref()
        .is_some_and(|all| !all.is_empty());
    if !response.allowed {
        let code = response.status.as_ref().and_then(|status| status.code);
        let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
        (format!("rejected{code}"), BAD)
    } else if response.patch.is_some() {
        ("allowed, repaired".to_owned(), NOTICE)
    } else if warned {
        ("allowed, with warnings".to_owned(), NOTICE)
    } else {
        ("allowed, unchanged".to_owned(), GOOD)
    }
}

fn patched(object: &Value, operations: &[Value]) -> Result<Value> {
    let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations.to_vec()))
        .context("the policy's patch is none")?;
    let mut object = object.clone();
    json_patch::patch(&mut object, &patch).context("the policy's patch doesn't apply")?;
    Ok(object)
}

/// One operation of a patch in one line.
fn operation(operation: &Value) -> String {
    let text = |key: &str| operation[key].as_str().unwrap_or_default();
    let value = operation.get("value").map(Value::to_string);
    let line = [text("op"), text("path"), &value.unwrap_or_default()].join(" ");
    terminal::shorten(line.trim_end())
}

/// A place where an image stands.
#[derive(Debug, PartialEq)]
struct Place {
    list: &'static str,
    name: String,
    /// A JSON pointer to the element of its list.
    pointer: String,
    image: String,
    policy: String,
}

/// The lists that have images, in the order in which these are pulled, and what their elements are.
const LISTS: [(&str, &str); 4] = [
    ("volumes", "volume "),
    ("initContainers", "init "),
    ("containers", ""),
    ("ephemeralContainers", "ephemeral "),
];

/// The images of a Pod or a pod template.
fn places(object: &Value) -> Vec<Place> {
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
    let mut places = Vec::new();
    let Some((base, spec)) = spec else {
        return places;
    };
    for (list, _) in LISTS {
        let elements = spec[list].as_array();
        for (index, element) in elements.into_iter().flatten().enumerate() {
            let (holder, image, policy) = match (list, element.get("image")) {
                ("volumes", None) => continue,
                ("volumes", Some(image)) => (image, "reference", "pullPolicy"),
                _ => (element, "image", "imagePullPolicy"),
            };
            places.push(Place {
                list,
                name: element["name"].as_str().unwrap_or_default().to_owned(),
                pointer: format!("{base}/{list}/{index}"),
                image: holder[image].as_str().unwrap_or_default().to_owned(),
                policy: holder[policy].as_str().unwrap_or("(not set)").to_owned(),
            });
        }
    }
    places
}

/// A row for each place: its name, its image, what became of its policy, and why.
fn rows(before: &Value, after: &Value, response: &AdmissionResponse) -> Vec<Vec<String>> {
    let reasons = Reasons::of(response);
    let old_places = places(before);
    let row = |place: Place| {
        let old = old_places
            .iter()
            .find(|old| old.list == place.list && old.name == place.name);
        let policy = match old {
            None => format!("(new) -> {}", place.policy),
            Some(old) if old.policy != place.policy => {
                format!("{} -> {}", old.policy, place.policy)
            }
            Some(_) => place.policy.clone(),
        };
        let mut why = reasons.of_place(&place);
        if old.is_some_and(|old| old.image != place.image) {
            why.insert(0, "image".to_owned());
        }
        let kind = LISTS.iter().find(|(list, _)| *list == place.list);
        let label = format!("{}{}", kind.map_or("", |(_, kind)| kind), place.name);
        vec![label, place.image, policy, why.join(", ")]
    };
    places(after).into_iter().map(row).collect()
}

/// Why something was or should be changed, from the answer's audit annotations.
struct Reasons {
    changes: Vec<Reason>,
    findings: Vec<Reason>,
}

/// An element of the audit annotations `changes` and `findings`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Reason {
    path: String,
    rule: String,
    container: Option<String>,
    expected: Option<Value>,
}

impl Reasons {
    fn of(response: &AdmissionResponse) -> Self {
        let annotations = response.audit_annotations.as_ref();
        Self {
            changes: list(annotations, "changes"),
            findings: list(annotations, "findings"),
        }
    }

    /// The rules that have to do with a place. What was changed needs no finding beside it.
    fn of_place(&self, place: &Place) -> Vec<String> {
        let here = |reason: &&Reason| reason.concerns(place);
        let changes: Vec<&Reason> = self.changes.iter().filter(here).collect();
        let findings = self
            .findings
            .iter()
            .filter(here)
            .filter(|finding| !changes.iter().any(|change| change.rule == finding.rule));
        let mut reasons: Vec<String> = Vec::new();
        for reason in changes.iter().copied().chain(findings) {
            // Only a pull policy says anything in a table of pull policies.
            let text = match reason.expected.as_ref().and_then(Value::as_str) {
                Some(expected @ ("Always" | "IfNotPresent" | "Never")) => {
                    format!("{}: should be {expected}", reason.rule)
                }
                _ => reason.rule.clone(),
            };
            if !reasons.contains(&text) {
                reasons.push(text);
            }
        }
        reasons
    }
}

impl Reason {
    /// Whether its path (`spec.containers[0].image`) leads to a place or into it; without a path,
    /// whether it names the place.
    fn concerns(&self, place: &Place) -> bool {
        if self.path.is_empty() {
            return self.container.as_deref() == Some(place.name.as_str());
        }
        let path = self.path.replace(['[', '.'], "/").replace(']', "");
        format!("/{path}/").starts_with(&format!("{}/", place.pointer))
    }
}

fn list<T: DeserializeOwned>(annotations: Option<&BTreeMap<String, String>>, key: &str) -> Vec<T> {
    annotations
        .and_then(|annotations| serde_json::from_str(annotations.get(key)?).ok())
        .unwrap_or_default()
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
    fn every_place_of_an_image_has_a_row() {
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
    fn templates_have_places_too() {
        for wrapped in [
            json!({"spec": {"template": pod()}}),
            json!({"template": pod()}),
            json!({"spec": {"jobTemplate": {"spec": {"template": pod()}}}}),
        ] {
            assert_eq!(places(&wrapped).len(), 5, "{wrapped}");
        }
        assert_eq!(places(&json!({"spec": {"replicas": 3}})), []);
    }

    #[test]
    fn a_row_says_what_changed_and_why() {
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
    fn a_title_says_what_happens_to_what() {
        let request = |object: Value, part: &str| -> AdmissionRequest {
            let request = json!({
                "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "operation": "UPDATE", "userInfo": {}, "object": object, "subResource": part,
            });
            request::read(&request.to_string()).expect("a request")
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
