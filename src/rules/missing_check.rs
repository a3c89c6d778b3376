//! *missing-check*: in a Pod with image checks, each image that a guarded place pulls has to be covered. With
//! `imageChecks.everyPod`, this rule applies to more Pods.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the checks, or it makes no check
//! at all. Admission comes later, so this policy sees the final images.

mod fields;
mod names;
mod why_not;

use std::rc::Rc;

use self::names::free_names;
use self::why_not::WhyNot;
use crate::examination::{
    Additions, Coverage, Effect, Examination, Finding, Place, Reason, Role, Rule,
};
use crate::image::PullPolicy;
use crate::pod::List;
use crate::settings::{self, Form};
use crate::shown::shown;

/// The largest size of all checks and mounts that are added to a Pod, in bytes of JSON. Without this limit, a user could make
/// the Pod huge, because an added check may be a copy of one that the user wrote.
const ADDITIONS_MAX: usize = 1024 * 1024;

/// Adds the checks of the images that are not covered, or reports the images, as `imageChecks.coverage` says.
pub(super) fn add(examination: &mut Examination<'_>, coverage: &Coverage) {
    let action = examination.settings.image_checks.coverage;
    if action == settings::Coverage::Off || !applies(examination) {
        return;
    }
    let uncovered = coverage.images.iter().filter(|pulls| !coverage.covers(pulls));
    let uncovered: Vec<usize> = uncovered.filter_map(|pulls| pulls.strongest).collect();
    if uncovered.is_empty() {
        return;
    }
    match form(examination).and_then(|form| checks(examination, &uncovered, form)) {
        Ok(checks) => checks.add(examination, &uncovered),
        Err(why_not) => {
            let is_warning = action != settings::Coverage::Reject && why_not != WhyNot::TooLarge;
            report(examination, &uncovered, &Rc::new(why_not), is_warning);
        }
    }
}

/// Whether `imageChecks.coverage` applies to the Pod. Without image checks, it applies only where work can be half done.
fn applies(examination: &Examination<'_>) -> bool {
    let can_be_half_done = examination.first_init.is_some() || !examination.spec.restarts_always();
    examination.has_checks() || (examination.settings.image_checks.every_pod && can_be_half_done)
}

/// What the added checks have in common, and the index of the first of them in its list.
///
/// # Errors
/// Why no check is added.
fn form(examination: &Examination<'_>) -> Result<(Additions, usize), WhyNot> {
    let checks = &examination.settings.image_checks;
    if checks.coverage != settings::Coverage::Fix {
        return Err(WhyNot::NotWanted);
    }
    if examination.spec.is_windows() {
        return Err(WhyNot::Windows);
    }
    if checks.form == Form::InitContainer {
        let (fields, index) = fields::fields(examination)?;
        return Ok((Additions::InitContainers(Box::new(fields)), index));
    }
    if let Some(field) = examination.spec.refuses_image_volumes() {
        return Err(WhyNot::NoImageVolumes { beside: field });
    }
    let carriers = carriers(examination);
    let volumes = examination.spec.list(List::Volumes).map_or(0, <[_]>::len);
    if carriers.is_empty() {
        Err(WhyNot::NoCarrier)
    } else {
        Ok((Additions::Volumes(carriers), volumes))
    }
}

/// The containers that mount the added volumes: the first init container, so that nothing starts before the volumes are
/// pulled. Without one, all app containers that are not exempt.
fn carriers(examination: &Examination<'_>) -> Vec<usize> {
    let carries = |place: &Place<'_>| match examination.first_init {
        Some(first) => place.list == List::InitContainers && place.index == first,
        None => place.list == List::Containers && place.role != Role::Exempt,
    };
    let places = examination.places.iter().enumerate();
    places.filter(|(_, place)| carries(place)).map(|(index, _)| index).collect()
}

/// Checks that are about to be added.
struct Checks<'o> {
    form: Additions,
    places: Vec<Place<'o>>,
}

/// A check for each of these guarded places.
///
/// # Errors
/// All checks together are too large.
fn checks<'o>(
    examination: &Examination<'o>,
    guarded: &[usize],
    (form, first): (Additions, usize),
) -> Result<Checks<'o>, WhyNot> {
    let size_of_fields = form.size_of_fields();
    let (mut places, mut size) = (Vec::new(), 0_usize);
    for ((index, guarded), name) in (first..).zip(guarded).zip(free_names(examination)) {
        let Some(guarded) = examination.places.get(*guarded) else {
            continue;
        };
        let check = guarded.check(form.list(), index, name, examination.first_init);
        size = size.saturating_add(size_of_fields).saturating_add(form.size_of_rest(&check));
        if size > ADDITIONS_MAX {
            return Err(WhyNot::TooLarge);
        }
        places.push(check);
    }
    Ok(Checks { form, places })
}

impl<'o> Checks<'o> {
    /// Adds the checks of these guarded places, with a finding for each.
    fn add(mut self, examination: &mut Examination<'o>, guarded: &[usize]) {
        let is_volume = self.form.list() == List::Volumes;
        for (check, index) in self.places.iter().zip(guarded) {
            let Some(place) = examination.places.get(*index) else {
                continue;
            };
            let (name, policy) = (check.name.to_string(), check.policy.now);
            let expected = Some(format!("{name} with {}", policy.as_str()));
            let reason = Missing { policy, added: Ok(Added { name, is_volume }) };
            let finding = Finding::about_image(*index, place, Rc::new(reason));
            examination.findings.push(Finding {
                found: None,
                expected,
                effect: Effect::Repairable,
                ..finding
            });
        }
        if let (Some(first), false) = (self.places.first(), is_volume) {
            examination.added_init_containers =
                first.index..first.index.saturating_add(self.places.len());
        }
        examination.places.append(&mut self.places);
        examination.additions = Some(self.form);
    }
}

/// Reports the images of these guarded places.
fn report(
    examination: &mut Examination<'_>,
    guarded: &[usize],
    why_not: &Rc<WhyNot>,
    is_warning: bool,
) {
    for index in guarded {
        let Some(place) = examination.places.get(*index) else {
            continue;
        };
        let reason = Missing { policy: place.policy.now, added: Err(Rc::clone(why_not)) };
        let finding = Finding::about_image(*index, place, Rc::new(reason)).warning_if(is_warning);
        let expected = Some("an image check".to_owned());
        examination.findings.push(Finding { found: None, expected, ..finding });
    }
}

/// An image is not covered.
#[derive(Debug)]
struct Missing {
    /// The pull policy that a check needs.
    policy: PullPolicy,
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
    fn rule(&self) -> Rule {
        Rule::MissingCheck
    }

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
            Ok(Added { name, is_volume: false }) => {
                format!("add an init container {name} with this image and imagePullPolicy {policy}")
            }
            Ok(Added { name, is_volume: true }) => {
                format!("add an image volume {name} with this image and pullPolicy {policy}")
            }
            Err(why_not) => why_not.help(policy),
        }
    }

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        let added = self.added.as_ref().ok()?;
        let (check, policy) = (&added.name, self.policy.as_str());
        let (name, image) = (place.shown_name(), shown(&place.image.now));
        Some(format!("{check} was added: it pulls {image} with {policy} before {name} starts"))
    }
}
