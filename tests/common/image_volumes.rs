//! Image volumes and their mounts, as this policy adds them.

use serde_json::{Value, json};

use super::{copy_settings, validate};

/// An image volume.
pub fn volume(name: &str, image: &str, pull_policy: &str) -> Value {
    json!({"name": name, "image": {"reference": image, "pullPolicy": pull_policy}})
}

/// The mount of a check volume.
pub fn mount(name: &str) -> Value {
    json!({"name": name, "mountPath": format!("/.imagecheck/{name}"), "readOnly": true})
}

/// The container with these volume mounts.
pub fn with_mounts(mut container: Value, mounts: Value) -> Value {
    container["volumeMounts"] = mounts;
    container
}

/// The Pod spec after the repair. The repaired object is a valid Pod, a second run changes nothing,
/// and the copy accepts it.
pub fn repaired_spec(request: &Value, settings: &Value) -> Value {
    let answer = validate(request, settings);
    assert!(answer.accepted(), "{}", answer.message());
    let object = answer.mutated().expect("a repair").clone();
    serde_json::from_value::<k8s_openapi::api::core::v1::Pod>(object.clone()).expect("a Pod");
    let mut again = request.clone();
    again["object"] = object.clone();
    let second = validate(&again, settings);
    assert_eq!(second.mutated(), None);
    assert!(second.audited("findings").is_empty());
    let mut copy = copy_settings(settings);
    copy["imageChecks"]["replaceExisting"] = json!(false);
    let copy = validate(&again, &copy);
    assert!(copy.accepted(), "{}", copy.message());
    object["spec"].clone()
}
