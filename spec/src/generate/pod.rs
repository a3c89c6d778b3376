//! Random objects: containers, volumes, Pod specs, metadata.

use arbitrary::Result;
use serde_json::{Map, Value, json};

use super::{APPS, BAD_IMAGES, DIGESTS, INITS, POLICIES, SUFFIXES, Source, VOLUMES};
use crate::RECORD;

impl Source<'_> {
    pub(super) fn image(&mut self, repositories: &[&str]) -> Result<Value> {
        if self.chance(1, 40)? {
            let bad = self.pick(&BAD_IMAGES)?;
            return Ok(if bad.is_empty() && self.0.arbitrary()? {
                Value::Null
            } else {
                bad.into()
            });
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

    fn policy(&mut self) -> Result<Option<Value>> {
        if self.chance(1, 12)? {
            return Ok(self
                .0
                .choose(&[None, Some(Value::Null), Some("".into())])?
                .clone());
        }
        let among = if self.chance(1, 4)? { 3 } else { 2 };
        Ok(Some(self.pick(&POLICIES[..among])?.into()))
    }

    pub(super) fn container(&mut self, name: &str, images: &[&str]) -> Result<Value> {
        let mut container = json!({"name": name, "image": self.image(images)?});
        if container["image"].is_null() && self.0.arbitrary()? {
            container = json!({"name": name});
        }
        if let Some(policy) = self.policy()? {
            container["imagePullPolicy"] = policy;
        }
        if self.chance(1, 4)? {
            container["env"] = json!([{"name": "TOKEN", "value": "s3cr3t-value"}]);
            container["args"] = json!(["--password=s3cr3t-value"]);
        }
        if self.chance(1, 6)? {
            container["futureField"] =
                json!({"imagePullPolicy": "Never", "deep": [1, {"image": "x"}]});
        }
        if self.chance(1, 8)? {
            container["volumeMounts"] = self.0.choose(&[json!(null), json!([])])?.clone();
        }
        Ok(container)
    }

    pub(super) fn spec(&mut self, images: &[&str]) -> Result<Value> {
        let mut spec = json!({});
        let mut containers = Vec::new();
        for name in self.some(&APPS, 3)? {
            containers.push(self.container(&name, images)?);
        }
        let mut inits = Vec::new();
        if self.chance(5, 6)? {
            for name in self.some(&INITS, 4)? {
                let mut init = self.container(&name, images)?;
                if self.chance(1, 8)? {
                    init["restartPolicy"] = "Always".into();
                }
                inits.push(init);
            }
        }
        let mut volumes = Vec::new();
        if self.chance(1, 3)? {
            for name in self.some(&VOLUMES, 3)? {
                volumes.push(self.volume(&name, images, &mut inits, &mut containers)?);
            }
        }
        spec["containers"] = containers.into();
        for (key, list) in [("initContainers", inits), ("volumes", volumes)] {
            if !list.is_empty() {
                spec[key] = list.into();
            } else if self.chance(1, 6)? {
                spec[key] = self.0.choose(&[json!(null), json!([])])?.clone();
            }
        }
        if self.chance(1, 12)? {
            spec["os"] = json!({"name": self.pick(&["windows", "linux"])?});
        }
        if self.chance(1, 6)? {
            let arch = self.pick(&["amd64", "arm64"])?;
            spec["nodeSelector"] = json!({"kubernetes.io/arch": arch, "disk": "ssd"});
        }
        if self.chance(1, 8)? {
            spec["affinity"] = self.affinity()?;
        }
        if self.chance(1, 12)? {
            for key in ["os", "nodeSelector", "affinity"] {
                if spec.get(key).is_none() {
                    spec[key] = Value::Null;
                }
            }
        }
        if self.chance(1, 6)? {
            spec["futureSpecField"] = json!({"containers": [{"image": "NGINX"}]});
        }
        Ok(spec)
    }

    fn volume(
        &mut self,
        name: &str,
        images: &[&str],
        inits: &mut [Value],
        containers: &mut [Value],
    ) -> Result<Value> {
        if self.chance(1, 6)? {
            return Ok(if self.chance(1, 2)? {
                json!({"name": name, "emptyDir": {}})
            } else {
                json!({"name": name, "emptyDir": {}, "image": null})
            });
        }
        let mut volume = json!({"name": name, "image": {"reference": self.image(images)?}});
        if let Some(policy) = self.policy()? {
            volume["image"]["pullPolicy"] = policy;
        }
        let where_mounted = self.0.int_in_range(0..=4)?;
        let path = if self.chance(1, 8)? {
            format!("/.imagecheck/{}", self.pick(&INITS)?)
        } else if self.chance(1, 2)? {
            format!("/.imagecheck/{name}")
        } else {
            format!("/mnt/{name}")
        };
        let mount = json!({"name": name, "mountPath": path, "readOnly": true});
        let mut put = |container: &mut Value| match &mut container["volumeMounts"] {
            Value::Array(mounts) => mounts.push(mount.clone()),
            none => *none = json!([mount]),
        };
        match where_mounted {
            0 => inits.iter_mut().take(1).for_each(&mut put),
            1 => containers.iter_mut().for_each(&mut put),
            2 => containers.iter_mut().take(1).for_each(&mut put),
            3 => inits
                .iter_mut()
                .chain(containers)
                .take(2)
                .for_each(&mut put),
            _ => {}
        }
        Ok(volume)
    }

    fn affinity(&mut self) -> Result<Value> {
        let mut terms = Vec::new();
        for _ in 0..self.0.int_in_range(1..=2)? {
            let mut expressions = Vec::new();
            for _ in 0..self.0.int_in_range(0..=2)? {
                let key = self.pick(&["kubernetes.io/arch", "kubernetes.io/os", "zone"])?;
                let operator = self.pick(&["In", "In", "NotIn", "Exists"])?;
                let values = if key == "kubernetes.io/os" {
                    self.some(&["linux", "windows"], 2)?
                } else {
                    self.some(&["amd64", "arm64"], 2)?
                };
                expressions.push(json!({"key": key, "operator": operator, "values": values}));
            }
            terms.push(json!({"matchExpressions": expressions}));
        }
        Ok(
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}),
        )
    }

    pub(super) fn metadata(&mut self) -> Result<Value> {
        let mut metadata = json!({"namespace": "default"});
        if self.chance(1, 3)? {
            metadata["generateName"] = "job-".into();
        } else {
            metadata["name"] = "job-1".into();
        }
        if self.chance(1, 3)? {
            let controller = self.chance(3, 4)?;
            metadata["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "u", "controller": controller}]);
        }
        let mut annotations = Map::new();
        if self.chance(1, 6)? {
            annotations.insert(RECORD.to_owned(), self.record()?.into());
        }
        if self.chance(1, 15)? {
            annotations.insert("kubernetes.io/config.mirror".to_owned(), "hash".into());
        }
        if self.chance(1, 25)? {
            let size = *self.0.choose(&[240_000, 262_000, 262_100])?;
            annotations.insert("big".to_owned(), "x".repeat(size).into());
        }
        if !annotations.is_empty() {
            metadata["annotations"] = annotations.into();
        } else if self.chance(1, 8)? {
            metadata["annotations"] = self.0.choose(&[json!(null), json!({})])?.clone();
        }
        if self.chance(1, 15)? {
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        Ok(metadata)
    }

    fn record(&mut self) -> Result<String> {
        let entry = json!({
            "path": "spec.containers[0].imagePullPolicy", "container": self.pick(&APPS)?,
            "from": self.pick(&POLICIES)?, "to": self.pick(&POLICIES)?, "rule": "pull-once",
        });
        Ok(match self.0.int_in_range(0..=4)? {
            0 => json!([entry]).to_string(),
            1 => "no list".to_owned(),
            2 => json!({"a": 1}).to_string(),
            3 => json!([entry, {"more": 3}]).to_string(),
            _ => json!(vec![entry; 200]).to_string(),
        })
    }
}
