//! The places of a Pod as people read them, in the notation of the rows.

use serde_json::Value;

use crate::json::{CONTAINER_LISTS, LISTS, all_of, elements, has_name, text};

/// The places of a Pod spec, such as `volume v image:1 IfNotPresent on a`.
#[must_use]
pub fn places(spec: &Value) -> Vec<String> {
    let mut places = Vec::new();
    for list in LISTS {
        for entry in elements(spec, list) {
            let is_sidecar = entry["restartPolicy"] == "Always";
            let image = &entry["image"];
            let (kind, image, policy) = match list {
                "initContainers" if is_sidecar => ("sidecar", image, &entry["imagePullPolicy"]),
                "initContainers" => ("init", image, &entry["imagePullPolicy"]),
                "containers" => ("app", image, &entry["imagePullPolicy"]),
                "ephemeralContainers" => ("ephemeral", image, &entry["imagePullPolicy"]),
                _ if image.is_object() => ("volume", &image["reference"], &image["pullPolicy"]),
                _ => continue,
            };
            let mut words = vec![kind];
            words.extend([&entry["name"], image, policy].map(text));
            words.retain(|word| !word.is_empty());
            if kind == "volume" {
                words.extend(carriers(spec, &entry["name"]));
            }
            places.push(words.join(" "));
        }
    }
    places
}

/// The containers that mount a volume, after the word `on`.
fn carriers<'v>(spec: &'v Value, volume: &Value) -> Vec<&'v str> {
    let carriers = all_of(spec, &CONTAINER_LISTS)
        .filter(|container| has_name(container, "volumeMounts", volume));
    let mut words: Vec<&str> = carriers.map(|carrier| text(&carrier["name"])).collect();
    if !words.is_empty() {
        words.insert(0, "on");
    }
    words
}
