//! **weak-check**: the strongest of a container's checks must be at least as strong as the
//! container. The repair raises the first check: init containers in their order, then volumes.

use crate::image::Reference;
use crate::pod::Pod;
use crate::policy::{PullPolicy, server_default};
use crate::rules::{default, missing_check};
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod) {
    let came_with: Vec<PullPolicy> = pod.places.iter().map(|place| place.policy).collect();
    let mut refused = Vec::new();
    // **Decided**: containers with checks that are written alike come first. A check that is raised
    // for them may be strong enough for the other containers.
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
        // The section *weak-check* of docs/rules.md says when there is no repair.
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

/// The checks of a container. These are the checks of the same image that are written alike. If
/// there are none, and none will be added for that spelling, all checks of the same image count.
/// The first value says whether the checks are written alike.
///
/// **Decided**: checks that are not written alike count only if nothing that is written alike
/// covers the image. If an init container covers the image, a check in another spelling adds
/// nothing.
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
    // If an effective `on…` setting is `UseCached`, the copy accepts `IfNotPresent` on a looked-up
    // tag. The copy also accepts that a lookup may have shown a strong check of the same image.
    let came_with = checks
        .iter()
        .map(|&check| pod.places[check].policy_before());
    let may_be_cached =
        came_with.max() < Some(need) && checks.iter().any(|&check| pod.may_be_cached(check));
    if may_be_cached || pod.may_be_checked(container, need) {
        return;
    }
    // **Decided**: a check that `forbidAlways` names is skipped if there is another check. Two tags
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
/// **Decided**: a check that is raised or added gets the strength that its containers need. If a
/// stronger default would apply to it in the next run, it gets this default.
pub(crate) fn as_it_would_stay(pod: &Pod, image: &str, need: PullPolicy) -> PullPolicy {
    // A default replaces only a pull policy that the API server could have written.
    let is_reached = pod.settings.replace_server_defaults() && need == server_default(image);
    let default = default::configured(pod.settings, image, true).filter(|_| is_reached);
    let mut policy = need.max(default.unwrap_or(need));
    if let Some(image) = Reference::parse(image) {
        // *disallowed-policy* would make these changes in the next run. After a failed lookup,
        // `UseCached` sets `IfNotPresent` on the checks too.
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
