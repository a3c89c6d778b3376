//! *registry*: verifies or pins the digest behind each tag, with an action for each way in which a
//! lookup can fail.
//!
//! `Verify` and `Pin` ask for the digest, and for the platforms if `registry.platform` is set. `Pin`
//! also writes the digest into the Pod, and replaces `Always` with `IfNotPresent`, unless the image
//! matches `images.requireAlways`. With `IfNotPresent`, a node pulls only a digest that it doesn't have.
//! After a pin, a check and its containers can't get different contents. KEP-5497 discusses a pull
//! policy with which the kubelet itself would pull only if the digest has changed.

mod certain_rejection;
mod missing_platform;

use std::collections::BTreeMap;
use std::rc::Rc;

pub(crate) use self::certain_rejection::is_rejected_whatever_registries_answer;
use crate::examination::place::{DigestOfTag, ExaminedPlace, ImageId, PlaceId, with_ids};
use crate::examination::{AnsweredLookup, Examination, PlannedLookup};
use crate::findings::failed_lookup::{AppliedLookupAction, FailedLookup};
use crate::findings::{Finding, FindingField, MissingPlatform, Reason, Repairability};
use crate::lookup::{ImageToLookUp, LookupError};
use crate::pod::{PodSpecList, RequestedPlatforms};
use crate::pull_policy::PullPolicy;
use crate::settings::{LookupFailureAction, LookupMode, MissingPlatformAction};

/// In the first run of the rules, chooses the images to look up. In the second run, in which the
/// registries' answers are known, takes the actions that the settings demand.
pub(crate) fn plan_lookups_or_use_answers(examination: &mut Examination<'_>) {
    match examination.answers.take() {
        None => examination.lookups = images_to_look_up(examination),
        Some(images) => {
            let requested = requested_platforms(examination);
            for lookup in &images {
                use_answer(examination, lookup, &requested);
            }
        }
    }
}

/// The platforms that each looked-up image has to exist for. None with `registry.platform: Off`.
fn requested_platforms(examination: &Examination<'_>) -> RequestedPlatforms {
    match examination.settings.registry.platform {
        MissingPlatformAction::Off => RequestedPlatforms::default(),
        _ => examination.object.pod.requested_platforms(),
    }
}

/// The images that are looked up, each once, in the order of [`places_by_image`].
fn images_to_look_up(examination: &Examination<'_>) -> Vec<PlannedLookup> {
    let with_platforms = !requested_platforms(examination).platforms.is_empty();
    let mut images = Vec::new();
    for places in places_by_image(&examination.places) {
        let examined = || places.iter().map(|id| &examination[*id]);
        let Some(id) = places.first().copied() else {
            continue;
        };
        let first = &examination[id];
        // No node asks a registry for an image that every place pulls with `Never`.
        let is_pulled = examined().any(|one| one.policy != PullPolicy::Never);
        if is_pulled && (!first.has_digest() || with_platforms || examined().any(verifies_digest)) {
            let image = ImageToLookUp {
                image: normalised_image(first),
                registry: first.reference.registry().to_owned(),
                repository: first.reference.repository(),
                with_platforms,
            };
            images.push(PlannedLookup {
                image,
                places,
                first: id,
            });
        }
    }
    images
}

/// Whether `Verify` looks up an image that already has a digest. This is useful, because the registry
/// may have deleted the image.
fn verifies_digest(examined: &ExaminedPlace<'_>) -> bool {
    examined.has_digest() && examined.lookup.mode == LookupMode::Verify
}

/// The normalised image with its digest, or with its tag if it has no digest.
fn normalised_image(examined: &ExaminedPlace<'_>) -> String {
    let reference = &examined.reference;
    let pinned = examined.digest.pinned_digest().map(|digest| &**digest);
    match pinned.or(reference.digest()) {
        Some(digest) => format!("{}@{digest}", reference.repository()),
        None => reference.repository_and_tag().unwrap_or_default(),
    }
}

/// The places of each image, without the places for which `lookup` is `Off`. The images of app
/// containers come first: an added check must not change the order, because the order decides which
/// images `registry.maxLookups` leaves out.
fn places_by_image(places: &[ExaminedPlace<'_>]) -> Vec<Vec<PlaceId>> {
    let mut numbers: BTreeMap<ImageId, usize> = BTreeMap::new();
    let mut places_by_image: Vec<Vec<PlaceId>> = Vec::new();
    for app_containers in [true, false] {
        for (id, examined) in with_ids(places) {
            // `app:1@sha256:x` and `app:2@sha256:x` are one image, but a setting may name only
            // `app:1`. So each place has its own setting.
            let is_off = examined.lookup.mode == LookupMode::Off;
            if is_off || (examined.place.list == PodSpecList::Containers) != app_containers {
                continue;
            }
            let next = numbers.len();
            let number = *numbers.entry(examined.spelling.image).or_insert(next);
            match places_by_image.get_mut(number) {
                Some(places) => places.push(id),
                None => places_by_image.push(vec![id]),
            }
        }
    }
    places_by_image
}

fn use_answer(
    examination: &mut Examination<'_>,
    (lookup, answer): &AnsweredLookup,
    requested: &RequestedPlatforms,
) {
    match answer {
        Ok(answer) => {
            if let Some(index) = &answer.platforms {
                report_missing_platform(examination, lookup.first, index, requested);
            }
            pin_tags(examination, &lookup.places);
        }
        Err(error) => use_error(examination, lookup, *error),
    }
}

/// Pins the tags of these places, if `lookup` is `Pin` and the digest is known. Also sets the pull
/// policy of each pinned place, unless it is `Never` or immutable. A pod template keeps its tags,
/// because the images of its Pods are pinned when the Pods are created.
fn pin_tags(examination: &mut Examination<'_>, places: &[PlaceId]) {
    let request_type = examination.object.request_type;
    for id in places {
        let examined = &mut examination[*id];
        if examined.has_digest()
            || examined.lookup.mode != LookupMode::Pin
            || request_type.is_template()
        {
            continue;
        }
        let DigestOfTag::Resolved(digest) = &examined.digest else {
            continue;
        };
        examined.digest = DigestOfTag::Pinned(Rc::clone(digest));
        if request_type.may_change_pull_policy() && examined.policy != PullPolicy::Never {
            let policy = match examined.limits.require_always {
                Some(_) => PullPolicy::Always,
                None => PullPolicy::IfNotPresent,
            };
            examined.set_policy(policy, Reason::PolicyOfPinnedImage);
        }
    }
}

/// Reports an image whose index lacks a platform that the Pod asks for.
fn report_missing_platform(
    examination: &mut Examination<'_>,
    first: PlaceId,
    index: &[oci_spec::image::Platform],
    requested: &RequestedPlatforms,
) {
    let Some((has, lacks)) = missing_platform::find(requested, index) else {
        return;
    };
    let missing = MissingPlatform {
        has,
        lacks,
        pod_spec: examination.object.spec_path(),
        field: requested.field,
    };
    let reason = Reason::MissingPlatform(missing);
    let place = examination[first].place;
    let mut finding = Finding::unrepairable(place, FindingField::Image, reason);
    if examination.settings.registry.platform == MissingPlatformAction::Warn {
        finding.repairability = Repairability::Advice;
    }
    examination.findings.push(finding);
}

/// Takes the action for an image whose lookup failed.
fn use_error(examination: &mut Examination<'_>, lookup: &PlannedLookup, error: LookupError) {
    let request_type = examination.object.request_type;
    let first = &examination[lookup.first];
    let mut action = first.lookup.action(error.class);
    // `UseCached` becomes `KeepTag` in three cases. The pull policies of an existing Pod can't
    // change. A pod template would keep `IfNotPresent` after the outage. `UseCached` has no effect
    // on an image with a digest.
    let keeps_policy = !request_type.may_change_pull_policy()
        || request_type.is_template()
        || first.reference.digest().is_some();
    if action == LookupFailureAction::UseCached && keeps_policy {
        action = LookupFailureAction::KeepTag;
    }
    // `platform: Warn` never rejects. So a failed lookup that was made only for the platform
    // doesn't reject either.
    let mut places = lookup.places.iter().map(|id| &examination[*id]);
    let is_for_a_warning = examination.settings.registry.platform == MissingPlatformAction::Warn
        && first.has_digest()
        && !places.any(verifies_digest);
    if action == LookupFailureAction::Reject && is_for_a_warning {
        action = LookupFailureAction::KeepTag;
    }
    let action = match action {
        LookupFailureAction::Reject => {
            let reason = Reason::LookupFailed(error);
            let finding = Finding::unrepairable(first.place, FindingField::Image, reason);
            examination.findings.push(finding);
            AppliedLookupAction::Reject
        }
        LookupFailureAction::UseCached => use_cached(examination, &lookup.places),
        LookupFailureAction::KeepTag => AppliedLookupAction::KeepTag,
    };
    let failed = FailedLookup { error, action };
    let image = lookup.image.image.clone();
    examination.failed_lookups.insert(image, failed);
}

/// Lets these places use the image that the node has cached: `Always` becomes `IfNotPresent`. A place
/// whose image matches `images.requireAlways` keeps its pull policy.
fn use_cached(examination: &mut Examination<'_>, places: &[PlaceId]) -> AppliedLookupAction {
    let (mut is_lowered, mut is_always_kept) = (false, false);
    for id in places {
        let examined = &mut examination[*id];
        if examined.limits.require_always.is_some() {
            is_always_kept = true;
            continue;
        }
        examined.digest = DigestOfTag::UseCached;
        if examined.policy == PullPolicy::Always {
            is_lowered = true;
            examined.set_policy(PullPolicy::IfNotPresent, Reason::CachedImageAllowed);
        }
    }
    AppliedLookupAction::UseCached {
        is_lowered,
        is_always_kept,
    }
}
