//! Random containers: images, pull policies, and other fields that Kubernetes checks.

use arbitrary::Result;
use serde_json::{Value, json};

use super::Source;
use super::vocabulary::{
    BAD_IMAGES, DIGESTS, IMAGE_IDS, INITS, ODD_IMAGES, PULL_POLICIES, SECRET, SUFFIXES,
};
use crate::image::PullPolicy;

impl Source<'_> {
    pub(super) fn image(&mut self, repositories: &[&str]) -> Result<Value> {
        if self.is_dense {
            let suffix = self.pick(&["", ":v1", ":v1", ":v1", ":v1", ":v1", ":v2", ":v2"])?;
            return Ok([self.pick(repositories)?, suffix].concat().into());
        }
        if self.chance(1, 40)? {
            let odd = self.pick(&ODD_IMAGES)?;
            return Ok(if self.chance(1, 2)? {
                self.word(BAD_IMAGES)?.into()
            } else if odd.is_empty() && self.bytes.arbitrary()? {
                Value::Null
            } else {
                odd.into()
            });
        }
        if self.chance(1, 40)? {
            return Ok(self.pick(&IMAGE_IDS)?.into());
        }
        if self.chance(1, 80)? {
            return Ok(format!("r.example.com/{}:v1", "long-name/".repeat(20) + "x").into());
        }
        let repository = self.pick(repositories)?;
        let among = if self.chance(1, 4)? {
            SUFFIXES.len()
        } else {
            3
        };
        let suffix = self.pick(&SUFFIXES[..among])?;
        let digest = if self.chance(1, 4)? {
            format!("@{}", self.pick(&DIGESTS)?)
        } else {
            String::new()
        };
        Ok(format!("{repository}{suffix}{digest}").into())
    }

    /// Returns a pull policy for an image. `None` means that the field is left out.
    pub(super) fn pull_policy(&mut self, image: &Value) -> Result<Option<Value>> {
        if self.chance(1, 12)? {
            return Ok(self
                .bytes
                .choose(&[None, Some(Value::Null), Some("".into())])?
                .clone());
        }
        let among = if self.chance(1, 4)? { 3 } else { 2 };
        if self.is_dense {
            return Ok(Some(self.pick(&PULL_POLICIES[..among])?.into()));
        }
        // If the author sets no pull policy, a webhook sees the default of the API server. So some
        // containers get this default.
        if self.chance(1, 4)? {
            let image = image.as_str().unwrap_or_default();
            return Ok(Some(PullPolicy::server_default(image).name().into()));
        }
        Ok(Some(self.pick(&PULL_POLICIES[..among])?.into()))
    }

    pub(super) fn container(&mut self, name: &str, images: &[&str]) -> Result<Value> {
        let mut container = json!({"name": name, "image": self.image(images)?});
        let policy = self.pull_policy(&container["image"])?;
        if container["image"].is_null() && self.bytes.arbitrary()? {
            container = json!({"name": name});
        }
        if let Some(policy) = policy {
            container["imagePullPolicy"] = policy;
        }
        // When no random bytes are left, `chance` returns false. The condition is negated, so that
        // the container has a command in this case too, as most checks do.
        if !self.chance(1, 5)? {
            container["command"] = json!(["/tools/true"]);
        }
        // A check can be copied if its program comes from one of its mounts.
        if !self.chance(1, 3)? {
            let path = self.pick(&["/tools", "/tools", "/tools/", "/", "/too", "/tools/true"])?;
            container["volumeMounts"] = json!([{"name": "tools", "mountPath": path}]);
        }
        if self.chance(1, 12)? {
            let program =
                self.pick(&["true", "/tools/../bin/true", "/$(DIR)/true", "/bin/true"])?;
            container["command"] = json!([program]);
        }
        if self.chance(1, 4)? {
            container["env"] = json!([{"name": "TOKEN", "value": SECRET}]);
            container["args"] = json!([format!("--password={SECRET}")]);
        }
        let unknown = json!({"imagePullPolicy": "Never", "deep": [1, {"image": "x"}]});
        self.sometimes(6, &mut container, "futureField", &[unknown])?;
        let mounts = [json!(null), json!([])];
        self.sometimes(8, &mut container, "volumeMounts", &mounts)?;
        if self.chance(1, 3)? {
            self.unread_fields(&mut container)?;
        }
        Ok(container)
    }

    /// Adds fields that Kubernetes checks. *missing-check* reads some of them.
    fn unread_fields(&mut self, container: &mut Value) -> Result<()> {
        let amounts = [
            json!({"requests": {"cpu": "100m", "memory": "64Mi"}}),
            json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "200m", "memory": "1Gi"}}),
            json!({"requests": {"cpu": "0", "ephemeral-storage": "1Gi"}}),
            json!({"claims": [{"name": "gpu"}]}),
            json!({}),
        ];
        self.sometimes(3, container, "resources", &amounts)?;
        if self.chance(1, 6)? {
            // The kubelet expands `$(TOKEN)` in arguments. If *missing-check* copies these
            // arguments into an added check, the added check needs the variable too.
            container["env"] = json!([{"name": "TOKEN", "value": SECRET}]);
            container["args"] = json!(["--token=$(TOKEN)"]);
        }
        let secret = json!([{"secretRef": {"name": "token"}}]);
        self.sometimes(6, container, "envFrom", &[secret])?;
        if self.chance(1, 6)? {
            let field = json!({"resourceFieldRef": {
                "containerName": self.word(INITS)?, "resource": "limits.cpu",
            }});
            container["env"] = json!([{"name": "CPUS", "valueFrom": field}]);
        }
        let ports = json!([{"containerPort": 8080, "name": "http"}]);
        self.sometimes(6, container, "ports", &[ports])?;
        let context = json!({"runAsNonRoot": true, "capabilities": {"drop": ["ALL"]}});
        self.sometimes(6, container, "securityContext", &[context])?;
        // A check with a field that Kubernetes doesn't know can't be copied.
        let unknown = json!({"futureField": true});
        self.sometimes(12, container, "securityContext", &[unknown])?;
        if self.chance(1, 10)? {
            container["securityContext"]["appArmorProfile"] = json!({"type": "RuntimeDefault"});
        }
        if self.chance(1, 10)? {
            container["terminationMessagePolicy"] = "FallbackToLogsOnError".into();
            container["workingDir"] = "/work".into();
        }
        if self.chance(1, 60)? {
            let size = *self.bytes.choose(&[1_000, 10_000, 100_000])?;
            container["args"] = json!(["--", "x".repeat(size)]);
        }
        Ok(())
    }
}
