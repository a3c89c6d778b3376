//! **weak-check**: the strongest check of an image must be at least as strong as each guarded container
//! of the image. The repair raises the first check. Init containers come first, in their order, and then
//! check volumes. If a container needs `Always`, checks whose image matches `images.forbidAlways` are
//! skipped.

use crate::pod::Pod;
use crate::policy::PullPolicy;
use crate::rules::default;
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    let came_with: Vec<PullPolicy> = pod.places.iter().map(|place| place.policy).collect();
    let mut refused = Vec::new();
    let mut containers = pod.guarded();
    containers.retain(|&container| !pod.lacks_answers(container));
    let checks: Vec<_> = containers
        .into_iter()
        .map(|container| (container, checks_of(pod, container)))
        .collect();
    // **Decided**: containers that have a check in their own spelling are handled first. A check that is
    // raised for one of them may already be strong enough for a container with another spelling.
    for is_written_alike in [true, false] {
        for (container, (alike, checks)) in &checks {
            if *alike == is_written_alike {
                raise(pod, *container, checks, &mut refused);
            }
        }
    }
    for (check, &from) in came_with.iter().enumerate() {
        // *weak-check* changed the pull policy last, so a default has no finding about it.
        let is_raised =
            from != pod.places[check].policy && pod.places[check].policy_rule == "weak-check";
        if is_raised {
            pod.forget_policy_finding(check);
        }
        // The section *weak-check* of docs/rules.md says when there is no repair.
        let repair = if refused.contains(&check) {
            Repair::None
        } else if is_raised {
            Repair::PullPolicy
        } else {
            continue;
        };
        let path = pod.policy_path(check);
        pod.find("weak-check", check, path, repair, Weight::Rejects);
    }
}

/// Returns the checks of a container: all checks of the same image in the container's spelling. If there
/// are none, and the image is not covered, returns the checks of the same image in other spellings. The
/// first returned value says whether the returned checks are in the container's spelling.
fn checks_of(pod: &Pod, container: usize) -> (bool, Vec<usize>) {
    let mut same = pod.checks();
    same.retain(|&check| pod.is_same_image(check, container));
    let (alike, other): (Vec<usize>, Vec<usize>) = same
        .into_iter()
        .partition(|&check| pod.is_written_alike(check, container));
    if !alike.is_empty() {
        (true, alike)
    } else if pod.is_covered(container) {
        (false, Vec::new())
    } else {
        (false, other)
    }
}

fn raise(pod: &mut Pod, container: usize, checks: &[usize], refused: &mut Vec<usize>) {
    let need = pod.need(container);
    let Some(&first) = checks.first() else {
        return;
    };
    // In the copy, a check that may be of the same image is strong enough too.
    let is_alike = pod.is_written_alike(first, container);
    let is_strong_enough = pod.checks().into_iter().any(|check| {
        pod.places[check].policy >= need
            && pod.is_written_alike(check, container) == is_alike
            && (checks.contains(&check) || pod.may_have_image_of(check, container))
    });
    if is_strong_enough {
        return;
    }
    // **Decided**: if `Always` is needed, a check whose image `forbidAlways` matches is skipped. Two
    // tags with the same digest are one image. If `forbidAlways` matches only one of these tags, a check
    // with the other tag can be raised.
    let may_pull = |check: &usize| {
        let image = pod.reference(*check);
        need != PullPolicy::Always
            || !image.is_some_and(|image| pod.settings.forbids_always(&image))
    };
    let Some(&first) = checks.iter().find(|check| may_pull(check)) else {
        refused.push(first);
        return;
    };
    // **Decided\***: a default applies to the new pull policy too. Otherwise the next run would raise the
    // check again. For example, with a default `Always`, a container has `app:latest@sha256:…` with a
    // written `IfNotPresent`, and its check has `app@sha256:…` with `Never`.
    let to = default::replacement(pod, first, need).unwrap_or(need);
    pod.set_policy("weak-check", first, to.max(need), false);
}
