//! The specification: the behaviour of this policy, written a second time from the documentation
//! (`docs/`). The specification works on [`serde_json::Value`], and shares no code with the module. It is
//! written to be read, not to be fast. Comments beside the code repeat the rules of the documentation.
//! Random requests, settings and registry answers go through the specification and the module.
//!
//! The specification is not fully independent. Where the two differed and the documentation left the
//! question open, the specification was often changed to do what the module does. So a mistake that both
//! make stays hidden from this comparison. Other proofs can find it: the [`corpus`], the [`promises`], and
//! runs on real hosts. The specification and the module also use the same types of Kubernetes, those of
//! `k8s-openapi`, for the containers that this policy adds.
//!
//! The table *Words* at the top of the module's `src/lib.rs` explains words like *place*, *check*,
//! *covered* and *record*. This crate adds one name: a place's field
//! `came_in` holds the values of the admission request, before any change.
//!
//! The documentation leaves some questions open. A comment that begins with **Decided** gives this
//! specification's answer to one of these questions. **Decided\*** marks an answer that was found
//! because one of the promises ([`promises`]) failed on a random case.

pub mod answers;
pub mod compare;
pub mod corpus;
pub mod differential;
pub mod events;
pub mod generate;
pub mod image;
pub mod json;
pub mod pattern;
mod pod;
mod policy;
pub mod promises;
mod reapply;
mod record;
mod request;
mod rules;
mod settings;
pub mod spaces;
pub mod transcript;
mod verdict;

use serde_json::{Value, json};

use crate::answers::Answers;
use crate::json::elements;
use crate::pod::{List, Pod, RequestKind, field};
use crate::request::Row;
use crate::rules::missing_check;

pub use crate::policy::{PullPolicy, server_default};
pub use crate::record::RECORD;
pub use crate::settings::Settings;
pub use crate::verdict::{Finding, Repair, Verdict, Weight};

/// Returns the verdict on an admission request. The settings must be valid.
///
/// **Decided**: if a request is accepted untouched, its Pod spec may have any shape.
#[must_use]
pub fn validate(request: &Value, settings: &Value, answers: &Answers) -> Verdict {
    let settings = Settings(settings);
    let (kind, root) = match request::row(request, settings) {
        Row::Untouched => return accepted(request, request["object"].clone()),
        Row::ReapplyOnly(root) => {
            let mut object = request["object"].clone();
            if settings.mode() == "Fix" {
                reapply::recorded(root, &mut object, &request["oldObject"]);
            }
            return accepted(request, object);
        }
        Row::Broken(path) => return broken(request, path),
        Row::Examined(kind, root) => (kind, root),
    };
    let mut object = request["object"].clone();
    if let Err(path) = shape(&object, root) {
        return broken(request, path);
    }
    // Re-apply (docs/requests.md, *The same manifest again*) runs before the rules. So the rules see
    // the restored object.
    if kind == RequestKind::PodUpdate && settings.mode() == "Fix" {
        reapply::recorded(root, &mut object, &request["oldObject"]);
    }
    let mut pod = match Pod::read(settings, kind, root, &object, &request["oldObject"]) {
        Ok(pod) => pod,
        Err(path) => return broken(request, path),
    };
    pod.is_audit = request::names_no_user(request);
    rules::apply(&mut pod, answers);
    answer(request, object, &pod)
}

/// Returns the findings that reject the request.
fn rejecting<'p>(pod: &'p Pod) -> Vec<&'p Finding> {
    // With `templates: Warn`, a finding in a pod template never rejects the request. With
    // `templates: Enforce`, a finding in a pod template is treated like a finding in a Pod.
    if pod.request_kind == RequestKind::Template && pod.settings.templates() == "Warn" {
        return Vec::new();
    }
    let mut findings: Vec<&'p Finding> = pod.findings.iter().collect();
    findings.retain(|one| one.weight != Weight::Warns && pod.counts(one));
    match pod.settings.mode() {
        // Mode `Fix` repairs each finding that has a repair. The others reject the request
        // (docs/settings.md, *mode*).
        "Fix" => findings.retain(|finding| finding.repair == Repair::None),
        "Reject" => {}
        // In mode `Warn`, findings only lead to warnings (docs/settings.md, *mode*).
        _ => findings.clear(),
    }
    findings
}

/// Returns the code of a rejection. See *Codes* in docs/answers.md: at CREATE, the code is 422 if at
/// least one reason is permanent. If all reasons are momentary answers of a registry, the code is
/// 400. At UPDATE, the code is always 400.
fn code(request: &Value, is_momentary: bool) -> u16 {
    if request["operation"] == "CREATE" && !is_momentary {
        422
    } else {
        400
    }
}

fn answer(request: &Value, object: Value, pod: &Pod) -> Verdict {
    let mut findings = pod.findings.clone();
    findings.retain(|finding| pod.counts(finding));
    let rejecting = rejecting(pod);
    let mut verdict = Verdict {
        allowed: rejecting.is_empty(),
        lookups: pod.lookups.asked.clone(),
        manifests: pod.lookups.manifests.clone(),
        failed: pod.lookups.failed.clone(),
        ..Verdict::default()
    };
    let is_momentary = rejecting
        .iter()
        .all(|one| one.weight == Weight::RejectsForNow);
    verdict.code = (!verdict.allowed).then(|| code(request, is_momentary));
    verdict.is_undecided = pod.is_near_limit;
    let is_template = pod.request_kind == RequestKind::Template;
    let is_told_only =
        pod.settings.mode() != "Fix" || is_template && pod.settings.templates() != "Enforce";
    // The operator's settings ask for two kinds of changes in all Pods: the changes of *default*, and
    // the checks that are added with `coverage: Fix` and `everyPod`. In mode `Fix`, a pod template gets
    // no warning line for these changes. If no check can be added to the template's Pods, a missing
    // check is no such change.
    let is_asked_for_everywhere = |finding: &Finding| match finding.rule {
        "default" => true,
        "missing-check" => {
            pod.settings.coverage() == "Fix"
                && pod.settings.every_pod()
                && missing_check::can_add(pod)
        }
        _ => false,
    };
    let is_fix = pod.settings.mode() == "Fix";
    verdict.warned = verdict.allowed
        && (!verdict.failed.is_empty()
            || findings.iter().any(|finding| {
                let is_worth_a_line = is_told_only
                    || finding.weight == Weight::Warns
                    || ["weak-check", "missing-check", "disallowed-policy"].contains(&finding.rule);
                let is_left_out = is_fix && is_template && is_asked_for_everywhere(finding);
                is_worth_a_line && !is_left_out
            }));
    // In mode `Fix`, a pod template gets no warning line if the operator's settings ask for the
    // repair of each finding in all Pods.
    verdict.is_silent = is_fix
        && is_template
        && verdict.failed.is_empty()
        && !findings.is_empty()
        && findings.iter().all(is_asked_for_everywhere);
    // **Decided**: a pod template is not changed if none of its findings has a repair, even if
    // *pull-once* would change it. The reason: `templates` is a setting about findings, and
    // *pull-once* adds no finding.
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
    // The record is written only at CREATE. It is an annotation of the object, never of its pod template.
    if !verdict.changes.is_empty()
        && request["operation"] == "CREATE"
        && pod.settings.record_changes()
    {
        let earlier = record::earlier_entries(&out);
        verdict.record = Some([verdict.changes.clone(), earlier].concat());
    }
    // An answer has a `mutated_object` only if the request is accepted and something changed.
    verdict.object = (verdict.allowed && out != request["object"]).then_some(out);
    verdict
}

/// Returns the changes: the differences between the places in the request and the repaired places.
fn changes(pod: &Pod) -> Vec<Value> {
    let mut changes = Vec::new();
    for (index, place) in pod.places.iter().enumerate() {
        let mut change = |path: String, from: Value, to: Value, rule: &str| {
            changes.push(json!({
                "path": path, "container": place.name, "from": from, "to": to, "rule": rule,
            }));
        };
        let path = pod.path_out(index);
        let (image, policy) = (&place.image, place.policy.name());
        let Some(came_in) = &place.came_in else {
            let added = if place.list == List::Volumes {
                json!({"name": place.name, "image": {"reference": image, "pullPolicy": policy}})
            } else {
                json!({"name": place.name, "image": image, "imagePullPolicy": policy})
            };
            change(path, Value::Null, added, place.policy_rule);
            continue;
        };
        if came_in.image.as_str().unwrap_or_default() != place.image {
            let path = format!("{path}.{}", field(place.list, true));
            change(
                path,
                came_in.image.clone(),
                image.as_str().into(),
                place.image_rule,
            );
        }
        if came_in.effective != place.policy {
            let path = format!("{path}.{}", field(place.list, false));
            // `""` and `null` count as not set.
            let is_set = came_in.policy != "";
            let from = if is_set {
                &came_in.policy
            } else {
                &Value::Null
            };
            change(path, from.clone(), policy.into(), place.policy_rule);
        }
    }
    changes
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

/// Checks the annotations, the owner references and the objects that contain the Pod spec. If one of
/// them has a wrong shape (for example no `spec`), the error is the field's path.
fn shape(object: &Value, root: &str) -> Result<(), String> {
    let annotations = &object["metadata"]["annotations"];
    if !(annotations.is_null() || annotations.is_object()) {
        return Err("metadata.annotations".to_owned());
    }
    owners(&object["metadata"])?;
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

/// Checks the owner references of an object.
///
/// **Decided**: an object with a wrong shape of its owner references is rejected, because the answer
/// depends on whether one of the owners is a controller.
fn owners(metadata: &Value) -> Result<(), String> {
    let path = "metadata.ownerReferences";
    let owners = &metadata["ownerReferences"];
    if !(owners.is_null() || owners.is_array()) {
        return Err(path.to_owned());
    }
    for (index, owner) in elements(metadata, "ownerReferences").iter().enumerate() {
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
