//! Converts manifests, lists from kubectl and captured reviews to requests. They are the requests that an
//! API server would send about the objects.

use anyhow::{Context, Result, bail};
use consistent_pull_policy::image::Reference;
use consistent_pull_policy::pull_policy::PullPolicy;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::request::AdmissionRequest;

/// The kinds with a Pod spec: group, kind, and a JSON pointer to the Pod spec.
const KINDS: [(&str, &str, &str); 9] = [
    ("", "Pod", "/spec"),
    ("", "PodTemplate", "/template/spec"),
    ("", "ReplicationController", "/spec/template/spec"),
    ("apps", "Deployment", "/spec/template/spec"),
    ("apps", "StatefulSet", "/spec/template/spec"),
    ("apps", "DaemonSet", "/spec/template/spec"),
    ("apps", "ReplicaSet", "/spec/template/spec"),
    ("batch", "Job", "/spec/template/spec"),
    ("batch", "CronJob", "/spec/jobTemplate/spec/template/spec"),
];

/// The requests about the objects in manifests.
#[derive(Debug, Default)]
pub(crate) struct RequestsFromManifests {
    /// One request for each review, and for each object of a kind with a Pod spec.
    pub(crate) requests: Vec<AdmissionRequest>,
    /// The number of objects of other kinds.
    pub(crate) others: usize,
}

impl RequestsFromManifests {
    /// Adds the objects in a text. The text is JSON or a stream of YAML documents, and contains objects,
    /// lists of objects, reviews, or the bare requests of reviews.
    ///
    /// # Errors
    /// When the text is neither JSON nor YAML, or contains anything except the values named above.
    pub(crate) fn read(&mut self, text: &str) -> Result<()> {
        if text.trim_start().starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str(text)
        {
            return self.add(value);
        }
        for document in yaml_serde::Deserializer::from_str(text) {
            let value = Value::deserialize(document).context("neither JSON nor YAML")?;
            if !value.is_null() {
                self.add(value)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, value: Value) -> Result<()> {
        let mut object = match value {
            Value::Array(values) => {
                return values.into_iter().try_for_each(|value| self.add(value));
            }
            Value::Object(object) => object,
            _ => bail!("this is no Kubernetes object: {value}"),
        };
        // The audit scanner sends reviews without a kind.
        let unnamed = !object.contains_key("kind") && object.contains_key("request");
        if unnamed || text(&object, "kind") == Some("AdmissionReview") {
            let request = object
                .remove("request")
                .context("the AdmissionReview has no request")?;
            return self.add_request(request);
        }
        if object.get("kind").is_some_and(Value::is_object) {
            return self.add_request(Value::Object(object));
        }
        let (Some(version), Some(kind)) = (text(&object, "apiVersion"), text(&object, "kind"))
        else {
            bail!("an object needs apiVersion and kind");
        };
        if let Some(kind) = kind.strip_suffix("List")
            && object.get("items").is_some_and(Value::is_array)
        {
            // In a list of one kind, such as a `PodList`, the items lack kind and version, so they are
            // added here. The items of kubectl's `List` have both.
            let missing = [
                ("apiVersion", version.to_owned()),
                ("kind", kind.to_owned()),
            ];
            let is_typed = !kind.is_empty();
            let items = object.get_mut("items").and_then(Value::as_array_mut);
            return items.into_iter().flatten().try_for_each(|item| {
                for (key, value) in missing.clone().into_iter().filter(|_| is_typed) {
                    if let Some(item) = item.as_object_mut() {
                        item.entry(key).or_insert(value.into());
                    }
                }
                self.add(item.take())
            });
        }
        let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
        let known = KINDS
            .iter()
            .find(|known| (known.0, known.1) == (group, kind));
        let Some((_, _, spec)) = known else {
            self.others += 1;
            return Ok(());
        };
        let resource = kind.to_lowercase() + "s";
        let kind = json!({"group": group, "version": version, "kind": kind});
        let resource = json!({"group": group, "version": version, "resource": resource});
        let mut request = json!({
            "uid": "00000000-0000-4000-8000-000000000000",
            "kind": kind,
            "resource": resource,
            "requestKind": kind,
            "requestResource": resource,
            "name": metadata(&object, "name"),
            "namespace": metadata(&object, "namespace").unwrap_or("default"),
            "operation": "CREATE",
            "userInfo": creator(&object),
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            "object": object,
        });
        if let Some(spec) = request["object"].pointer_mut(spec) {
            set_server_defaults(spec);
        }
        self.add_request(request)
    }

    fn add_request(&mut self, request: Value) -> Result<()> {
        let request = serde_json::from_value(request)
            .context("not an AdmissionRequest of admission.k8s.io/v1")?;
        self.requests.push(request);
        Ok(())
    }
}

fn text<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str()
}

fn metadata<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get(key)?.as_str()
}

/// The user in the request about an object. A mirror Pod with a `uid` comes from a cluster, where the
/// kubelet of the Pod's node created the Pod. Any other object counts as created by an administrator.
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

/// Writes the server default where no pull policy is set, as the API server does before any webhook sees
/// the object. `""` and `null` count as not set. Without a valid image, the default is `IfNotPresent`.
fn set_server_defaults(spec: &mut Value) {
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
        let mut input = RequestsFromManifests::default();
        input.read(text)?;
        Ok(input
            .requests
            .iter()
            .map(|request| {
                let name = request.name.as_deref().unwrap_or("-");
                let namespace = request.namespace.as_deref().unwrap_or("-");
                format!("{} {namespace}/{name}", request.kind.kind)
            })
            .chain((input.others > 0).then(|| format!("{} others", input.others)))
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
    fn an_invalid_object_is_an_error() {
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
    fn pull_policies_that_are_not_set_become_the_server_default() {
        let mut spec = json!({
            "initContainers": [{"image": "x:1", "imagePullPolicy": ""}],
            "containers": [{"image": "x", "imagePullPolicy": null}, {"image": "x", "imagePullPolicy": "Never"}, {"image": "X"}, 7],
            "ephemeralContainers": [{"image": "x:latest"}],
            "volumes": [{"image": {"reference": "x:latest"}}, {"emptyDir": {}}],
        });
        set_server_defaults(&mut spec);
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
    fn a_kubelet_created_the_mirror_pods_of_a_cluster() {
        let pod = |metadata: &str| {
            let text = format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{{metadata}annotations: {{kubernetes.io/config.mirror: x}}}}, spec: {{nodeName: n}}}}"
            );
            let mut input = RequestsFromManifests::default();
            input.read(&text).expect("a Pod");
            input.requests.remove(0).user_info.username.expect("a name")
        };
        assert_eq!(pod("uid: u, "), "system:node:n");
        assert_eq!(pod(""), "kubernetes-admin");
    }
}
