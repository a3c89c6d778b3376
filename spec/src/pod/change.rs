//! Findings and changes in a Pod.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::read::read_place;
use super::{List, Pod, field};
use crate::json::{CONTAINER_LISTS, all_of, elements, list_mut};
use crate::policy::PullPolicy;
use crate::verdict::{Finding, Repair, Weight};

impl Pod<'_> {
    /// Writes a pull policy. If `tell` is true and the pull policy changes, adds a finding too.
    ///
    /// A pull policy that *disallowed-policy* replaced stays its change and its finding, even if a later
    /// rule changes the replacement. **Decided**: of any other two rules that change the same pull policy,
    /// the later one reports it.
    pub(crate) fn set_policy(
        &mut self,
        rule: &'static str,
        place: usize,
        to: PullPolicy,
        tell: bool,
    ) {
        if self.places[place].policy == to {
            return;
        }
        self.places[place].policy = to;
        if self.places[place].policy_rule == "disallowed-policy" {
            return;
        }
        self.places[place].policy_rule = rule;
        if tell {
            self.forget_policy_finding(place);
            let path = self.policy_path(place);
            self.find(rule, place, path, Repair::PullPolicy, Weight::Rejects);
        }
    }

    /// Removes the finding that reports a changed pull policy of a place, except one of
    /// *disallowed-policy*.
    pub(crate) fn forget_policy_finding(&mut self, place: usize) {
        let is_it = |one: &Finding| {
            one.place == place
                && one.repair == Repair::PullPolicy
                && one.rule != "disallowed-policy"
        };
        self.findings.retain(|one| !is_it(one));
    }

    /// Adds a finding.
    pub(crate) fn find(
        &mut self,
        rule: &'static str,
        place: usize,
        path: String,
        repair: Repair,
        weight: Weight,
    ) {
        self.findings.push(Finding {
            rule,
            path,
            container: self.places[place].name.clone(),
            image: self.places[place].image_before().to_owned(),
            place,
            repair,
            weight,
        });
    }

    /// Whether a finding is reported, and can reject the request. If the finding's repair changes a pull
    /// policy or an image, the final value must differ from the request's value. Any other finding counts.
    pub(crate) fn counts(&self, finding: &Finding) -> bool {
        let place = &self.places[finding.place];
        let came_in = place.came_in.as_ref();
        match finding.repair {
            Repair::None | Repair::Addition => true,
            Repair::PullPolicy => came_in.is_some_and(|one| one.effective != place.policy),
            Repair::Image => came_in.is_some_and(|one| one.image != place.image.as_str()),
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
        list_mut(&mut self.spec, "initContainers").insert(index, container);
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
        let volumes = list_mut(&mut self.spec, "volumes");
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
        list_mut(&mut self.spec[key][index], "volumeMounts").push(entry);
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
    pub(crate) fn names(&self, with_volumes: bool) -> BTreeSet<&str> {
        let containers = all_of(&self.spec, &CONTAINER_LISTS);
        let volumes = elements(&self.spec, "volumes").iter();
        containers
            .chain(volumes.filter(|_| with_volumes))
            .filter_map(|entry| entry["name"].as_str())
            .collect()
    }

    /// Returns the paths of all mounts and devices in all containers. Device paths are included,
    /// because a new mount can't use the path of a device.
    pub(crate) fn mount_paths(&self) -> BTreeSet<&str> {
        all_of(&self.spec, &CONTAINER_LISTS)
            .flat_map(|container| all_of(container, &["volumeMounts", "volumeDevices"]))
            .flat_map(|entry| [&entry["mountPath"], &entry["devicePath"]])
            .filter_map(Value::as_str)
            .collect()
    }

    /// Returns the Pod spec with the changes of all rules.
    pub(crate) fn spec_out(&self) -> Value {
        let mut spec = self.spec.clone();
        for place in &self.places {
            let Some(came_in) = &place.came_in else {
                continue;
            };
            let entry = &mut spec[place.list.key()][place.index];
            let mut write = |is_image: bool, value: &str| {
                let keys = field(place.list, is_image).split('.');
                *keys.fold(&mut *entry, |value, key| &mut value[key]) = value.into();
            };
            if came_in.image.as_str().unwrap_or_default() != place.image {
                write(true, &place.image);
            }
            if came_in.effective != place.policy {
                write(false, place.policy.name());
            }
        }
        spec
    }
}
