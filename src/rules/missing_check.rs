//! *missing-check*: in a Pod with image checks, the image of each place that needs a check has to
//! be covered by one. With `imageChecks.podsWithoutChecks`, this rule applies to more Pods.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the
//! checks, or it makes no check at all. Admission comes later, so this policy sees the final
//! images.

mod copy;
mod init_container;
mod made;
mod names;
mod needs;
mod template;
mod why_not;

use std::rc::Rc;

use serde_json::Value;

use self::made::{Made, mount};
use self::names::free_names;
use self::needs::Needs;
use self::why_not::WhyNot;
use crate::examination::{Additions, Check, Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::PullPolicy;
use crate::pod::List;
use crate::settings::{Form, OnMissing};
use crate::shown::shown;

/// The largest size of all checks and mounts that are added to a Pod, in bytes of JSON. Without
/// this limit, a user could make the Pod huge, because an added check may be a copy of one that the
/// user wrote.
const ADDITIONS_MAX: usize = 1024 * 1024;

/// An image that is not covered.
struct Uncovered {
    /// The position of the image in the list of all images.
    image: usize,
    /// The index of the first place that needs a check.
    place: usize,
    /// The pull policy that the check needs.
    policy: PullPolicy,
}

/// Adds the checks of the images that are not covered, or reports the images, as
/// `imageChecks.onMissing` says. `images` has the indexes of the places with each image.
pub(super) fn add(examination: &mut Examination<'_>, images: &[Vec<usize>]) {
    let action = examination.settings.image_checks.on_missing;
    if action == OnMissing::Off || !applies(examination) {
        return;
    }
    let uncovered = uncovered(examination, images);
    if uncovered.is_empty() {
        return;
    }
    match checks(examination, &uncovered) {
        Ok(additions) => {
            let form = examination.settings.image_checks.form;
            for (check, uncovered) in additions.checks.iter().zip(uncovered) {
                let repair = Ok((check.name.clone(), form));
                report(examination, &uncovered, Effect::Repairable, repair);
            }
            examination.additions = Some(additions);
        }
        Err(why_not) => {
            let rejects = action == OnMissing::Reject || why_not == WhyNot::TooLarge;
            let effect = if rejects {
                Effect::NotRepairable
            } else {
                Effect::OnlyWarning
            };
            let why_not = Rc::new(why_not);
            for uncovered in uncovered {
                report(examination, &uncovered, effect, Err(Rc::clone(&why_not)));
            }
        }
    }
}

/// Whether `imageChecks.onMissing` applies to the Pod. Without image checks, it applies only where
/// work can be half done.
fn applies(examination: &Examination<'_>) -> bool {
    let can_be_half_done =
        examination.first_init().is_some() || !examination.spec.restarts_always();
    examination.has_checks()
        || (examination.settings.image_checks.pods_without_checks && can_be_half_done)
}

fn uncovered(examination: &Examination<'_>, images: &[Vec<usize>]) -> Vec<Uncovered> {
    let needs = Needs::of(examination);
    let mut uncovered = Vec::new();
    for (image, places) in images.iter().enumerate() {
        if let Some(place) = needs.uncovered(places)
            && let Some(policy) = strongest_pull(examination, places)
        {
            uncovered.push(Uncovered {
                image,
                place,
                policy,
            });
        }
    }
    uncovered
}

/// The strongest pull policy of these places, apart from the volumes that no container mounts.
fn strongest_pull(examination: &Examination<'_>, places: &[usize]) -> Option<PullPolicy> {
    let pulled = examination
        .at(places)
        .filter(|(_, place)| place.start.moment().is_some());
    pulled.map(|(_, place)| place.policy.now).max()
}

/// The checks of these images.
///
/// # Errors
/// Why no check is added.
fn checks(examination: &Examination<'_>, uncovered: &[Uncovered]) -> Result<Additions, WhyNot> {
    let made = Made::of(examination)?;
    let mut checks: Vec<Check> = Vec::new();
    let mut size_of_fields = None;
    let mut size = 0_usize;
    for (image, name) in uncovered.iter().zip(free_names(examination)) {
        let Some(place) = examination.places.get(image.place) else {
            continue;
        };
        let check = Check {
            number: image.image,
            name,
            image: place.image.now.to_string(),
            policy: image.policy,
        };
        let texts = check.name.len().saturating_add(check.image.len());
        // The entries differ in names and images. Only one is measured, because the fields of all
        // may be huge.
        let fields = *size_of_fields.get_or_insert_with(|| size_of(&made.entry(&check)));
        let mounts = size_of(&mount(&check)).saturating_mul(made.mounted_by.len());
        size = [texts, fields, mounts]
            .into_iter()
            .fold(size, usize::saturating_add);
        if size > ADDITIONS_MAX {
            return Err(WhyNot::TooLarge);
        }
        checks.push(check);
    }
    let is_volume = made.list == List::Volumes;
    Ok(Additions {
        list: made.list,
        first: made.first,
        entries: checks.iter().map(|check| made.entry(check)).collect(),
        mounts: checks.iter().filter(|_| is_volume).map(mount).collect(),
        mounted_by: made.mounted_by,
        checks,
    })
}

/// The size of an entry or a mount, in bytes of JSON.
fn size_of(value: &Value) -> usize {
    value.to_string().len()
}

/// Adds a finding about an image that is not covered. `repair` has the name of the check that is
/// added and its form, or says why none is.
fn report(examination: &mut Examination<'_>, image: &Uncovered, effect: Effect, repair: Repair) {
    let Some(place) = examination.places.get(image.place) else {
        return;
    };
    let waiting = examination.waiting(place).into_owned();
    let expected = match &repair {
        Ok((name, _)) => format!("{name} with {}", image.policy.as_str()),
        Err(_) => "an image check".to_owned(),
    };
    let missing = Missing {
        policy: image.policy,
        waiting,
        repair,
    };
    let subject = Subject::Check(expected);
    examination
        .findings
        .add(image.place, Rule::MissingCheck, subject, effect, missing);
}

type Repair = Result<(String, Form), Rc<WhyNot>>;

/// An image is not covered.
#[derive(Debug)]
struct Missing {
    /// The pull policy that a check needs.
    policy: PullPolicy,
    /// The name of the container that waits for the image, as a sentence shows it.
    waiting: String,
    repair: Repair,
}

impl Reason for Missing {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        let name = place.shown_name();
        format!("{name} pulls {image} but no image check pulls it first")
    }

    fn help(&self, _: &Place<'_>) -> String {
        let policy = self.policy.as_str();
        match &self.repair {
            Ok((name, form)) => {
                let kind = match form {
                    Form::ImageVolume => "image volume",
                    Form::InitContainer => "init container",
                };
                let key = form.list().policy_key();
                format!("add an {kind} {name} with this image and {key} {policy}")
            }
            Err(why_not) => why_not.help(policy),
        }
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        let (check, _) = self.repair.as_ref().ok()?;
        let (policy, waiting) = (self.policy.as_str(), &self.waiting);
        let image = shown(&place.image.now);
        Some(format!(
            "{check} was added: it pulls {image} with {policy} before {waiting} starts"
        ))
    }
}
