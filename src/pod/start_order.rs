//! What starts after what in a Pod, as a kubelet does it. Other files ask for it here.
//!
//! Init containers start one after another, native sidecars too. Then all app containers start. A
//! container pulls its own image and its image volumes when it starts. So a container's moment is
//! its position, and a volume's moment is that of the first container that mounts it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::image::PullPolicy;

/// A moment of a Pod's start: the index of an init container of the request, or `APPS`. A later
/// moment is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(usize);

impl Moment {
    /// All app containers start.
    pub const APPS: Self = Self(usize::MAX);
}

/// When a pull is made while a Pod starts, and what starts after it.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// When the pull is made. None for an ephemeral container, and for a volume that no container
    /// mounts.
    pub moment: Option<Moment>,
    /// The first moment of which everything starts after this pull. None if there is no such
    /// moment.
    pub followed_from: Option<Moment>,
    /// The positions of the containers that mount the volume, in ascending order.
    pub mounted_by: Vec<usize>,
    /// Whether every app container that counts mounts the volume.
    is_on_every_app: bool,
}

impl Start {
    /// An init container. It may pull its image volumes before its own image, so nothing of its own
    /// moment starts after the pull of its image.
    pub fn init_container(index: usize) -> Self {
        Self {
            moment: Some(Moment(index)),
            followed_from: Some(Moment(index.saturating_add(1))),
            ..Self::default()
        }
    }

    /// An init container that is inserted before the one with this index.
    pub fn inserted(index: usize) -> Self {
        Self {
            moment: Some(Moment(index)),
            followed_from: Some(Moment(index)),
            ..Self::default()
        }
    }

    pub fn app_container() -> Self {
        Self {
            moment: Some(Moment::APPS),
            ..Self::default()
        }
    }

    /// An image volume. `first` is the start of the first container that mounts it.
    pub fn volume(first: Option<&Self>, mounted_by: Vec<usize>, is_on_every_app: bool) -> Self {
        let moment = first.and_then(|first| first.moment);
        Self {
            moment,
            followed_from: moment.filter(|moment| *moment != Moment::APPS),
            mounted_by,
            is_on_every_app,
        }
    }

    /// Whether the work that begins at a moment starts after this pull. An init container's own
    /// pull also gates the work that begins with it.
    pub fn gates(&self, work: Moment) -> bool {
        match self.followed_from {
            Some(_) => self.moment <= Some(work),
            None => self.is_on_every_app && self.moment == Some(work),
        }
    }
}

/// A pull policy, and the position of the pull that has it. The greatest is the strongest, and
/// among equals the first of the Pod.
pub type Strongest = (PullPolicy, Reverse<usize>);

/// A pull: its position in the Pod, its start and its pull policy.
pub type Pulled<'s> = (usize, &'s Start, PullPolicy);

/// The strongest of `others` that starts after each of `firsts`, with the position of the latter.
/// The lists can be very long, so no two pulls are compared with each other.
pub fn strongest_after(firsts: &[Pulled<'_>], others: &[Pulled<'_>]) -> Vec<(usize, Strongest)> {
    let mut found = strongest_on_apps(firsts, others);
    // Sorted from the last moment to the first. At the same moment, `others` come first
    // (`false < true`). So all that starts after one of `firsts` comes before it in this list.
    let firsts = firsts
        .iter()
        .map(|(index, start, policy)| (start.followed_from, true, *index, *policy));
    let others = others
        .iter()
        .map(|(index, start, policy)| (start.moment, false, *index, *policy));
    let mut backwards: Vec<_> = firsts
        .chain(others)
        .filter(|(moment, ..)| moment.is_some())
        .collect();
    backwards.sort_unstable_by_key(|(moment, is_first, ..)| (Reverse(*moment), *is_first));
    let mut strongest: Option<Strongest> = None;
    for (_, is_first, index, policy) in backwards {
        if is_first {
            found.extend(strongest.map(|strongest| (index, strongest)));
        } else {
            strongest = strongest.max(Some((policy, Reverse(index))));
        }
    }
    found
}

/// The same for the volumes that only app containers mount. After such a volume start the app
/// containers that mount it, and the volumes that only such containers mount.
fn strongest_on_apps(firsts: &[Pulled<'_>], others: &[Pulled<'_>]) -> Vec<(usize, Strongest)> {
    let is_with_apps = |(_, start, _): &&Pulled<'_>| start.moment == Some(Moment::APPS);
    // The volumes that each app mounts.
    let mut on_app: BTreeMap<usize, Vec<(usize, &[usize])>> = BTreeMap::new();
    for (index, start, _) in firsts.iter().filter(is_with_apps) {
        for app in &start.mounted_by {
            let volumes = on_app.entry(*app).or_default();
            volumes.push((*index, &start.mounted_by));
        }
    }
    // The strongest of `others`, by the app containers that it starts with. Many volumes can be on
    // the same containers.
    let mut by_apps: BTreeMap<Cow<'_, [usize]>, Strongest> = BTreeMap::new();
    for (index, start, policy) in others.iter().filter(is_with_apps) {
        let apps = if start.mounted_by.is_empty() {
            Cow::Owned(vec![*index])
        } else {
            Cow::Borrowed(&*start.mounted_by)
        };
        raise(&mut by_apps, apps, (*policy, Reverse(*index)));
    }
    let mut strongest: BTreeMap<usize, Strongest> = BTreeMap::new();
    for (apps, pull) in by_apps {
        // The volumes that all of these apps mount are among those of the app with the fewest.
        let on_apps = apps
            .iter()
            .map(|app| on_app.get(app).map_or(&[][..], |volumes| volumes));
        let fewest = on_apps.min_by_key(|volumes| volumes.len());
        for (volume, mounted_by) in fewest.unwrap_or_default() {
            if apps.iter().all(|app| mounted_by.binary_search(app).is_ok()) {
                raise(&mut strongest, *volume, pull);
            }
        }
    }
    strongest.into_iter().collect()
}

/// Replaces the pull of a key, if the new one is stronger.
fn raise<K: Ord>(strongest: &mut BTreeMap<K, Strongest>, key: K, pull: Strongest) {
    let entry = strongest.entry(key).or_insert(pull);
    *entry = pull.max(*entry);
}
