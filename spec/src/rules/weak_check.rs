//! **weak-check**: "The strongest of [a container's checks] is at least as strong as the container.
//! Repair: raise the first of them, init containers in their order, then volumes."

use crate::image::Reference;
use crate::pod::Pod;
use crate::policy::{PullPolicy, server_default};
use crate::rules::{default, missing_check};
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    let came_with: Vec<PullPolicy> = pod.places.iter().map(|place| place.policy).collect();
    let mut refused = Vec::new();
    // **Decided**: the containers whose checks are written alike come first. A check that is raised for
    // them may be strong enough for the others.
    let will_add = missing_check::will_add(pod);
    let checks: Vec<_> = pod
        .guarded()
        .into_iter()
        .map(|container| (container, checks_of(pod, container, will_add)))
        .collect();
    for is_written_alike in [true, false] {
        for (container, (alike, checks)) in &checks {
            if *alike == is_written_alike {
                raise(pod, *container, checks, &mut refused);
            }
        }
    }
    for (check, &from) in came_with.iter().enumerate() {
        let to = pod.places[check].policy;
        let path = pod.policy_path(check);
        // docs/rules.md, *weak-check*, "No repair"
        let (expected, repair) = if refused.contains(&check) {
            (PullPolicy::Always, Repair::None)
        } else if from != to {
            (to, Repair::PullPolicy(check))
        } else {
            continue;
        };
        if repair != Repair::None {
            pod.findings.retain(|finding| finding.repair != repair);
        }
        let (found, expected) = (from.name().into(), expected.name().into());
        let weight = Weight::Rejects;
        pod.find("weak-check", check, path, found, expected, repair, weight);
    }
}

/// "The checks of a container are those of the same image whose repository is written the same way;
/// where there are none, and none will be added for that spelling, those of the same image written
/// otherwise." The first value says whether the checks are written alike.
///
/// **Decided**: checks that are written differently count only if nothing that is written alike covers
/// the image. An init container that covers it is enough: a check in another spelling adds nothing.
fn checks_of(pod: &Pod, container: usize, will_add: bool) -> (bool, Vec<usize>) {
    let same: Vec<usize> = pod
        .checks()
        .into_iter()
        .filter(|&check| pod.is_same_image(check, container))
        .collect();
    let alike: Vec<usize> = same
        .iter()
        .copied()
        .filter(|&check| pod.is_written_alike(check, container))
        .collect();
    if !alike.is_empty() {
        (true, alike)
    } else if will_add || missing_check::is_covered(pod, container) {
        (false, Vec::new())
    } else {
        (false, same)
    }
}

fn raise(pod: &mut Pod, container: usize, checks: &[usize], refused: &mut Vec<usize>) {
    let need = missing_check::need(pod, container);
    let strongest = checks.iter().map(|&check| pod.places[check].policy).max();
    let (Some(&first), Some(strongest)) = (checks.first(), strongest) else {
        return;
    };
    if strongest >= need {
        return;
    }
    // "where an effective `on…` is `UseCached`, `IfNotPresent` on a looked-up tag stands for … *weak-
    // check*" in the copy; and what a lookup may have shown to be the same image counts there.
    let came_with = checks
        .iter()
        .map(|&check| pod.places[check].policy_before());
    let may_be_cached =
        came_with.max() < Some(need) && checks.iter().any(|&check| pod.may_be_cached(check));
    if may_be_cached || pod.may_be_checked(container, need) {
        return;
    }
    // **Decided**: a check that `forbidAlways` names is passed over if there is another one. Two tags
    // with the same digest are one image, and a pattern can name only one of them.
    let may_pull = |check: &usize| {
        let image = pod.reference(*check);
        need != PullPolicy::Always
            || !image.is_some_and(|image| pod.settings.forbids_always(&image))
    };
    let Some(&first) = checks.iter().find(|check| may_pull(check)) else {
        refused.push(first);
        return;
    };
    if pod.places[first].policy >= need {
        return;
    }
    let to = as_it_would_stay(pod, &pod.places[first].image, need);
    pod.set_policy("weak-check", first, to, false);
}

/// The pull policy that a check of an image keeps in the next run of this policy.
///
/// **Decided**: a check that is raised or added gets the strength that its containers need, or the
/// default that would reach it in the next run.
pub(crate) fn as_it_would_stay(pod: &Pod, image: &str, need: PullPolicy) -> PullPolicy {
    // A default reaches what the API server could have written.
    let is_reached = pod.settings.replace_server_defaults() && need == server_default(image);
    let default = default::configured(pod.settings, image, true).filter(|_| is_reached);
    let mut policy = need.max(default.unwrap_or(need));
    if let Some(image) = Reference::parse(image) {
        // What *disallowed-policy* would make of it; "set `IfNotPresent` on the containers and their
        // checks".
        if pod.settings.requires_always(&image) {
            policy = PullPolicy::Always;
        } else if pod.settings.forbids_always(&image)
            || pod.lookups.cached.contains(&image.normalised())
        {
            policy = policy.min(PullPolicy::IfNotPresent);
        }
        if pod.settings.forbids_never(&image) {
            policy = policy.max(PullPolicy::IfNotPresent);
        }
    }
    policy.max(need)
}
