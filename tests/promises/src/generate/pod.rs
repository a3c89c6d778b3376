//! Random Pod specs with containers, volumes and mounts.

use arbitrary::Result;
use serde_json::{Value, json};

use super::Source;
use super::vocabulary::{APPS, INITS, VOLUMES};
use crate::json::{elements_mut, list_mut};

impl Source<'_> {
    pub(super) fn spec(&mut self, images: &[&str]) -> Result<Value> {
        let mut spec = json!({});
        let mut containers = Vec::new();
        for name in self.words(APPS, 3)? {
            containers.push(self.container(&name, images)?);
        }
        let mut inits = Vec::new();
        if self.chance(5, 6)? {
            for name in self.words(INITS, 4)? {
                let mut init = self.container(&name, images)?;
                if self.chance(1, 8)? {
                    init["restartPolicy"] = "Always".into();
                }
                inits.push(init);
            }
        }
        let mut volumes = Vec::new();
        if self.chance(if self.is_dense { 5 } else { 2 }, 6)? {
            for name in self.words(VOLUMES, if self.is_dense { 5 } else { 3 })? {
                volumes.push(self.volume(&name, images, &mut inits, &mut containers)?);
            }
        }
        if self.chance(1, 20)? {
            volumes.push(self.device(&mut inits, &mut containers)?);
        }
        // Nearly all Pods have the volume `tools`, which the containers and a check template mount.
        if !self.chance(1, 6)? {
            volumes.push(json!({"name": "tools", "emptyDir": {}}));
        }
        spec["containers"] = containers.into();
        for (key, list) in [("initContainers", inits), ("volumes", volumes)] {
            if !list.is_empty() {
                spec[key] = list.into();
            } else if self.chance(1, 6)? {
                spec[key] = self.bytes.choose(&[json!(null), json!([])])?.clone();
            }
        }
        if self.chance(1, 2)? {
            let restart_policy = self.pick(&["Never", "OnFailure", "Always"])?;
            spec["restartPolicy"] = restart_policy.into();
        }
        if self.chance(1, 40)? {
            self.many_images(&mut spec)?;
        }
        self.nodes(&mut spec)?;
        let amounts = [
            json!({"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}),
            json!({"limits": {"cpu": "1", "memory": "512Mi"}}),
            json!({"requests": {"memory": "1Gi"}}),
        ];
        self.sometimes(16, &mut spec, "resources", &amounts)?;
        let host_users = [json!(false), json!(true), json!(null)];
        self.sometimes(16, &mut spec, "hostUsers", &host_users)?;
        let classes = [json!("kata"), json!(""), json!(null)];
        self.sometimes(16, &mut spec, "runtimeClassName", &classes)?;
        let unknown = json!({"containers": [{"image": "NGINX"}]});
        self.sometimes(6, &mut spec, "futureSpecField", &[unknown])?;
        Ok(spec)
    }

    /// Adds app containers with an image of their own: so many that not all of them can be looked
    /// up, or that the checks for them have more than 1 MiB together.
    fn many_images(&mut self, spec: &mut Value) -> Result<()> {
        let count = *self.bytes.choose(&[18, 19, 20, 21, 25, 300])?;
        let registry = self.pick(&["r.example.com", "ghcr.io"])?;
        let containers = (0..count).map(|index| {
            let image = format!("{registry}/many/image-{index}:v1");
            json!({"name": format!("many-{index}"), "image": image, "imagePullPolicy": "Always"})
        });
        list_mut(spec, "containers").extend(containers);
        if self.chance(1, 4)? {
            let size = *self.bytes.choose(&[1_000, 4_000, 100_000])?;
            for init in elements_mut(spec, "initContainers").take(1) {
                init["args"] = json!(["--", "x".repeat(size)]);
            }
        }
        Ok(())
    }

    fn volume(
        &mut self,
        name: &str,
        images: &[&str],
        inits: &mut [Value],
        containers: &mut [Value],
    ) -> Result<Value> {
        let mut volume = if self.chance(1, 6)? {
            if self.chance(1, 2)? {
                json!({"name": name, "emptyDir": {}})
            } else {
                json!({"name": name, "emptyDir": {}, "image": null})
            }
        } else {
            json!({"name": name, "image": {"reference": self.image(images)?}})
        };
        if volume["image"].is_object() {
            if let Some(policy) = self.pull_policy(&volume["image"]["reference"])? {
                volume["image"]["pullPolicy"] = policy;
            }
            if self.chance(1, 8)? {
                volume["image"]["futureField"] = 1.into();
            }
        }
        let mounted_by = self.bytes.int_in_range(0..=6)?;
        let path = if self.chance(1, 8)? {
            format!("/.imagecheck/{}", self.word(INITS)?)
        } else if self.chance(1, 2)? {
            format!("/.imagecheck/{name}")
        } else {
            format!("/mnt/{name}")
        };
        let mut mount = json!({"name": name, "mountPath": path, "readOnly": true});
        if self.chance(1, 10)? {
            mount["futureField"] = 1.into();
        }
        let mut put =
            |container: &mut Value| list_mut(container, "volumeMounts").push(mount.clone());
        match mounted_by {
            0 => inits.iter_mut().take(1).for_each(&mut put),
            1 => containers.iter_mut().for_each(&mut put),
            2 => containers.iter_mut().take(1).for_each(&mut put),
            3 => inits
                .iter_mut()
                .chain(containers)
                .take(2)
                .for_each(&mut put),
            4 | 5 => {
                let inits = if mounted_by == 4 { inits } else { &mut [] };
                for container in inits.iter_mut().chain(containers) {
                    if self.chance(1, 2)? {
                        put(container);
                    }
                }
            }
            _ => {}
        }
        Ok(volume)
    }

    /// Returns the volume of a block device, and adds the device to at most one container. The
    /// device's path may be the mount path of a check volume.
    fn device(&mut self, inits: &mut [Value], containers: &mut [Value]) -> Result<Value> {
        let path = self.pick(&["/dev/xvda", "/.imagecheck/imagecheck-0"])?;
        let device = json!({"name": "disk", "devicePath": path});
        let containers = if self.chance(1, 2)? {
            inits
        } else {
            containers
        };
        for container in containers.iter_mut().take(1) {
            list_mut(container, "volumeDevices").push(device.clone());
        }
        Ok(json!({"name": "disk", "persistentVolumeClaim": {"claimName": "disk"}}))
    }

    /// Sometimes asks for nodes with an operating system.
    fn nodes(&mut self, spec: &mut Value) -> Result<()> {
        if self.chance(1, 16)? {
            spec["os"] = json!({"name": self.pick(&["windows", "linux"])?});
        }
        if self.chance(1, 6)? {
            spec["nodeSelector"] = json!({"disk": "ssd"});
        }
        if self.chance(1, 20)? {
            let label = self.pick(&["kubernetes.io/os", "beta.kubernetes.io/os"])?;
            spec["nodeSelector"][label] = self.pick(&["windows", "windows", "linux"])?.into();
        }
        if self.chance(1, 12)? {
            for key in ["os", "nodeSelector"] {
                if spec.get(key).is_none() {
                    spec[key] = Value::Null;
                }
            }
        }
        Ok(())
    }
}
