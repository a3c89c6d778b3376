//! Findings and changes in a Pod.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::read::read_place;
use super::{List, Pod};
use crate::policy::PullPolicy;
use crate::verdict::{Finding, Repair, Weight};

impl Pod<'_> {
    /// Writes a pull policy. If `tell` is true and the pull policy changes, adds a finding too.
    ///
    /// **Decided**: if two rules report a change of the same pull policy, only the later finding remains.
    pub(crate) fn set_policy(
        &mut self,
        rule: &'static str,
        place: usize,
        to: PullPolicy,
        tell: bool,
    ) {
        let from = self.places[place].policy;
        if from == to {
            return;
        }
        self.places[place].policy = to;
        self.places[place].policy_rule = rule;
        if tell {
            self.findings
                .retain(|finding| finding.repair != Repair::PullPolicy(place));
            let path = self.policy_path(place);
            let (found, expected) = (from.name().into(), to.name().into());
            self.find(
                rule,
                place,
                path,
                found,
                expected,
                Repair::PullPolicy(place),
                Weight::Rejects,
            );
        }
    }

    /// Adds a finding.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn find(
        &mut self,
        rule: &'static str,
        place: usize,
        path: String,
        found: Value,
        expected: Value,
        repair: Repair,
        weight: Weight,
    ) {
        let index = place;
        let place = &self.places[index];
        let image = match &place.came_in {
            Some(came_in) => came_in.image.as_str().unwrap_or_default().to_owned(),
            None => place.image.clone(),
        };
        self.findings.push(Finding {
            rule,
            path,
            container: place.name.clone(),
            image,
            found,
            expected,
            place: index,
            repair,
            weight,
            is_momentary: false,
        });
    }

    /// Whether a finding is reported, and can reject the request. If the finding's repair changes a pull
    /// policy or an image, the final value must differ from the request's value. Any other finding counts.
    pub(crate) fn counts(&self, finding: &Finding) -> bool {
        let came_in = |place: usize| self.places[place].came_in.as_ref();
        match finding.repair {
            Repair::None | Repair::Addition => true,
            Repair::PullPolicy(place) => {
                came_in(place).is_some_and(|came_in| came_in.effective != self.places[place].policy)
            }
            Repair::Image(place) => came_in(place)
                .is_some_and(|came_in| came_in.image.as_str() != Some(&self.places[place].image)),
        }
    }

    /// Inserts an init container at `index`. The index of each init container behind it grows by one.
    pub(crate) fn insert_init(&mut self, rule: &'static str, index: usize, container: Value) {
        for place in &mut self.places {
            if place.list == List::InitContainers && place.index >= index {
                place.index += 1;
            }
        }
        self.push_added(rule, List::InitContainers, index, &container);
        list_of(&mut self.spec, "initContainers").insert(index, container);
    }

    /// Adds an image volume, and returns its entry in `volumes`.
    pub(crate) fn push_volume(
        &mut self,
        rule: &'static str,
        name: &str,
        image: &str,
        policy: PullPolicy,
    ) -> Value {
        let volume =
            json!({"name": name, "image": {"reference": image, "pullPolicy": policy.name()}});
        let volumes = list_of(&mut self.spec, "volumes");
        volumes.push(volume.clone());
        let index = volumes.len() - 1;
        self.push_added(rule, List::Volumes, index, &volume);
        volume
    }

    fn push_added(&mut self, rule: &'static str, list: List, index: usize, entry: &Value) {
        if let Ok(Some(mut place)) = read_place(self.settings, list, index, entry, "") {
            place.came_in = None;
            place.is_exempt = false;
            place.is_examined = true;
            place.image_rule = rule;
            place.policy_rule = rule;
            self.places.push(place);
        }
    }

    /// Appends `entry` to the `volumeMounts` of a container. `place` is the container's index in `places`.
    pub(crate) fn mount(&mut self, place: usize, entry: Value) {
        if let Some(name) = entry.get("name").and_then(Value::as_str) {
            self.places[place].mounts.push(name.to_owned());
        }
        let (key, index) = (self.places[place].list.key(), self.places[place].index);
        list_of(&mut self.spec[key][index], "volumeMounts").push(entry);
    }

    /// Returns the carriers of new check volumes: the first init container that is neither a native
    /// sidecar nor exempt (setting `exempt`). If there is none, every app container is a carrier.
    pub(crate) fn carriers(&self) -> Vec<usize> {
        let mut init = self.list(List::InitContainers).into_iter();
        let carrier =
            init.find(|&place| !self.places[place].is_sidecar && !self.places[place].is_exempt);
        carrier.map_or_else(|| self.list(List::Containers), |carrier| vec![carrier])
    }

    /// Returns the names of all containers and, if `with_volumes` is true, of all volumes.
    pub(crate) fn names(&self, with_volumes: bool) -> BTreeSet<String> {
        self.each_entry()
            .filter(|(list, _)| with_volumes || *list != List::Volumes)
            .map(|(_, entry)| entry)
            .filter_map(|entry| entry.get("name").and_then(Value::as_str))
            .map(str::to_owned)
            .collect()
    }

    /// Returns the paths of all mounts and devices in all containers. Device paths are included,
    /// because a new mount can't use the path of a device.
    pub(crate) fn mount_paths(&self) -> BTreeSet<String> {
        self.each_entry()
            .flat_map(|(_, entry)| paths(entry))
            .collect()
    }

    fn each_entry(&self) -> impl Iterator<Item = (List, &Value)> {
        List::ALL.into_iter().flat_map(|list| {
            let entries = self.spec.get(list.key()).and_then(Value::as_array);
            entries
                .into_iter()
                .flatten()
                .map(move |entry| (list, entry))
        })
    }

    /// Returns the Pod spec with the changes of all rules.
    pub(crate) fn spec_out(&self) -> Value {
        let mut spec = self.spec.clone();
        for place in &self.places {
            let Some(came_in) = &place.came_in else {
                continue;
            };
            let entry = &mut spec[place.list.key()][place.index];
            let is_volume = place.list == List::Volumes;
            let fields = if is_volume {
                &mut entry["image"]
            } else {
                entry
            };
            if came_in.image.as_str().unwrap_or_default() != place.image {
                fields[if is_volume { "reference" } else { "image" }] = place.image.as_str().into();
            }
            if came_in.effective != place.policy {
                let key = if is_volume {
                    "pullPolicy"
                } else {
                    "imagePullPolicy"
                };
                fields[key] = place.policy.name().into();
            }
        }
        spec
    }
}

/// Returns the paths of a container's mounts and devices.
pub(crate) fn paths(container: &Value) -> Vec<String> {
    let of = |list: &str, key: &str| -> Vec<String> {
        let entries = container.get(list).and_then(Value::as_array);
        let entries = entries.into_iter().flatten();
        entries
            .filter_map(|entry| Some(entry.get(key)?.as_str()?.to_owned()))
            .collect()
    };
    [
        of("volumeMounts", "mountPath"),
        of("volumeDevices", "devicePath"),
    ]
    .concat()
}

fn list_of<'v>(value: &'v mut Value, key: &str) -> &'v mut Vec<Value> {
    if !value[key].is_array() {
        value[key] = json!([]);
    }
    match &mut value[key] {
        Value::Array(list) => list,
        _ => unreachable!("it was made one"),
    }
}
