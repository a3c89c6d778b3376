//! Random statuses of Pods.

use arbitrary::Result;
use serde_json::{Value, json};

use super::Source;
use super::vocabulary::SECRET;

impl Source<'_> {
    pub(super) fn status(&mut self, spec: &Value) -> Result<Value> {
        let phase = self.pick(&["Pending", "Pending", "Running", "Succeeded", "Failed"])?;
        let mut status = json!({"phase": phase, "conditions": [
            {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-11-21T09:06:20Z"},
            {"type": "ContainersReady", "status": "False", "lastTransitionTime": "2026-11-21T09:06:17Z"},
        ]});
        for (list, key) in [
            ("initContainers", "initContainerStatuses"),
            ("containers", "containerStatuses"),
        ] {
            let mut statuses = Vec::new();
            for container in spec[list].as_array().into_iter().flatten() {
                let state = match self.0.int_in_range(0..=3)? {
                    0 => json!({"terminated": {"exitCode": 0, "reason": "Completed"}}),
                    1 => json!({"running": {}}),
                    _ => self.waiting(spec, container)?,
                };
                statuses.push(json!({"name": container["name"], "state": state, "image": "x", "restartCount": 0}));
            }
            status[key] = statuses.into();
        }
        Ok(status)
    }

    fn waiting(&mut self, spec: &Value, container: &Value) -> Result<Value> {
        let reason = self.word(
            "ImagePullBackOff ErrImagePull PodInitializing ErrImageNeverPull InvalidImageName \
            ImageInspectError SignatureValidationFailed RegistryUnavailable CrashLoopBackOff",
        )?;
        // The kubelet's message may name the container's image, the image of a volume, or no image.
        let image = match self.0.int_in_range(0..=2)? {
            0 => &container["image"],
            1 => &spec["volumes"][0]["image"]["reference"],
            _ => &Value::Null,
        };
        let message = match image.as_str() {
            Some(image) => format!("Back-off pulling image \"{image}\": token={SECRET}"),
            None => format!("token={SECRET}"),
        };
        Ok(json!({"waiting": {"reason": reason, "message": message}}))
    }
}
