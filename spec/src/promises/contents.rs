//! Promises about the returned object. It is compared with the object in the request.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    APPARMOR, BrokenPromise, COMMAND, COPIED_FIELDS, MINIMAL, POD_SECURITY, QUOTA, SERVICE, SIZE,
    VALID, WINDOWS, minimal,
};
use crate::events::{CONTAINER_LISTS, Event, elements, named};
use crate::image::Reference;
use crate::server_default;
use crate::settings::Settings;
use crate::validity::admission::{quota_faults, restricted_faults};
use crate::validity::service::{QualityOfService, quality_of_service};
use crate::validity::{Fault, faults, names, windows};

/// An entry that this policy added: an init container or an image volume.
pub(super) struct Added<'o> {
    list: &'static str,
    pub(super) fields: &'o Value,
}

impl Added<'_> {
    /// The image of the entry.
    pub(super) fn image(&self) -> &str {
        let image = match self.list {
            "volumes" => &self.fields["image"]["reference"],
            _ => &self.fields["image"],
        };
        image.as_str().unwrap_or_default()
    }

    fn is_container(&self) -> bool {
        self.list != "volumes"
    }
}

/// Returns the checks that this policy added to a Pod.
pub(super) fn added<'o>(before: &Value, after: &'o Value) -> Vec<Added<'o>> {
    let mut found = Vec::new();
    for list in ["initContainers", "volumes"] {
        for fields in elements(&after["spec"], list) {
            if named(elements(&before["spec"], list), &fields["name"]).is_none() {
                found.push(Added { list, fields });
            }
        }
    }
    found
}

/// Returns the image references of a Pod spec, without normalisation.
pub(super) fn images(spec: &Value) -> BTreeSet<&str> {
    let of_containers = CONTAINER_LISTS
        .iter()
        .flat_map(|list| elements(spec, list))
        .map(|container| &container["image"]);
    let of_volumes = elements(spec, "volumes")
        .iter()
        .map(|volume| &volume["image"]["reference"]);
    of_containers
        .chain(of_volumes)
        .filter_map(Value::as_str)
        .collect()
}

/// Compares the object before a repair with the object after it. Returns the promises that are broken.
pub(super) fn broken(
    before: &Value,
    after: &Value,
    settings: &Value,
    event: Event,
    is_pod: bool,
) -> Vec<BrokenPromise> {
    let settings = Settings(settings);
    let mut broken = Vec::new();
    let mut check = |promise, problem: Option<String>| {
        broken.extend(problem.map(|details| BrokenPromise { promise, details }));
    };
    check(MINIMAL, minimal::problem(before, after, settings));
    if !is_pod {
        return broken;
    }
    check(VALID, newly_refused(before, after));
    check(SIZE, large_addition(before, after));
    check(SERVICE, lowered_service(before, after, settings));
    let (spec_before, spec_after) = (&before["spec"], &after["spec"]);
    let of_template = with_template_alone(settings);
    let template_passes = |faults: fn(&Value) -> Vec<Fault>| {
        of_template
            .as_ref()
            .is_none_or(|spec| faults(spec).is_empty())
    };
    match event {
        Event::ResourceQuota if template_passes(quota_faults) => check(
            QUOTA,
            newly(&quota_faults(spec_before), &quota_faults(spec_after)),
        ),
        Event::PodSecurityRestricted if template_passes(restricted_faults) => check(
            POD_SECURITY,
            newly(
                &restricted_faults(spec_before),
                &restricted_faults(spec_after),
            ),
        ),
        _ => {}
    }
    let added = added(before, after);
    for one in added.iter().filter(|one| one.is_container()) {
        check(COMMAND, without_command(one.fields));
        // A check template may have any fields. So `COPIED_FIELDS` is checked only without a template.
        if settings.template().is_none() {
            check(COPIED_FIELDS, needless_fields(one.fields));
        }
        check(
            APPARMOR,
            lost_profile(before, one.fields, settings.template()),
        );
    }
    if windows::is_windows(spec_before) && !added.is_empty() {
        let names: Vec<&Value> = added.iter().map(|one| &one.fields["name"]).collect();
        check(WINDOWS, Some(format!("added {names:?}")));
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
    let reference = |one: &Value| one["image"].as_str().and_then(Reference::parse);
    let pulls = |init: &Value, image: &Reference| {
        let text = init["image"].as_str().unwrap_or_default();
        let policy = init["imagePullPolicy"].as_str();
        let written = policy.filter(|policy| !policy.is_empty());
        let is_always = written.unwrap_or(server_default(text).name()) == "Always";
        let is_same = |pulled: Reference| {
            pulled.spelling == image.spelling
                && (were_lookups || pulled.normalised() == image.normalised())
        };
        is_always && init["restartPolicy"] != "Always" && reference(init).is_some_and(is_same)
    };
    let lowered = changes.iter().filter(|one| one["rule"] == "pull-once");
    for name in lowered.map(|change| &change["container"]) {
        let container = named(elements(spec, "containers"), name);
        let image = container.and_then(reference);
        let is_pulled = |image: &Reference| {
            let mut init_containers = elements(spec, "initContainers").iter();
            init_containers.any(|init| pulls(init, image))
        };
        if !image.as_ref().is_some_and(is_pulled) {
            return Some(format!("no init container pulls the image of {name}"));
        }
    }
    None
}

/// A Pod spec with the check template as its only container, or `None` if there is no template. If
/// this spec alone has faults, the operator caused them, so `QUOTA` or `POD_SECURITY` isn't checked.
fn with_template_alone(settings: Settings<'_>) -> Option<Value> {
    let template = settings.template()?;
    Some(serde_json::json!({"containers": [template]}))
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
        let alone = serde_json::json!({"containers": [template]});
        quality_of_service(&alone) != QualityOfService::Guaranteed
    });
    let is_excused = is_operators && is != QualityOfService::BestEffort;
    (is < was && !is_excused).then(|| format!("{was:?} became {is:?}"))
}

/// The largest number of bytes that a repair may add: a mebibyte for checks, and 64 KiB for the
/// record, pull policies and digests.
const ADDED_MAX: usize = 1024 * 1024 + 64 * 1024;

fn large_addition(before: &Value, after: &Value) -> Option<String> {
    let size = |object: &Value| object.to_string().len();
    let added = size(after).saturating_sub(size(before));
    (added > ADDED_MAX).then(|| format!("{added} bytes were added"))
}

fn without_command(check: &Value) -> Option<String> {
    elements(check, "command")
        .is_empty()
        .then(|| format!("{} has no command", check["name"]))
}

/// Reports fields that a check has but doesn't need. A check needs `env` and `envFrom` only if there
/// is a `$` in `command`, `args` or a mount's `subPathExpr`. A check never needs resource claims. It
/// never needs a field that isn't in `COPIED`, for example `ports`.
fn needless_fields(check: &Value) -> Option<String> {
    const COPIED: [&str; 13] = [
        "args",
        "command",
        "env",
        "envFrom",
        "image",
        "imagePullPolicy",
        "name",
        "resources",
        "securityContext",
        "terminationMessagePath",
        "terminationMessagePolicy",
        "volumeMounts",
        "workingDir",
    ];
    let has_expansion = {
        let texts = ["command", "args"]
            .iter()
            .flat_map(|key| elements(check, key));
        let expressions = elements(check, "volumeMounts")
            .iter()
            .map(|mount| &mount["subPathExpr"]);
        texts
            .chain(expressions)
            .filter_map(Value::as_str)
            .any(|text| text.contains('$'))
    };
    let is_needless =
        |key: &str| !COPIED.contains(&key) || ["env", "envFrom"].contains(&key) && !has_expansion;
    let members = check.as_object()?;
    let mut found: Vec<&str> = members
        .keys()
        .map(String::as_str)
        .filter(|key| is_needless(key))
        .collect();
    let resources = check["resources"].as_object();
    if resources.is_some_and(|all| all.contains_key("claims")) {
        found.push("resources.claims");
    }
    (!found.is_empty()).then(|| format!("{} has {}", check["name"], found.join(", ")))
}

/// Reports an added check that was copied from a check whose `AppArmor` profile is in an annotation. The
/// annotation names only the original check, so the added check would run without the profile. A check
/// with the contents of the check template was made from this template, so it is not reported.
fn lost_profile(before: &Value, check: &Value, template: Option<&Value>) -> Option<String> {
    let contents = |one: &Value| {
        let keys = ["command", "args", "volumeMounts", "securityContext"];
        keys.map(|key| one[key].clone())
    };
    if template.is_some_and(|template| contents(template) == contents(check)) {
        return None;
    }
    let mut same = elements(&before["spec"], "initContainers")
        .iter()
        .filter(|one| contents(one) == contents(check))
        .peekable();
    same.peek()?;
    let annotated: BTreeSet<&str> = names::named_by_apparmor(before).collect();
    let is_annotated = |one: &Value| {
        one["name"]
            .as_str()
            .is_some_and(|name| annotated.contains(name))
    };
    same.all(is_annotated).then(|| {
        format!(
            "{} is a copy of a check with an AppArmor annotation",
            check["name"]
        )
    })
}
