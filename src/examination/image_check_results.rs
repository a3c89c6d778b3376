//! Which image checks of a running Pod have passed, by the status of the Pod.

use std::collections::BTreeMap;

use crate::pod_spec::{MountersByVolume, Place, PodSpecList};
use crate::request::{ContainerStatus, PodStatus};

/// The states of a Pod's containers, and the carriers of each volume.
pub(crate) struct ImageCheckResults<'s> {
    container_states: BTreeMap<(PodSpecList, &'s str), &'s ContainerStatus<'s>>,
    mounters: &'s MountersByVolume<'s>,
}

impl<'s> ImageCheckResults<'s> {
    /// Reads the states from the status of a Pod.
    pub(crate) fn of(mounters: &'s MountersByVolume<'s>, status: &'s PodStatus<'s>) -> Self {
        let mut container_states = BTreeMap::new();
        for container in &status.containers {
            let key = (container.pod_spec_list, &*container.name);
            container_states.insert(key, container);
        }
        Self {
            container_states,
            mounters,
        }
    }

    /// Whether a check has passed. An init container has passed if it succeeded. A check volume has
    /// passed once its first carrier started.
    pub(crate) fn has_passed(&self, check: &Place<'_>) -> bool {
        if check.list == PodSpecList::Volumes {
            let carriers = self.mounters.get(&*check.name);
            let state = carriers.and_then(|carriers| self.state(carriers.first()?));
            state.is_some_and(|state| state.has_started)
        } else {
            self.state(check).is_some_and(|state| state.has_succeeded)
        }
    }

    fn state<'t>(&'t self, place: &'t Place<'_>) -> Option<&'t ContainerStatus<'t>> {
        self.container_states
            .get(&(place.list, &*place.name))
            .copied()
    }
}
