//! *pull-once*: if an image is pulled with `Always` before the app containers start, the app
//! containers with this image don't have to ask the registry again.
//!
//! The first pull has proved the Pod's credentials. With `IfNotPresent`, a registry that fails a
//! second later can't block the containers. The change corrects no mistake. So it is not a finding,
//! and the modes `Reject` and `Warn` don't report it.

use std::collections::{BTreeMap, BTreeSet};

use crate::examination::Examination;
use crate::examination::finding::{FindingReason, FindingSubject, RuleId};
use crate::pod::{Mount, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::sentence::{Sentence, SentenceLength};

/// The pulls of one image in one spelling that happen with `Always` before the app containers
/// start.
#[derive(Clone, Copy, Default)]
struct EarlierPulls {
    /// Whether the image is pulled by an init container, or by an added check that no app container
    /// mounts.
    spare_all: bool,
    /// The number of check volumes with this image that init containers mount. These volumes don't
    /// spare an app container that mounts all of them: the node pulls them again for this container.
    volumes: usize,
}

/// Replaces `Always` with `IfNotPresent` in app containers whose image an init container has already
/// pulled with `Always`, in the same spelling.
pub fn spare_second_pulls(examination: &mut Examination<'_>) {
    if examination.compares_checks() {
        lower(examination);
    }
}

/// Lowers app containers once more, after *missing-check* has added checks.
pub fn spare_pulls_after_added_checks(examination: &mut Examination<'_>) {
    if !examination.added_checks.is_empty() {
        lower(examination);
    }
}

fn lower(examination: &mut Examination<'_>) {
    if !examination.settings.pull_once {
        return;
    }
    let images = examination.image_groups();
    let mut pulls: BTreeMap<usize, EarlierPulls> = BTreeMap::new();
    let mut volumes: BTreeMap<&str, usize> = BTreeMap::new();
    for (examined, spelling) in examination.places.iter().zip(images.spellings()) {
        if !examined.is_pulled_first() || examined.policy != PullPolicy::Always {
            continue;
        }
        let pulls = pulls.entry(spelling).or_default();
        if examined.place.list == PodSpecList::Volumes {
            pulls.volumes = pulls.volumes.saturating_add(1);
            volumes.insert(&examined.place.name.value, spelling);
        } else {
            pulls.spare_all = true;
        }
    }
    let (review, settings) = (examination.review, examination.settings);
    if let Some(first) = examination.added_checks.first()
        && !first.source.is_mounted_by_app_containers(review, settings)
    {
        for check in &examination.added_checks {
            if let Some(spelling) = images.spelling(check.guarded)
                && check.policy == PullPolicy::Always
            {
                pulls.entry(spelling).or_default().spare_all = true;
            }
        }
    }
    if pulls.is_empty() {
        return;
    }
    for (examined, spelling) in examination.places.iter_mut().zip(images.spellings()) {
        if examined.place.list == PodSpecList::Containers
            && examined.policy == PullPolicy::Always
            && examined.limits.require_always.is_none()
            && let Some(pulls) = pulls.get(&spelling)
            && (pulls.spare_all
                || own_volumes(&examined.place.mounts, &volumes, spelling) < pulls.volumes)
        {
            // If the request has `Never`, this `Always` is a default that has replaced a forbidden
            // `Never`. The reason is kept, so that the change stays a finding about `Never`.
            if examined.policy_before() == PullPolicy::Never {
                examined.policy = PullPolicy::IfNotPresent;
            } else {
                examined.set_policy(PullPolicy::IfNotPresent, PulledBefore);
            }
        }
    }
}

/// The number of `volumes` with the image in this spelling that a container mounts.
fn own_volumes(mounts: &[Mount<'_>], volumes: &BTreeMap<&str, usize>, spelling: usize) -> usize {
    let has_the_image = |name: &&str| volumes.get(name) == Some(&spelling);
    let mut names: BTreeSet<&str> = BTreeSet::new();
    names.extend(
        mounts
            .iter()
            .map(|mount| &*mount.name)
            .filter(has_the_image),
    );
    names.len()
}

/// An init container has pulled the image already.
#[derive(Clone, Copy, Debug)]
struct PulledBefore;

impl FindingReason for PulledBefore {
    fn rule(&self) -> RuleId {
        RuleId::PullOnce
    }

    fn is_finding(&self) -> bool {
        false
    }

    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, _: SentenceLength) -> Sentence<'s> {
        subject.now_pulls()
    }
}
