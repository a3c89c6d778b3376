//! What each place does in its Pod. Here, and only here, it is decided whether a place is an image check, and whether it
//! needs one.

use std::collections::BTreeMap;

use super::place::{Place, Role};
use super::start_order::{Moment, Start};
use crate::pod::List;
use crate::settings::{Form, Settings};

/// Decides the roles of all places, and when the volumes start. Returns the index of the first init container in `places`.
pub(super) fn assign(places: &mut [Place<'_>], settings: &Settings) -> Option<usize> {
    let first_init = places
        .iter()
        .position(|place| place.ends() && place.role != Role::Exempt);
    let first_moment = first_init.and_then(|index| places.get(index)?.start.moment);
    let mounting = mounting(places);
    let is_app = |place: &&Place<'_>| place.list == List::Containers && place.role != Role::Exempt;
    let apps = places.iter().filter(is_app).count();
    let guards_more = settings.image_checks.form == Form::ImageVolume;
    for place in places {
        let mounting = mounting
            .get(&*place.name)
            .filter(|_| place.list == List::Volumes);
        if let Some(mounting) = mounting {
            place.start = Start::of_volume(mounting.moment, mounting.apps == apps);
            place.starts_with = Some(mounting.first);
        }
        if matches!(place.role, Role::Exempt | Role::Invalid) {
            continue;
        }
        let has_prefix = settings.image_checks.has_prefix(&place.name);
        let is_after_first_init =
            first_moment.is_some_and(|first| place.start.moment > Some(first));
        let (can_be_check, is_guarded) = match place.list {
            List::Containers => (false, true),
            List::InitContainers => (place.ends(), guards_more && is_after_first_init),
            List::Volumes => {
                let delays_work = is_after_first_init || place.start.moment == Some(Moment::APPS);
                let is_needed = mounting.is_some_and(|mounting| mounting.has_any);
                (
                    mounting.is_some_and(|mounting| mounting.can_be_check),
                    guards_more && delays_work && is_needed,
                )
            }
            List::EphemeralContainers => (false, false),
        };
        if has_prefix && can_be_check {
            place.role = Role::Check;
        } else if is_guarded {
            place.role = Role::Guarded;
        }
    }
    first_init
}

/// The containers that mount a volume.
struct Mounting {
    /// The index of the first of them.
    first: usize,
    moment: Moment,
    /// Whether one of them is not exempt.
    has_any: bool,
    /// Whether an init container that is no native sidecar is among them, or an app container that is not exempt.
    can_be_check: bool,
    /// The number of the app containers among them that are not exempt.
    apps: usize,
    /// The index of the last of them. A container may mount a volume several times.
    last: Option<usize>,
}

/// The init containers and app containers that mount each volume.
fn mounting<'o>(places: &[Place<'o>]) -> BTreeMap<&'o str, Mounting> {
    let mut volumes: BTreeMap<&str, Mounting> = BTreeMap::new();
    for (index, container) in places.iter().enumerate() {
        let Some(moment) = container.start.moment else {
            continue;
        };
        let is_exempt = container.role == Role::Exempt;
        let is_app = container.list == List::Containers && !is_exempt;
        for name in container.mounted_volumes() {
            let mounting = volumes.entry(name).or_insert(Mounting {
                first: index,
                moment,
                has_any: false,
                can_be_check: false,
                apps: 0,
                last: None,
            });
            if mounting.last.replace(index) == Some(index) {
                continue;
            }
            mounting.has_any |= !is_exempt;
            mounting.can_be_check |= is_app || container.ends();
            mounting.apps = mounting.apps.saturating_add(usize::from(is_app));
        }
    }
    volumes
}
