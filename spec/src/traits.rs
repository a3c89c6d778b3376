//! Traits of random cases. For each trait, `test_data/pods/known.yaml` lists the promises that
//! today's module breaks in cases with the trait.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::events::{Event, elements};
use crate::generate::Case;
use crate::settings::Settings;

/// A test for a trait. It gets the Pod, the settings and the event in the Pod's life.
type HasTrait = fn(&Subject<'_>) -> bool;

/// All traits, each with its test.
const TRAITS: [(&str, HasTrait); 22] = [
    ("windows-by-node-selector", |subject| {
        subject.is_silent_about_os() && subject.selects_windows()
    }),
    ("windows-by-affinity", |subject| {
        subject.is_silent_about_os() && !subject.selects_windows() && subject.affinity_is_windows()
    }),
    ("check-without-command", |subject| {
        subject.has_check(|check| elements(check, "command").is_empty())
    }),
    ("check-with-environment", |subject| {
        subject.has_check(|check| is_set(check, "env") || is_set(check, "envFrom"))
    }),
    ("check-with-ports", |subject| {
        subject.has_check(|check| is_set(check, "ports"))
    }),
    ("check-with-claims", |subject| {
        subject.has_check(|check| is_set(&check["resources"], "claims"))
    }),
    ("check-with-devices", |subject| {
        subject.has_check(|check| is_set(check, "volumeDevices"))
    }),
    ("check-with-unknown-field", |subject| {
        subject.has_check(|check| check.get("futureField").is_some())
    }),
    ("apparmor-annotation-names-check", |subject| {
        let prefix = "container.apparmor.security.beta.kubernetes.io/";
        subject.has_check(|check| {
            let name = check["name"].as_str().unwrap_or_default();
            let annotations = &subject.pod["metadata"]["annotations"];
            annotations.get(format!("{prefix}{name}")).is_some()
        })
    }),
    ("field-reference-names-check", |subject| {
        subject.has_check(|check| subject.field_references().contains(&&check["name"]))
    }),
    ("resources-on-checks-only", |subject| {
        subject.has_check(has_resources)
            && !subject
                .containers()
                .any(|one| has_resources(one) && !subject.is_check(one))
    }),
    ("check-with-resources", |subject| {
        subject.has_check(has_resources)
    }),
    ("pod-level-resources", |subject| {
        is_set(&subject.pod["spec"], "resources")
    }),
    ("device-at-path-of-check-volume", |subject| {
        subject
            .containers()
            .flat_map(|one| elements(one, "volumeDevices"))
            .any(|device| {
                let path = device["devicePath"].as_str();
                path.is_some_and(|path| path.starts_with("/.imagecheck/"))
            })
    }),
    ("check-volumes-on-app-containers", |subject| {
        let has_prefixed_volume = elements(&subject.pod["spec"], "volumes")
            .iter()
            .any(|volume| subject.has_prefix(volume));
        let has_no_init = elements(&subject.pod["spec"], "initContainers").is_empty();
        let settings = subject.settings;
        let adds_volumes = settings.as_image_volume() || settings.template().is_none();
        has_no_init && (has_prefixed_volume || settings.coverage() == "Fix" && adds_volumes)
    }),
    ("mirror-pod", |subject| {
        let annotations = &subject.pod["metadata"]["annotations"];
        annotations.get("kubernetes.io/config.mirror").is_some()
    }),
    ("status-in-request-of-user", |subject| {
        subject.event == Event::StatusPasted
    }),
    ("image-volume", |subject| {
        elements(&subject.pod["spec"], "volumes")
            .iter()
            .any(|volume| volume["image"].is_object())
    }),
    ("check-volume-that-this-policy-adds", |subject| {
        let settings = subject.settings;
        let adds = settings.coverage() == "Fix" || settings.replace_existing();
        adds && (settings.as_image_volume() || settings.template().is_none())
    }),
    ("status", |subject| subject.pod["status"].is_object()),
    ("many-annotations", |subject| {
        let annotations = subject.pod["metadata"]["annotations"].to_string();
        annotations.len() > 200_000
    }),
    ("check-template", |subject| {
        subject.settings.template().is_some()
    }),
];

/// Returns the traits of a case with an event in the Pod's life.
#[must_use]
pub fn traits(case: &Case, event: Event) -> BTreeSet<&'static str> {
    let subject = Subject {
        pod: &case.request["object"],
        settings: Settings(&case.settings),
        event,
    };
    let has = TRAITS.iter().filter(|(_, has)| has(&subject));
    has.map(|(name, _)| *name).collect()
}

/// Returns the names of all traits.
pub fn names() -> impl Iterator<Item = &'static str> {
    TRAITS.iter().map(|(name, _)| *name)
}

struct Subject<'c> {
    pod: &'c Value,
    settings: Settings<'c>,
    event: Event,
}

const OS_LABELS: [&str; 2] = ["kubernetes.io/os", "beta.kubernetes.io/os"];

impl<'c> Subject<'c> {
    fn containers(&self) -> impl Iterator<Item = &'c Value> {
        let spec = &self.pod["spec"];
        let lists = ["initContainers", "containers"].into_iter();
        lists.flat_map(move |list| elements(spec, list))
    }

    fn has_prefix(&self, entry: &Value) -> bool {
        let name = entry["name"].as_str().unwrap_or_default();
        let prefixes = self.settings.name_prefixes();
        prefixes.iter().any(|prefix| name.starts_with(prefix))
    }

    /// Whether an init container is an image check by its name.
    fn is_check(&self, container: &Value) -> bool {
        container["restartPolicy"] != "Always" && self.has_prefix(container)
    }

    fn has_check(&self, with: impl Fn(&Value) -> bool) -> bool {
        elements(&self.pod["spec"], "initContainers")
            .iter()
            .any(|one| self.is_check(one) && with(one))
    }

    fn field_references(&self) -> Vec<&'c Value> {
        self.containers()
            .flat_map(|one| elements(one, "env"))
            .map(|variable| &variable["valueFrom"]["resourceFieldRef"]["containerName"])
            .collect()
    }

    fn is_silent_about_os(&self) -> bool {
        !self.pod["spec"]["os"]["name"].is_string()
    }

    fn selects_windows(&self) -> bool {
        let selector = &self.pod["spec"]["nodeSelector"];
        OS_LABELS.iter().any(|label| selector[*label] == "windows")
    }

    fn affinity_is_windows(&self) -> bool {
        let required = &self.pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        elements(required, "nodeSelectorTerms").iter().any(|term| {
            let expressions = elements(term, "matchExpressions").iter();
            expressions.into_iter().any(|one| {
                let is_os = OS_LABELS.iter().any(|label| one["key"] == *label);
                is_os && one["operator"] == "In" && one["values"] == serde_json::json!(["windows"])
            })
        })
    }
}

/// Whether a container asks for cpu or memory.
fn has_resources(container: &Value) -> bool {
    ["requests", "limits"].iter().any(|kind| {
        let amounts = &container["resources"][*kind];
        is_set(amounts, "cpu") || is_set(amounts, "memory")
    })
}

fn is_set(object: &Value, key: &str) -> bool {
    object.get(key).is_some_and(|value| !value.is_null())
}
