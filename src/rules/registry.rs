//! *registry*: asks registries for the digests behind tags, and pins the tags if the settings say
//! so.
//!
//! A pinned place gets `IfNotPresent`: a node then pulls exactly when the digest has changed, and a
//! check and its containers can't get different contents. With `PinAlways`, this is what `Always`
//! is for, without a question of each node to the registry. KEP-5497 discusses a pull policy with
//! which the kubelet itself would pull only if the digest has changed.

mod failed;
mod restored;

use std::collections::BTreeMap;

use self::failed::use_failure;
pub(super) use self::restored::restore;
use crate::examination::{Effect, Examination, Place, Reason, Rule, Subject};
use crate::image::{PullPolicy, Reference};
use crate::lookup::{Client, Session};
use crate::pod::List;
use crate::request::Operation;
use crate::settings::Lookup;
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
    let lookup = examination.settings.registry.lookup;
    if lookup == Lookup::Off {
        return;
    }
    if lookup.pins() && examination.request.operation.is_before_start() {
        lower_digests(examination);
    }
    let mut session = Session::new(client);
    for image in images(examination, lookup) {
        match session.digest(image.reference) {
            Ok(digest) if lookup.pins() && image.is_of_pods(lookup) => {
                pin(examination, &image, &digest);
            }
            Ok(_) => {}
            Err(failure) => {
                use_failure(examination, &image, failure, image.is_of_pods(lookup));
            }
        }
    }
    let failed = &mut examination.failed_lookups;
    failed.sort_unstable_by(|one, other| one.0.cmp(&other.0));
}

/// An image to look up: what all spellings of one normalised name have in common.
struct Image<'o> {
    /// The first of the spellings.
    reference: Reference<'o>,
    /// Whether a place asks its registry. If every place has `Never`, no node does.
    is_pulled: bool,
    /// Whether a place pulls it with `Always`.
    is_always: bool,
    /// The indexes of the places that have the image.
    places: Vec<usize>,
}

/// The images to look up, in their order. In a pod template, those come last for which its Pods
/// would not ask.
fn images<'o>(examination: &Examination<'o>, lookup: Lookup) -> Vec<Image<'o>> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let mut images: Vec<Image<'o>> = Vec::new();
    for list in ORDER {
        for (index, place) in examination.places.iter().enumerate() {
            let Ok(reference) = place.entry.reference else {
                continue;
            };
            let is_asked =
                place.entry.list == list && place.takes_part() && place.entry.settings.is_looked_up;
            // `Verify` asks for digests too, because a registry may have deleted them.
            if !is_asked || (lookup.pins() && reference.digest().is_some()) {
                continue;
            }
            let number = *numbers
                .entry(reference.normalised())
                .or_insert(images.len());
            if number == images.len() {
                images.push(Image {
                    reference,
                    is_pulled: false,
                    is_always: false,
                    places: Vec::new(),
                });
            }
            if let Some(image) = images.get_mut(number) {
                image.add(index, place);
            }
        }
    }
    let is_template = examination.request.operation == Operation::Template;
    images.retain(|image| image.is_pulled && (is_template || image.is_of_pods(lookup)));
    images.sort_by_key(|image| !image.is_of_pods(lookup));
    images
}

impl Image<'_> {
    /// Whether a Pod asks for the image, and not only its pod template.
    fn is_of_pods(&self, lookup: Lookup) -> bool {
        self.is_always || lookup != Lookup::PinAlways
    }

    /// Adds a place that has the image.
    fn add(&mut self, index: usize, place: &Place<'_>) {
        // At UPDATE, a place that this policy has pinned has `IfNotPresent` in place of `Always`.
        let was_pinned = place.stored_image.is_some_and(|image| image.contains('@'));
        let is_always = place.policy.now == PullPolicy::Always || was_pinned;
        self.is_pulled |= place.policy.now != PullPolicy::Never;
        self.is_always |= is_always;
        self.places.push(index);
    }
}

/// Writes the digest into the places of an image, and sets their pull policies, unless they are
/// `Never`.
fn pin(examination: &mut Examination<'_>, image: &Image<'_>, digest: &str) {
    let may_set = examination.request.operation.may_set_policies();
    for index in &image.places {
        let Some(place) = examination.places.get_mut(*index) else {
            continue;
        };
        let pinned = [&*place.same_image(), "@", digest].concat();
        let policy = match place.entry.settings.require_always {
            _ if place.policy.now == PullPolicy::Never => PullPolicy::Never,
            Some(_) => PullPolicy::Always,
            None => PullPolicy::IfNotPresent,
        };
        if may_set {
            place.set_policy(policy, Rule::Registry);
        }
        place.set_image(pinned.clone(), Rule::Registry);
        let subject = Subject::Image(Some(pinned));
        examination.findings.add(
            *index,
            Rule::Registry,
            subject,
            Effect::Repairable,
            Unpinned,
        );
    }
}

/// Replaces `Always` in the places whose image has a digest.
fn lower_digests(examination: &mut Examination<'_>) {
    for (index, place) in examination.places.iter_mut().enumerate() {
        let has_digest = |image: Reference<'_>| image.digest().is_some();
        if place.takes_part()
            && place.policy.now == PullPolicy::Always
            && place.entry.reference.is_ok_and(has_digest)
            && place.entry.settings.is_looked_up
            && place.entry.settings.require_always.is_none()
        {
            place.set_policy(PullPolicy::IfNotPresent, Rule::Registry);
            let subject = Subject::PullPolicy(Some(PullPolicy::IfNotPresent));
            examination.findings.add(
                index,
                Rule::Registry,
                subject,
                Effect::Repairable,
                AlwaysByDigest,
            );
        }
    }
}

/// A digest is pulled with `Always`.
#[derive(Debug)]
struct AlwaysByDigest;

impl Reason for AlwaysByDigest {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        let pulls = place.pulls(image);
        format!("{pulls} but its digest always names the same content")
    }

    fn help(&self, place: &Place<'_>) -> String {
        place.advice()
    }
}

/// A tag has to be pinned.
#[derive(Debug)]
struct Unpinned;

impl Reason for Unpinned {
    fn problem(&self, place: &Place<'_>, image: &str) -> String {
        format!("{} pulls {} by its tag", place.shown_name(), image)
    }

    fn help(&self, place: &Place<'_>) -> String {
        // The middle of a long text is cut, so the digest stays whole.
        let (image, policy) = (shown(&place.image.now), place.policy.now.as_str());
        format!("set its image to {image} with {policy}")
    }
}
