//! What each place does in its Pod. Here, and only here, it is decided whether a place is an image check, and whether it
//! needs one.

use std::collections::BTreeMap;

use super::place::Place;
use crate::pod::List;
use crate::settings::{Form, Settings};

/// What a place does in its Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It is exempt. No rule looks at it.
    Exempt,
    /// Its image can't be parsed, or is an image ID that *invalid-image* reports. No later rule looks at it.
    Invalid,
    /// It is an image check.
    Check,
    /// It is an init container that ends before anything guarded starts, and no image check.
    InitContainer,
    /// It is guarded: its image needs an image check.
    Guarded,
    /// It is a native sidecar, an ephemeral container or an image volume that is not guarded.
    Other,
}

/// The containers that mount a volume.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Carriers {
    /// The index of the first init container that mounts it.
    pub(crate) first_init: Option<usize>,
    /// Whether the Pod's first init container mounts it.
    pub(crate) is_on_first_init: bool,
    /// Whether an app container mounts it.
    has_app: bool,
    /// Whether an init container that is no native sidecar, or an app container that is not exempt, mounts it.
    can_be_check: bool,
}

impl Carriers {
    /// The carriers of an added check: a volume is mounted on the first init container, if there is one.
    pub(super) fn of_added(list: List, first_init: Option<usize>) -> Self {
        let is_on_first_init = list == List::Volumes && first_init.is_some();
        Self { is_on_first_init, ..Self::default() }
    }

    fn add(&mut self, container: &Place<'_>, first_init: Option<usize>) {
        match container.list {
            List::InitContainers => {
                self.first_init.get_or_insert(container.index);
                self.is_on_first_init |= Some(container.index) == first_init;
                self.can_be_check |= container.ends();
            }
            List::Containers => {
                self.has_app = true;
                self.can_be_check |= container.role != Role::Exempt;
            }
            List::EphemeralContainers | List::Volumes => {}
        }
    }
}

/// Decides the roles of all places, and returns the index of the first init container.
pub(super) fn assign(places: &mut [Place<'_>], settings: &Settings) -> Option<usize> {
    let is_first_init = |place: &&Place<'_>| place.ends() && place.role != Role::Exempt;
    let first_init = places.iter().find(is_first_init).map(|place| place.index);
    let carriers = carriers(places, first_init);
    let is_after_first_init = |index: usize| first_init.is_some_and(|first| index > first);
    let guards_more = settings.image_checks.form == Form::ImageVolume;
    for place in places {
        if place.list == List::Volumes {
            place.carriers = carriers.get(&*place.name).copied().unwrap_or_default();
        }
        if matches!(place.role, Role::Exempt | Role::Invalid) {
            continue;
        }
        let carriers = place.carriers;
        let has_prefix = settings.image_checks.has_prefix(&place.name);
        let (is_check, is_guarded) = match place.list {
            List::Containers => (false, true),
            List::InitContainers => {
                (place.ends() && has_prefix, guards_more && is_after_first_init(place.index))
            }
            List::Volumes => {
                let delays = carriers.first_init.map_or(carriers.has_app, is_after_first_init);
                (has_prefix && carriers.can_be_check, guards_more && delays)
            }
            List::EphemeralContainers => (false, false),
        };
        place.role = match (is_check, is_guarded) {
            (true, _) => Role::Check,
            (false, true) => Role::Guarded,
            (false, false) if place.ends() => Role::InitContainer,
            (false, false) => Role::Other,
        };
    }
    first_init
}

/// The containers that mount each volume.
fn carriers<'o>(places: &[Place<'o>], first_init: Option<usize>) -> BTreeMap<&'o str, Carriers> {
    let mut carriers: BTreeMap<&str, Carriers> = BTreeMap::new();
    for container in places {
        for mount in container.mounts.iter().filter(|mount| !mount.is_device) {
            carriers.entry(mount.volume).or_default().add(container, first_init);
        }
    }
    carriers
}
