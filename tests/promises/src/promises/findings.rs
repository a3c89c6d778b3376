//! Promises about findings that follow from the request and the settings alone, and about what is
//! told of all findings.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Answered, Kept, OfAnswer, hold};
use crate::image::PullPolicy;
use crate::json::text;
use crate::requests::{has_shape_of_pod, is_pod_create, is_untouched};
use crate::words::{Place, Pod};

pub(super) const PROMISES: [OfAnswer; 3] = [
    ("an-invalid-image-is-found", finds_invalid_images),
    (
        "a-disallowed-pull-policy-is-found",
        finds_disallowed_policies,
    ),
    ("each-finding-is-told", tells_each_finding),
];

/// The Pod of a request that creates a Pod, if it is examined. Its object has to have the shape of
/// a Pod.
fn created_pod<'a>(answered: &'a Answered) -> Option<Pod<'a>> {
    let request = &answered.case.request;
    let settings = answered.settings();
    let is_examined = is_pod_create(request)
        && !is_untouched(request, settings)
        && has_shape_of_pod(&request["object"]);
    is_examined.then(|| Pod::read(&request["object"]["spec"], settings))
}

/// Checks that a rule has findings about exactly these places. Entries that did not fit are missing
/// in the list.
fn finds_exactly(answered: &Answered, rule: &str, places: &[&Place]) -> Kept {
    let findings = answered.observed.list("findings");
    let is_cut = findings.last().is_some_and(|last| last["more"].is_u64());
    let of_rule = findings.iter().filter(|finding| finding["rule"] == rule);
    let place_of = |path: &str| path.split_inclusive(']').next().map(str::to_owned);
    let found: BTreeSet<_> = of_rule
        .filter_map(|one| place_of(text(&one["path"])))
        .collect();
    let wrong: BTreeSet<_> = places.iter().map(|place| place.path("")).collect();
    let is_right = if is_cut {
        found.is_subset(&wrong)
    } else {
        found == wrong
    };
    hold(is_right, || format!("found {found:?}, wrong are {wrong:?}"))
}

fn finds_invalid_images(answered: &Answered) -> Kept {
    let Some(pod) = created_pod(answered).filter(|_| is_readable(answered)) else {
        return Ok(());
    };
    let invalid = pod.examined().filter(|place| pod.is_invalid(place));
    finds_exactly(answered, "invalid-image", &invalid.collect::<Vec<_>>())
}

/// Whether the object could be read. If not, the answer has no findings at all.
fn is_readable(answered: &Answered) -> bool {
    let observed = answered.observed;
    observed.is_accepted() || !observed.list("findings").is_empty()
}

fn finds_disallowed_policies(answered: &Answered) -> Kept {
    let Some(pod) = created_pod(answered).filter(|_| is_readable(answered)) else {
        return Ok(());
    };
    let settings = answered.settings();
    let is_disallowed = |place: &Place| {
        let matches = |key: &str| settings.matches(&format!("images.{key}"), place.image);
        match place.pull_policy {
            PullPolicy::Always => matches("forbidAlways") && !matches("requireAlways"),
            PullPolicy::IfNotPresent | PullPolicy::Never => matches("requireAlways"),
        }
    };
    let valid = pod.examined().filter(|place| !pod.is_invalid(place));
    let disallowed = valid.filter(|place| is_disallowed(place));
    finds_exactly(
        answered,
        "disallowed-policy",
        &disallowed.collect::<Vec<_>>(),
    )
}

/// In modes `Reject` and `Warn`, the message of a rejection or a warning names the container and
/// the image of each finding, if they are written in ordinary letters.
fn tells_each_finding(answered: &Answered) -> Kept {
    let observed = answered.observed;
    if answered.settings().mode() == "Fix" || observed.warnings().len() == 10 {
        return Ok(());
    }
    let message = text(&observed.answer["message"]);
    let is_said = |part: &str| {
        let is_ordinary = part.len() <= 200
            && part.chars().all(|c| c.is_ascii_graphic() && c != '\\')
            && part.chars().any(|c| c.is_ascii_alphanumeric());
        let mut warnings = observed.warnings().iter().map(text);
        !is_ordinary || message.contains(part) || warnings.any(|line| line.contains(part))
    };
    let findings = observed.list("findings");
    let mut findings = findings.iter().filter(|finding| finding["more"].is_null());
    let untold = findings.find(|finding| {
        let parts = [&finding["container"], &finding["image"]];
        !parts.into_iter().map(text).all(is_said)
    });
    // A long message counts its last sentences.
    let is_counted = message.contains(" more");
    hold(untold.is_none() || is_counted, || {
        format!("{}: {}", untold.unwrap_or(&Value::Null), observed.told())
    })
}
