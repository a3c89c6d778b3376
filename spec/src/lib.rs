//! The specification: the behaviour of this policy, written a second time from the design alone. It
//! works on [`serde_json::Value`]. It is written to be read, not to be fast. It shares no code with
//! the module. Comments beside the code quote or paraphrase the clauses of the design. Random
//! requests, settings and registry answers go through the specification and the module. So a
//! mistake stays hidden only if both make it.
//!
//! The table *Words* at the top of the module's `src/lib.rs` explains words like *place*, *check*,
//! *covered* and *record*. This crate adds one: `came_in` holds the values of the admission
//! request, before any change.
//!
//! The design leaves some questions open. A comment that begins with **Decided** gives the answer
//! of this specification to such a question. **Decided\*** marks an answer that was found because a
//! promise failed on random cases.

pub mod compare;
pub mod corpus;
pub mod differential;
pub mod events;
pub mod generate;
pub mod image;
pub mod pattern;
mod pod;
mod policy;
pub mod promises;
mod reapply;
mod request;
mod rules;
mod settings;
pub mod spaces;
pub mod transcript;
pub mod validity;
mod verdict;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::pod::{Event, List, Pod, field};
use crate::request::Row;

pub use crate::policy::{PullPolicy, server_default};
pub use crate::settings::Settings;
pub use crate::verdict::{Change, FailedLookup, Failure, Finding, Record, Repair, Verdict, Weight};

/// The annotation of a repaired object that holds the record.
pub const RECORD: &str = "consistent-pull-policy/changes";

/// Answers the lookups of this policy.
pub trait Registry {
    /// Returns the digest of a normalised image.
    ///
    /// # Errors
    /// The class of the failure, if the registry gives no digest.
    fn manifest_digest(&mut self, image: &str) -> Result<String, Failure>;

    /// Returns the OS and the architecture of each entry of an index. `None` means that the image
    /// has no index.
    ///
    /// # Errors
    /// The class of the failure, if the manifest can't be fetched.
    fn platforms(
        &mut self,
        image_at_digest: &str,
    ) -> Result<Option<Vec<(String, String)>>, Failure>;
}

/// Returns the verdict on an admission request. The settings must be valid.
///
/// **Decided**: the Pod spec of a request that is accepted untouched may have any shape.
pub fn validate(request: &Value, settings: &Value, registry: &mut dyn Registry) -> Verdict {
    let settings = Settings(settings);
    let (event, root) = match request::row(request, settings) {
        Row::Untouched => return accepted(request, request["object"].clone()),
        Row::ReapplyOnly(root) => {
            let mut object = request["object"].clone();
            if settings.mode() == "Fix" {
                reapply::recorded(root, &mut object, &request["oldObject"]);
            }
            return accepted(request, object);
        }
        Row::Broken(path) => return broken(request, path),
        Row::Examined(event, root) => (event, root),
    };
    let mut object = request["object"].clone();
    if let Err(path) = shape(&object, root) {
        return broken(request, path);
    }
    // "**Re-apply** runs first, and the later rules see the restored object."
    if event == Event::PodUpdate && settings.mode() == "Fix" {
        reapply::recorded(root, &mut object, &request["oldObject"]);
    }
    let spec = at(&object, root).cloned().unwrap_or_default();
    let old = at(&request["oldObject"], root);
    let mut pod = match Pod::read(settings, event, root, &spec, old) {
        Ok(pod) => pod,
        Err(path) => return broken(request, path),
    };
    pod.has_controller = request::has_controller(&object);
    pod.annotations = object["metadata"]["annotations"].clone();
    pod.is_audit = request::names_no_user(request);
    // "Lookups happen only for objects that would otherwise be accepted."
    let mut unasked = pod.clone();
    // *replace-check* never rejects an object. It is switched off here, because it would remove
    // checks that `is_undecided` needs.
    unasked.has_controller = false;
    rules::apply(&mut unasked, &object["status"], None);
    let undecided: Vec<bool> = unasked
        .findings
        .iter()
        .map(|one| is_undecided(&unasked, one))
        .collect();
    let mut undecided = undecided.into_iter();
    unasked
        .findings
        .retain(|_| !undecided.next().unwrap_or_default());
    pod.is_lenient = settings.max_lookups() == 0;
    // In mode `Reject`, the images of a request that names no user are looked up even if there are
    // other findings.
    if is_accepted(&unasked) || pod.is_audit && settings.mode() == "Reject" {
        // A tag and a digest are the same image only if a lookup of this request gave that digest
        // for the tag. All rules use these digests, also the rules before *registry*. So the rules
        // run twice, and the first run only collects the digests.
        let mut registry = Remembered {
            registry,
            digests: BTreeMap::new(),
            platforms: BTreeMap::new(),
        };
        let mut first = pod.clone();
        rules::apply(&mut first, &object["status"], Some(&mut registry));
        pod.lookups.digests = first.lookups.digests;
        rules::apply(&mut pod, &object["status"], Some(&mut registry));
    } else {
        rules::apply(&mut pod, &object["status"], None);
    }
    answer(request, object, &pod)
}

/// Whether an answer of a registry could remove a finding.
///
/// **Decided**: such a finding doesn't prevent lookups. *missing-check* and *weak-check* are
/// undecided if an answer could show that another image, which is pulled first, is the same image.
/// *default* and *weak-check* are undecided if `Pin` or `UseCached` could change the pull policy.
fn is_undecided(pod: &Pod, finding: &Finding) -> bool {
    match finding.rule {
        "missing-check" => pod.may_be_pulled_first(finding.place),
        "weak-check" | "default" => {
            pod.may_be_pulled_first(finding.place) || pod.may_be_pinned_or_cached(finding.place)
        }
        // If the image may have `Always`, this finding has one cause. The forbidden default `Never`
        // became `IfNotPresent`, which then replaced `Always`.
        "disallowed-policy" => {
            let is_allowed = pod
                .reference(finding.place)
                .is_some_and(|image| !pod.settings.forbids_always(&image));
            is_allowed
                && pod.places[finding.place].policy_before() == policy::PullPolicy::Always
                && pod.may_be_pulled_first(finding.place)
        }
        _ => false,
    }
}

/// Asks the registries each question only once, and remembers the answer.
struct Remembered<'r> {
    registry: &'r mut dyn Registry,
    digests: BTreeMap<String, Result<String, Failure>>,
    platforms: BTreeMap<String, generate::Index>,
}

impl Registry for Remembered<'_> {
    fn manifest_digest(&mut self, image: &str) -> Result<String, Failure> {
        let ask = || self.registry.manifest_digest(image);
        self.digests
            .entry(image.to_owned())
            .or_insert_with(ask)
            .clone()
    }

    fn platforms(&mut self, image: &str) -> generate::Index {
        let ask = || self.registry.platforms(image);
        self.platforms
            .entry(image.to_owned())
            .or_insert_with(ask)
            .clone()
    }
}

/// Whether the request is accepted. The mode doesn't change the findings, only whether they reject.
fn is_accepted(pod: &Pod) -> bool {
    rejecting(pod).is_empty()
}

/// Returns the findings that reject the request.
fn rejecting<'p>(pod: &'p Pod) -> Vec<&'p Finding> {
    // With `templates: Warn`, a finding in a pod template leads to a warning. With
    // `templates: Enforce`, it is treated like a finding in a Pod.
    if pod.event == Event::Template && pod.settings.templates() == "Warn" {
        return Vec::new();
    }
    let mut findings: Vec<&'p Finding> = pod.findings.iter().collect();
    findings.retain(|one| one.weight == Weight::Rejects && pod.counts(one));
    match pod.settings.mode() {
        // "`Fix` repairs what it can, and rejects what it can't repair."
        "Fix" => findings.retain(|finding| finding.repair == Repair::None),
        "Reject" => {}
        // "`Warn` accepts with warnings."
        _ => findings.clear(),
    }
    findings
}

/// Returns the code of a rejection. Section *Code* of the design: at CREATE the code is 422, if at
/// least one of the reasons is permanent. If all reasons are momentary answers of a registry, the
/// code is 400. An UPDATE always gets 400.
fn code(request: &Value, is_momentary: bool) -> u16 {
    if request["operation"] == "CREATE" && !is_momentary {
        422
    } else {
        400
    }
}

fn answer(request: &Value, object: Value, pod: &Pod) -> Verdict {
    let findings: Vec<Finding> = pod
        .findings
        .iter()
        .filter(|finding| pod.counts(finding))
        .cloned()
        .collect();
    let mut verdict = Verdict {
        allowed: is_accepted(pod),
        lookups: pod.lookups.asked.clone(),
        manifests: pod.lookups.manifests.clone(),
        failed: pod.lookups.failed.clone(),
        ..Verdict::default()
    };
    verdict.failed.sort_by(|a, b| a.image.cmp(&b.image));
    let is_momentary = rejecting(pod).iter().all(|one| one.is_momentary);
    verdict.code = (!verdict.allowed).then(|| code(request, is_momentary));
    verdict.is_undecided = pod.is_near_limit;
    let is_template = pod.event == Event::Template;
    let is_told_only =
        pod.settings.mode() != "Fix" || is_template && pod.settings.templates() != "Enforce";
    // Some changes happen in all Pods because the operator's settings ask for them, and they lead
    // to no warning line. These are the changes of *default*, and missing checks with
    // `coverage: Fix` and `everyPod`.
    let is_asked_for_everywhere = |finding: &Finding| match finding.rule {
        "default" => true,
        "missing-check" => pod.settings.coverage() == "Fix" && pod.settings.every_pod(),
        _ => false,
    };
    let is_fix = pod.settings.mode() == "Fix";
    verdict.warned = verdict.allowed
        && (!verdict.failed.is_empty()
            || findings.iter().any(|finding| {
                let is_worth_a_line = is_told_only
                    || finding.weight == Weight::Warns
                    || ["weak-check", "missing-check", "disallowed-policy"].contains(&finding.rule);
                let is_left_out = is_fix
                    && is_asked_for_everywhere(finding)
                    && (is_template || finding.repair == Repair::Addition);
                is_worth_a_line && !is_left_out
            }));
    // In mode `Fix`, a pod template gets no warning line for such a finding. **Decided**: the
    // template of a Windows Pod may get a warning line.
    verdict.is_silent = is_fix
        && is_template
        && verdict.failed.is_empty()
        && !findings.is_empty()
        && !pod.is_windows()
        && findings.iter().all(is_asked_for_everywhere);
    // **Decided**: a pod template without a finding is not changed, even if *pull-once* would
    // change it. The setting `templates` only says what happens to a pod template with a finding.
    let has_repair = findings
        .iter()
        .any(|finding| finding.repair != Repair::None);
    let mut out = object;
    if verdict.allowed && !is_told_only && (!is_template || has_repair) {
        verdict.changes = changes(pod);
        if let Some(spec) = at_mut(&mut out, pod.root) {
            *spec = pod.spec_out();
        }
    }
    verdict.findings = findings;
    // The record is written only at CREATE, into the metadata of the object itself.
    if !verdict.changes.is_empty()
        && request["operation"] == "CREATE"
        && pod.settings.record_changes()
    {
        let earlier = out
            .pointer("/metadata/annotations")
            .and_then(|annotations| annotations.get(RECORD)?.as_str())
            .and_then(|text| serde_json::from_str::<Value>(text).ok())
            .and_then(|value| value.as_array().cloned())
            .unwrap_or_default();
        verdict.record = Some(Record {
            new: verdict.changes.clone(),
            earlier,
        });
    }
    // An answer has a `mutated_object` only if the request is accepted and something changed.
    verdict.object = (verdict.allowed && out != request["object"]).then_some(out);
    verdict
}

/// Returns the differences between the request's places and the repaired places.
fn changes(pod: &Pod) -> Vec<Change> {
    let mut changes = Vec::new();
    for (index, place) in pod.places.iter().enumerate() {
        let is_volume = place.list == List::Volumes;
        let check = |image: &Value, policy: Value| {
            if is_volume {
                json!({"name": place.name, "image": {"reference": image, "pullPolicy": policy}})
            } else {
                json!({"name": place.name, "image": image, "imagePullPolicy": policy})
            }
        };
        let mut change = |path: String, from: Value, to: Value, rule| {
            changes.push(Change {
                path,
                container: place.name.clone(),
                from,
                to,
                rule,
            });
        };
        let path = pod.path_out(index);
        match &place.came_in {
            None => {
                let image = place.image.as_str().into();
                change(
                    path,
                    Value::Null,
                    check(&image, place.policy.name().into()),
                    place.policy_rule,
                );
            }
            Some(came_in) if place.is_gone => {
                let from = check(&came_in.image, set(&came_in.policy));
                change(pod.path_in(index), from, Value::Null, "replace-check");
            }
            Some(came_in) => {
                if came_in.image.as_str().unwrap_or_default() != place.image {
                    let path = format!("{path}.{}", field(place.list, true));
                    let to = place.image.as_str().into();
                    change(path, came_in.image.clone(), to, place.image_rule);
                }
                if came_in.effective != place.policy {
                    let path = format!("{path}.{}", field(place.list, false));
                    let to = place.policy.name().into();
                    // `""` and `null` count as not set.
                    let is_set = came_in.policy != "";
                    let from = if is_set {
                        came_in.policy.clone()
                    } else {
                        Value::Null
                    };
                    change(path, from, to, place.policy_rule);
                }
            }
        }
    }
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// Returns a pull policy of the request. An empty text becomes `null`, because `""` and `null`
/// count as not set.
fn set(policy: &Value) -> Value {
    if policy == "" {
        Value::Null
    } else {
        policy.clone()
    }
}

fn accepted(request: &Value, object: Value) -> Verdict {
    let object = (object != request["object"]).then_some(object);
    Verdict {
        allowed: true,
        object,
        ..Verdict::default()
    }
}

fn broken(request: &Value, path: String) -> Verdict {
    Verdict {
        broken: Some(path),
        code: Some(code(request, false)),
        ..Verdict::default()
    }
}

/// Checks the parts of an object around the Pod spec. An object of a known kind is rejected, with
/// the path, if its shape is not the shape of the Kubernetes API (for example no `spec`).
fn shape(object: &Value, root: &str) -> Result<(), String> {
    let annotations = &object["metadata"]["annotations"];
    if !(annotations.is_null() || annotations.is_object()) {
        return Err("metadata.annotations".to_owned());
    }
    owners(&object["metadata"]["ownerReferences"])?;
    let mut value = object;
    let mut path = String::new();
    for key in root.split('.') {
        path = if path.is_empty() {
            key.to_owned()
        } else {
            format!("{path}.{key}")
        };
        value = value
            .get(key)
            .filter(|value| value.is_object())
            .ok_or(&path)?;
    }
    Ok(())
}

/// **Decided**: owner references of another shape than the Kubernetes API's are a broken shape,
/// because the answer depends on whether one of them is a controller.
fn owners(owners: &Value) -> Result<(), String> {
    let path = "metadata.ownerReferences";
    let list = match owners {
        Value::Null => return Ok(()),
        Value::Array(list) => list,
        _ => return Err(path.to_owned()),
    };
    for (index, owner) in list.iter().enumerate() {
        if !owner.is_object() {
            return Err(format!("{path}[{index}]"));
        }
        if !(owner["controller"].is_null() || owner["controller"].is_boolean()) {
            return Err(format!("{path}[{index}].controller"));
        }
    }
    Ok(())
}

/// Returns the value at a path of keys with dots between them.
fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

fn at_mut<'v>(value: &'v mut Value, path: &str) -> Option<&'v mut Value> {
    path.split('.')
        .try_fold(value, |value, key| value.get_mut(key))
}
