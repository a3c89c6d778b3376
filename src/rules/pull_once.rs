//! *pull-once*: if an init container has pulled an image with `Always`, the containers of this
//! image don't have to pull it again.
//!
//! The first pull has proved the Pod's credentials. With `IfNotPresent`, a registry that fails a
//! second later can't block the containers. The change only saves a pull. It is no finding, so no
//! mode reports it.

use std::collections::{BTreeMap, BTreeSet};

use crate::examination::Examination;
use crate::examination::finding::{FindingReason, FindingSubject, RuleId};
use crate::pod::{Mount, PodSpecList};
use crate::pull_policy::PullPolicy;
use crate::sentence::{Sentence, SentenceLength};

/// The pulls of one image in one spelling, with `Always`, before the app containers start.
#[derive(Clone, Copy, Default)]
struct EarlierPulls {
    /// Whether an init container pulls the image, or an added check that no app container mounts.
    spare_all: bool,
    /// How many image volumes of init containers pull the image. An app container that mounts such
    /// a volume pulls the image again.
    volumes: usize,
}

/// Lowers the `Always` of each app container whose image is pulled with `Always` before.
pub fn spare_second_pulls(examination: &mut Examination<'_>) {
    if examination.compares_checks() {
        lower(examination);
    }
}

/// Does the same once more after checks were added.
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
            // A default of `Always` has replaced a forbidden `Never`. The change stays a finding
            // about the forbidden pull policy.
            if examined.policy_before() == PullPolicy::Never {
                examined.policy = PullPolicy::IfNotPresent;
            } else {
                examined.set_policy(PullPolicy::IfNotPresent, PulledBefore);
            }
        }
    }
}

/// How many of the volumes with this image a container mounts.
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
