//! Promises about the returned object. It is compared with the object in the request.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{BrokenPromise, MINIMAL, POD_SECURITY, QUOTA, SERVICE, VALID, minimal};
use crate::events::Event;
use crate::image::Reference;
use crate::json::{CONTAINER_LISTS, all_of, elements, named, text};
use crate::server_default;
use crate::settings::Settings;
use crate::validity::admission::{quota_faults, restricted_faults};
use crate::validity::service::{QualityOfService, quality_of_service};
use crate::validity::{Fault, faults};

/// Returns the checks that this policy added to a Pod: init containers and image volumes.
pub(super) fn added<'o>(before: &Value, after: &'o Value) -> Vec<&'o Value> {
    let lists = ["initContainers", "volumes"].into_iter();
    lists
        .flat_map(|list| {
            let old = elements(&before["spec"], list);
            let new = elements(&after["spec"], list).iter();
            new.filter(|one| named(old, &one["name"]).is_none())
        })
        .collect()
}

/// The image reference of a container or image volume, without normalisation.
pub(super) fn image(entry: &Value) -> &str {
    let image = &entry["image"];
    image.as_str().unwrap_or(text(&image["reference"]))
}

/// Returns the image references of a Pod spec, without normalisation.
pub(super) fn images(spec: &Value) -> BTreeSet<&str> {
    let entries = all_of(spec, &CONTAINER_LISTS).chain(elements(spec, "volumes"));
    entries.map(image).collect()
}

/// Compares the object before a repair with the object after it. Returns the promises that are broken.
pub(super) fn broken(
    before: &Value,
    after: &Value,
    settings: Settings<'_>,
    event: Event,
    is_pod: bool,
) -> Vec<BrokenPromise> {
    let mut broken = Vec::new();
    let mut check = |promise, problem: Option<String>| {
        broken.extend(problem.map(|details| BrokenPromise { promise, details }));
    };
    check(MINIMAL, minimal::problem(before, after, settings));
    if !is_pod {
        return broken;
    }
    check(VALID, newly_refused(before, after));
    check(SERVICE, lowered_service(before, after, settings));
    // If the check template alone, as the only container of a Pod spec, has faults, the operator caused
    // them.
    let admitted = |faults: fn(&Value) -> Vec<Fault>| {
        let template = settings.template();
        let is_operators =
            template.is_some_and(|one| !faults(&json!({"containers": [one]})).is_empty());
        newly(&faults(&before["spec"]), &faults(&after["spec"])).filter(|_| !is_operators)
    };
    match event {
        Event::ResourceQuota => check(QUOTA, admitted(quota_faults)),
        Event::PodSecurityRestricted => check(POD_SECURITY, admitted(restricted_faults)),
        _ => {}
    }
    broken
}

/// Returns the faults of a Pod after a repair as text, if an API server accepts the Pod before it.
pub(super) fn newly_refused(before: &Value, after: &Value) -> Option<String> {
    newly(&faults(before), &faults(after))
}

/// Returns the problem of a container that *pull-once* lowered although no init container pulls its image
/// first, with `Always` and under the same spelling. If there were lookups, they may have shown that two
/// tags or a tag and a digest are one image, so only the spelling is compared.
pub(super) fn lowered_without_pull(
    changes: &[Value],
    after: &Value,
    were_lookups: bool,
) -> Option<String> {
    let spec = &after["spec"];
    let pulls = |init: &Value, image: &Reference| {
        let policy = text(&init["imagePullPolicy"]);
        let is_default =
            policy.is_empty() && server_default(text(&init["image"])).name() == "Always";
        let is_same = |pulled: Reference| {
            pulled.spelling == image.spelling
                && (were_lookups || pulled.normalised() == image.normalised())
        };
        (policy == "Always" || is_default)
            && init["restartPolicy"] != "Always"
            && Reference::parse(text(&init["image"])).is_some_and(is_same)
    };
    let is_pulled = |name: &Value| {
        let container = named(elements(spec, "containers"), name)?;
        let image = Reference::parse(text(&container["image"]))?;
        let mut init_containers = elements(spec, "initContainers").iter();
        Some(init_containers.any(|init| pulls(init, &image)))
    };
    let mut lowered = changes.iter().filter(|one| one["rule"] == "pull-once");
    let wrong = lowered.find(|change| is_pulled(&change["container"]) != Some(true))?;
    Some(format!("no init container pulls first: {wrong}"))
}

/// Returns the faults after the repair as text, if there were no faults before the repair.
fn newly(before: &[Fault], after: &[Fault]) -> Option<String> {
    let after: Vec<String> = after.iter().map(ToString::to_string).collect();
    (before.is_empty() && !after.is_empty()).then(|| after.join("; "))
}

/// Reports a repair that lowers the quality of service. There is one exception, because the operator
/// is responsible for the check template. A template that would not be `Guaranteed` in a Pod of its
/// own may make a Pod `Burstable`.
fn lowered_service(before: &Value, after: &Value, settings: Settings<'_>) -> Option<String> {
    let was = quality_of_service(&before["spec"]);
    let is = quality_of_service(&after["spec"]);
    let is_operators = settings.template().is_some_and(|template| {
        let alone = json!({"containers": [template]});
        quality_of_service(&alone) != QualityOfService::Guaranteed
    });
    let is_excused = is_operators && is != QualityOfService::BestEffort;
    (is < was && !is_excused).then(|| format!("{was:?} became {is:?}"))
}
