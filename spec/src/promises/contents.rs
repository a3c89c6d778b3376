//! Promises about the returned object. It is compared with the object in the request.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::image::Reference;
use crate::json::{CONTAINER_LISTS, all_of, elements, named, text};
use crate::server_default;

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
