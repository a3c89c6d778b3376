//! What starts after what in a Pod, as a kubelet does it. No other file knows this order.
//!
//! Init containers start one after another, native sidecars too. Then all app containers start. A
//! container pulls its own image and its image volumes when it starts. So a container's moment is
//! its position, and a volume's moment is that of the first container that mounts it. Within the
//! last moment, only the volumes that app containers mount have an order.
//!
//! A Pod's lists can be very long, so each place is never compared with each pull.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::place::{Entry, Place};
use crate::image::PullPolicy;
use crate::pod::List;

/// A moment of a Pod's start: the index of an init container of the request, or `APPS`. A later
/// moment is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(usize);

impl Moment {
    /// All app containers start.
    pub(crate) const APPS: Self = Self(usize::MAX);

    /// The moment from which on everything starts after the init containers that are inserted at
    /// this index of the request's list.
    pub(crate) const fn after_inserted(index: usize) -> Self {
        Self(index)
    }
}

/// When a place is pulled while a Pod starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Not at all: an ephemeral container, or a volume that no container mounts.
    None,
    /// An init container, by its index.
    Init(usize),
    /// An app container.
    App,
    /// A volume that an init container mounts. The index is that of the first such container.
    VolumeOfInit(usize),
    /// A volume that only app containers mount.
    VolumeOfApps {
        /// Whether every app container that is not exempt mounts it.
        is_on_every_app: bool,
    },
}

impl Start {
    /// When the place is pulled.
    pub(crate) const fn moment(self) -> Option<Moment> {
        match self {
            Self::None => None,
            Self::Init(index) | Self::VolumeOfInit(index) => Some(Moment(index)),
            Self::App | Self::VolumeOfApps { .. } => Some(Moment::APPS),
        }
    }

    /// The first moment of which all places start after this pull. None if there is no such moment.
    ///
    /// An init container may pull its image volumes before its own image, so nothing of its own
    /// moment starts after the pull of its image.
    pub(crate) const fn followed_from(self) -> Option<Moment> {
        match self {
            Self::Init(index) => Some(Moment(index.saturating_add(1))),
            Self::VolumeOfInit(index) => Some(Moment(index)),
            Self::None | Self::App | Self::VolumeOfApps { .. } => None,
        }
    }

    /// Whether the work that begins at a moment starts after this pull. An init container's own
    /// pull also gates the work that begins with it.
    pub(crate) fn gates(self, work: Moment) -> bool {
        match self {
            Self::Init(index) | Self::VolumeOfInit(index) => Moment(index) <= work,
            Self::VolumeOfApps { is_on_every_app } => is_on_every_app && work == Moment::APPS,
            Self::None | Self::App => false,
        }
    }
}

/// The indexes of the init containers and app containers that mount each volume, in their order.
pub(super) fn mounters<'o>(entries: &[Entry<'o>]) -> BTreeMap<(List, &'o str), Vec<usize>> {
    let mut mounters: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        if entry.list == List::EphemeralContainers {
            continue;
        }
        for volume in &entry.volumes {
            let containers = mounters.entry((List::Volumes, *volume)).or_default();
            // A container may mount a volume several times.
            if containers.last() != Some(&index) {
                containers.push(index);
            }
        }
    }
    mounters
}

/// When an entry is pulled. `mounted_by` has the containers that mount a volume, and `apps` is the
/// number of app containers that are not exempt.
pub(super) fn start(entry: &Entry<'_>, mounted_by: &[&Entry<'_>], apps: usize) -> Start {
    match (entry.list, mounted_by.first()) {
        (List::InitContainers, _) => Start::Init(entry.index),
        (List::Containers, _) => Start::App,
        (List::EphemeralContainers, _) | (List::Volumes, None) => Start::None,
        (List::Volumes, Some(first)) if first.list == List::InitContainers => {
            Start::VolumeOfInit(first.index)
        }
        (List::Volumes, Some(_)) => Start::VolumeOfApps {
            is_on_every_app: mounted_by.iter().filter(|entry| entry.is_app()).count() == apps,
        },
    }
}

/// A pull policy, and the index of the place that has it. The greatest is the strongest, and among
/// equals the first of the Pod.
pub(crate) type Pull = (PullPolicy, Reverse<usize>);

/// The index of each check among these places, with the strongest pull of the others that starts
/// after it.
pub(crate) fn strongest_after_checks(places: &[(usize, &Place<'_>)]) -> Vec<(usize, Pull)> {
    let mut after_checks = strongest_on_apps(places);
    // Sorted from the last moment to the first. At the same moment, places come before checks
    // (`false < true`). So all places that start after a check stand before it in this list.
    let mut backwards = Vec::new();
    for (index, place) in places {
        let is_check = place.is_check();
        let moment = if is_check {
            place.start.followed_from()
        } else {
            place.start.moment()
        };
        backwards
            .extend(moment.map(|moment| (Reverse(moment), is_check, *index, place.policy.now)));
    }
    backwards.sort_unstable();
    let mut strongest: Option<Pull> = None;
    for (_, is_check, index, policy) in backwards {
        if is_check {
            after_checks.extend(strongest.map(|strongest| (index, strongest)));
        } else {
            strongest = strongest.max(Some((policy, Reverse(index))));
        }
    }
    after_checks
}

/// The same for the checks that only app containers mount. After such a check start the app
/// containers that mount it, and the volumes that only such containers mount.
fn strongest_on_apps(places: &[(usize, &Place<'_>)]) -> Vec<(usize, Pull)> {
    let with_apps = places
        .iter()
        .filter(|(_, place)| place.start.moment() == Some(Moment::APPS));
    // The checks that each app mounts.
    let mut checks: BTreeMap<usize, Vec<(usize, &[usize])>> = BTreeMap::new();
    // The pulls, by the app containers that they start with. Many volumes can be on the same
    // containers.
    let mut pulls: BTreeMap<Cow<'_, [usize]>, Pull> = BTreeMap::new();
    for (index, place) in with_apps {
        if place.is_check() {
            for app in &place.mounted_by {
                let of_app = checks.entry(*app).or_default();
                of_app.push((*index, &place.mounted_by));
            }
            continue;
        }
        let apps = match place.start {
            Start::VolumeOfApps { .. } => Cow::Borrowed(&*place.mounted_by),
            _ => Cow::Owned(vec![*index]),
        };
        let pull = (place.policy.now, Reverse(*index));
        let strongest = pulls.entry(apps).or_insert(pull);
        *strongest = pull.max(*strongest);
    }
    let mut strongest: BTreeMap<usize, Pull> = BTreeMap::new();
    for (apps, pull) in pulls {
        // The checks that all of these apps mount are among those of the app with the fewest.
        let of_apps = apps
            .iter()
            .map(|app| checks.get(app).map_or(&[][..], |checks| checks));
        for (check, mounted_by) in of_apps
            .min_by_key(|checks| checks.len())
            .unwrap_or_default()
        {
            if apps.iter().all(|app| mounted_by.binary_search(app).is_ok()) {
                let strongest = strongest.entry(*check).or_insert(pull);
                *strongest = pull.max(*strongest);
            }
        }
    }
    strongest.into_iter().collect()
}
