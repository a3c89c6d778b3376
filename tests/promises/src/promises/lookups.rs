//! Promises about what an answer asks of registries, and about lookups that fail.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Answered, Kept, OfAnswer, hold};
use crate::answers::Failure;
use crate::image::{Reference, compared_host, shared_name};
use crate::json::{elements, text};
use crate::requests::template_path;
use crate::settings::Settings;
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
    let digests = calls
        .iter()
        .filter(|(operation, _)| operation == "v1/manifest_digest");
    let distinct: BTreeSet<_> = digests.clone().collect();
    let is_right = distinct.len() == digests.count() && distinct.len() <= LIMIT;
    hold(is_right, || format!("{calls:?}"))
}

/// Whether the settings look up this image.
pub(super) fn is_looked_up(settings: Settings<'_>, image: &str) -> bool {
    let overrides = elements(
        settings.get("registry").unwrap_or(&Value::Null),
        "overrides",
    )
    .iter();
    let mut overrides = overrides.filter(|over| Settings(over).matches("images", image));
    let lookup = overrides.next().map(|over| &over["lookup"]);
    let lookup = lookup.filter(|lookup| !lookup.is_null());
    let lookup = lookup.or_else(|| settings.get("registry.lookup"));
    lookup.is_some_and(|lookup| *lookup == "Verify" || *lookup == "Pin")
        && settings.matches("registry.images", image)
        && !settings.matches("registry.skipImages", image)
}

/// Each repository that is asked for belongs to an image of the Pod that is not exempt, and that the settings
/// look up.
fn asks_only_named_registries(answered: &Answered) -> Kept {
    let (request, settings) = (&answered.case.request, answered.settings());
    let template = template_path(request).unwrap_or_default();
    let spec = request["object"].pointer(&format!("{template}/spec"));
    let pod = Pod::read(spec.unwrap_or(&Value::Null), settings);
    let named = pod
        .examined()
        .filter(|place| is_looked_up(settings, place.image));
    let named = named.filter_map(|place| Some(Reference::parse(place.image)?.name()));
    let named: BTreeSet<String> = named.collect();
    let is_named =
        |image: &str| Reference::parse(image).is_some_and(|image| named.contains(&image.name()));
    let mut calls = answered.observed.calls.iter();
    let other = calls.find(|(_, image)| !is_named(image));
    hold(other.is_none(), || format!("{other:?}"))
}

/// After an unreachable registry, none of its images is asked for. After a lookup that the host refuses, no lookup of this
/// kind is made.
fn asks_again_only_who_answers(answered: &Answered) -> Kept {
    let answers = &answered.case.answers;
    let mut unreachable = BTreeSet::new();
    let mut refused = BTreeSet::new();
    for (operation, image) in &answered.observed.calls {
        let host = Reference::parse(image).map(|image| compared_host(&image.registry));
        let may_ask = !refused.contains(operation) && !unreachable.contains(&host);
        hold(may_ask, || {
            format!("{image} is asked for: {:?}", answered.observed.calls)
        })?;
        let failure = match operation.as_str() {
            "v1/manifest_digest" => answers.digest(image).err(),
            _ => answers.index(image).err(),
        };
        if failure == Some(Failure::Unreachable) {
            unreachable.insert(host);
        }
        if failure == Some(Failure::NotGranted) {
            refused.insert(operation);
        }
    }
    Ok(())
}

/// A lookup that failed is in the audit annotation, and a warning or the message of a rejection tells it. A
/// manifest that an index names may be missing: another one may fit the platform too.
fn tells_failed_lookups(answered: &Answered) -> Kept {
    let observed = answered.observed;
    let of_the_pod = |image: &Reference| {
        let listed = answered.case.answers.indexes.values().flatten().flatten();
        let mut entries = listed.flatten();
        !entries.any(|entry| Some(&entry.digest) == image.digest.as_ref())
    };
    let mut failed = observed.calls.iter().filter(|(operation, image)| {
        operation == "v1/manifest_digest"
            && answered.case.answers.digest(image).is_err()
            && Reference::parse(image).is_some_and(|image| of_the_pod(&image))
    });
    let lookups = observed.list("lookups");
    let is_listed = |image: &str| {
        let mut listed = lookups.iter().map(|lookup| text(&lookup["image"]));
        listed.any(|listed| shared_name(listed) == shared_name(image))
    };
    let unlisted = failed.find(|(_, image)| !is_listed(image));
    let is_cut = lookups.last().is_some_and(|last| last["more"].is_u64());
    hold(unlisted.is_none() || is_cut, || {
        format!("{unlisted:?} is not listed")
    })?;
    let is_told = !observed.is_accepted() || !observed.warnings().is_empty();
    hold(lookups.is_empty() || is_told, || observed.told())
}
