//! Checks that a wrong answer is noticed: by the comparison with the specification, and by each promise. The
//! answers here are those of this policy's crate, apart from one mistake.

use std::sync::Arc;

use crate::common::Native;
use consistent_pull_policy_spec::answers::Answers;
use consistent_pull_policy_spec::compare::differences;
use consistent_pull_policy_spec::differential::{HostCall, Policy, observe};
use consistent_pull_policy_spec::events::{Event, Mesh, Webhook};
use consistent_pull_policy_spec::generate::{Case, bytes, case};
use consistent_pull_policy_spec::promises::{
    AUDIT, COPY, COPY_BESIDE_PLUGIN, COPY_BESIDE_WEBHOOK, DEBUG, MINIMAL, MODES, NO_CHECK_TWICE,
    NO_SECRET, PULLED_FIRST, RE_APPLY, REJECT, SET_IMAGE, STABLE, VALID, broken_promises,
};
use consistent_pull_policy_spec::validate;
use serde_json::{Value, json};

/// If the comparison noticed nothing, or left out many cases, this test would fail. It may leave out a few:
/// near a limit, the specification doesn't decide.
#[test]
fn the_comparison_notices_a_mistake_in_each_part_of_an_answer() {
    let wrong_parts = [
        ("/accepted", json!("neither")),
        ("/code", json!(418)),
        ("/message", json!("")),
        ("/mutated_object/spec", json!({})),
        ("/audit_annotations/findings", json!(null)),
        ("/audit_annotations/changes", json!(null)),
        ("/audit_annotations/lookups", json!(null)),
    ];
    let mut counts = wrong_parts.clone().map(|_| [0, 0]);
    for number in 0..1_000 {
        let case = case(&bytes(3, number));
        let verdict = validate(&case.request, &case.settings, &case.answers);
        let observed = observe(&Native, &case).expect("an answer");
        for ((pointer, value), [wrong, noticed]) in wrong_parts.iter().zip(&mut counts) {
            let mut observed = observed.clone();
            let part = observed.answer.pointer_mut(pointer);
            let Some(part) = part.filter(|part| !part.is_null()) else {
                continue;
            };
            *part = value.clone();
            *wrong += 1;
            *noticed += i32::from(!differences(&case, &verdict, &observed).is_empty());
        }
    }
    for ((pointer, _), [wrong, noticed]) in wrong_parts.iter().zip(counts) {
        assert!(
            wrong > 20 && noticed * 20 > wrong * 19,
            "{pointer}: {noticed} of {wrong}"
        );
    }
}

/// Makes a mistake in the answer to a request: `(request, settings, answer)`.
type Mistake = fn(&Value, &Value, &mut Value);

struct Wrong(Mistake);

impl Policy for Wrong {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        let answer = Native.validate(payload, host)?;
        let [payload, mut answer] =
            [payload, &answer].map(|bytes| serde_json::from_slice::<Value>(bytes).expect("JSON"));
        (self.0)(&payload["request"], &payload["settings"], &mut answer);
        Ok(answer.to_string().into_bytes())
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String> {
        Native.validate_settings(settings)
    }
}

fn reject(answer: &mut Value) {
    *answer = json!({"accepted": false, "code": 422, "message": "no"});
}

const REJECTING_COPY: Mistake = |_, settings, answer| {
    if settings["validatingCopy"] == true {
        reject(answer);
    }
};

#[test]
fn each_promise_notices_a_policy_that_breaks_it() {
    let case = Case {
        request: json!({
            "uid": "u", "operation": "CREATE", "userInfo": {"username": "a"},
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "object": {"metadata": {"name": "p"}, "spec": {
                "initContainers": [{"name": "imagecheck-0", "image": "app:v1", "imagePullPolicy": "Never"}],
                "containers": [{"name": "app", "image": "app:v1", "imagePullPolicy": "Always"}],
            }},
        }),
        settings: json!({}),
        answers: Answers::default(),
    };
    let mistakes: [(&str, Event, Mistake); 15] = [
        (MINIMAL, Event::Created, |_, _, answer| {
            answer["mutated_object"]["spec"]["hostNetwork"] = true.into();
        }),
        (VALID, Event::Created, |_, _, answer| {
            if let Some(app) = answer.pointer_mut("/mutated_object/spec/containers/0") {
                app["volumeMounts"] = json!([{"name": "v", "mountPath": "/v"}]);
            }
        }),
        (NO_SECRET, Event::Created, |_, _, answer| {
            answer["warnings"] = json!(["s3cr3t"]);
        }),
        (STABLE, Event::Created, |request, _, answer| {
            answer["mutated_object"] = request["object"].clone();
        }),
        (PULLED_FIRST, Event::Created, |_, _, answer| {
            if let Some(check) = answer.pointer_mut("/mutated_object/spec/initContainers/0") {
                check["imagePullPolicy"] = "Never".into();
            }
        }),
        (REJECT, Event::Created, |_, settings, answer| {
            if settings["mode"] == "Reject" {
                reject(answer);
            }
        }),
        (MODES, Event::Created, |request, settings, answer| {
            if settings["mode"] == "Warn" {
                answer["mutated_object"] = request["object"].clone();
            }
        }),
        (COPY, Event::Created, REJECTING_COPY),
        (
            COPY_BESIDE_WEBHOOK,
            Event::ChangedBetween(Webhook::RegistriesRenamed),
            REJECTING_COPY,
        ),
        (
            NO_CHECK_TWICE,
            Event::ChangedBetween(Webhook::Mesh(Mesh::NativeSidecar)),
            |request, _, answer| {
                let mut object = request["object"].clone();
                if object["spec"]["initContainers"][0]["name"] == "istio-init" {
                    object["spec"]["initContainers"][0] = json!({"name": "x", "image": "app:v1"});
                    answer["mutated_object"] = object;
                }
            },
        ),
        (COPY_BESIDE_PLUGIN, Event::AlwaysPullImages, REJECTING_COPY),
        (RE_APPLY, Event::AppliedAgain, |request, _, answer| {
            if request["operation"] == "UPDATE" {
                answer["mutated_object"].take();
            }
        }),
        (DEBUG, Event::Debugged, |request, _, answer| {
            if request["operation"] == "UPDATE" {
                reject(answer);
            }
        }),
        // The forged record of the stored Pod brings the old image back.
        (SET_IMAGE, Event::ImageSet, |request, _, answer| {
            if request["operation"] == "UPDATE" {
                answer["mutated_object"] = request["oldObject"].clone();
            }
        }),
        (AUDIT, Event::Audited, |request, _, answer| {
            if request["userInfo"]["username"].is_null() {
                reject(answer);
            }
        }),
    ];
    for (promise, event, mistake) in mistakes {
        let broken = broken_promises(&Native, &case, event).expect("an answer");
        assert_eq!(broken, [], "{event:?}");
        let broken = broken_promises(&Wrong(mistake), &case, event).expect("an answer");
        assert!(
            broken.iter().any(|one| one.promise == promise),
            "{promise}: {broken:?}"
        );
    }
}
