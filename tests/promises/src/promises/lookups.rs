//! Promises about what an answer asks of registries, and about lookups that fail.

use std::collections::BTreeSet;

use super::{Answered, Kept, OfAnswer, hold, spec};
use crate::answers::Failure;
use crate::image::{Reference, compared_host, shared_name};
use crate::json::text;
use crate::words::Pod;

pub(super) const PROMISES: [OfAnswer; 4] = [
    (
        "an-image-is-asked-for-once-and-at-most-twenty-are",
        asks_little,
    ),
    (
        "only-images-that-the-operator-names-are-asked-for",
        asks_only_named_registries,
    ),
    (
        "who-gives-no-answer-is-not-asked-again",
        asks_again_only_who_answers,
    ),
    ("a-failed-lookup-is-never-silent", tells_failed_lookups),
];

/// The number of lookups of a request.
pub(super) const LIMIT: usize = 20;

fn asks_little(answered: &Answered) -> Kept {
    let calls = &answered.observed.calls;
    let distinct: BTreeSet<_> = calls.iter().collect();
    let is_right = distinct.len() == calls.len() && distinct.len() <= LIMIT;
    hold(is_right, || format!("{calls:?}"))
}

/// Each repository that is asked for belongs to an image of the Pod that is not exempt, and that
/// the settings look up. Only `Verify` asks for digests.
fn asks_only_named_registries(answered: &Answered) -> Kept {
    let settings = answered.settings();
    let pod = Pod::read(spec(&answered.case.request["object"]), settings);
    let is_looked_up = |image| {
        settings.matches("registry.images", image)
            && !settings.matches("registry.skipImages", image)
    };
    let named = pod
        .places
        .iter()
        .filter(|place| !place.is_exempt && is_looked_up(place.image));
    let named = named.filter_map(|place| Some(Reference::parse(place.image)?.name()));
    let named: BTreeSet<String> = named.collect();
    let is_named = |image: &str| {
        let may_have_digest = settings.lookup() == "Verify";
        Reference::parse(image).is_some_and(|image| {
            named.contains(&image.name()) && (may_have_digest || image.digest.is_none())
        })
    };
    let mut calls = answered.observed.calls.iter();
    let other = calls.find(|image| settings.lookup() == "Off" || !is_named(image));
    hold(other.is_none(), || format!("{other:?}"))
}

/// After an unreachable registry, none of its images is asked for. After a lookup that the host
/// refuses, no other lookup is made.
fn asks_again_only_who_answers(answered: &Answered) -> Kept {
    let calls = &answered.observed.calls;
    let mut unreachable = BTreeSet::new();
    let mut is_refused = false;
    for image in calls {
        let host = Reference::parse(image).map(|image| compared_host(&image.registry));
        let may_ask = !is_refused && !unreachable.contains(&host);
        hold(may_ask, || format!("{image} is asked for: {calls:?}"))?;
        match answered.case.answers.digest(image) {
            Err(Failure::Unreachable) => drop(unreachable.insert(host)),
            Err(Failure::NotGranted) => is_refused = true,
            _ => {}
        }
    }
    Ok(())
}

/// A lookup that failed is in the audit annotation, and a warning or the message of a rejection
/// tells it.
fn tells_failed_lookups(answered: &Answered) -> Kept {
    let observed = answered.observed;
    // A text with more than 200 characters is cut.
    let failed =
        |image: &&String| image.len() <= 200 && answered.case.answers.digest(image).is_err();
    let lookups = observed.list("lookups");
    let is_listed = |image: &str| {
        let mut listed = lookups.iter().map(|lookup| text(&lookup["image"]));
        listed.any(|listed| shared_name(listed) == shared_name(image))
    };
    let mut failed = observed.calls.iter().filter(failed);
    let unlisted = failed.find(|image| !is_listed(image));
    let is_cut = lookups.last().is_some_and(|last| last["more"].is_u64());
    hold(unlisted.is_none() || is_cut, || {
        format!("{unlisted:?} is not listed")
    })?;
    let is_told = !observed.is_accepted() || !observed.warnings().is_empty();
    hold(lookups.is_empty() || is_told, || observed.told())
}
