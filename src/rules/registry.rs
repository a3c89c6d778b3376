//! *registry*: verifies or pins the digest behind each tag, with an action for each way in which a lookup can fail.
//!
//! `Pin` writes the digest into the Pod, and sets `IfNotPresent`: a node then pulls exactly when the digest changed, and a check
//! and its containers can't get different contents. KEP-5497 discusses a pull policy with which the kubelet itself would pull
//! only if the digest has changed.

mod no_answer;
mod platform;

use std::collections::BTreeMap;

use self::no_answer::{NoAnswer, action};
use self::platform::{MissingPlatform, missing};
use crate::examination::{Effect, Examination, FailedLookup, Place, Reason, Rule, Subject};
use crate::image::PullPolicy;
use crate::lookup::{Class, Client, Failure, Question, Session};
use crate::pod::{List, Platforms};
use crate::request::Operation;
use crate::settings::{Action, Platform};
use crate::shown::shown;

/// The order in which images are looked up.
const ORDER: [List; 4] =
    [List::Containers, List::InitContainers, List::EphemeralContainers, List::Volumes];

/// Looks up the images that the settings select, and does what the settings demand.
pub(super) fn look_up(examination: &mut Examination<'_>, client: &mut dyn Client) {
    let platforms = match examination.settings.registry.platform {
        Platform::Off => Platforms::default(),
        Platform::Warn | Platform::Reject => examination.spec.platforms(),
    };
    let mut session = Session::new(client);
    for image in images(examination, !platforms.wanted.is_empty()) {
        match answer(&mut session, &image, &platforms) {
            Ok(answer) => use_answer(examination, &image, answer, &platforms),
            Err(failure) => use_failure(examination, image, failure),
        }
    }
}

/// An image to look up.
struct Image {
    /// The name that all spellings of the image share.
    normalised: String,
    /// The name by which the host is asked. It has the registry's host as it is written, because the host's settings know
    /// registries by their written names.
    asked: String,
    /// The normalised repository, with the host as it is written.
    repository: String,
    /// The registry's host, in the form in which hosts are compared.
    registry: String,
    has_digest: bool,
    /// Whether `Verify` asks for this digest. The registry may have deleted it.
    verifies_digest: bool,
    /// Whether any place pulls the image. No node asks a registry for an image that every place pulls with `Never`.
    is_pulled: bool,
    /// The places that have the image.
    places: Vec<usize>,
}

impl Image {
    fn question<'q>(&'q self, image: &'q str) -> Question<'q> {
        Question { image, registry: &self.registry }
    }
}

/// The images to look up, each spelling once.
fn images(examination: &Examination<'_>, with_platforms: bool) -> Vec<Image> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut images: Vec<Image> = Vec::new();
    let places = || examination.places.iter().enumerate().filter(|(_, place)| place.takes_part());
    for (index, place) in
        ORDER.into_iter().flat_map(|list| places().filter(move |(_, place)| place.list == list))
    {
        let (Some(lookup), Ok(reference)) = (place.settings.lookup, place.reference) else {
            continue;
        };
        let normalised = reference.normalised();
        let number = *numbers.entry(normalised.clone()).or_insert(images.len());
        if number == images.len() {
            let repository = reference.repository();
            images.push(Image {
                normalised,
                asked: reference.with_version(&repository),
                repository,
                registry: reference.registry().into_owned(),
                has_digest: reference.digest().is_some(),
                verifies_digest: false,
                is_pulled: false,
                places: Vec::new(),
            });
        }
        if let Some(image) = images.get_mut(number) {
            image.verifies_digest |= image.has_digest && !lookup.pins;
            image.is_pulled |= place.policy.now != PullPolicy::Never;
            image.places.push(index);
        }
    }
    images.retain(|image| {
        image.is_pulled && (!image.has_digest || image.verifies_digest || with_platforms)
    });
    images
}

/// What the registry says about an image.
struct Answer {
    digest: String,
    missing: Option<MissingPlatform>,
}

/// Asks for the digest of an image and, if the Pod asks for platforms, for its index and for the manifests of the platforms.
///
/// # Errors
/// A lookup failed, or it was not made.
fn answer(
    session: &mut Session<'_>,
    image: &Image,
    platforms: &Platforms<'_>,
) -> Result<Answer, Failure> {
    let digest = session.digest(image.question(&image.asked))?;
    let missing = if platforms.wanted.is_empty() {
        None
    } else {
        missing(session, image, &digest, platforms)?
    };
    Ok(Answer { digest, missing })
}

/// Reports a missing platform. Under `Pin`, writes the digest, and sets the pull policy, unless that is `Never` or immutable.
fn use_answer(
    examination: &mut Examination<'_>,
    image: &Image,
    answer: Answer,
    platforms: &Platforms<'_>,
) {
    if let Some(missing) = answer.missing {
        let field = format!("{}.{}", examination.request.kind.spec_path(), platforms.field);
        let is_warning = examination.settings.registry.platform == Platform::Warn;
        report(examination, image, missing.reason(field), is_warning);
    }
    let is_immutable = examination.request.operation == Operation::PodUpdate;
    for index in &image.places {
        let Some(place) = examination.places.get_mut(*index) else {
            continue;
        };
        let pins = place.settings.lookup.is_some_and(|lookup| lookup.pins);
        if !pins || image.has_digest {
            continue;
        }
        let tag =
            if place.reference.is_ok_and(|image| image.tag().is_none()) { ":latest" } else { "" };
        let with_tag = [&*place.image.now, tag].concat();
        let pinned = [&with_tag, "@", &answer.digest].concat();
        let policy = match place.settings.require_always {
            _ if is_immutable || place.policy.now == PullPolicy::Never => place.policy.now,
            Some(_) => PullPolicy::Always,
            None => PullPolicy::IfNotPresent,
        };
        let reason = Unpinned { with_tag, digest: answer.digest.clone(), policy };
        place.image.set(pinned.into(), Rule::Registry);
        place.policy.set(policy, Rule::Registry);
        examination.find(*index, Subject::Image, Effect::Repairable, reason);
    }
}

/// Does what the settings demand after a failed lookup.
fn use_failure(examination: &mut Examination<'_>, image: Image, failure: Failure) {
    let first = image.places.first().and_then(|index| examination.places.get(*index));
    let lookup = first.and_then(|place| place.settings.lookup);
    // A digest that is looked up for the platform alone never rejects if a missing platform is only a warning.
    let is_for_warning = examination.settings.registry.platform == Platform::Warn
        && image.has_digest
        && !image.verifies_digest;
    // `UseCached` acts as `KeepTag` in three cases. The pull policies of an existing Pod can't change. A digest names the same
    // image wherever it comes from. Beyond the last lookup, the registry is healthy.
    let keeps_policy = examination.request.operation == Operation::PodUpdate
        || image.has_digest
        || failure.class == Class::Limit;
    let action = match lookup.map(|lookup| action(lookup, failure.class)) {
        Some(Action::Reject) if !is_for_warning => {
            report(examination, &image, NoAnswer(failure), false);
            Action::Reject
        }
        Some(Action::UseCached) if !keeps_policy => use_cached(examination, &image.places, failure),
        _ => Action::KeepTag,
    };
    examination.failed_lookups.insert(image.normalised, FailedLookup { failure, action });
}

/// Lets these places use the image that the node has: `Always` becomes `IfNotPresent`, except where `images.requireAlways`
/// matches. Returns `KeepTag` if nothing was lowered.
fn use_cached(examination: &mut Examination<'_>, places: &[usize], failure: Failure) -> Action {
    let mut action = Action::KeepTag;
    for index in places {
        let Some(place) = examination.places.get_mut(*index) else {
            continue;
        };
        if place.policy.now == PullPolicy::Always && place.settings.require_always.is_none() {
            place.policy.set(PullPolicy::IfNotPresent, Rule::Registry);
            action = Action::UseCached;
            examination.find(*index, Subject::PullPolicy, Effect::Repairable, NoDigest(failure));
        }
    }
    action
}

/// Reports an image, at the first place that has it.
fn report<'o>(
    examination: &mut Examination<'o>,
    image: &Image,
    reason: impl Reason + 'o,
    is_warning: bool,
) {
    let effect = if is_warning { Effect::OnlyWarning } else { Effect::NotRepairable };
    if let Some(first) = image.places.first() {
        examination.find(*first, Subject::Image, effect, reason);
    }
}

/// A tag has to be pinned.
#[derive(Debug)]
struct Unpinned {
    with_tag: String,
    digest: String,
    policy: PullPolicy,
}

impl Reason for Unpinned {
    fn rule(&self) -> Rule {
        Rule::Registry
    }

    fn problem(&self, place: &Place<'_>) -> String {
        format!("{} pulls {} by its tag", place.shown_name(), place.shown_image())
    }

    fn help(&self, _: &Place<'_>) -> String {
        format!(
            "set its image to {}@{} with {}",
            shown(&self.with_tag),
            self.digest,
            self.policy.as_str()
        )
    }
}

/// The lookup failed, and `UseCached` allows the image that the node already has.
#[derive(Debug)]
struct NoDigest(Failure);

impl Reason for NoDigest {
    fn rule(&self) -> Rule {
        Rule::Registry
    }

    fn problem(&self, place: &Place<'_>) -> String {
        format!("{} but its registry gives no digest", place.pulls())
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.set_policy()
    }

    fn is_momentary(&self) -> bool {
        self.0.is_momentary()
    }
}
