//! `cargo xtask show`: lets a person see what the policy does to captured requests. Per container
//! image its pull policy before and after, and why; the patch; the message; the time.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::host::capabilities::HostFunctions;
use crate::host::request::{self, AdmissionRequest};
use crate::host::response::AdmissionResponse;
use crate::host::{Engine, Evaluation, Module, Settings};
use crate::table::{self, Paint, Style, WIDTH};
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
    let module = Module::load(&Engine::new(None)?, &path)?;
    let paint = Paint::of_stdout();
    for (review, settings) in selection(args, &root) {
        let text = fs::read_to_string(&review)
            .with_context(|| format!("cannot read review {}", review.display()))?;
        let request =
            request::read(&text).with_context(|| format!("in review {}", review.display()))?;
        let name = review.strip_prefix(&root).unwrap_or(&review);
        for settings in settings {
            let page = show(&module, &request, name, &settings, paint)?;
            table::print(&format!("{page}\n"))?;
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

fn show(
    module: &Module,
    request: &AdmissionRequest,
    review: &Path,
    settings_json: &str,
    paint: Paint,
) -> Result<String> {
    let settings: Settings = crate::commands::run::settings(None, Some(settings_json))?;
    let functions = Arc::new(HostFunctions::none());
    let mut page = Page {
        paint,
        text: format!("{}\n", paint.paint(Style::Bold, &title(request))),
    };
    page.field("review", &review.display().to_string());
    page.field("settings", settings_json);
    let validation = module.validate_settings(&functions, &settings)?;
    if !validation.valid {
        page.field("verdict", &paint.paint(Style::Bad, "settings refused"));
        let message = validation.message.unwrap_or_default();
        page.block("message", &table::wrap(&message, WIDTH - 4));
        return Ok(page.text);
    }
    // The first evaluation in a process pays for pages that no request of a running server pays for.
    module.evaluate(&functions, &settings, request)?;
    let Evaluation { response, elapsed } = module.evaluate(&functions, &settings, request)?;

    let (verdict, style) = verdict(&response);
    page.field("verdict", &paint.paint(style, &verdict));
    page.field("time", &milliseconds(elapsed));

    let operations = response.patch_operations();
    if let Some(before) = &request.object {
        let after = patched(before, &operations)?;
        let reasons = Reasons::of(&response);
        page.table(&places(before), &places(&after), &reasons);
    }
    let lines: Vec<String> = operations.iter().map(operation).collect();
    page.block("patch", &lines);
    let status = response.status.as_ref();
    if let Some(message) = status.and_then(|status| status.message.as_deref()) {
        page.block("message", &table::wrap(message, WIDTH - 4));
    }
    let warnings: Vec<String> = response
        .warnings
        .iter()
        .flatten()
        .flat_map(|warning| bullet(warning))
        .collect();
    page.block("warnings", &warnings);
    Ok(page.text)
}

/// What is printed of one evaluation.
struct Page {
    paint: Paint,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn field(&mut self, label: &str, value: &str) {
        let label = self.paint.paint(Style::Dim, &format!("{label:<9}"));
        self.line(&format!("  {label} {value}"));
    }

    fn block(&mut self, label: &str, lines: &[String]) {
        if lines.is_empty() {
            return;
        }
        let label = self.paint.paint(Style::Dim, label);
        self.line(&format!("\n  {label}"));
        for line in lines {
            self.line(&format!("    {line}"));
        }
    }

    fn table(&mut self, before: &[Place], after: &[Place], reasons: &Reasons) {
        if after.is_empty() {
            return;
        }
        let mut rows = vec![["container", "image", "pull policy", "why"].map(str::to_owned)];
        let mut changed = vec![false];
        for place in after {
            let old = before.iter().find(|old| old.is_same(place));
            let policy = match old {
                None => format!("(new) -> {}", place.policy()),
                Some(old) if old.policy != place.policy => {
                    format!("{} -> {}", old.policy(), place.policy())
                }
                Some(_) => place.policy().to_owned(),
            };
            let image_changed = old.is_some_and(|old| old.image != place.image);
            changed.push(image_changed || old.is_none_or(|old| old.policy != place.policy));
            let mut why = reasons.for_place(place);
            if image_changed {
                why.insert_str(0, if why.is_empty() { "image" } else { "image, " });
            }
            rows.push([place.label(), place.image.clone(), policy, why]);
        }
        self.line("");
        let lines = table::align(&rows, 1, WIDTH - 2);
        for (index, (line, changed)) in lines.iter().zip(changed).enumerate() {
            let line = match (index, changed) {
                (0, _) => self.paint.paint(Style::Dim, line),
                (_, true) => self.paint.paint(Style::Notice, line),
                _ => line.clone(),
            };
            self.line(&format!("  {line}"));
        }
    }
}

/// A list's entry, its further lines aligned with the first.
fn bullet(text: &str) -> Vec<String> {
    table::wrap(text, WIDTH - 6)
        .iter()
        .enumerate()
        .map(|(index, line)| format!("{} {line}", if index == 0 { "-" } else { " " }))
        .collect()
}

/// Kind, name and operation.
fn title(request: &AdmissionRequest) -> String {
    let metadata = request
        .object
        .as_ref()
        .or(request.old_object.as_ref())
        .and_then(|object| object.get("metadata"));
    let text = |key: &str| metadata.and_then(|metadata| metadata.get(key)?.as_str());
    let name = text("name")
        .map(str::to_owned)
        .or_else(|| request.name.clone());
    let name = match (name, text("generateName")) {
        (Some(name), _) if !name.is_empty() => name,
        (_, Some(prefix)) => format!("{prefix}*"),
        _ => "(no name)".to_owned(),
    };
    let part = request
        .sub_resource
        .as_deref()
        .filter(|part| !part.is_empty())
        .map(|part| format!("/{part}"))
        .unwrap_or_default();
    format!("{}{part} {name}, {}", request.kind.kind, request.operation)
}

fn verdict(response: &AdmissionResponse) -> (String, Style) {
    if !response.allowed {
        let code = response.status.as_ref().and_then(|status| status.code);
        let code = code.map(|code| format!(" ({code})")).unwrap_or_default();
        return (format!("rejected{code}"), Style::Bad);
    }
    if response.patch.is_some() {
        ("allowed, repaired".to_owned(), Style::Notice)
    } else if response
        .warnings
        .as_ref()
        .is_some_and(|warnings| !warnings.is_empty())
    {
        ("allowed, with warnings".to_owned(), Style::Notice)
    } else {
        ("allowed, unchanged".to_owned(), Style::Good)
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
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
    let text = |key: &str| {
        operation
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let value = operation
        .get("value")
        .map(Value::to_string)
        .unwrap_or_default();
    let line = format!("{} {} {value}", text("op"), text("path"));
    table::shorten(line.trim_end(), WIDTH - 4)
}

/// A place where an image stands.
#[derive(Debug, PartialEq)]
struct Place {
    list: &'static str,
    name: String,
    /// A JSON pointer to the element of its list.
    path: String,
    image: String,
    policy: Option<String>,
}

impl Place {
    fn is_same(&self, other: &Self) -> bool {
        self.list == other.list && self.name == other.name
    }

    /// The name with what kind of container it is, where it is no ordinary one.
    fn label(&self) -> String {
        let kind = match self.list {
            "initContainers" => "init ",
            "ephemeralContainers" => "ephemeral ",
            "volumes" => "volume ",
            _ => "",
        };
        format!("{kind}{}", table::shorten(&self.name, 30))
    }

    fn policy(&self) -> &str {
        self.policy.as_deref().unwrap_or("(not set)")
    }
}

/// The images of a Pod or a pod template, in the order in which they are pulled.
fn places(object: &Value) -> Vec<Place> {
    let pointers = [
        "/spec/jobTemplate/spec/template/spec",
        "/spec/template/spec",
        "/template/spec",
        "/spec",
    ];
    let Some((base, spec)) = pointers
        .iter()
        .filter_map(|pointer| Some((pointer, object.pointer(pointer)?)))
        .find(|(_, spec)| spec.get("containers").is_some())
    else {
        return Vec::new();
    };
    let mut places = Vec::new();
    for list in [
        "volumes",
        "initContainers",
        "containers",
        "ephemeralContainers",
    ] {
        let elements = spec.get(list).and_then(Value::as_array);
        for (index, element) in elements.into_iter().flatten().enumerate() {
            let (holder, image, policy) = if list == "volumes" {
                match element.get("image") {
                    Some(image) => (image, "reference", "pullPolicy"),
                    None => continue,
                }
            } else {
                (element, "image", "imagePullPolicy")
            };
            let text = |value: &Value, key: &str| value.get(key)?.as_str().map(str::to_owned);
            places.push(Place {
                list,
                name: text(element, "name").unwrap_or_default(),
                path: format!("{base}/{list}/{index}"),
                image: text(holder, image).unwrap_or_default(),
                policy: text(holder, policy),
            });
        }
    }
    places
}

/// Why something was or should be changed, from the answer's audit annotations.
struct Reasons {
    changes: Vec<Change>,
    findings: Vec<Finding>,
}

/// An element of the audit annotation `changes`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Change {
    path: String,
    rule: String,
}

/// An element of the audit annotation `findings`.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Finding {
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
    fn for_place(&self, place: &Place) -> String {
        let mut reasons: Vec<String> = Vec::new();
        let mut add = |reason: String| {
            if !reason.is_empty() && !reasons.contains(&reason) {
                reasons.push(reason);
            }
        };
        for change in &self.changes {
            if concerns(&change.path, place) {
                add(change.rule.clone());
            }
        }
        for finding in &self.findings {
            let named = finding.container.as_deref() == Some(place.name.as_str());
            let here = if finding.path.is_empty() {
                named
            } else {
                concerns(&finding.path, place)
            };
            let changed = self
                .changes
                .iter()
                .any(|change| change.rule == finding.rule && concerns(&change.path, place));
            if !here || changed {
                continue;
            }
            // Only a pull policy says anything in a table of pull policies.
            match finding.expected.as_ref().and_then(Value::as_str) {
                Some(expected @ ("Always" | "IfNotPresent" | "Never")) => {
                    add(format!("{}: should be {expected}", finding.rule));
                }
                _ => add(finding.rule.clone()),
            }
        }
        reasons.join(", ")
    }
}

fn list<T: DeserializeOwned>(annotations: Option<&BTreeMap<String, String>>, key: &str) -> Vec<T> {
    annotations
        .and_then(|annotations| annotations.get(key))
        .and_then(|json| serde_json::from_str(json).ok())
        .unwrap_or_default()
}

/// Whether a path, as Kubernetes writes it (`spec.containers[0].image`) or as a JSON pointer, leads
/// to a place, into it, or to a list that holds it.
fn concerns(path: &str, place: &Place) -> bool {
    let pointer = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!(
            "/{}",
            path.replace('[', "/").replace(']', "").replace('.', "/")
        )
    };
    pointer == place.path
        || pointer
            .strip_prefix(&place.path)
            .is_some_and(|rest| rest.starts_with('/'))
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

    #[test]
    fn every_place_of_an_image_is_found() {
        let got: Vec<(String, String, String)> = places(&pod())
            .iter()
            .map(|place| {
                (
                    place.label(),
                    place.path.clone(),
                    format!("{} {}", place.image, place.policy()),
                )
            })
            .collect();
        let expected = [
            ("volume data", "/spec/volumes/0", "data:v1 (not set)"),
            (
                "init imagecheck-0",
                "/spec/initContainers/0",
                "app:v1 IfNotPresent",
            ),
            ("app", "/spec/containers/0", "app:v1 Always"),
            ("bare", "/spec/containers/1", " (not set)"),
            (
                "ephemeral debug",
                "/spec/ephemeralContainers/0",
                "busybox (not set)",
            ),
        ]
        .map(|(label, path, text)| (label.to_owned(), path.to_owned(), text.to_owned()));
        assert_eq!(got, expected);
    }

    #[test]
    fn templates_are_found_in_every_kind() {
        let spec = pod()["spec"].take();
        for object in [
            json!({"spec": {"template": {"spec": spec.clone()}}}),
            json!({"template": {"spec": spec.clone()}}),
            json!({"spec": {"jobTemplate": {"spec": {"template": {"spec": spec.clone()}}}}}),
        ] {
            assert_eq!(places(&object).len(), 5, "{object}");
        }
        assert!(places(&json!({"spec": {}})).is_empty());
    }

    #[test]
    fn paths_of_both_kinds_lead_to_a_place() {
        let places = places(&pod());
        let place = |name: &str| {
            places
                .iter()
                .find(|place| place.name == name)
                .expect("a place")
        };
        for (path, name, expected) in [
            ("spec.containers[0].imagePullPolicy", "app", true),
            ("/spec/containers/0/imagePullPolicy", "app", true),
            ("spec.containers[0]", "app", true),
            ("spec.containers[1].image", "app", false),
            ("spec.containers[10].image", "bare", false),
            ("spec.volumes[0].image.pullPolicy", "data", true),
        ] {
            assert_eq!(concerns(path, place(name)), expected, "{path} {name}");
        }
    }

    #[test]
    fn reasons_come_from_the_audit_annotations() {
        let annotations = json!({
            "changes": r#"[{"path":"spec.initContainers[0].imagePullPolicy","from":"IfNotPresent","to":"Always","rule":"weak-check"}]"#,
            "findings": r#"[{"rule":"weak-check","path":"spec.initContainers[0].imagePullPolicy","expected":"Always"},
                {"rule":"missing-check","container":"bare","expected":"an image check"},
                {"rule":"disallowed-policy","path":"spec.containers[0].imagePullPolicy","expected":"IfNotPresent"}]"#,
        });
        let answer = json!({"accepted": true, "audit_annotations": annotations});
        let response = AdmissionResponse::new(
            "u".to_owned(),
            None,
            serde_json::from_value(answer).expect("an answer"),
        );
        let reasons = Reasons::of(&response);
        let got: Vec<String> = places(&pod())
            .iter()
            .map(|place| reasons.for_place(place))
            .collect();
        assert_eq!(
            got,
            [
                "",
                "weak-check",
                "disallowed-policy: should be IfNotPresent",
                "missing-check",
                ""
            ]
        );
    }

    #[test]
    fn annotations_that_are_no_lists_are_passed_over() {
        let answer =
            json!({"accepted": true, "audit_annotations": {"changes": "7", "findings": "x"}});
        let response = AdmissionResponse::new(
            "u".to_owned(),
            None,
            serde_json::from_value(answer).expect("an answer"),
        );
        let reasons = Reasons::of(&response);
        assert!(reasons.changes.is_empty() && reasons.findings.is_empty());
    }

    #[test]
    fn a_title_names_what_has_no_name_yet() {
        let request = |object: Value| {
            request::read(
                &json!({
                    "uid": "u", "operation": "CREATE", "userInfo": {}, "object": object,
                    "kind": {"group": "", "version": "v1", "kind": "Pod"},
                    "resource": {"group": "", "version": "v1", "resource": "pods"},
                })
                .to_string(),
            )
            .expect("a request")
        };
        for (metadata, expected) in [
            (json!({"name": "p"}), "Pod p, CREATE"),
            (json!({"generateName": "p-"}), "Pod p-*, CREATE"),
            (json!({}), "Pod (no name), CREATE"),
        ] {
            assert_eq!(title(&request(json!({"metadata": metadata}))), expected);
        }
    }

    #[test]
    fn an_operation_is_a_line() {
        assert_eq!(
            operation(&json!({"op": "replace", "path": "/a", "value": "x"})),
            r#"replace /a "x""#
        );
        assert_eq!(
            operation(&json!({"op": "remove", "path": "/a"})),
            "remove /a"
        );
        assert!(
            operation(&json!({"op": "add", "path": "/a", "value": "x".repeat(500)}))
                .chars()
                .count()
                <= WIDTH
        );
    }
}
