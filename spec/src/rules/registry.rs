//! **registry**: applies the settings `registry.*` with their overrides, and compares platforms. This
//! rule works on every examined place: app containers, init containers, new ephemeral containers and
//! image volumes. It makes at most one lookup for each distinct image.

use std::collections::BTreeSet;

use serde_json::json;

use crate::answers::{Answers, Failure, Index};
use crate::image::{Reference, compared_host};
use crate::pod::{Pod, RequestKind};
use crate::policy::PullPolicy;
use crate::rules::platform;
use crate::verdict::{Repair, Weight};

pub(crate) fn apply(pod: &mut Pod, answers: &Answers) {
    if !makes_lookups(pod) {
        return;
    }
    pod.lookups.images = (0..pod.places.len())
        .map(|place| pod.reference(place).map(|image| image.normalised()))
        .collect();
    let asked_for = platform::asked_for(&pod.spec);
    let mut host = Host {
        answers,
        is_refused: false,
        silent: BTreeSet::new(),
    };
    for image in wanted(pod, !asked_for.is_empty()) {
        let key = image.normalised();
        match host.digest(pod, &image) {
            Ok(digest) => {
                // The first host call of a lookup is `manifest_digest`. If platforms are compared, a
                // second call follows: `oci_manifest` of `repo@digest`. Both calls are one lookup.
                if !asked_for.is_empty() && pod.settings.platform() != "Off" {
                    let at_digest = format!(
                        "{}@{}",
                        image.name(),
                        image.digest.as_ref().unwrap_or(&digest)
                    );
                    match host.platforms(pod, &image, &at_digest) {
                        Ok(there) => platform::compare(pod, &key, &asked_for, there.as_deref()),
                        Err(failure) => {
                            fail(pod, &image, failure, DecidedBy::Registry);
                            continue;
                        }
                    }
                }
                if let Some(name) = image.name_and_tag().filter(|_| image.digest.is_none()) {
                    pod.lookups.digests.insert(name, digest.clone());
                }
                if image.digest.is_none() {
                    pin(pod, &key, &digest);
                }
            }
            Err((failure, decided_by)) => fail(pod, &image, failure, decided_by),
        }
    }
}

/// Whether images are looked up. In the copy they never are. For an object with an invalid image, or with
/// an image that `requireAlways` and `forbidAlways` both match, they are looked up only in an audit in
/// mode `Reject`.
fn makes_lookups(pod: &Pod) -> bool {
    let is_rejected_anyway = |place: usize| {
        let mut findings = pod.findings.iter();
        let image = pod.reference(place);
        findings.any(|one| one.place == place && one.rule == "invalid-image")
            || image.is_some_and(|image| pod.settings.contradict_each_other(&image))
    };
    let is_audit = pod.is_audit && pod.settings.mode() == "Reject";
    !pod.settings.is_copy() && (is_audit || !pod.examined().into_iter().any(is_rejected_anyway))
}

/// At UPDATE of a Pod, the stored image may be the requested tag with a digest. In this case the
/// request's image gets this digest, whether or not the stored Pod has a record.
///
/// **Decided**: the image gets the digest under `lookup: Pin`, in every mode, and the change is
/// reported like any other pin. In the copy the image doesn't get it. If the stored image is
/// `app@sha256:…`, its tag counts as `latest`, so a requested `app` or `app:latest` gets the digest.
pub(crate) fn keep_digests(pod: &mut Pod) {
    // In the copy, an unpinned tag is not a finding.
    if pod.request_kind != RequestKind::PodUpdate || pod.settings.is_copy() {
        return;
    }
    for place in pod.examined() {
        let stored = pod.places[place].stored.clone().unwrap_or_default();
        let (Some(brought), Some(stored)) = (pod.reference(place), Reference::parse(&stored))
        else {
            continue;
        };
        // A stored `app@sha256:…` has no tag, and counts as `app:latest` here.
        let is_that_tag = brought.tag.as_deref() == Some(stored.tag.as_deref().unwrap_or("latest"));
        let digest = stored.digest.clone().filter(|_| is_that_tag);
        if let Some(digest) = digest.filter(|_| brought.name() == stored.name()) {
            pin_place(pod, place, &digest);
        }
    }
}

/// The distinct images that are looked up. Images of app containers come first, then images of init
/// containers, ephemeral containers and image volumes.
///
/// **Decided**: the registry is asked for the normalised name. The order of the images is the order
/// of their first places whose effective `lookup` is not `Off`. A place with `Never`, or with a digest
/// under `Pin`, needs no lookup itself, but it counts for this order.
fn wanted(pod: &Pod, asks_for_platform: bool) -> Vec<Reference> {
    let mut images: Vec<Reference> = Vec::new();
    let mut known = BTreeSet::new();
    let mut places = pod.examined();
    places.sort_by_key(|&place| (pod.places[place].list, pod.places[place].index));
    for place in places {
        let Some(image) = pod.reference(place) else {
            continue;
        };
        if pod.settings.lookup(&image) == "Off"
            // An image with a digest is looked up if the effective `lookup` of one of its places is
            // `Verify`. Otherwise it is looked up only to compare its platforms, and never for `Pin`.
            || image.digest.is_some()
                && !(is_verified(pod, &image) || pod.settings.platform() != "Off" && asks_for_platform)
            // An image is not looked up if all its places have `Never`. Places whose effective
            // `lookup` is `Off` don't count.
            || pullers(pod, &image.normalised()).is_empty()
        {
            continue;
        }
        if known.insert(image.normalised()) {
            images.push(image);
        }
    }
    images
}

/// Whether the effective `lookup` of at least one place of the image is `Verify`.
///
/// **Decided**: several places can have the same digest, and a pattern with a tag may match only
/// some of these places. One place with `Verify` is enough for a lookup.
fn is_verified(pod: &Pod, image: &Reference) -> bool {
    places_of(pod, &image.normalised())
        .into_iter()
        .filter_map(|place| pod.reference(place))
        .any(|image| pod.settings.lookup(&image) == "Verify")
}

/// The places of `places_of` whose pull policy is not `Never`.
fn pullers(pod: &Pod, normalised: &str) -> Vec<usize> {
    let places = places_of(pod, normalised).into_iter();
    places
        .filter(|&place| pod.places[place].policy != PullPolicy::Never)
        .collect()
}

/// The places that had this image before the lookups, and whose effective `lookup` is not `Off`.
///
/// **Decided**: places with the same digest can have different tags, and so a different effective
/// `lookup`. The effective `lookup` of each place decides whether this place counts.
pub(crate) fn places_of(pod: &Pod, normalised: &str) -> Vec<usize> {
    let is_it = |place: &usize| {
        let image = pod.lookups.images.get(*place).and_then(Option::as_deref);
        let lookup = |place: usize| Some(pod.settings.lookup(&pod.reference(place)?));
        image == Some(normalised) && lookup(*place) != Some("Off")
    };
    pod.examined().into_iter().filter(is_it).collect()
}

/// The reason why a lookup counts as failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DecidedBy {
    /// The lookup was made, and failed.
    Registry,
    /// In an earlier lookup, the registry didn't answer, or the host refused the lookup. So this
    /// lookup was not made.
    EarlierLookup,
    /// The limit `maxLookups` was already reached, so this lookup was not made.
    Limit,
}

struct Host<'a> {
    answers: &'a Answers,
    is_refused: bool,
    silent: BTreeSet<String>,
}

impl Host<'_> {
    /// Looks up an image. Returns its digest, or the class of the failure and what decided it.
    fn digest(&mut self, pod: &mut Pod, image: &Reference) -> Result<String, (Failure, DecidedBy)> {
        // If the host refuses a lookup, the failure's class is `notGranted`. After that, the host is not
        // asked again in this request.
        if self.is_refused {
            return Err((Failure::NotGranted, DecidedBy::EarlierLookup));
        }
        // After the first failure `unreachable` of a registry, no other image of this registry is
        // looked up in this request, in whatever spelling of its host.
        if self.silent.contains(&compared_host(&image.registry)) {
            return Err((Failure::Unreachable, DecidedBy::EarlierLookup));
        }
        // After `maxLookups` lookups, every further image counts as unreachable. Only lookups that were
        // made count towards this limit.
        if pod.lookups.asked.len() as u64 >= pod.settings.max_lookups() {
            return Err((Failure::Unreachable, DecidedBy::Limit));
        }
        pod.lookups.asked.push(image.normalised());
        let answer = self.answers.manifest_digest(&image.normalised());
        // If the answer is not a digest, the lookup has failed, with the class `unknown`.
        let is_digest = |digest: &str| Reference::parse(&format!("a@{digest}")).is_some();
        let answer = match answer {
            Ok(digest) if !is_digest(&digest) => Err(Failure::Unknown),
            answer => answer,
        };
        answer.map_err(|failure| (self.note(image, failure), DecidedBy::Registry))
    }

    fn platforms(&mut self, pod: &mut Pod, image: &Reference, at_digest: &str) -> Index {
        if self.is_refused {
            return Err(Failure::NotGranted);
        }
        pod.lookups.manifests.push(at_digest.to_owned());
        let answer = self.answers.platforms(at_digest);
        answer.map_err(|failure| self.note(image, failure))
    }

    fn note(&mut self, image: &Reference, failure: Failure) -> Failure {
        match failure {
            Failure::Unreachable => {
                self.silent.insert(compared_host(&image.registry));
            }
            Failure::NotGranted => self.is_refused = true,
            _ => {}
        }
        failure
    }
}

/// Pins an image in each place whose effective `lookup` is `Pin`. `Pin` rewrites `repo:tag` to
/// `repo:tag@sha256:…`. It also sets the pull policy to `Always` if `images.requireAlways` names the
/// image, else to `IfNotPresent`. The function `pin_place` has the exceptions.
fn pin(pod: &mut Pod, normalised: &str, digest: &str) {
    for place in places_of(pod, normalised) {
        pin_place(pod, place, digest);
    }
}

/// Pins one place, if its effective `lookup` is `Pin`. Images in a pod template are not pinned.
///
/// **Decided**: `Pin` doesn't change the pull policy `Never`, but it pins the image of a place with
/// `Never` too. Otherwise the next run would see two images: the tag and the digest. `nginx` becomes
/// `nginx:latest@sha256:…`, so that patterns with a tag still match the pinned image.
fn pin_place(pod: &mut Pod, place: usize, digest: &str) {
    let Some(image) = pod.reference(place) else {
        return;
    };
    if pod.settings.lookup(&image) != "Pin"
        || pod.request_kind == RequestKind::Template
        || image.digest.is_some()
    {
        return;
    }
    let tag = image.tag.unwrap_or_default();
    pod.places[place].image = format!("{}:{tag}@{digest}", image.spelling);
    pod.places[place].image_rule = "registry";
    // At UPDATE of a Pod, `imagePullPolicy` never changes. `Pin` also keeps `Never`.
    if pod.request_kind != RequestKind::PodUpdate && pod.places[place].policy != PullPolicy::Never {
        let is_required = pod
            .reference(place)
            .is_some_and(|image| pod.settings.requires_always(&image));
        let policy = if is_required {
            PullPolicy::Always
        } else {
            PullPolicy::IfNotPresent
        };
        if pod.places[place].policy != policy {
            // **Decided**: `Pin` changes the image and the pull policy. Both changes are one finding,
            // about the image. So an earlier finding about the pull policy is dropped.
            pod.forget_policy_finding(place);
        }
        pod.set_policy("registry", place, policy, false);
    }
    // An unpinned tag under `lookup: Pin` is a finding in every mode. `Fix` repairs it.
    let path = pod.image_path(place);
    pod.find("registry", place, path, Repair::Image, Weight::Rejects);
}

/// Carries out the action `Reject`, `KeepTag` or `UseCached` after a failed lookup.
///
/// **Decided**: if a failed lookup rejects the object, there is one finding, at the first place of the
/// image.
fn fail(pod: &mut Pod, image: &Reference, failure: Failure, decided_by: DecidedBy) {
    let (key, default) = match failure {
        Failure::NotFound => ("onNotFound", "Reject"),
        Failure::Denied => ("onDenied", "KeepTag"),
        Failure::RateLimited => ("onRateLimited", "KeepTag"),
        Failure::Unreachable => ("onUnreachable", "KeepTag"),
        // The class `notGranted` has the action of `onUnknown`.
        Failure::Unknown | Failure::NotGranted => ("onUnknown", "KeepTag"),
    };
    let normalised = image.normalised();
    let is_digest = image.digest.is_some();
    // Failures of these classes are momentary, because they may be over soon: denied, rate limited,
    // unreachable, unknown, not granted. The failure of a lookup beyond `maxLookups` is not momentary.
    let weight = if failure == Failure::NotFound || decided_by == DecidedBy::Limit {
        Weight::Rejects
    } else {
        Weight::RejectsForNow
    };
    let action = match pod.settings.registry(image, key, default) {
        // On a template, and at UPDATE of a Pod, `UseCached` acts as `KeepTag`.
        "UseCached"
            if matches!(
                pod.request_kind,
                RequestKind::Template | RequestKind::PodUpdate
            ) =>
        {
            "KeepTag"
        }
        // On a digest, `UseCached` acts as `KeepTag`.
        "UseCached" if is_digest => "KeepTag",
        // Some digests are looked up only to compare platforms. For these digests, the action
        // `Reject` becomes `KeepTag` under `platform: Warn`, because `Warn` never rejects.
        "Reject" if is_digest && !is_verified(pod, image) && pod.settings.platform() == "Warn" => {
            "KeepTag"
        }
        action => action,
    };
    let mut done = if action == "Reject" {
        "Reject"
    } else {
        "KeepTag"
    };
    for (index, place) in places_of(pod, &normalised).into_iter().enumerate() {
        match action {
            "Reject" if index == 0 => find(pod, place, weight),
            // `UseCached` keeps the tag, and lowers `Always` to `IfNotPresent` in the places of the
            // image, including checks. It changes no other pull policy. If it changes nothing, the
            // annotation says `KeepTag`.
            "UseCached"
                if pod.places[place].policy == PullPolicy::Always
                    && !pod.settings.requires_always(image) =>
            {
                pod.set_policy("registry", place, PullPolicy::IfNotPresent, true);
                done = "UseCached";
            }
            _ => {}
        }
    }
    pod.lookups.failed.push(json!({
        "image": normalised,
        "failure": failure.name(),
        "asked": decided_by == DecidedBy::Registry,
        "action": done,
    }));
}

/// Reports an image whose lookup failed, or an image that lacks a platform that the Pod asks for.
pub(super) fn find(pod: &mut Pod, place: usize, weight: Weight) {
    let path = pod.image_path(place);
    pod.find("registry", place, path, Repair::None, weight);
}
