//! *missing-check*: in a Pod with image checks, each image that a guarded place pulls has to be covered. With
//! `imageChecks.everyPod`, this rule applies to more Pods.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the checks, or it makes no check
//! at all. Admission comes later, so this policy sees the final images.

mod fields;
mod made;
mod names;
mod why_not;

use std::rc::Rc;

use serde_json::Value;

use self::made::{Made, mount};
use self::names::free_names;
use self::why_not::WhyNot;
use crate::examination::{
    Additions, Effect, Examination, Followers, Place, Reason, Role, Rule, Start, Subject, Work,
};
use crate::image::PullPolicy;
use crate::pod::List;
use crate::settings::Coverage;
use crate::shown::shown;

/// The largest size of all checks and mounts that are added to a Pod, in bytes of JSON. Without this limit, a user could make
/// the Pod huge, because an added check may be a copy of one that the user wrote.
const ADDITIONS_MAX: usize = 1024 * 1024;

/// Adds the checks of the images that are not covered, or reports the images, as `imageChecks.coverage` says. `images` has
/// the indexes of the places with each image, and gets those of the added checks.
pub(super) fn add(examination: &mut Examination<'_>, images: &mut [Vec<usize>]) {
    let action = examination.settings.image_checks.coverage;
    if action == Coverage::Off || !applies(examination) {
        return;
    }
    let work = examination.work();
    let only_app = {
        let mut apps = apps(examination);
        apps.next().filter(|_| apps.next().is_none())
    };
    let uncovered = images.iter_mut().filter_map(|places| {
        let guarded = uncovered(examination, places, work, only_app)?;
        let policy = strongest_pull(examination, places)?;
        Some(Uncovered {
            guarded,
            policy,
            places,
        })
    });
    let uncovered: Vec<Uncovered<'_>> = uncovered.collect();
    if uncovered.is_empty() {
        return;
    }
    match checks(examination, &uncovered) {
        Ok((additions, checks)) => {
            for (check, image) in checks.into_iter().zip(uncovered) {
                let added = Added {
                    name: check.name.to_string(),
                    is_volume: check.list == List::Volumes,
                };
                find(examination, &image, Effect::Repairable, Ok(added));
                image.places.push(examination.places.len());
                examination.places.push(check);
            }
            examination.additions = Some(additions);
        }
        Err(why_not) => {
            let is_warning = action != Coverage::Reject && why_not != WhyNot::TooLarge;
            let effect = if is_warning {
                Effect::OnlyWarning
            } else {
                Effect::NotRepairable
            };
            let why_not = Rc::new(why_not);
            for image in uncovered {
                find(examination, &image, effect, Err(Rc::clone(&why_not)));
            }
        }
    }
}

/// Whether `imageChecks.coverage` applies to the Pod. Without image checks, it applies only where work can be half done.
fn applies(examination: &Examination<'_>) -> bool {
    let can_be_half_done = examination.first_init.is_some() || !examination.spec.restarts_always();
    examination.has_checks() || (examination.settings.image_checks.every_pod && can_be_half_done)
}

/// An image that is not covered.
struct Uncovered<'i> {
    /// The index of the first guarded place that needs a check. *pull-once* may lower it, so its strength doesn't matter: a
    /// second run finds the same place.
    guarded: usize,
    /// The pull policy that the check needs.
    policy: PullPolicy,
    /// The indexes of the places with this image.
    places: &'i mut Vec<usize>,
}

/// The first guarded place of which the image is not covered. None if the image is covered.
///
/// A check covers its image even if it is too weak: *weak-check* is about such checks.
fn uncovered(
    examination: &Examination<'_>,
    places: &[usize],
    work: Work,
    only_app: Option<usize>,
) -> Option<usize> {
    let guarded = || examination.with_role(places, Role::Guarded);
    let strongest = guarded().map(|(_, place)| place.policy.now).max()?;
    let covers = |(_, place): (usize, &Place<'_>)| {
        let is_strong_init = place.list == List::InitContainers && place.policy.now >= strongest;
        (place.role == Role::Check || is_strong_init) && place.gates(work)
    };
    if examination.at(places).any(covers) {
        return None;
    }
    let needs_check = |index: usize, place: &Place<'_>| {
        let is_on_every_app = place.start.followers
            == Followers::Mounting {
                is_on_every_app: true,
            };
        examination.first_init.is_some() || !(Some(index) == only_app || is_on_every_app)
    };
    guarded()
        .find(|(index, place)| needs_check(*index, place))
        .map(|(index, _)| index)
}

/// The app containers that are not exempt.
fn apps(examination: &Examination<'_>) -> impl Iterator<Item = usize> {
    let places = examination.places.iter().enumerate();
    let apps =
        places.filter(|(_, place)| place.list == List::Containers && place.role != Role::Exempt);
    apps.map(|(index, _)| index)
}

/// The strongest pull policy of these places, apart from the volumes that no container mounts.
fn strongest_pull(examination: &Examination<'_>, places: &[usize]) -> Option<PullPolicy> {
    let pulled = examination
        .at(places)
        .filter(|(_, place)| place.start.moment.is_some());
    pulled.map(|(_, place)| place.policy.now).max()
}

/// The checks of these images.
///
/// # Errors
/// Why no check is added.
fn checks<'o>(
    examination: &Examination<'o>,
    uncovered: &[Uncovered<'_>],
) -> Result<(Additions, Vec<Place<'o>>), WhyNot> {
    let (made, first) = Made::of(examination)?;
    let (list, mounting, start) = match &made {
        // Only app containers are guarded then, and they start after every init container.
        Made::InitContainers(_) => (
            List::InitContainers,
            Vec::new(),
            Start::of_container(List::InitContainers, first),
        ),
        Made::Volumes(mounting) => (
            List::Volumes,
            mounting.clone(),
            Start::of_volume(examination.first_start(), true),
        ),
    };
    let images = (first..).zip(uncovered).zip(free_names(examination));
    let checks = images.filter_map(|((index, image), name)| {
        Some(
            examination
                .places
                .get(image.guarded)?
                .check(list, index, name, image.policy, start),
        )
    });
    let checks: Vec<Place<'o>> = checks.collect();
    let mounts: Vec<Value> = checks
        .iter()
        .filter(|check| check.list == List::Volumes)
        .map(mount)
        .collect();
    let size_of_mounts = mounts
        .iter()
        .map(|mount| mount.to_string().len().saturating_mul(mounting.len()));
    // The entries differ in names and images, and by a few bytes in pull policies. Only one is measured, because the fields
    // of all may be huge.
    let size_of_texts = |check: &Place<'_>| check.name.len().saturating_add(check.image.now.len());
    let size_of_fields = checks.first().map_or(0, |check| {
        made.entry(check)
            .to_string()
            .len()
            .saturating_sub(size_of_texts(check))
    });
    let size_of_entries = checks
        .iter()
        .map(|check| size_of_texts(check).saturating_add(size_of_fields));
    if size_of_entries
        .chain(size_of_mounts)
        .fold(0, usize::saturating_add)
        > ADDITIONS_MAX
    {
        return Err(WhyNot::TooLarge);
    }
    let entries = checks.iter().map(|check| made.entry(check)).collect();
    Ok((
        Additions {
            list,
            first,
            entries,
            mounting,
            mounts,
        },
        checks,
    ))
}

/// Adds a finding about an image that is not covered. `added` is the check that is added, or why none is.
fn find(
    examination: &mut Examination<'_>,
    image: &Uncovered<'_>,
    effect: Effect,
    added: Result<Added, Rc<WhyNot>>,
) {
    let missing = Missing {
        policy: image.policy,
        waiting: examination.waiting(image.guarded),
        added,
    };
    examination.findings.add(
        image.guarded,
        Rule::MissingCheck,
        Subject::Check,
        effect,
        missing,
    );
}

/// An image is not covered.
#[derive(Debug)]
struct Missing {
    /// The pull policy that a check needs.
    policy: PullPolicy,
    /// The name of the container that waits for the image.
    waiting: String,
    /// The check that is added, or why none is.
    added: Result<Added, Rc<WhyNot>>,
}

/// A check that is added.
#[derive(Debug)]
struct Added {
    name: String,
    is_volume: bool,
}

impl Reason for Missing {
    fn problem(&self, place: &Place<'_>) -> String {
        format!(
            "{} pulls {} but no image check pulls it first",
            place.shown_name(),
            place.shown_image()
        )
    }

    fn help(&self, _: &Place<'_>) -> String {
        let policy = self.policy.as_str();
        match &self.added {
            Ok(Added {
                name,
                is_volume: false,
            }) => {
                format!("add an init container {name} with this image and imagePullPolicy {policy}")
            }
            Ok(Added {
                name,
                is_volume: true,
            }) => {
                format!("add an image volume {name} with this image and pullPolicy {policy}")
            }
            Err(why_not) => why_not.help(policy),
        }
    }

    fn expected(&self) -> Option<String> {
        Some(match &self.added {
            Ok(added) => format!("{} with {}", added.name, self.policy.as_str()),
            Err(_) => "an image check".to_owned(),
        })
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        let added = self.added.as_ref().ok()?;
        let (check, policy) = (&added.name, self.policy.as_str());
        let (name, image) = (shown(&self.waiting), shown(&place.image.now));
        Some(format!(
            "{check} was added: it pulls {image} with {policy} before {name} starts"
        ))
    }
}
