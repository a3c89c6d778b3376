//! *missing-check*: in a Pod with image checks, the image of each pull that needs a check has to be
//! covered by one. With `imageChecks.podsWithoutChecks`, this rule applies to more Pods.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the
//! checks, or it makes no check at all. Admission comes later, so this policy sees the final
//! images.

mod init_container;
mod needs;
mod new_checks;

use std::rc::Rc;

use self::needs::{Uncovered, uncovered};
use self::new_checks::{NotAdded, new_checks};
use crate::entry::{Entry, Sentence, What};
use crate::pod::{List, Pod};
use crate::sanitize::sanitize;
use crate::settings::{Form, OnMissing};

const RULE: &str = "missing-check";

/// Adds the checks of the images that are not covered, or reports the images, as
/// `imageChecks.onMissing` says. `images` has the positions of the pulls with each image, and gets
/// those of the added checks.
pub fn add<'o>(pod: &mut Pod<'o>, entries: &mut Vec<Entry<'o>>, images: &mut [Vec<usize>]) {
    let action = pod.settings.image_checks.on_missing;
    if action == OnMissing::Off || !applies(pod) {
        return;
    }
    let uncovered = uncovered(pod, images);
    if uncovered.is_empty() {
        return;
    }
    let checks = match action {
        OnMissing::Add => new_checks(pod, &uncovered),
        _ => Err(NotAdded {
            why: None,
            is_warning: action == OnMissing::Warn,
        }),
    };
    match checks {
        Ok(checks) => {
            pod.pulls.reserve_exact(checks.len());
            for (check, one) in checks.into_iter().zip(&uncovered) {
                let (position, name) = (pod.pulls.len(), check.name.to_string());
                entries.extend(entry(pod, one, What::Check(position), Ok(name)));
                if let Some(pulls) = images.get_mut(one.image) {
                    pulls.push(position);
                }
                pod.pulls.push(check);
            }
        }
        Err(NotAdded { why, is_warning }) => {
            for one in &uncovered {
                let entry = entry(pod, one, What::NoCheck, Err(why.clone()));
                entries.extend(entry.map(|entry| Entry {
                    is_warning,
                    ..entry
                }));
            }
        }
    }
}

/// Whether `imageChecks.onMissing` applies to the Pod. Without image checks, it applies only where
/// work can be half done.
fn applies(pod: &Pod<'_>) -> bool {
    let can_be_half_done = pod.first_init().is_some() || !pod.spec.restarts_always();
    pod.has_checks() || (pod.settings.image_checks.pods_without_checks && can_be_half_done)
}

/// The entry about an image that is not covered. `repair` has the name of the added check, or says why none
/// is added.
fn entry<'o>(
    pod: &Pod<'o>,
    image: &Uncovered,
    what: What,
    repair: Result<String, Option<Rc<str>>>,
) -> Option<Entry<'o>> {
    let pull = pod.pulls.get(image.pull)?;
    let first_mounting = pod.at(&pull.start.mounted_by).next();
    let waiting = first_mounting.map_or(pull, |(_, container)| container);
    let waiting = waiting.label().into_owned();
    let policy = image.policy.as_str();
    let (kind, key) = match pod.settings.image_checks.form {
        Form::ImageVolume => ("image volume", List::Volumes.policy_key()),
        Form::InitContainer => ("init container", List::InitContainers.policy_key()),
    };
    Some(Entry::new(RULE, image.pull, what, move |pull, image| {
        let (label, now) = (pull.label(), sanitize(pull.image()));
        Sentence {
            problem: format!("{label} pulls {image} but no image check pulls it first"),
            help: match &repair {
                Ok(name) => format!("add an {kind} {name} with this image and {key} {policy}"),
                Err(Some(why)) => (**why).to_owned(),
                Err(None) => {
                    format!("add an image check with this image and pull policy {policy}")
                }
            },
            repaired: repair.as_ref().ok().map(|name| {
                format!("{name} was added: it pulls {now} with {policy} before {waiting} starts")
            }),
        }
    }))
}
