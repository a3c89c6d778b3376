//! **weak-check**: the strongest check of an image must be at least as strong as each guarded container
//! of the image. The repair raises the first check. Init containers come first, in their order, and then
//! check volumes. If a container needs `Always`, checks whose image matches `images.forbidAlways` are
//! skipped.

use crate::image::Reference;
use crate::pod::Pod;
use crate::policy::{PullPolicy, server_default};
use crate::rules::{default, missing_check};
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    let came_with: Vec<PullPolicy> = pod.places.iter().map(|place| place.policy).collect();
    let mut refused = Vec::new();
    // **Decided**: containers that have a check in their own spelling are handled first. A check that is
    // raised for one of them may already be strong enough for a container with another spelling.
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
        // *weak-check* changed the pull policy last, so no earlier rule has a finding about it.
        let is_raised = from != pod.places[check].policy;
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
/// are none, returns the checks of the same image in other spellings. But returns no check if one will
/// be added in the container's spelling, or if the image is covered. The first returned value says
/// whether the returned checks are in the container's spelling.
///
/// **Decided**: checks in another spelling count only if the image is not covered. If an init container
/// covers the image, the image is pulled before the app starts. So *weak-check* then demands nothing of
/// checks in another spelling.
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
    // The copy makes no lookups itself. So the copy accepts a weak check if `UseCached` may have written
    // the check's `IfNotPresent`. The copy also accepts a weak check if a lookup may have shown that
    // another check of the same image is strong enough.
    let came_with = checks
        .iter()
        .map(|&check| pod.places[check].policy_before());
    let may_be_cached =
        came_with.max() < Some(need) && checks.iter().any(|&check| pod.may_be_cached(check));
    if may_be_cached || pod.may_be_checked(container, need) {
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
    if pod.places[first].policy >= need {
        return;
    }
    let to = as_it_would_stay(pod, &pod.places[first].image, need);
    pod.set_policy("weak-check", first, to, false);
}

/// Returns the pull policy of a raised or added check. This is `need`, or a stronger pull policy if the
/// next run would demand a stronger one.
///
/// **Decided**: a check that is raised or added gets the pull policy that its containers need. If a
/// default or a setting of `images` would raise the check in the next run, the check gets the
/// stronger pull policy at once.
pub(crate) fn as_it_would_stay(pod: &Pod, image: &str, need: PullPolicy) -> PullPolicy {
    // In the next run, a default replaces an allowed pull policy only if that pull policy equals the
    // server default.
    let is_reached = need == server_default(image);
    let default = default::configured(pod.settings, image, true).filter(|_| is_reached);
    let mut policy = need.max(default.unwrap_or(need));
    if let Some(image) = Reference::parse(image) {
        // In the next run, *disallowed-policy* would make these changes. If the lookup of the image
        // failed with the action `UseCached`, the checks of the image are lowered to `IfNotPresent` too.
        // If `requireAlways` and `forbidAlways` both name the image, neither of them changes the check.
        let required = pod.settings.requires_always(&image);
        let forbidden = pod.settings.forbids_always(&image);
        if required && !forbidden {
            policy = PullPolicy::Always;
        } else if forbidden && !required || pod.lookups.cached.contains(&image.normalised()) {
            policy = policy.min(PullPolicy::IfNotPresent);
        }
        if pod.settings.forbids_never(&image) {
            policy = policy.max(PullPolicy::IfNotPresent);
        }
    }
    policy.max(need)
}
