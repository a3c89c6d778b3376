//! *registry*: verifies or pins the digest behind each tag, with an action for each way in which a
//! lookup can fail.
//!
//! `Verify` and `Pin` ask for the digest, and for the platforms if `registry.platform` is set. `Pin`
//! also writes the digest into the Pod, and replaces `Always` with `IfNotPresent`, unless the image
//! matches `images.requireAlways`. With `IfNotPresent`, a node pulls only a digest that it doesn't have.
//! After a pin, a check and its containers can't get different contents. KEP-5497 discusses a pull
//! policy with which the kubelet itself would pull only if the digest has changed.

mod missing_platform;

use std::collections::BTreeMap;
use std::rc::Rc;

use self::missing_platform::MissingPlatformReason;
use crate::examination::Examination;
use crate::examination::examined_place::{ExaminedPlace, PullPolicyChangeCause};
use crate::finding::{Finding, FindingReason, FindingSubject};
use crate::image::{ImageIdentity, Reference, comparable_host};
use crate::lookup::failed_lookup::{FailedLookup, why_no_answer};
use crate::lookup::{
    FailureClass, ImageToLookUp, LimitedRegistryClient, LookupAnswer, NoLookupAnswerReason,
    RegistryClient,
};
use crate::pod_spec::{Place, PodSpecList, RequestedPlatforms};
use crate::pull_policy::PullPolicy;
use crate::request::RequestType;
use crate::rule_id::RuleId;
use crate::settings::{
    LookupFailureAction, LookupSettingsForImage, MissingPlatformAction, PolicyMode, VerifyOrPin,
};
use crate::shown_text::TextLimit;

/// Looks up the images that the settings select, and takes the actions that the settings demand.
pub(crate) fn look_up_images(
    examination: &mut Examination<'_>,
    registries: &mut dyn RegistryClient,
) {
    let settings = examination.settings;
    if settings.validating_copy || !settings.registry.looks_up() {
        return;
    }
    keep_stored_digests(examination);
    let is_audit = settings.mode == PolicyMode::Reject && examination.object.names_no_user;
    if is_rejected_without_lookups(examination) && !is_audit {
        return;
    }
    let any_selected = examination
        .places
        .iter()
        .any(ExaminedPlace::is_selected_for_lookup);
    let requested = match settings.registry.platform {
        MissingPlatformAction::Warn | MissingPlatformAction::Reject if any_selected => {
            examination.object.pod.requested_platforms()
        }
        _ => RequestedPlatforms::default(),
    };
    let mut client = LimitedRegistryClient::new(registries, settings.registry.max_lookups);
    for lookup in planned_lookups(examination, !requested.is_empty()) {
        match client.look_up(&lookup.image) {
            Ok(answer) => use_answer(examination, &lookup, &answer, &requested),
            Err(error) => use_error(examination, lookup, error),
        }
    }
}

/// Whether the object has an invalid image, or an image that `images.requireAlways` and `images.forbidAlways` both
/// match. No answer of a registry changes that.
fn is_rejected_without_lookups(examination: &Examination<'_>) -> bool {
    let has_conflict = |examined: &ExaminedPlace<'_>| {
        examined.patterns.require_always.is_some() && examined.patterns.forbid_always.is_some()
    };
    let mut findings = examination.findings.iter();
    findings.any(|finding| finding.rule() == RuleId::InvalidImage)
        || examination.places.iter().any(has_conflict)
}

/// Keeps the digest of a stored image, at UPDATE of a Pod under `Pin`, if the request brings its tag. Otherwise a
/// manifest that is applied again would restart containers whose tag has moved.
fn keep_stored_digests(examination: &mut Examination<'_>) {
    let object = examination.object;
    if object.request_type != RequestType::PodUpdate {
        return;
    }
    let stored = &examination.stored_places;
    for examined in &mut examination.places {
        let place = examined.place;
        if examined.lookup.mode == VerifyOrPin::Pin
            && let Some(stored) = stored.get(&(place.list, &*place.name))
            && let Ok(stored) = Reference::parse(stored.image_text())
            && examined.reference.is_pinned_as(stored)
            && let Some(digest) = stored.digest()
        {
            let digest: Rc<str> = Rc::from(digest);
            examined.pin(&digest, &tag_to_pin(&digest));
        }
    }
}

/// An image to look up.
struct PlannedLookup<'p> {
    image: ImageToLookUp,
    /// The indexes of the examined places with this image for which `lookup` isn't `Off`, those of app containers
    /// first.
    places: Vec<usize>,
    /// The first of these places. A finding about the image names it.
    first: &'p Place<'p>,
    /// The settings for the first place.
    settings: LookupSettingsForImage<'p>,
    /// Whether the image has a digest already.
    has_digest: bool,
    /// Whether `Verify` asks for this digest. The registry may have deleted it.
    verifies_digest: bool,
}

/// The lookups to make, one for each image, in the order of [`places_by_image`].
fn planned_lookups<'p>(
    examination: &Examination<'p>,
    with_platforms: bool,
) -> Vec<PlannedLookup<'p>> {
    let mut lookups = Vec::new();
    for places in places_by_image(&examination.places) {
        let examined = || {
            places
                .iter()
                .filter_map(|index| examination.places.get(*index))
        };
        let Some(first) = examined().next() else {
            continue;
        };
        let verifies_digest =
            examined().any(|one| one.has_digest() && one.lookup.mode == VerifyOrPin::Verify);
        // No node asks a registry for an image that every place pulls with `Never`.
        let is_pulled = examined().any(|one| one.policy != PullPolicy::Never);
        if is_pulled && (!first.has_digest() || with_platforms || verifies_digest) {
            let repository = first.reference.repository();
            let digest = first.digest_of_tag.as_deref().or(first.reference.digest());
            let image = match digest {
                Some(digest) => [&repository, "@", digest].concat(),
                None => [&repository, ":", first.reference.effective_tag()].concat(),
            };
            lookups.push(PlannedLookup {
                image: ImageToLookUp {
                    image,
                    registry: comparable_host(first.reference.registry()).into_owned(),
                    repository,
                    with_platforms,
                },
                first: first.place,
                settings: first.lookup,
                has_digest: first.has_digest(),
                verifies_digest,
                places,
            });
        }
    }
    lookups
}

/// The places of each image, without the places for which `lookup` is `Off`. The images of app
/// containers come first: an added check must not change the order, because the order decides which
/// images `registry.maxLookups` leaves out.
fn places_by_image(places: &[ExaminedPlace<'_>]) -> Vec<Vec<usize>> {
    let mut numbers: BTreeMap<ImageIdentity<'_>, usize> = BTreeMap::new();
    let mut places_by_image: Vec<Vec<usize>> = Vec::new();
    for app_containers in [true, false] {
        for (index, examined) in places.iter().enumerate() {
            // `app:1@sha256:x` and `app:2@sha256:x` are one image, but a setting may name only
            // `app:1`. So each place has its own setting.
            let is_app_container = examined.place.list == PodSpecList::Containers;
            if !examined.is_selected_for_lookup() || is_app_container != app_containers {
                continue;
            }
            let next = numbers.len();
            let number = *numbers.entry(examined.identity()).or_insert(next);
            match places_by_image.get_mut(number) {
                Some(places) => places.push(index),
                None => places_by_image.push(vec![index]),
            }
        }
    }
    places_by_image
}

/// Remembers the digest behind the tags of these places. Under `Pin`, also writes the digest, and sets the pull
/// policy, unless that is `Never` or immutable. A pod template keeps its tags, because the images of its Pods are
/// pinned when the Pods are created.
fn use_answer<'p>(
    examination: &mut Examination<'p>,
    lookup: &PlannedLookup<'p>,
    answer: &LookupAnswer,
    requested: &RequestedPlatforms,
) {
    if let Some(index) = &answer.platforms {
        report_missing_platform(examination, lookup, index, requested);
    }
    let request_type = examination.object.request_type;
    let digest: Rc<str> = Rc::from(&*answer.digest);
    let reason = tag_to_pin(&digest);
    for index in &lookup.places {
        let examined = examination.places.get_mut(*index);
        let Some(examined) = examined.filter(|examined| !examined.has_digest()) else {
            continue;
        };
        examined.digest_of_tag = Some(Rc::clone(&digest));
        if examined.lookup.mode != VerifyOrPin::Pin || request_type.is_template() {
            continue;
        }
        examined.pin(&digest, &reason);
        if request_type.may_change_pull_policy() && examined.policy != PullPolicy::Never {
            let policy = match examined.patterns.require_always {
                Some(_) => PullPolicy::Always,
                None => PullPolicy::IfNotPresent,
            };
            examined.change_policy(policy, PullPolicyChangeCause::NotWrong(RuleId::Registry));
        }
    }
}

/// Reports an image whose index lacks a platform that the Pod asks for.
fn report_missing_platform<'p>(
    examination: &mut Examination<'p>,
    lookup: &PlannedLookup<'p>,
    index: &[oci_spec::image::Platform],
    requested: &RequestedPlatforms,
) {
    let pod_spec = examination.object.spec_path();
    let Some(missing) = MissingPlatformReason::find(requested, index, pod_spec) else {
        return;
    };
    let finding = Finding::not_repairable(lookup.first, FindingSubject::Image, missing);
    let is_warning = examination.settings.registry.platform == MissingPlatformAction::Warn;
    examination.findings.push(finding.warning_if(is_warning));
}

/// Takes the action for an image whose lookup failed.
fn use_error<'p>(
    examination: &mut Examination<'p>,
    lookup: PlannedLookup<'p>,
    error: NoLookupAnswerReason,
) {
    let request_type = examination.object.request_type;
    // `UseCached` becomes `KeepTag` in three cases. The pull policies of an existing Pod can't
    // change. A pod template would keep `IfNotPresent` after the outage. `UseCached` has no effect
    // on an image with a digest.
    let keeps_policy =
        !request_type.may_change_pull_policy() || request_type.is_template() || lookup.has_digest;
    // `platform: Warn` never rejects. So a failed lookup that was made only for the platform
    // doesn't reject either.
    let is_for_a_warning = examination.settings.registry.platform == MissingPlatformAction::Warn
        && lookup.has_digest
        && !lookup.verifies_digest;
    let action = match lookup.settings.action(error.class) {
        LookupFailureAction::Reject if !is_for_a_warning => {
            let reason = RegistryReason::LookupFailed(error);
            let finding = Finding::not_repairable(lookup.first, FindingSubject::Image, reason);
            examination.findings.push(finding);
            LookupFailureAction::Reject
        }
        LookupFailureAction::UseCached if !keeps_policy => use_cached(examination, &lookup.places),
        _ => LookupFailureAction::KeepTag,
    };
    let failed = FailedLookup { error, action };
    let failed_lookups = &mut examination.failed_lookups;
    failed_lookups.insert(lookup.image.image, failed);
}

/// Lets these places use the image that the node has cached: `Always` becomes `IfNotPresent`. A place
/// whose image matches `images.requireAlways` keeps its pull policy. Returns `KeepTag` if nothing was lowered.
fn use_cached(examination: &mut Examination<'_>, places: &[usize]) -> LookupFailureAction {
    let mut action = LookupFailureAction::KeepTag;
    for index in places {
        if let Some(examined) = examination.places.get_mut(*index)
            && examined.policy == PullPolicy::Always
            && examined.patterns.require_always.is_none()
        {
            examined.correct_policy(PullPolicy::IfNotPresent, RegistryReason::CachedImageAllowed);
            action = LookupFailureAction::UseCached;
        }
    }
    action
}

/// The reason why a tag is pinned.
fn tag_to_pin<'p>(digest: &Rc<str>) -> Rc<dyn FindingReason + 'p> {
    Rc::new(RegistryReason::TagToPin(Rc::clone(digest)))
}

/// An image that has to be pinned, or whose lookup failed.
#[derive(Debug)]
enum RegistryReason {
    /// The tag has to be pinned to this digest.
    TagToPin(Rc<str>),
    /// The lookup failed, and `UseCached` allows the image that the node already has.
    CachedImageAllowed,
    /// The lookup failed or was not made, and the setting for this failure is `Reject`.
    LookupFailed(NoLookupAnswerReason),
}

impl FindingReason for RegistryReason {
    fn rule(&self) -> RuleId {
        RuleId::Registry
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let (name, image) = (finding.name(limit), finding.image(limit));
        match self {
            // Even a short line has the whole digest, so that a person can copy it.
            Self::TagToPin(digest) if limit.is_for_line() => {
                format!("{name}: pin {image} to @{digest}")
            }
            Self::TagToPin(_) => {
                let pinned = limit.show(finding.expected().unwrap_or_default());
                let policy = finding.expected_policy_text();
                format!("{name} pulls {image} by its tag: set its image to {pinned} with {policy}")
            }
            Self::CachedImageAllowed => {
                let (pulls, way_out) = (finding.pulls(limit), finding.set_policy(limit));
                format!("{pulls} but its registry gives no digest: {way_out}")
            }
            Self::LookupFailed(error) => {
                format!("{name}'s image {image} {}", why_no_answer(*error))
            }
        }
    }

    /// Unless the image doesn't exist, or `registry.maxLookups` was reached.
    fn is_momentary(&self) -> bool {
        let is_permanent =
            |class| matches!(class, FailureClass::NotFound | FailureClass::LimitReached);
        matches!(self, Self::LookupFailed(error) if !is_permanent(error.class))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::rules::answers_for_tests::{message, warnings};

    fn lookup(mode: &str, lookup: &str) -> Value {
        let registry = json!({"images": ["*"], "lookup": lookup, "onUnreachable": "UseCached", "maxLookups": 2});
        json!({"mode": mode, "registry": registry})
    }

    #[test]
    fn sentences() {
        let digest = format!("sha256:{}", "a".repeat(64));
        assert_eq!(
            message("app a app:1 Always", &lookup("Reject", "Pin")),
            format!("a pulls app:1 by its tag: set its image to app:1@{digest} with IfNotPresent")
        );
        assert_eq!(
            warnings(
                &format!("app {} app:1 Always", "a".repeat(60)),
                &lookup("Warn", "Pin")
            ),
            format!("aaaaaaaaaaaaaa...aaaaaaaaaaaaa: pin app:1 to @{digest}")
        );
        assert_eq!(
            message("app a away:1 Always", &lookup("Reject", "Verify")),
            "a pulls away:1 with Always but its registry gives no digest: set a to IfNotPresent"
        );
        assert_eq!(
            message("app a missing:1 Always", &lookup("Fix", "Verify")),
            "a's image missing:1 does not exist in its registry: correct its tag or repository"
        );
        assert_eq!(
            warnings(
                "app a app:1 Always, app b r.io/x:1 Always, app c r.io/y:1",
                &lookup("Fix", "Verify")
            ),
            "r.io/x:1 has a registry that gives no answer: try again later (cached copy allowed)\n\
             r.io/y:1 was not looked up: its registry just gave no answer (kept as it is)"
        );
    }

    /// An image ID is not looked up. So the check of the tag with the same name is no check of it, and stays weak.
    #[test]
    fn an_image_id_gets_no_digest() {
        let places =
            "init imagecheck-0 docker.io/library/sha256:abc IfNotPresent, app a sha256:abc Always";
        assert_eq!(
            warnings(places, &lookup("Fix", "Pin")),
            "a pulls sha256:abc but no image check pulls it first: add one with Always"
        );
    }
}
