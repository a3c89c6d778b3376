//! What an API server and Kubewarden do with the policies of the presets: which requests they send
//! to which policy.

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::captured;
use consistent_pull_policy_survey::{
    AdmissionPolicy, AdmissionRequest, Incident, Moment, What, answer_during,
};
use serde_json::{Value, json};

use super::{presets, registers};

/// The labels of a namespace that the preset missing-tags selects too.
pub(super) fn namespace(name: &str) -> Value {
    json!({"kubernetes.io/metadata.name": name, "consistent-pull-policy/missing-tags": ""})
}

/// Whether the API server sends the request to this policy.
pub(super) fn selects(policy: &AdmissionPolicy, request: &Value) -> bool {
    let labels = namespace(request["namespace"].as_str().unwrap_or("default"));
    policy.selects(&AdmissionRequest::new(request, &labels))
}

/// All registries are unreachable, for Pods on a node on which the same Pods ran before.
pub(super) const UNREACHABLE: Incident = Incident {
    what: What::Registries,
    name: String::new(),
    moment: Moment::Meanwhile,
};

/// What comes out of admission: the object that is stored, or the message of a rejection.
pub(super) type Outcome = Result<Value, String>;

/// Sends a request to policies that select it: to the mutating ones in this order, and then to the
/// others. The outcome is without this policy's own annotations, because each installation adds its
/// entries there.
///
/// # Panics
/// If an answer has the code 400: this policy can't read the request, or a lookup may succeed later.
/// The first is a fault of the test, and the second is no preset's.
pub(super) fn admit(
    policies: &[&AdmissionPolicy],
    request: &Value,
    incident: Option<&Incident>,
) -> Outcome {
    let mut request = request.clone();
    let of_kind = |is_mutating| {
        policies
            .iter()
            .filter(move |policy| policy.is_mutating() == is_mutating)
    };
    for policy in of_kind(true).chain(of_kind(false)) {
        let mut answer = answer(policy, &request, incident);
        if answer["accepted"] != true {
            assert_ne!(answer["code"], 400, "{}: {answer}", policy.name);
            return Err(answer["message"].as_str().unwrap_or_default().to_owned());
        }
        if !answer["mutated_object"].is_null() {
            request["object"] = answer["mutated_object"].take();
        }
    }
    let mut object = request["object"].take();
    if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") {
        annotations.retain(|key, _| !key.starts_with("consistent-pull-policy/"));
    }
    Ok(object)
}

fn answer(policy: &AdmissionPolicy, request: &Value, incident: Option<&Incident>) -> Value {
    answer_during(request, policy.settings(), incident.cloned(), &mut Native).expect("an answer")
}

/// The API server sends an UPDATE of a Pod exactly if an image changes. The module accepts all
/// others unchanged.
#[test]
fn an_update_of_a_pod_is_sent_exactly_if_it_changes_an_image() {
    let mut updating = presets();
    updating.retain(|preset| registers(&preset.policy, "pods", "UPDATE"));
    assert!(updating.len() > 1);

    let update = captured("pod-update-image");
    let unchanged = || {
        let mut request = update.clone();
        request["object"] = update["oldObject"].clone();
        request
    };
    let mut of_init_container = unchanged();
    of_init_container["object"]["spec"]["initContainers"][0]["image"] = json!("busybox:2");
    let mut of_finalizer = unchanged();
    of_finalizer["object"]["metadata"]["finalizers"] = json!(["example.com/x"]);
    for (request, is_sent) in [
        (update.clone(), true),
        (of_init_container, true),
        (captured("pod-ephemeralcontainers-update"), true),
        (captured("pod-create"), true),
        (captured("pod-update-label"), false),
        (of_finalizer, false),
    ] {
        for preset in &updating {
            let policy = &preset.policy;
            let name = &preset.name;
            assert_eq!(selects(policy, &request), is_sent, "{name}: {request}");
            let answer = answer(policy, &request, Some(&UNREACHABLE));
            let is_untouched = answer["accepted"] == true
                && answer["mutated_object"].is_null()
                && answer["warnings"].is_null();
            assert!(is_sent || is_untouched, "{name}: {request}");
        }
    }
}
