//! Checks that a wrong policy is noticed: by a promise, or by the comparison with the specification. Each
//! policy here answers one kind of request wrongly.

use std::sync::Arc;

use consistent_pull_policy_spec::answers::Answers;
use consistent_pull_policy_spec::compare::{Observed, differences};
use consistent_pull_policy_spec::differential::{HostCall, Policy};
use consistent_pull_policy_spec::events::{Event, Webhook};
use consistent_pull_policy_spec::generate::Case;
use consistent_pull_policy_spec::promises::{
    COPY_BESIDE_WEBHOOK, DEBUG, OUTDATED_CHECK, PULLED_FIRST, SET_IMAGE, STABLE, VALID,
    broken_promises,
};
use consistent_pull_policy_spec::{RECORD, Verdict};
use serde_json::{Value, json};

/// A policy whose answers a function gives. The function gets the request and the settings.
struct Answering<F>(F);

impl<F: Fn(&Value, &Value) -> Value> Policy for Answering<F> {
    fn validate(&self, payload: &[u8], _: Arc<HostCall>) -> Result<Vec<u8>, String> {
        let payload: Value = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        Ok((self.0)(&payload["request"], &payload["settings"])
            .to_string()
            .into_bytes())
    }

    fn validate_settings(&self, _: &[u8]) -> Result<Vec<u8>, String> {
        Ok(json!({"valid": true}).to_string().into_bytes())
    }
}

/// A request that creates a Pod with a check, an app container and an ephemeral container.
fn case() -> Case {
    let request = json!({
        "uid": "u", "operation": "CREATE", "userInfo": {"username": "a"},
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "object": {"metadata": {"name": "p"}, "spec": {
            "runtimeClassName": "gvisor",
            "containers": [{"name": "app", "image": "app:v1", "imagePullPolicy": "Always"}],
            "ephemeralContainers": [{"name": "e", "image": "e:1"}],
        }},
    });
    Case {
        request,
        settings: json!({}),
        answers: Answers::default(),
    }
}

fn accepted() -> Value {
    json!({"accepted": true})
}

/// Accepts a request, returns its object with one field changed, and lists changes or findings.
fn changed(request: &Value, pointer: &str, value: Value, annotations: &Value) -> Value {
    let mut object = request["object"].clone();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    object.pointer_mut(parent).expect("the parent is there")[key] = value;
    json!({"accepted": true, "mutated_object": object, "audit_annotations": annotations})
}

fn with_check(request: &Value) -> Value {
    let check = json!([{"name": "imagecheck-0", "image": "app:v1", "imagePullPolicy": "Always", "command": ["/x"]}]);
    changed(request, "/spec/initContainers", check, &json!({}))
}

/// Whether the request is the first one of an event: the creation of a Pod without a check.
fn is_first(request: &Value) -> bool {
    let object = &request["object"];
    request["operation"] == "CREATE"
        && object["spec"]["initContainers"].is_null()
        && object["metadata"]["annotations"].is_null()
}

fn assert_broken(event: Event, promise: &str, answer: impl Fn(&Value, &Value) -> Value) {
    let broken = broken_promises(&Answering(answer), &case(), event).expect("an answer");
    let promises: Vec<&str> = broken.iter().map(|one| one.promise).collect();
    assert!(promises.contains(&promise), "{promise}: {broken:?}");
}

/// A policy that accepts every request, but whose copy rejects them with this message.
fn copy_rejects(message: &str) -> impl Fn(&Value, &Value) -> Value {
    move |_, settings| {
        if settings["validatingCopy"] == true {
            json!({"accepted": false, "code": 422, "message": message})
        } else {
            accepted()
        }
    }
}

#[test]
fn a_policy_that_breaks_a_promise_is_noticed() {
    let lowered = |request: &Value, annotations: &Value| {
        let pointer = "/spec/containers/0/imagePullPolicy";
        changed(request, pointer, "IfNotPresent".into(), annotations)
    };
    let mounted = |request: &Value| {
        let mounts = json!([{"name": "v", "mountPath": "/v"}]);
        let pointer = "/spec/containers/0/volumeMounts";
        changed(request, pointer, mounts, &json!({}))
    };
    let unless_first = |request: &Value, answer: Value| {
        if is_first(request) {
            accepted()
        } else {
            answer
        }
    };
    assert_broken(Event::Created, VALID, |request, _| mounted(request));
    assert_broken(Event::Created, PULLED_FIRST, |request, _| {
        let changes = json!([{"container": "app", "rule": "pull-once"}]).to_string();
        lowered(request, &json!({"changes": changes}))
    });
    // Only a missing platform is a finding of *registry* that `Fix` may have again.
    assert_broken(Event::Created, STABLE, |request, _| {
        if is_first(request) {
            return with_check(request);
        }
        let finding = json!([{"rule": "registry", "expected": "app@sha256:1"}]).to_string();
        json!({"accepted": true, "audit_annotations": {"findings": finding}})
    });
    assert_broken(Event::Debugged, DEBUG, |request, _| {
        let without = changed(request, "/spec/ephemeralContainers", json!([]), &json!({}));
        unless_first(request, without)
    });
    assert_broken(Event::CopiedToDebug, VALID, |request, _| {
        if request["name"] == "debug" {
            return mounted(request);
        }
        accepted()
    });
    assert_broken(Event::ImageSet, SET_IMAGE, |request, _| {
        unless_first(request, lowered(request, &json!({})))
    });
    assert_broken(Event::ImageSet, SET_IMAGE, copy_rejects("app"));
    // A forged record brings the old image back.
    assert_broken(Event::ImageSet, SET_IMAGE, |request, _| {
        let old = request["oldObject"]["spec"]["containers"][0]["image"].clone();
        let undone = changed(request, "/spec/containers/0/image", old, &json!({}));
        unless_first(request, undone)
    });
    assert_broken(Event::ImageSet, OUTDATED_CHECK, |request, _| {
        if is_first(request) {
            with_check(request)
        } else {
            accepted()
        }
    });
    // The copy doesn't name what the webhook changed.
    for webhook in [
        Webhook::RegistriesRenamed,
        Webhook::RuntimeClassRemoved,
        Webhook::InitContainerAdded,
    ] {
        let event = Event::ChangedBetween(webhook);
        assert_broken(event, COPY_BESIDE_WEBHOOK, copy_rejects("no"));
    }
    let event = Event::ChangedBetween(Webhook::VolumeImagesDropped);
    assert_broken(event, COPY_BESIDE_WEBHOOK, |request, settings| {
        let answer = copy_rejects("no")(request, settings);
        if answer["accepted"] == false {
            return answer;
        }
        let image = json!([{"name": "v", "image": {"reference": "app:v1"}}]);
        changed(request, "/spec/volumes", image, &json!({}))
    });
    // The copy has to accept digests that a webhook pinned.
    let event = Event::ChangedBetween(Webhook::DigestsPinned);
    assert_broken(event, COPY_BESIDE_WEBHOOK, copy_rejects("app"));
}

/// The new entries of a record may have any order. The entries of the earlier record keep their order.
#[test]
fn the_order_of_earlier_entries_is_compared() {
    let earlier = ["a", "b"].map(|name| json!({"path": "p", "container": name, "rule": "default"}));
    let mut case = case();
    let annotations = &mut case.request["object"]["metadata"]["annotations"];
    *annotations = json!({RECORD: Value::from(earlier.to_vec()).to_string()});
    let verdict = Verdict {
        allowed: true,
        object: Some(case.request["object"].clone()),
        record: Some(earlier.to_vec()),
        ..Verdict::default()
    };
    let [a, b] = earlier;
    for (entries, is_right) in [
        (vec![a.clone(), b.clone()], true),
        (vec![b, a.clone()], false),
        (vec![a], false),
        (Vec::new(), false),
    ] {
        let mut object = case.request["object"].clone();
        // The text differs from the text of the request, so that the record counts as written.
        let text = format!(" {}", Value::from(entries));
        object["metadata"]["annotations"][RECORD] = text.into();
        let observed = Observed {
            answer: json!({"accepted": true, "mutated_object": object}),
            calls: Vec::new(),
        };
        let lines = differences(&case, &verdict, &observed);
        assert_eq!(lines.is_empty(), is_right, "{lines:?}");
    }
}
