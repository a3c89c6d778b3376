//! What is promised of every answer, as checks that any property can make.

use consistent_pull_policy::lookup::FailureClass;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::common::{self, Answer, FakeRegistry, settings_problems, validate_with};
use crate::{by_name, in_mode, list};

/// The failure that a lookup would have met, had it been made.
fn would_fail(
    image: &str,
    registry: &FakeRegistry,
    asks_for_platforms: bool,
) -> Option<&'static str> {
    let digest = match registry.answers.get(image) {
        Some(Ok(digest)) if digest.starts_with("sha256:") => digest,
        Some(Ok(_)) | None => return Some("unknown"),
        Some(Err(text)) => return Some(FailureClass::classify(text).id()),
    };
    let repository = image.split(['@', ':']).next().unwrap_or_default();
    let platforms = registry.platforms.get(&format!("{repository}@{digest}"));
    match platforms {
        Some(Err(text)) if asks_for_platforms => Some(FailureClass::classify(text).id()),
        _ => None,
    }
}

/// Whether an image was not asked for, because another one of its registry got no answer, and
/// would have got one. Which images that are depends on their order, which a repair may change, so
/// nothing is promised then but what the copy does.
fn depends_on_the_order(
    answer: &Answer,
    settings: &Value,
    spec: &Value,
    registry: &FakeRegistry,
) -> bool {
    let platform = &settings["registry"]["platform"];
    let asks_for_platforms =
        !platform.is_null() && platform != "Off" && !spec["nodeSelector"].is_null();
    answer.audited("lookups").iter().any(|lookup| {
        let image = lookup["image"].as_str().expect("an image");
        lookup["asked"] == false
            && lookup["failure"].as_str() != would_fail(image, registry, asks_for_platforms)
    })
}

/// The Pod spec without what the policy may change in places that stay.
pub(crate) fn untouchable(spec: &Value) -> Value {
    let mut spec = spec.clone();
    for key in ["initContainers", "containers", "ephemeralContainers"] {
        for container in spec[key].as_array_mut().into_iter().flatten() {
            let container = container.as_object_mut().expect("a container is an object");
            container.remove("imagePullPolicy");
            unpin(container, "image");
            without_nothing(container, "volumeMounts");
        }
    }
    for volume in spec["volumes"].as_array_mut().into_iter().flatten() {
        if let Some(source) = volume.get_mut("image").and_then(Value::as_object_mut) {
            source.remove("pullPolicy");
            unpin(source, "reference");
        }
    }
    let members = spec.as_object_mut().expect("a Pod spec is an object");
    for key in ["initContainers", "ephemeralContainers", "volumes"] {
        without_nothing(members, key);
    }
    spec
}

/// A list that is missing, null or empty is the same to Kubernetes.
fn without_nothing(object: &mut Map<String, Value>, key: &str) {
    let has_any = object.get(key).and_then(Value::as_array);
    if has_any.is_none_or(Vec::is_empty) {
        object.remove(key);
    }
}

fn unpin(container: &mut Map<String, Value>, key: &str) {
    let image = container[key].as_str().expect("an image").to_owned();
    let tag = image.split_once('@').map_or(&*image, |(tag, _)| tag);
    let tag = tag.strip_suffix(":latest").unwrap_or(tag);
    container.insert(key.to_owned(), json!(tag));
}

/// Nothing else changes than what the changes say, and every field has its place and value.
pub(crate) fn is_minimal(
    before: &Value,
    after: &Value,
    changes: &[Value],
) -> Result<(), TestCaseError> {
    let named = |change: &Value, list: &str, side: &str| {
        let is_in = change["path"]
            .as_str()
            .is_some_and(|path| path.contains(list));
        is_in.then(|| change[side]["name"].clone())
    };
    let whole = |list: &str, side: &str| -> Vec<Value> {
        let changes = changes.iter().filter(|change| change[side].is_object());
        changes
            .filter_map(|change| named(change, list, side))
            .collect()
    };
    let new_inits = whole("initContainers[", "to");
    let new_volumes = whole("volumes[", "to");
    let gone = whole("initContainers[", "from");
    let (mut kept, mut after) = (before.clone(), after.clone());
    let retain = |spec: &mut Value, list: &str, names: &[Value]| {
        if let Some(items) = spec[list].as_array_mut() {
            let count = items.len();
            items.retain(|item| !names.contains(&item["name"]));
            return count - items.len();
        }
        0
    };
    prop_assert_eq!(
        retain(&mut after, "initContainers", &new_inits),
        new_inits.len()
    );
    prop_assert_eq!(
        retain(&mut after, "volumes", &new_volumes),
        new_volumes.len()
    );
    prop_assert_eq!(retain(&mut kept, "initContainers", &gone), gone.len());
    // Mounts of checks come last, and only of checks.
    for key in ["initContainers", "containers"] {
        let old = list(&kept, key).to_vec();
        for container in after[key].as_array_mut().into_iter().flatten() {
            let Some(old) = by_name(&old, &container["name"]) else {
                continue;
            };
            let had = list(old, "volumeMounts").len();
            let Some(mounts) = container["volumeMounts"].as_array_mut() else {
                continue;
            };
            prop_assert!(mounts.len() >= had);
            for mount in mounts.drain(had..) {
                let name = mount["name"].as_str().expect("a name");
                let path = format!("/.imagecheck/{name}");
                let is_new = new_volumes.contains(&mount["name"]);
                prop_assert!(is_new || !gone.is_empty(), "{}", mount);
                prop_assert_eq!(
                    &mount,
                    &json!({"name": name, "mountPath": path, "readOnly": true})
                );
            }
        }
    }
    prop_assert_eq!(untouchable(&after), untouchable(&kept));
    Ok(())
}

/// Kubernetes would take the Pod spec: names and mount paths differ, and what is mounted is there.
pub(crate) fn is_valid(spec: &Value) -> Result<(), TestCaseError> {
    let differ = |mut names: Vec<&Value>| {
        let count = names.len();
        names.sort_by_key(ToString::to_string);
        names.dedup();
        names.len() == count
    };
    let containers: Vec<&Value> = common::containers_of(spec)
        .into_iter()
        .map(|(.., c)| c)
        .collect();
    prop_assert!(differ(containers.iter().map(|c| &c["name"]).collect()));
    prop_assert!(differ(
        list(spec, "volumes").iter().map(|v| &v["name"]).collect()
    ));
    for container in containers {
        let mounts = list(container, "volumeMounts");
        prop_assert!(differ(mounts.iter().map(|m| &m["mountPath"]).collect()));
        for mount in mounts {
            prop_assert!(by_name(list(spec, "volumes"), &mount["name"]).is_some());
        }
    }
    Ok(())
}

/// What a repair may leave: advice, because the settings ask for no more.
pub(crate) fn advice_only(
    findings: &[Value],
    settings: &Value,
    spec: &Value,
    is_template: bool,
) -> bool {
    let coverage = &settings["imageChecks"]["coverage"];
    // In a template, and on Windows, a missing check is told, never added.
    let never_added = is_template || spec["os"]["name"] == "windows";
    let told = coverage == "Warn" || coverage.is_null() || (never_added && coverage == "Fix");
    findings
        .iter()
        .all(|finding| match finding["rule"].as_str() {
            Some("missing-check") => told,
            // A wrong platform; a lookup that failed would have rejected.
            Some("registry") => {
                settings["registry"]["platform"] == "Warn" && finding["expected"].is_null()
            }
            _ => false,
        })
}

/// The second copy asks nobody, and accepts whatever the first may have left.
pub(crate) fn the_copy_accepts(request: &Value, settings: &Value) -> Result<(), TestCaseError> {
    let mut copy = in_mode(settings, "Reject");
    copy["registry"]["maxLookups"] = json!(0);
    prop_assert_eq!(settings_problems(&copy), None);
    let mut nobody = FakeRegistry::default();
    let copied = validate_with(request, &copy, &mut nobody);
    prop_assert!(copied.accepted(), "the copy: {}", copied.message());
    prop_assert_eq!(copied.mutated(), None);
    prop_assert!(nobody.asked.is_empty());
    Ok(())
}

/// The request for what came out of it.
pub(crate) fn come_out(request: &Value, answer: &Answer) -> Value {
    let mut request = request.clone();
    if let Some(object) = answer.mutated() {
        request["object"] = object.clone();
    }
    request
}

/// A repaired object needs no repair, in any mode.
pub(crate) fn needs_nothing_more(
    request: &Value,
    answer: &Answer,
    spec: &Value,
    settings: &Value,
    registry: &FakeRegistry,
) -> Result<(), TestCaseError> {
    let request = &come_out(request, answer);
    the_copy_accepts(request, settings)?;
    if depends_on_the_order(answer, settings, spec, registry) {
        return Ok(());
    }
    let second = validate_with(request, settings, &mut registry.clone());
    if depends_on_the_order(&second, settings, spec, registry) {
        return Ok(());
    }
    prop_assert!(second.accepted(), "{}", second.message());
    prop_assert_eq!(second.mutated(), None);
    let is_template = request["kind"]["kind"] != "Pod";
    let findings = second.audited("findings");
    prop_assert!(
        advice_only(&findings, settings, spec, is_template),
        "{:?}",
        second
    );
    let checked = validate_with(request, &in_mode(settings, "Reject"), &mut registry.clone());
    prop_assert!(checked.accepted(), "{}", checked.message());
    Ok(())
}

/// The lines of an answer are as short, and as few, as the Kubernetes API asks for; who is rejected
/// hears why, and gets no object.
pub(crate) fn is_well_told(answer: &Answer) -> Result<(), TestCaseError> {
    prop_assert!(answer.warnings().len() <= 10);
    for line in answer.warnings() {
        prop_assert!(line.chars().count() <= 120, "{}", line);
    }
    if !answer.accepted() {
        prop_assert!(answer.mutated().is_none());
        prop_assert_eq!(&answer.0["code"], &json!(400));
        prop_assert!(!answer.message().is_empty());
    }
    Ok(())
}
