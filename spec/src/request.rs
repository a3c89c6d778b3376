//! The table at the top of docs/requests.md. It says which requests are examined, and which are
//! accepted untouched. In this file, a *workload* is an object of any kind in that table except Pod.
//!
//! **Decided**: the group and the kind decide which row applies, and the version doesn't matter. A
//! subresource of a workload and an unknown operation are accepted untouched. At an UPDATE without
//! `oldObject`, all images count as changed.

use serde_json::Value;

use crate::at;
use crate::json::{elements, text};
use crate::pod::Event;
use crate::settings::Settings;

/// The row of the table for a request.
pub(crate) enum Row {
    /// The request is accepted untouched.
    Untouched,
    /// The request is an UPDATE of a Job. Only *re-apply* may change it. The text is the path of the
    /// Pod spec in the object.
    ReapplyOnly(&'static str),
    /// The request is examined. The text is the path of the Pod spec in the object.
    Examined(Event, &'static str),
    /// The request is rejected because a field is missing or has the wrong type. The text is the path
    /// of this field.
    Broken(String),
}

/// Finds the row of a request.
pub(crate) fn row(request: &Value, settings: Settings) -> Row {
    // The group is compared too, because another group can have a kind of the same name.
    let kind = text(&request["kind"]["kind"]);
    let root = match (text(&request["kind"]["group"]), kind) {
        ("", "Pod") => "spec",
        ("apps", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch", "Job")
        | ("", "ReplicationController") => "spec.template.spec",
        ("batch", "CronJob") => "spec.jobTemplate.spec.template.spec",
        ("", "PodTemplate") => "template.spec",
        // Any other group or kind is accepted untouched.
        _ => return Row::Untouched,
    };
    let operation = text(&request["operation"]);
    let subresource = text(&request["subResource"]);
    let (object, old) = (&request["object"], &request["oldObject"]);
    // Only these requests can be examined: CREATE and UPDATE without a subresource, and UPDATE of a Pod's
    // `ephemeralcontainers`. Any other request, such as a DELETE, is accepted untouched.
    let is_ephemeral =
        kind == "Pod" && subresource == "ephemeralcontainers" && operation == "UPDATE";
    if !matches!(operation, "CREATE" | "UPDATE") || !subresource.is_empty() && !is_ephemeral {
        return Row::Untouched;
    }
    // **Decided**: at CREATE and UPDATE, a request without `object` is rejected. Two cases are accepted
    // untouched, because this policy doesn't examine them: an UPDATE of a Job, and a workload with
    // `templates: Off`.
    if object.is_null() {
        let is_unread = kind == "Job" && operation == "UPDATE"
            || kind != "Pod" && settings.templates() == "Off";
        return if is_unread {
            Row::Untouched
        } else {
            Row::Broken("object".to_owned())
        };
    }
    if !object.is_object() {
        return Row::Broken("object".to_owned());
    }
    let metadata = &object["metadata"];
    if !(metadata.is_null() || metadata.is_object()) {
        return Row::Broken("metadata".to_owned());
    }
    // An UPDATE of an object with a `deletionTimestamp` is accepted untouched.
    if operation == "UPDATE" && !metadata["deletionTimestamp"].is_null() {
        return Row::Untouched;
    }
    // A node's mirror Pod is accepted untouched. It has the annotation `kubernetes.io/config.mirror`.
    // Anyone can write this annotation, so the request's user must be in the group `system:nodes`. An
    // audit names no user, so in an audit the Pod must have a controller of kind `Node`.
    // **Decided**: the annotation counts even if its value is empty.
    let is_node = elements(&request["userInfo"], "groups").contains(&"system:nodes".into());
    let is_of_node =
        names_no_user(request) && controllers(object).any(|owner| owner["kind"] == "Node");
    let has_mirror_annotation = metadata["annotations"]
        .get("kubernetes.io/config.mirror")
        .is_some();
    if kind == "Pod" && (is_node || is_of_node) && has_mirror_annotation {
        return Row::Untouched;
    }
    if kind != "Pod" {
        // A workload with a controller in `ownerReferences` is accepted untouched.
        if controllers(object).next().is_some() {
            return Row::Untouched;
        }
        // At an UPDATE of a Job, only *re-apply* acts. No rule runs, because a Job's template is
        // immutable.
        if kind == "Job" && operation == "UPDATE" {
            return Row::ReapplyOnly(root);
        }
        // With `templates: Off`, workloads are accepted untouched.
        if settings.templates() == "Off" {
            return Row::Untouched;
        }
        // An UPDATE of a workload is accepted untouched if the pod template is unchanged.
        let template = root.trim_end_matches(".spec");
        if operation == "UPDATE"
            && at(object, template).is_some()
            && at(object, template) == at(old, template)
        {
            return Row::Untouched;
        }
        return Row::Examined(Event::Template, root);
    }
    let event = match operation {
        "CREATE" => Event::PodCreate,
        _ if is_ephemeral => Event::EphemeralContainers,
        _ => Event::PodUpdate,
    };
    Row::Examined(event, root)
}

/// The owners of an object that are its controllers.
pub(crate) fn controllers(object: &Value) -> impl Iterator<Item = &Value> {
    let owners = elements(&object["metadata"], "ownerReferences").iter();
    owners.filter(|owner| owner["controller"] == true)
}

/// Whether a request names no user: `userInfo` is absent, null or without a `username`.
///
/// **Decided**: an empty `username` counts as no user.
pub(crate) fn names_no_user(request: &Value) -> bool {
    text(&request["userInfo"]["username"]).is_empty()
}
