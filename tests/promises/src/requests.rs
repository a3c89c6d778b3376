//! The table *Requests* of the documentation: what this policy examines of which request.

use serde_json::Value;

use crate::json::{LISTS, elements, text};
use crate::settings::Settings;

/// The workloads whose pod templates are examined: the API group, the kind and the path of the
/// template.
pub(crate) const WORKLOADS: [(&str, &str, &str); 8] = [
    ("apps", "Deployment", "/spec/template"),
    ("apps", "StatefulSet", "/spec/template"),
    ("apps", "DaemonSet", "/spec/template"),
    ("apps", "ReplicaSet", "/spec/template"),
    ("batch", "Job", "/spec/template"),
    ("batch", "CronJob", "/spec/jobTemplate/spec/template"),
    ("", "ReplicationController", "/spec/template"),
    ("", "PodTemplate", "/template"),
];

/// The path of the pod template in the object of a request. `None` if the object is no workload.
pub(crate) fn template_path(request: &Value) -> Option<&'static str> {
    let kind = &request["kind"];
    let mut workloads = WORKLOADS.into_iter();
    let (_, _, path) =
        workloads.find(|(group, name, _)| kind["group"] == *group && kind["kind"] == *name)?;
    Some(path)
}

pub(crate) fn is_pod(request: &Value) -> bool {
    request["kind"]["group"] == "" && request["kind"]["kind"] == "Pod"
}

pub(crate) fn is_pod_create(request: &Value) -> bool {
    is_pod(request) && request["operation"] == "CREATE" && text(&request["subResource"]).is_empty()
}

/// Whether an object has a `spec` in which every container, mount and volume is an object, and
/// every image has its type, and whether its annotations are an object.
pub(crate) fn has_shape_of_pod(object: &Value) -> bool {
    let spec = &object["spec"];
    let has_shape = |list: &str, entry: &Value| {
        let image = &entry["image"];
        let is_image = if list == "volumes" {
            image.is_object()
        } else {
            image.is_string()
        };
        let mounts = &entry["volumeMounts"];
        let has_mounts = list == "volumes"
            || mounts.is_null()
            || mounts.is_array() && elements(entry, "volumeMounts").iter().all(Value::is_object);
        entry.is_object() && (is_image || image.is_null()) && has_mounts
    };
    let is_list = |list: &&str| {
        let is_there = spec[*list].is_array() || spec[*list].is_null();
        let mut entries = elements(spec, list).iter();
        is_there && entries.all(|entry| has_shape(list, entry))
    };
    let annotations = &object["metadata"]["annotations"];
    let has_annotations = annotations.is_object() || annotations.is_null();
    spec.is_object() && has_annotations && LISTS.iter().all(is_list)
}

/// Whether a request names no user: `userInfo` is absent, null or without a `username`.
pub(crate) fn names_no_user(request: &Value) -> bool {
    text(&request["userInfo"]["username"]).is_empty()
}

/// Whether a Pod claims to be the mirror of a static Pod. Anybody can write this annotation.
pub(crate) fn claims_to_be_mirror(pod: &Value) -> bool {
    let annotations = &pod["metadata"]["annotations"];
    annotations.get("kubernetes.io/config.mirror").is_some()
}

/// Whether an object has a controller, of this kind if one is given.
pub(crate) fn has_controller(object: &Value, kind: Option<&str>) -> bool {
    let mut owners = elements(&object["metadata"], "ownerReferences").iter();
    owners.any(|owner| owner["controller"] == true && kind.is_none_or(|kind| owner["kind"] == kind))
}

fn is_mirror(request: &Value) -> bool {
    let is_node = elements(&request["userInfo"], "groups").contains(&"system:nodes".into());
    let is_of_node = names_no_user(request) && has_controller(&request["object"], Some("Node"));
    claims_to_be_mirror(&request["object"]) && (is_node || is_of_node)
}

/// Whether a request is accepted untouched, whatever is in its Pod spec.
pub(crate) fn is_untouched(request: &Value, settings: Settings<'_>) -> bool {
    let (object, old) = (&request["object"], &request["oldObject"]);
    let is_update = request["operation"] == "UPDATE";
    let subresource = text(&request["subResource"]);
    if !is_update && request["operation"] != "CREATE" {
        return true;
    }
    let is_read = subresource.is_empty()
        || is_pod(request) && is_update && subresource == "ephemeralcontainers";
    if !is_read {
        return true;
    }
    let is_being_deleted = is_update && !object["metadata"]["deletionTimestamp"].is_null();
    if is_pod(request) {
        let is_same = is_update && has_shape_of_pod(object) && !changes_a_pod(request);
        return is_being_deleted || is_mirror(request) || is_same;
    }
    let Some(template) = template_path(request) else {
        return true;
    };
    let (new, old) = (object.pointer(template), old.pointer(template));
    is_being_deleted
        || settings.pod_templates() == "Off"
        || has_controller(object, None)
        || is_update && request["kind"]["kind"] == "Job"
        || is_update && new.is_some_and(Value::is_object) && new == old
}

/// Whether the UPDATE of a Pod has something new that is examined: another image of a container or
/// init container, or an ephemeral container.
fn changes_a_pod(request: &Value) -> bool {
    let (new, old) = (&request["object"]["spec"], &request["oldObject"]["spec"]);
    let lists: &[&str] = if text(&request["subResource"]).is_empty() {
        &["containers", "initContainers"]
    } else {
        &["ephemeralContainers"]
    };
    let images = |spec: &Value, list: &str| -> Option<Vec<Value>> {
        let entries = spec[list].as_array()?.iter();
        Some(entries.map(|entry| entry["image"].clone()).collect())
    };
    lists.iter().any(|list| {
        new[list] != old[list]
            && (images(new, list) != images(old, list) || *list == "ephemeralContainers")
    })
}
