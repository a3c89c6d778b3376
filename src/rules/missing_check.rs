//! *missing-check*: in a Pod with image checks, the image of each pull that needs a check has to be
//! covered by one. With `imageChecks.podsWithoutChecks`, this rule applies to more Pods.
//!
//! A controller may write users' patches and image overrides into the Pod after it has made the
//! checks, or it makes no check at all. Admission comes later, so this policy sees the final
//! images.

mod init_container;
mod needs;
mod new_checks;

use self::needs::{Uncovered, uncovered};
use self::new_checks::{NotAdded, new_checks};
use crate::pod::{Entry, List, Pod, Pull, Sentence, What};
use crate::sanitize::sanitize;
use crate::settings::OnMissing;

const RULE: &str = "missing-check";

/// Adds the checks of the images that are not covered, or reports the images, as
/// `imageChecks.onMissing` says. `images` has the positions of the pulls with each image, and gets
/// those of the added checks.
pub fn add(pod: &mut Pod, images: &mut [Vec<usize>]) {
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
            for (one, check) in uncovered.iter().zip(checks) {
                let entry = added(pod, one, &check);
                pod.entries.extend(entry);
                if let Some(pulls) = images.get_mut(one.image) {
                    pulls.push(check.position);
                }
                pod.pulls.push(check);
            }
        }
        Err(not_added) => {
            let reports = uncovered.iter().map(|one| report(one, &not_added));
            pod.entries.extend(reports);
        }
    }
}

/// Whether `imageChecks.onMissing` applies to the Pod. Without image checks, it applies only where
/// work can be half done.
fn applies(pod: &Pod) -> bool {
    let can_be_half_done = pod.first_init().is_some() || !pod.spec.restarts_always();
    pod.has_checks() || (pod.settings.image_checks.pods_without_checks && can_be_half_done)
}

/// The change that puts the check of an image into the Pod, as its last pull.
fn added<'o>(pod: &Pod<'o>, image: &Uncovered, check: &Pull) -> Option<Entry<'o>> {
    let pull = pod.pulls.get(image.pull)?;
    let waiting = pod.at(&pull.mounted_by).next().unwrap_or(pull);
    let waiting = waiting.label().into_owned();
    let (name, policy) = (check.name.to_string(), image.policy);
    let key = check.list.policy_key();
    let kind = match check.list {
        List::Volumes => "image volume",
        _ => "init container",
    };
    let what = What::Check(check.position);
    Some(Entry::new(RULE, image.pull, what, move |pull, image| {
        let now = sanitize(pull.image());
        Sentence {
            problem: problem(pull, image),
            help: format!("add an {kind} {name} with this image and {key} {policy}"),
            repaired: Some(format!(
                "{name} was added: it pulls {now} with {policy} before {waiting} starts"
            )),
        }
    }))
}

/// The report of an image that gets no check.
fn report<'o>(image: &Uncovered, NotAdded { why, is_warning }: &NotAdded) -> Entry<'o> {
    let (why, policy) = (why.clone(), image.policy);
    let sentence = move |pull: &Pull, image: &str| Sentence {
        problem: problem(pull, image),
        help: match &why {
            Some(why) => (**why).to_owned(),
            None => format!("add an image check with this image and pull policy {policy}"),
        },
        repaired: None,
    };
    Entry {
        is_warning: *is_warning,
        ..Entry::new(RULE, image.pull, What::NoCheck, sentence)
    }
}

fn problem(pull: &Pull, image: &str) -> String {
    let name = pull.label();
    format!("{name} pulls {image} but no image check pulls it first")
}
