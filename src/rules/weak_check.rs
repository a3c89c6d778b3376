//! *weak-check*: an image check has to be at least as strong as every place with the same image
//! that starts after its pull, other image checks apart.
//!
//! A check with `IfNotPresent` passes if the node has an old image. A container with `Always` then
//! asks the registry. If the registry fails, the container hangs in `ImagePullBackOff`
//! (agent-stack-k8s#846). Each check is measured by itself, because each can pass on an old image.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::examination::{Effect, Examination, Moment, Place, Reason, Role, Rule, Subject};
use crate::image::PullPolicy;
use crate::pod::List;

/// A pull policy, and the index of the place that has it. The greatest is the strongest, and among
/// equals the first of the Pod.
type Pull = (PullPolicy, Reverse<usize>);

/// Raises the checks that are too weak. `images` has the indexes of the places with each image.
pub(super) fn raise(examination: &mut Examination<'_>, images: &[Vec<usize>]) {
    for places in images {
        for (check, strongest) in strongest_after_checks(examination, places) {
            raise_to(examination, check, strongest);
        }
    }
}

/// The index of each check of an image, with the strongest pull of this image that starts after it.
fn strongest_after_checks(examination: &Examination<'_>, places: &[usize]) -> Vec<(usize, Pull)> {
    let is_check = |(_, place): (usize, &Place<'_>)| place.role == Role::Check;
    if !examination.at(places).any(is_check) {
        return Vec::new();
    }
    let mut after_checks = on_apps(examination, places);
    // Sorted from the last moment to the first. At the same moment, places come before checks
    // (`false < true`). So all places that start after a check stand before it in this list.
    let mut backwards = Vec::new();
    for (index, place) in examination.at(places) {
        let is_check = place.role == Role::Check;
        let moment = if is_check {
            place.start.followed_from()
        } else {
            place.start.moment()
        };
        backwards.extend(moment.map(|moment| (Reverse(moment), is_check, index, place.policy.now)));
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

/// The checks that only app containers mount. After such a check start the app containers that
/// mount it, and the volumes that only such containers mount.
fn on_apps(examination: &Examination<'_>, places: &[usize]) -> Vec<(usize, Pull)> {
    let with_apps = || {
        let places = examination.at(places);
        places.filter(|(_, place)| place.start.moment() == Some(Moment::APPS))
    };
    let checks = with_apps().filter(|(_, place)| place.role == Role::Check);
    let checks: BTreeMap<&str, (usize, &Place<'_>)> = checks
        .map(|(index, check)| (&*check.name, (index, check)))
        .collect();
    if checks.is_empty() {
        return Vec::new();
    }
    // The pulls, by the app containers that they start with. Many volumes can be on the same
    // containers.
    let mut pulls: BTreeMap<Cow<'_, [usize]>, Pull> = BTreeMap::new();
    for (index, place) in with_apps().filter(|(_, place)| place.role != Role::Check) {
        let apps = match place.list {
            List::Volumes => Cow::Borrowed(&*place.mounted_by),
            _ => Cow::Owned(vec![index]),
        };
        let pull = (place.policy.now, Reverse(index));
        let strongest = pulls.entry(apps).or_insert(pull);
        *strongest = pull.max(*strongest);
    }
    let mut strongest: BTreeMap<usize, Pull> = BTreeMap::new();
    for (apps, pull) in pulls {
        // The checks that all of these apps mount are among those of the app with the fewest
        // volumes.
        let containers = apps.iter().filter_map(|app| examination.places.get(*app));
        let fewest = containers.min_by_key(|app| app.volumes.len());
        for volume in fewest.map_or(&[][..], |app| &app.volumes) {
            let Some((check, volume)) = checks.get(volume) else {
                continue;
            };
            let mut apps = apps.iter();
            if apps.all(|app| volume.mounted_by.binary_search(app).is_ok()) {
                let strongest = strongest.entry(*check).or_insert(pull);
                *strongest = pull.max(*strongest);
            }
        }
    }
    strongest.into_iter().collect()
}

/// Raises a check, if it is weaker than this pull.
fn raise_to(examination: &mut Examination<'_>, check: usize, (needed, Reverse(strongest)): Pull) {
    let Some(strongest) = examination.places.get(strongest) else {
        return;
    };
    let weak = Weak {
        strongest: strongest.shown_name().into_owned(),
        needed,
    };
    if let Some(place) = examination.places.get_mut(check)
        && place.policy.now < needed
        && place.policy.set(needed, Rule::WeakCheck)
    {
        let subject = Subject::PullPolicy(Some(needed));
        examination
            .findings
            .add(check, Rule::WeakCheck, subject, Effect::Repairable, weak);
    }
}

/// A place that starts after a check is stronger than the check.
#[derive(Debug)]
struct Weak {
    /// The name of the place, as a sentence shows it.
    strongest: String,
    /// Its pull policy.
    needed: PullPolicy,
}

impl Reason for Weak {
    fn problem(&self, place: &Place<'_>) -> String {
        let (strongest, needed) = (&self.strongest, self.needed.as_str());
        format!("{} but {strongest} pulls it with {needed}", place.pulls())
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.set_policy()
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        Some(format!(
            "{}, as {} needs",
            place.now_pulls(),
            self.strongest
        ))
    }
}
