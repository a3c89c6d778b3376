//! *missing-check*: in a Pod with image checks, each image that a guarded place pulls has to be covered. With
//! `imageChecks.everyPod`, this rule applies to more Pods.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the checks, or it makes no check
//! at all. Admission comes later, so this policy sees the final images.

mod fields;
mod names;
mod why_not;

use std::rc::Rc;

use serde_json::Value;

use self::names::free_names;
use self::why_not::WhyNot;
use crate::examination::{
    Additions, Carriers, Coverage, Effect, Examination, Field, Finding, MOUNT_FOLDER, Place,
    Reason, Role, Rule, Why,
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
    let uncovered = coverage
        .images
        .iter()
        .filter(|pulls| !coverage.covers(pulls));
    let uncovered: Vec<usize> = uncovered.filter_map(|pulls| pulls.strongest).collect();
    if uncovered.is_empty() {
        return;
    }
    match additions(examination, uncovered.len()) {
        Ok(additions) => add_checks(examination, &uncovered, additions),
        Err(why_not) => {
            let is_warning = action != settings::Coverage::Reject;
            report(examination, &uncovered, &Rc::new(why_not), is_warning);
        }
    }
}

/// Whether `imageChecks.coverage` applies to the Pod. Without image checks, it applies only where work can be half done.
fn applies(examination: &Examination<'_>) -> bool {
    let can_be_half_done = examination.first_init.is_some() || !examination.spec.restarts_always();
    examination.has_checks() || (examination.settings.image_checks.every_pod && can_be_half_done)
}

/// What the added checks have in common. `count` is their number.
///
/// # Errors
/// Why no check is added.
fn additions(examination: &Examination<'_>, count: usize) -> Result<Additions, WhyNot> {
    let checks = &examination.settings.image_checks;
    if checks.coverage != settings::Coverage::Fix {
        return Err(WhyNot::NotWanted);
    }
    if examination.spec.is_windows() {
        return Err(WhyNot::Windows);
    }
    if checks.form == Form::InitContainer {
        let (fields, index) = fields::fields(examination)?;
        return Ok(Additions::InitContainers {
            fields: Box::new(fields),
            index,
            count,
        });
    }
    if let Some(field) = examination.spec.refuses_image_volumes() {
        return Err(WhyNot::NoImageVolumes { beside: field });
    }
    let carriers = carriers(examination);
    if carriers.is_empty() {
        Err(WhyNot::NoCarrier)
    } else {
        Ok(Additions::Volumes { carriers })
    }
}

/// The places of the containers that mount the added volumes: the first init container, so that nothing starts before the
/// volumes are pulled. Without one, all app containers that are not exempt.
fn carriers(examination: &Examination<'_>) -> Vec<usize> {
    let carries = |place: &Place<'_>| match examination.first_init {
        Some(first) => place.list == List::InitContainers && place.index == first,
        None => place.list == List::Containers && place.role != Role::Exempt,
    };
    let places = examination.places.iter().enumerate();
    places
        .filter(|(_, place)| carries(place))
        .map(|(index, _)| index)
        .collect()
}

/// Adds a check for each of these guarded places. If all checks together are too large, none is added.
fn add_checks(examination: &mut Examination<'_>, guarded: &[usize], additions: Additions) {
    let is_volume = matches!(additions, Additions::Volumes { .. });
    let names: Vec<String> = free_names(examination).take(guarded.len()).collect();
    let size_of_fields = match &additions {
        Additions::InitContainers { fields, .. } => {
            serde_json::to_string(fields).map_or(ADDITIONS_MAX, |json| json.len())
        }
        Additions::Volumes { carriers } => carriers
            .len()
            .saturating_mul(MOUNT_FOLDER.len().saturating_add(80)),
    };
    let mut size: usize = 0;
    let (mut checks, mut findings) = (Vec::new(), Vec::new());
    for (number, (guarded, name)) in guarded.iter().zip(names).enumerate() {
        let Some(place) = examination.places.get(*guarded) else {
            continue;
        };
        let own_fields = name
            .len()
            .saturating_mul(3)
            .saturating_add(place.image.now.len())
            .saturating_add(80);
        size = size
            .saturating_add(size_of_fields)
            .saturating_add(own_fields);
        let policy = place.policy.now;
        let added = Added {
            name: name.clone(),
            is_volume,
        };
        findings.push(Finding {
            found: None,
            expected: Some(format!("{name} with {}", policy.as_str())),
            effect: Effect::Repairable,
            ..Finding::about_image(
                *guarded,
                place,
                Missing {
                    policy,
                    added: Ok(added),
                },
            )
        });
        let (list, index) = match &additions {
            Additions::InitContainers { index, .. } => {
                (List::InitContainers, index.saturating_add(number))
            }
            Additions::Volumes { .. } => (List::Volumes, number),
        };
        checks.push(check(place, list, index, name));
    }
    if size > ADDITIONS_MAX {
        report(examination, guarded, &Rc::new(WhyNot::TooLarge), false);
        return;
    }
    examination.findings.append(&mut findings);
    examination.places.append(&mut checks);
    examination.additions = Some(additions);
}

/// The added check of a guarded place.
fn check<'o>(guarded: &Place<'o>, list: List, index: usize, name: String) -> Place<'o> {
    let image = guarded.image.now.clone();
    Place {
        list,
        index,
        name: name.into(),
        value: &Value::Null,
        is_native_sidecar: false,
        is_added: true,
        is_examined: true,
        role: Role::Check,
        mounts: Vec::new(),
        carriers: Carriers::default(),
        reference: guarded.reference,
        settings: guarded.settings,
        image: Field {
            before: image.clone(),
            now: image,
            why: None,
        },
        policy: Field {
            why: Some(Why::NoFinding(Rule::MissingCheck)),
            ..Field::new(guarded.policy.now)
        },
        sets_policy: false,
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
        let reason = Missing {
            policy: place.policy.now,
            added: Err(Rc::clone(why_not)),
        };
        let finding = Finding::about_image(*index, place, reason).warning_if(is_warning);
        let expected = Some("an image check".to_owned());
        examination.findings.push(Finding {
            found: None,
            expected,
            ..finding
        });
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

    fn repaired(&self, place: &Place<'_>) -> Option<String> {
        let added = self.added.as_ref().ok()?;
        let (check, policy) = (&added.name, self.policy.as_str());
        let (name, image) = (place.shown_name(), shown(&place.image.now));
        Some(format!(
            "{check} was added: it pulls {image} with {policy} before {name} starts"
        ))
    }
}
