//! From objects as people have them (a manifest, a list from kubectl, a captured review) to the
//! requests that an API server would send about them.

use anyhow::{Context, Result, bail};
use consistent_pull_policy::image::Reference;
use consistent_pull_policy::pull_policy::PullPolicy;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::request::AdmissionRequest;

/// The kinds with a Pod spec: group, kind, resource, and a JSON pointer to the Pod spec.
const KINDS: [(&str, &str, &str, &str); 9] = [
    ("", "Pod", "pods", "/spec"),
    ("", "PodTemplate", "podtemplates", "/template/spec"),
    (
        "",
        "ReplicationController",
        "replicationcontrollers",
        "/spec/template/spec",
    ),
    ("apps", "Deployment", "deployments", "/spec/template/spec"),
    ("apps", "StatefulSet", "statefulsets", "/spec/template/spec"),
    ("apps", "DaemonSet", "daemonsets", "/spec/template/spec"),
    ("apps", "ReplicaSet", "replicasets", "/spec/template/spec"),
    ("batch", "Job", "jobs", "/spec/template/spec"),
    (
        "batch",
        "CronJob",
        "cronjobs",
        "/spec/jobTemplate/spec/template/spec",
    ),
];

/// What came of reading a text.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// A request for each object that the policy is asked about.
    pub(crate) requests: Vec<AdmissionRequest>,
    /// How many objects no rule of the policy names.
    pub(crate) others: usize,
}

/// Reads JSON, or a stream of YAML documents: objects, lists of them, reviews.
///
/// # Errors
/// When it is neither, or when something in it is no object.
pub(crate) fn read(text: &str, into: &mut Read) -> Result<()> {
    if text.trim_start().starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str(text)
    {
        return take(value, into);
    }
    for document in yaml_serde::Deserializer::from_str(text) {
        let value = Value::deserialize(document).context("neither JSON nor YAML")?;
        if !value.is_null() {
            take(value, into)?;
        }
    }
    Ok(())
}

fn take(value: Value, into: &mut Read) -> Result<()> {
    let mut object = match value {
        Value::Array(values) => return values.into_iter().try_for_each(|value| take(value, into)),
        Value::Object(object) => object,
        _ => bail!("this is no Kubernetes object: {value}"),
    };
    // The audit scanner sends reviews without a kind.
    let unnamed = !object.contains_key("kind") && object.contains_key("request");
    if unnamed || text(&object, "kind") == Some("AdmissionReview") {
        let request = object
            .remove("request")
            .context("the AdmissionReview has no request")?;
        return request_of(request, into);
    }
    if object.get("kind").is_some_and(Value::is_object) {
        return request_of(Value::Object(object), into);
    }
    let (Some(version), Some(kind)) = (text(&object, "apiVersion"), text(&object, "kind")) else {
        bail!("an object needs apiVersion and kind");
    };
    if let Some(kind) = kind.strip_suffix("List")
        && object.get("items").is_some_and(Value::is_array)
    {
        // The API's own lists (PodList) leave out what all items have; kubectl's (List) don't.
        let (version, kind) = (version.to_owned(), kind.to_owned());
        let Some(Value::Array(items)) = object.remove("items") else {
            return Ok(());
        };
        return items.into_iter().try_for_each(|mut item| {
            if let Some(item) = item.as_object_mut().filter(|_| !kind.is_empty()) {
                item.entry("apiVersion")
                    .or_insert_with(|| version.clone().into());
                item.entry("kind").or_insert_with(|| kind.clone().into());
            }
            take(item, into)
        });
    }
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    let Some((group, kind, resource, spec)) = KINDS
        .into_iter()
        .find(|known| known.0 == group && known.1 == kind)
    else {
        into.others += 1;
        return Ok(());
    };
    let request = json!({
        "uid": "00000000-0000-4000-8000-000000000000",
        "kind": {"group": group, "version": version, "kind": kind},
        "resource": {"group": group, "version": version, "resource": resource},
        "requestKind": {"group": group, "version": version, "kind": kind},
        "requestResource": {"group": group, "version": version, "resource": resource},
        "name": metadata(&object, "name"),
        "namespace": metadata(&object, "namespace").unwrap_or("default"),
        "operation": "CREATE",
        "userInfo": creator(&object),
        "dryRun": false,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    });
    let mut object = Value::Object(object);
    if let Some(spec) = object.pointer_mut(spec) {
        fill_defaults(spec);
    }
    let mut request: AdmissionRequest =
        serde_json::from_value(request).context("cannot make a request")?;
    request.object = Some(object);
    into.requests.push(request);
    Ok(())
}

fn request_of(value: Value, into: &mut Read) -> Result<()> {
    let request =
        serde_json::from_value(value).context("not an AdmissionRequest of admission.k8s.io/v1")?;
    into.requests.push(request);
    Ok(())
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

fn metadata<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get(key)?.as_str()
}

/// Who created it: a mirror Pod in a list from a cluster was made by its kubelet.
fn creator(object: &Map<String, Value>) -> Value {
    let mirror = object.get("metadata").and_then(|metadata| {
        metadata
            .get("annotations")?
            .get("kubernetes.io/config.mirror")
    });
    let node = object
        .get("spec")
        .and_then(|spec| spec.get("nodeName")?.as_str());
    match node {
        Some(node) if mirror.is_some() && metadata(object, "uid").is_some() => json!({
            "username": format!("system:node:{node}"),
            "groups": ["system:nodes", "system:authenticated"],
        }),
        _ => json!({
            "username": "kubernetes-admin",
            "groups": ["system:masters", "system:authenticated"],
        }),
    }
}

/// Fills in the pull policies that are not set, as the API server does before any webhook sees the
/// object: `""` and `null` count as not set, and what can't be parsed gets `IfNotPresent`.
fn fill_defaults(spec: &mut Value) {
    let places = |list: &'static str| ["image", "imagePullPolicy", list];
    for [image, policy, list] in [
        places("initContainers"),
        places("containers"),
        places("ephemeralContainers"),
        ["reference", "pullPolicy", "volumes"],
    ] {
        let elements = spec.get_mut(list).and_then(Value::as_array_mut);
        for element in elements.into_iter().flatten() {
            let holder = if list == "volumes" {
                element.get_mut("image")
            } else {
                Some(element)
            };
            let Some(holder) = holder.and_then(Value::as_object_mut) else {
                continue;
            };
            if matches!(holder.get(policy), None | Some(Value::Null))
                || text(holder, policy) == Some("")
            {
                let default = text(holder, image)
                    .and_then(|image| Reference::parse(image).ok())
                    .map_or(PullPolicy::IfNotPresent, |image| {
                        PullPolicy::server_default(image.tag(), image.digest())
                    });
                holder.insert(policy.to_owned(), default.as_str().into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(text: &str) -> Result<Vec<String>> {
        let mut into = Read::default();
        read(text, &mut into)?;
        Ok(into
            .requests
            .iter()
            .map(|request| {
                let name = request.name.as_deref().unwrap_or("-");
                let namespace = request.namespace.as_deref().unwrap_or("-");
                format!("{} {namespace}/{name}", request.kind.kind)
            })
            .chain((into.others > 0).then(|| format!("{} others", into.others)))
            .collect())
    }

    #[test]
    fn objects_lists_and_reviews_become_requests() {
        for (text, expected) in [
            ("", &[][..]),
            ("# nothing\n---\n", &[]),
            (
                "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
                &["Pod default/a"],
            ),
            (
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: n}\n---\napiVersion: v1\nkind: Service\n",
                &["Deployment n/a", "1 others"],
            ),
            (
                r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod"},{"apiVersion":"batch.volcano.sh/v1","kind":"Job"}]}"#,
                &["Pod default/-", "1 others"],
            ),
            (
                r#"{"apiVersion":"v1","kind":"PodList","items":[{"metadata":{"name":"a"}}]}"#,
                &["Pod default/a"],
            ),
            (
                r#"[{"kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"","version":"v1","kind":"Pod"},
                    "resource":{"group":"","version":"v1","resource":"pods"},"operation":"UPDATE","userInfo":{}}}]"#,
                &["Pod -/-"],
            ),
        ] {
            assert_eq!(requests(text).expect(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_object_is_an_error() {
        for (text, expected) in [
            ("word", "no Kubernetes object"),
            ("a: 1", "apiVersion and kind"),
            ("request: {uid: u}", "not an AdmissionRequest"),
            ("a: [", "neither JSON nor YAML"),
            ("kind: AdmissionReview", "has no request"),
            (
                "{kind: AdmissionReview, request: {uid: u}}",
                "not an AdmissionRequest",
            ),
        ] {
            let error = format!("{:#}", requests(text).expect_err(text));
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn policies_that_are_not_set_are_filled_in() {
        let mut spec = json!({
            "initContainers": [{"image": "x:1", "imagePullPolicy": ""}],
            "containers": [{"image": "x", "imagePullPolicy": null}, {"image": "x", "imagePullPolicy": "Never"}, {"image": "X"}, 7],
            "ephemeralContainers": [{"image": "x:latest"}],
            "volumes": [{"image": {"reference": "x:latest"}}, {"emptyDir": {}}],
        });
        fill_defaults(&mut spec);
        let expected = json!({
            "initContainers": [{"image": "x:1", "imagePullPolicy": "IfNotPresent"}],
            "containers": [
                {"image": "x", "imagePullPolicy": "Always"},
                {"image": "x", "imagePullPolicy": "Never"},
                {"image": "X", "imagePullPolicy": "IfNotPresent"},
                7,
            ],
            "ephemeralContainers": [{"image": "x:latest", "imagePullPolicy": "Always"}],
            "volumes": [{"image": {"reference": "x:latest", "pullPolicy": "Always"}}, {"emptyDir": {}}],
        });
        assert_eq!(spec, expected);
    }

    #[test]
    fn only_a_mirror_pod_of_a_cluster_was_made_by_its_kubelet() {
        let pod = |metadata: &str| {
            let text = format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{{metadata}annotations: {{kubernetes.io/config.mirror: x}}}}, spec: {{nodeName: n}}}}"
            );
            let mut into = Read::default();
            read(&text, &mut into).expect("a Pod");
            into.requests.remove(0).user_info.username.expect("a name")
        };
        assert_eq!(pod("uid: u, "), "system:node:n");
        assert_eq!(pod(""), "kubernetes-admin");
    }
}
