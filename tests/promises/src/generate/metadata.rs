//! Random metadata: owners, records, annotations that name containers, and annotations that leave
//! little room for the record.

use arbitrary::Result;
use serde_json::{Map, Value, json};

use super::Source;
use super::vocabulary::{APPS, PULL_POLICIES};
use crate::promises::RECORD;

/// The API server's limit for the keys and values of an object's annotations, in bytes.
const ANNOTATIONS_BYTES: usize = 256 * 1024;

impl Source<'_> {
    /// Returns the metadata of an object with a Pod spec.
    pub(super) fn metadata(&mut self, spec: &Value) -> Result<Value> {
        let mut metadata = json!({"namespace": "default"});
        if self.chance(1, 3)? {
            metadata["generateName"] = "job-".into();
        } else {
            metadata["name"] = "job-1".into();
        }
        if self.chance(1, 3)? {
            let controller = self.chance(3, 4)?;
            let kind = if self.chance(1, 8)? { "Node" } else { "Job" };
            metadata["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": kind, "name": "job", "uid": "u", "controller": controller}]);
        }
        let mut annotations = Map::new();
        if self.chance(1, 6)? {
            annotations.insert(RECORD.to_owned(), self.record()?.into());
        }
        if self.chance(1, 15)? {
            annotations.insert("kubernetes.io/config.mirror".to_owned(), "hash".into());
        }
        annotations.extend(self.apparmor_annotation(spec)?);
        if self.chance(1, 25)? {
            let size = if self.chance(1, 2)? {
                *self.bytes.choose(&[240_000, 262_000, 262_100])?
            } else {
                let used: usize = annotations
                    .iter()
                    .map(|(key, value)| key.len() + value.as_str().unwrap_or_default().len())
                    .sum();
                let room = *self.bytes.choose(&[30, 250, 600, 3_000])?;
                ANNOTATIONS_BYTES.saturating_sub(used + room + "big".len())
            };
            annotations.insert("big".to_owned(), "x".repeat(size).into());
        }
        if !annotations.is_empty() {
            metadata["annotations"] = annotations.into();
        } else if self.chance(1, 8)? {
            metadata["annotations"] = self.bytes.choose(&[json!(null), json!({})])?.clone();
        }
        if self.chance(1, 15)? {
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        Ok(metadata)
    }

    /// Sometimes returns the annotation that sets the profile of `AppArmor` of a container.
    pub(super) fn apparmor_annotation(&mut self, spec: &Value) -> Result<Option<(String, Value)>> {
        if !self.chance(1, 16)? {
            return Ok(None);
        }
        let list = self.pick(&["initContainers", "containers"])?;
        let index = self.bytes.int_in_range(0..=2usize)?;
        let key = |name| format!("container.apparmor.security.beta.kubernetes.io/{name}");
        let name = spec[list][index]["name"].as_str();
        Ok(name.map(|name| (key(name), "runtime/default".into())))
    }

    /// Returns a text for the annotation of the record. This policy would not write most of these
    /// texts.
    fn record(&mut self) -> Result<String> {
        let entry = json!({
            "path": "spec.containers[0].imagePullPolicy", "container": self.word(APPS)?,
            "from": self.pick(&PULL_POLICIES)?, "to": self.pick(&PULL_POLICIES)?, "rule": "pull-once",
        });
        Ok(match self.bytes.int_in_range(0..=4)? {
            0 => json!([entry]).to_string(),
            1 => "no list".to_owned(),
            2 => json!([entry, {"more": 3}]).to_string(),
            3 => json!(vec![entry; 200]).to_string(),
            _ => json!([{"path": 1}, 7]).to_string(),
        })
    }
}
