//! *missing-check*: in a Pod with image checks, the image of each pull that needs a check has to be
//! covered by one. With `imageChecks.podsWithoutChecks`, this rule applies to more Pods.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the
//! checks, or it makes no check at all. Admission comes later, so this policy sees the final
//! images.

mod copy;
mod init_container;
mod names;
mod needs;
mod new_checks;
mod template;

use std::rc::Rc;

use self::needs::{Uncovered, uncovered};
use self::new_checks::{TOO_LARGE, new_checks};
use crate::entry::{Entry, Sentence, What};
use crate::pod::{List, Pod, Pull};
use crate::sanitize::sanitize;
use crate::settings::OnMissing;

const RULE: &str = "missing-check";

/// Adds the checks of the images that are not covered, or reports the images, as
/// `imageChecks.onMissing` says. `images` has the positions of the pulls with each image, and gets
/// those of the added checks.
pub(super) fn add<'o>(pod: &mut Pod<'o>, entries: &mut Vec<Entry<'o>>, images: &mut [Vec<usize>]) {
    let action = pod.settings.image_checks.on_missing;
    if action == OnMissing::Off || !applies(pod) {
        return;
    }
    let uncovered = uncovered(pod, images);
    if uncovered.is_empty() {
        return;
    }
    if action != OnMissing::Add {
        let rejects_pods = action == OnMissing::Reject;
        for one in &uncovered {
            let policy = one.policy.as_str();
            let help = format!("add an image check with this image and pull policy {policy}");
            let what = What::NoCheck { rejects_pods };
            report(pod, entries, one, what, &help.into());
        }
        return;
    }
    match new_checks(pod, &uncovered) {
        Ok(checks) => {
            for (check, one) in checks.into_iter().zip(&uncovered) {
                report_added(pod, entries, one, &check);
                if let Some(pulls) = images.get_mut(one.image) {
                    pulls.push(pod.pulls.len());
                }
                pod.pulls.push(check);
            }
        }
        Err(why) => {
            let rejects_pods = why == TOO_LARGE;
            let why = why.into();
            for one in &uncovered {
                report(pod, entries, one, What::NoCheck { rejects_pods }, &why);
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

/// Reports an image that gets a check.
fn report_added<'o>(
    pod: &Pod<'o>,
    entries: &mut Vec<Entry<'o>>,
    image: &Uncovered,
    check: &Pull<'_>,
) {
    let kind = match check.list {
        List::Volumes => "image volume",
        _ => "init container",
    };
    let (name, policy) = (&check.name, image.policy.as_str());
    let key = check.list.policy_key();
    let help = format!("add an {kind} {name} with this image and {key} {policy}");
    let what = What::Check(format!("{name} with {policy}"));
    report(pod, entries, image, what, &help.into());
}

/// Reports an image that is not covered.
fn report<'o>(
    pod: &Pod<'o>,
    entries: &mut Vec<Entry<'o>>,
    image: &Uncovered,
    what: What,
    help: &Rc<str>,
) {
    let Some(pull) = pod.pulls.get(image.pull) else {
        return;
    };
    let first_mounting = pod.at(&pull.start.mounted_by).next();
    let waiting = first_mounting.map_or(pull, |(_, container)| container);
    let waiting = waiting.label().into_owned();
    let check = match &what {
        What::Check(check) => Some(check.clone()),
        _ => None,
    };
    let help = Rc::clone(help);
    entries.push(Entry::new(RULE, image.pull, what, move |pull, image| {
        let repaired = |check: &String| {
            let (name, policy) = check.split_once(" with ")?;
            let image = sanitize(pull.image());
            Some(format!(
                "{name} was added: it pulls {image} with {policy} before {waiting} starts"
            ))
        };
        Sentence {
            problem: format!(
                "{} pulls {image} but no image check pulls it first",
                pull.label()
            ),
            help: (*help).to_owned(),
            repaired: check.as_ref().and_then(repaired),
        }
    }));
}
