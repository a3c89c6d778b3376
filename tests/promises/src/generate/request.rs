//! Random requests: for new objects and for changed objects.

use arbitrary::Result;
use serde_json::{Value, json};

use super::Source;
use super::vocabulary::VOLUMES;
use crate::json::put;
use crate::requests::WORKLOADS;

impl Source<'_> {
    pub(super) fn request(&mut self, images: &[&str]) -> Result<Value> {
        const UNKNOWN: (&str, &str, &str) = ("batch.volcano.sh", "Job", "/spec/template");
        let workload = if self.is_dense || !self.chance(1, 3)? {
            None
        } else if self.chance(1, 8)? {
            Some(UNKNOWN)
        } else {
            Some(*self.bytes.choose(&WORKLOADS)?)
        };
        let is_pod = workload.is_none();
        let (group, kind, template) = workload.unwrap_or(("", "Pod", ""));
        let spec = self.spec(images)?;
        let metadata = self.metadata(&spec)?;
        let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
        if is_pod {
            object["spec"] = spec;
        } else {
            let mut pod_template = json!({"metadata": {"labels": {"a": "b"}}, "spec": spec});
            let annotation = self.apparmor_annotation(&pod_template["spec"])?;
            if let Some((key, value)) = annotation {
                pod_template["metadata"]["annotations"] = json!({key: value});
            }
            put(&mut object, &template[1..].replace('/', "."), pod_template);
            if kind == "StatefulSet" && self.chance(1, 2)? {
                object["spec"]["volumeClaimTemplates"] = json!([{"metadata": {"name": "disk"}}]);
            }
        }
        let unknown = json!([1, 2.5, {"a": null}]);
        self.sometimes(6, &mut object, "futureTopLevel", &[unknown])?;
        let mut request = json!({
            "uid": "65807ee6-82f9-481d-8a51-a41ae51a855d",
            "kind": {"group": group, "version": "v1", "kind": kind},
            "resource": {"group": group, "version": "v1", "resource": "any"},
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "somebody", "groups": ["system:authenticated"]},
            "object": object,
            "oldObject": null,
            "dryRun": false,
        });
        if self.is_dense {
            return Ok(request);
        }
        if self.chance(1, 4)? {
            self.update(&mut request, is_pod)?;
        } else if self.chance(1, 40)? {
            request["operation"] = self.pick(&["DELETE", "CONNECT"])?.into();
        }
        if self.chance(1, 8)? {
            request["userInfo"]["groups"] = json!(["system:nodes", "system:authenticated"]);
        }
        // Makes the request look like that of an audit, which names no user.
        if self.chance(1, 8)? {
            let no_user = [json!(null), json!({}), json!({"username": ""})];
            request["userInfo"] = self.bytes.choose(&no_user)?.clone();
            if request["userInfo"].is_null() && self.chance(1, 2)? {
                request
                    .as_object_mut()
                    .map(|request| request.remove("userInfo"));
            }
            // Makes the object the mirror Pod of a static Pod, or a Pod that only claims to be a
            // mirror Pod.
            if is_pod && request["object"]["metadata"].is_object() && self.chance(1, 6)? {
                let kind = self.pick(&["Node", "Node", "Job"])?;
                let metadata = &mut request["object"]["metadata"];
                metadata["ownerReferences"] = json!([{"apiVersion": "v1", "kind": kind, "name": "n", "uid": "u", "controller": true}]);
                if metadata["annotations"].is_null() {
                    metadata["annotations"] = json!({});
                }
                metadata["annotations"]["kubernetes.io/config.mirror"] = "hash".into();
            }
        }
        if self.chance(1, 100)? {
            request["object"] = Value::Null;
        }
        Ok(request)
    }

    fn update(&mut self, request: &mut Value, is_pod: bool) -> Result<()> {
        request["operation"] = "UPDATE".into();
        request["oldObject"] = request["object"].clone();
        if !self.chance(1, 4)? {
            self.change_an_image(&mut request["object"])?;
            self.change_an_image(&mut request["object"])?;
        }
        if is_pod && self.chance(1, 3)? {
            request["subResource"] = self
                .pick(&[
                    "ephemeralcontainers",
                    "ephemeralcontainers",
                    "resize",
                    "status",
                ])?
                .into();
            let images = [self.repository()?];
            let mut stored = Vec::new();
            let mut brought = Vec::new();
            for name in self.words("debug-0 debug-1 istio-debug", 3)? {
                let mut container = self.container(&name, &images)?;
                if self.chance(1, 4)? {
                    let volume = self.word(VOLUMES)?;
                    container["volumeMounts"] = json!([{"name": volume, "mountPath": "/mnt"}]);
                }
                if self.chance(1, 3)? {
                    let mut same = container.clone();
                    // No API server accepts another image for a stored ephemeral container, but a
                    // review can contain this change.
                    if self.chance(1, 6)? {
                        same["image"] = "stored.example.com/other:1".into();
                    }
                    stored.push(same);
                }
                brought.push(container);
            }
            request["object"]["spec"]["ephemeralContainers"] = brought.into();
            request["oldObject"]["spec"]["ephemeralContainers"] = stored.into();
        } else if is_pod && self.chance(1, 6)? {
            // An ephemeral container that mounts a volume is no carrier.
            let mut container = self.container("debug-0", &["app"])?;
            let volume = self.word(VOLUMES)?;
            container["volumeMounts"] = json!([{"name": volume, "mountPath": "/mnt"}]);
            for object in ["object", "oldObject"] {
                let spec = &mut request[object]["spec"];
                if spec.is_object() {
                    spec["ephemeralContainers"] = json!([container]);
                }
            }
        }
        Ok(())
    }

    /// Changes the image of one container or of none. The object may be a Pod or a workload.
    pub(super) fn change_an_image(&mut self, object: &mut Value) -> Result<()> {
        if !self.chance(1, 2)? {
            return Ok(());
        }
        let list = self.pick(&["containers", "initContainers"])?;
        let index = self.bytes.int_in_range(0..=2usize)?;
        let images = [self.repository()?];
        let image = self.image(&images)?;
        let is_digest_dropped = self.chance(1, 2)?;
        let templates = WORKLOADS.map(|(_, _, template)| template);
        for template in templates.into_iter().chain([""]) {
            let container = object.pointer_mut(&format!("{template}/spec/{list}/{index}"));
            let Some(container) = container.filter(|container| container.is_object()) else {
                continue;
            };
            let without_digest = container["image"]
                .as_str()
                .and_then(|image| image.split('@').next())
                .map(Value::from);
            container["image"] = match without_digest {
                Some(tag) if is_digest_dropped => tag,
                _ => image.clone(),
            };
        }
        Ok(())
    }
}
