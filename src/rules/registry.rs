//! *registry*: verifies or pins the digest behind each tag, with an action for each way in which a lookup can fail.
//!
//! `Pin` writes the digest into the Pod, and sets `IfNotPresent`: a node then pulls exactly when the digest changed, and a check
//! and its containers can't get different contents. KEP-5497 discusses a pull policy with which the kubelet itself would pull
//! only if the digest has changed.

mod no_answer;
mod platform;

use std::collections::BTreeMap;

use self::no_answer::{NoAnswer, action};
use self::platform::missing;
use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::{PullPolicy, Reference};
use crate::lookup::{Class, Client, Failure, Question, Session};
use crate::pod::{List, Platforms};
use crate::request::Operation;
use crate::settings::{Action, Platform};
use crate::shown::shown;

/// The order in which images are looked up.
const ORDER: [List; 4] = [
    List::Containers,
    List::InitContainers,
    List::EphemeralContainers,
    List::Volumes,
];

/// Looks up the images that the settings select, and does what the settings demand.
pub(super) fn look_up(examination: &mut Examination<'_>, client: &mut dyn Client) {
    let platform = examination.settings.registry.platform;
    let platforms = match platform {
        Platform::Off => Platforms::default(),
        Platform::Warn | Platform::Reject => examination
            .spec
            .nodes()
            .platforms(examination.request.kind.spec_path()),
    };
    let mut session = Session::new(client);
    for image in images(examination, !platforms.wanted.is_empty()) {
        let digest = match session.digest(image.question(&image.asked)) {
            Ok(digest) => digest,
            Err(failure) => {
                use_failure(examination, &image, &image.normalised, failure, false);
                continue;
            }
        };
        let pinned = pin(examination, &image, &digest);
        match missing(&mut session, &image, &digest, &platforms) {
            Ok(None) => {}
            Ok(Some(missing)) => {
                // A place with `Never` may get the same digest from another tag, and would come first in a second run.
                let effect = if platform == Platform::Warn {
                    Effect::OnlyWarning
                } else {
                    Effect::NotRepairable
                };
                if let Some(place) = image.pulled_by {
                    examination.findings.add(
                        place,
                        Rule::Registry,
                        Subject::Image,
                        effect,
                        missing,
                    );
                }
            }
            Err(failure) => {
                // A pinned image is named as it is pinned, because a second run sees that name.
                let name = pinned.as_ref().unwrap_or(&image.normalised);
                use_failure(examination, &image, name, failure, true);
            }
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
    /// The first place that pulls the image. None if every place has `Never`: then no node asks a registry.
    pulled_by: Option<usize>,
    /// The places that have the image.
    places: Vec<usize>,
}

impl Image {
    fn question<'q>(&'q self, image: &'q str) -> Question<'q> {
        Question {
            image,
            registry: &self.registry,
        }
    }
}

/// The images to look up, each spelling once.
fn images(examination: &Examination<'_>, with_platforms: bool) -> Vec<Image> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut images: Vec<Image> = Vec::new();
    let places = || {
        examination
            .places
            .iter()
            .enumerate()
            .filter(|(_, place)| place.takes_part())
    };
    for (index, place) in ORDER
        .into_iter()
        .flat_map(|list| places().filter(move |(_, place)| place.list == list))
    {
        let (Some(lookup), Ok(reference)) = (place.settings.lookup, place.reference) else {
            continue;
        };
        // `Verify` asks for digests too, because the registry may have deleted them.
        if reference.digest().is_some() && lookup.pins && !with_platforms {
            continue;
        }
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
                pulled_by: None,
                places: Vec::new(),
            });
        }
        if let Some(image) = images.get_mut(number) {
            if place.policy.now != PullPolicy::Never {
                image.pulled_by.get_or_insert(index);
            }
            image.places.push(index);
        }
    }
    images.retain(|image| image.pulled_by.is_some());
    images
}

/// Under `Pin`, writes the digest into the places of an image, and sets their pull policies, unless they are `Never` or
/// immutable. Returns the normalised name of the pinned image, if there is one.
fn pin(examination: &mut Examination<'_>, image: &Image, digest: &str) -> Option<String> {
    let is_immutable = examination.request.operation == Operation::PodUpdate;
    let mut name = None;
    for index in &image.places {
        let Some(place) = examination.places.get_mut(*index).filter(|place| {
            !image.has_digest && place.settings.lookup.is_some_and(|lookup| lookup.pins)
        }) else {
            continue;
        };
        let with_tag = place.same_image().into_owned();
        let pinned = [&with_tag, "@", digest].concat();
        let policy = match place.settings.require_always {
            _ if is_immutable || place.policy.now == PullPolicy::Never => place.policy.now,
            Some(_) => PullPolicy::Always,
            None => PullPolicy::IfNotPresent,
        };
        name = Reference::parse(&pinned)
            .ok()
            .map(|image| image.normalised());
        let reason = Unpinned {
            with_tag,
            digest: digest.to_owned(),
            policy,
        };
        place.image.set(pinned.into(), Rule::Registry);
        place.policy.set(policy, Rule::Registry);
        examination.findings.add(
            *index,
            Rule::Registry,
            Subject::Image,
            Effect::Repairable,
            reason,
        );
    }
    name
}

/// Does what the settings demand after a failed lookup. Each place has its own settings, because two tags of one digest may
/// have different ones. `name` is the image in the list of failed lookups. `has_answer` says whether its digest is known.
fn use_failure(
    examination: &mut Examination<'_>,
    image: &Image,
    name: &str,
    failure: Failure,
    has_answer: bool,
) {
    // A digest that is looked up for the platform alone never rejects if a missing platform is only a warning.
    let only_warns = examination.settings.registry.platform == Platform::Warn && image.has_digest;
    // `UseCached` acts as `KeepTag` in three cases. The pull policies of an existing Pod can't change. A digest names the same
    // image wherever it comes from. If the digest came, or beyond the last lookup, the registry is healthy.
    let keeps_policy = examination.request.operation == Operation::PodUpdate
        || image.has_digest
        || has_answer
        || failure.class == Class::Limit;
    let demanded = |place: &Place<'_>| {
        let lookup = place.settings.lookup?;
        Some(match action(lookup, failure.class) {
            Action::Reject if only_warns && lookup.pins => Action::KeepTag,
            Action::UseCached if keeps_policy => Action::KeepTag,
            action => action,
        })
    };
    for action in [Action::Reject, Action::UseCached, Action::KeepTag] {
        let demand =
            |index: &usize| examination.places.get(*index).and_then(demanded) == Some(action);
        let places: Vec<usize> = image.places.iter().copied().filter(demand).collect();
        let Some(first) = places.first() else {
            continue;
        };
        let done = match action {
            Action::Reject => {
                let effect = Effect::NotRepairable;
                examination.findings.add(
                    *first,
                    Rule::Registry,
                    Subject::Image,
                    effect,
                    NoAnswer(failure),
                );
                Action::Reject
            }
            Action::UseCached => use_cached(examination, &places, failure),
            Action::KeepTag => Action::KeepTag,
        };
        examination
            .failed_lookups
            .insert((name.to_owned(), done), failure);
    }
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
            examination.findings.add(
                *index,
                Rule::Registry,
                Subject::PullPolicy,
                Effect::Repairable,
                NoDigest(failure),
            );
        }
    }
    action
}

/// A tag has to be pinned.
#[derive(Debug)]
struct Unpinned {
    with_tag: String,
    digest: String,
    policy: PullPolicy,
}

impl Reason for Unpinned {
    fn problem(&self, place: &Place<'_>) -> String {
        format!(
            "{} pulls {} by its tag",
            place.shown_name(),
            place.shown_image()
        )
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
