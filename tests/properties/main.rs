//! What must always hold, for any Pod and any settings.
//!
//! The seed is fixed, so that a commit fails for what it changed. `PROPTEST_CASES=1000000` runs that
//! many cases of each property, others each time unless `PROPTEST_RNG_SEED` names a seed; then a
//! profile that optimises is worth its time: `cargo test --release --test properties`.
//!
//! What is promised is promised for equal answers of the registries, and for images that were all
//! asked for; see [`depends_on_the_order`].

#[path = "../common/mod.rs"]
mod common;
mod generate;

use common::{Answer, Table, digest, pod_create, settings_problems, validate, validate_with};
use consistent_pull_policy::image::Reference;
use consistent_pull_policy::pull_policy::PullPolicy;
use consistent_pull_policy::rules::registry::Failure;
use generate::{ANNOTATIONS_MAX, ON, RECORD};
use generate::{any_shape, metadata, pod_spec, registries, settings};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Map, Value, json};

/// What the variables of proptest say; without them the same 400 cases each time.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        max_global_rejects: u32::MAX,
        ..ProptestConfig::default()
    };
    let is_set = |name| std::env::var_os(name).is_some();
    if !is_set("PROPTEST_CASES") {
        config.cases = 400;
        if !is_set("PROPTEST_RNG_SEED") {
            config.rng_seed = RngSeed::Fixed(1);
        }
    }
    config
}

fn in_mode(settings: &Value, mode: &str) -> Value {
    let mut settings = settings.clone();
    settings["mode"] = json!(mode);
    settings
}

/// The request of a Deployment with this template.
fn deployment(spec: &Value) -> Value {
    let mut request = pod_create(spec);
    request["kind"] = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    request["object"] = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d", "annotations": {"other": "kept"}},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": spec},
        },
    });
    request
}

/// The failure that a lookup would have met, had it been made.
fn would_fail(image: &str, registry: &Table, asks_for_platforms: bool) -> Option<&'static str> {
    let digest = match registry.answers.get(image) {
        Some(Ok(digest)) if digest.starts_with("sha256:") => digest,
        Some(Ok(_)) | None => return Some("unknown"),
        Some(Err(text)) => return Some(Failure::classify(text).id()),
    };
    let repository = image.split(['@', ':']).next().unwrap_or_default();
    let platforms = registry.platforms.get(&format!("{repository}@{digest}"));
    match platforms {
        Some(Err(text)) if asks_for_platforms => Some(Failure::classify(text).id()),
        _ => None,
    }
}

/// Whether an image was not asked for, because another one of its registry got no answer, and
/// would have got one. Which images that are depends on their order, which a repair may change, so
/// nothing is promised then but what the copy does.
fn depends_on_the_order(answer: &Answer, settings: &Value, spec: &Value, registry: &Table) -> bool {
    let platform = &settings["registry"]["platform"];
    let asks_for_platforms =
        !platform.is_null() && platform != "Off" && !spec["nodeSelector"].is_null();
    answer.audited("lookups").iter().any(|lookup| {
        let image = lookup["image"].as_str().expect("an image");
        lookup["asked"] == false
            && lookup["failure"].as_str() != would_fail(image, registry, asks_for_platforms)
    })
}

/// A list of an object; empty where it is missing or null.
fn list<'v>(object: &'v Value, key: &str) -> &'v [Value] {
    object[key].as_array().map_or(&[], Vec::as_slice)
}

fn by_name<'v>(items: &'v [Value], name: &Value) -> Option<&'v Value> {
    items.iter().find(|item| item["name"] == *name)
}

/// The Pod spec without what the policy may change in places that stay.
fn untouchable(spec: &Value) -> Value {
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
fn is_minimal(before: &Value, after: &Value, changes: &[Value]) -> Result<(), TestCaseError> {
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
fn is_valid(spec: &Value) -> Result<(), TestCaseError> {
    let differ = |mut names: Vec<&Value>| {
        let count = names.len();
        names.sort_by_key(ToString::to_string);
        names.dedup();
        names.len() == count
    };
    let containers: Vec<&Value> = common::places(spec).into_iter().map(|(.., c)| c).collect();
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
fn advice_only(findings: &[Value], settings: &Value, spec: &Value, is_template: bool) -> bool {
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
fn the_copy_accepts(request: &Value, settings: &Value) -> Result<(), TestCaseError> {
    let mut copy = in_mode(settings, "Reject");
    copy["registry"]["maxLookups"] = json!(0);
    prop_assert_eq!(settings_problems(&copy), None);
    let mut nobody = Table::default();
    let copied = validate_with(request, &copy, &mut nobody);
    prop_assert!(copied.accepted(), "the copy: {}", copied.message());
    prop_assert_eq!(copied.mutated(), None);
    prop_assert!(nobody.asked.is_empty());
    Ok(())
}

/// A repaired object needs no repair, in any mode.
fn needs_nothing_more(
    request: &Value,
    spec: &Value,
    settings: &Value,
    registry: &Table,
) -> Result<(), TestCaseError> {
    the_copy_accepts(request, settings)?;
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
fn is_well_told(answer: &Answer) -> Result<(), TestCaseError> {
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

/// An image and its strongest policy, restated without the rules' code.
type Pulled<'s> = (Reference<'s>, PullPolicy);

fn pulled<'s>(place: &'s Value, image: &str, policy: &str) -> Pulled<'s> {
    let image = Reference::parse(place[image].as_str().expect("an image")).expect("valid");
    let policy = place[policy].as_str().and_then(PullPolicy::parse);
    let policy = policy.unwrap_or_else(|| PullPolicy::server_default(image.tag(), image.digest()));
    (image, policy)
}

fn containers<'s>(spec: &'s Value, key: &str, wanted: impl Fn(&Value) -> bool) -> Vec<Pulled<'s>> {
    let wanted = list(spec, key).iter().filter(|container| wanted(container));
    wanted
        .map(|container| pulled(container, "image", "imagePullPolicy"))
        .collect()
}

fn is_named_as_check(item: &Value, settings: &Value) -> bool {
    let name = item["name"].as_str().expect("a name");
    let prefixes = &settings["imageChecks"]["namePrefixes"];
    let usual = json!(["imagecheck-", "imagepullcheck-"]);
    let prefixes = if prefixes.is_null() { &usual } else { prefixes };
    let prefixes = prefixes.as_array().expect("a list").iter();
    prefixes
        .filter_map(Value::as_str)
        .any(|prefix| name.starts_with(prefix))
}

fn mounts(container: &Value, volume: &Value) -> bool {
    by_name(list(container, "volumeMounts"), &volume["name"]).is_some()
}

/// The image volumes that are image checks: nothing starts before the first init container, and
/// without any each container of the image has to wait for itself.
fn check_volumes<'s>(spec: &'s Value, settings: &Value) -> Vec<Pulled<'s>> {
    let proves = |volume: &&Value| {
        let inits = list(spec, "initContainers");
        let apps = list(spec, "containers");
        if !inits.is_empty() {
            return inits.iter().any(|init| mounts(init, volume));
        }
        let image = |text: &Value| {
            Reference::parse(text.as_str()?).ok().map(|i| {
                i.identity() == {
                    let own = volume["image"]["reference"].as_str().expect("an image");
                    Reference::parse(own).expect("valid").identity()
                }
            })
        };
        apps.iter().any(|app| mounts(app, volume))
            && apps
                .iter()
                .all(|app| mounts(app, volume) || image(&app["image"]) == Some(false))
    };
    let volumes = list(spec, "volumes")
        .iter()
        .filter(|volume| volume["image"].is_object());
    volumes
        .filter(|volume| is_named_as_check(volume, settings))
        .filter(proves)
        .map(|volume| pulled(&volume["image"], "reference", "pullPolicy"))
        .collect()
}

/// The places of a Pod spec with the keys of their image and policy.
fn all_places(spec: &mut Value) -> Vec<(&'static str, &mut Value, &'static str, &'static str)> {
    let mut places = Vec::new();
    for (key, item) in spec.as_object_mut().expect("a Pod spec") {
        let key = match key.as_str() {
            "initContainers" => "initContainers",
            "containers" => "containers",
            "volumes" => {
                for volume in item.as_array_mut().into_iter().flatten() {
                    if volume["image"].is_object() {
                        places.push(("volumes", volume, "reference", "pullPolicy"));
                    }
                }
                continue;
            }
            _ => continue,
        };
        for container in item.as_array_mut().into_iter().flatten() {
            places.push((key, container, "image", "imagePullPolicy"));
        }
    }
    places
}

/// What `kubectl apply` sends of the manifest that was applied before: its fields over what is
/// stored, so that what it doesn't have stays.
fn applied_again(manifest: &Value, stored: &Value) -> Value {
    let mut spec = stored.clone();
    for (key, place, image, policy) in all_places(&mut spec) {
        let Some(written) = by_name(list(manifest, key), &place["name"]) else {
            continue;
        };
        let (place, written) = match key {
            "volumes" => (&mut place["image"], &written["image"]),
            _ => (place, written),
        };
        place[image] = written[image].clone();
        if written[policy]
            .as_str()
            .is_some_and(|policy| !policy.is_empty())
        {
            place[policy] = written[policy].clone();
        }
    }
    spec
}

/// An UPDATE of what is stored.
fn update(request: &Value, stored: &Value, spec_path: &str, spec: Value) -> Value {
    let mut request = request.clone();
    request["operation"] = json!("UPDATE");
    request["oldObject"] = stored.clone();
    request["object"] = stored.clone();
    *request["object"]
        .pointer_mut(spec_path)
        .expect("a Pod spec") = spec;
    request
}

/// The settings with one key of `registry`, or of one of its overrides, for another.
fn with_registry(settings: &Value, change: impl Fn(&mut Value)) -> Value {
    let mut settings = settings.clone();
    change(&mut settings["registry"]);
    settings
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_repair_is_stable_minimal_and_valid(
        spec in pod_spec(),
        metadata in metadata(),
        settings in settings(),
        registry in registries(),
    ) {
        let settings = in_mode(&settings, "Fix");
        prop_assume!(settings_problems(&settings).is_none());
        let mut request = pod_create(&spec);
        request["object"]["metadata"] = metadata;
        let answer = validate_with(&request, &settings, &mut registry.clone());
        is_well_told(&answer)?;
        if !answer.accepted() {
            return Ok(());
        }
        let before = &request["object"];
        let after = answer.mutated().unwrap_or(before);
        let changes = answer.audited("changes");
        prop_assert_eq!(answer.mutated().is_some(), !changes.is_empty());
        prop_assert!(answer.mutated() != Some(before));
        is_minimal(&before["spec"], &after["spec"], &changes)?;
        let without_record = |object: &Value| {
            let mut metadata = object["metadata"].clone();
            if let Some(annotations) = metadata["annotations"].as_object_mut() {
                annotations.remove(RECORD);
            }
            let members = metadata.as_object_mut().expect("metadata");
            if members["annotations"].as_object().is_none_or(Map::is_empty) {
                members.remove("annotations");
            }
            metadata
        };
        prop_assert_eq!(without_record(after), without_record(before));
        is_valid(&after["spec"])?;
        let annotations = after["metadata"]["annotations"].as_object().into_iter().flatten();
        let size: usize = annotations
            .map(|(key, value)| key.len() + value.as_str().expect("a text").len())
            .sum();
        prop_assert!(size <= ANNOTATIONS_MAX);
        serde_json::from_value::<Pod>(after.clone()).expect("the API server reads it");

        let mut again = request.clone();
        again["object"] = after.clone();
        if depends_on_the_order(&answer, &settings, &spec, &registry) {
            return the_copy_accepts(&again, &settings);
        }
        needs_nothing_more(&again, &spec, &settings, &registry)?;
    }

    /// Beyond `registry.maxLookups` each look may find some more; only the copy accepts then.
    #[test]
    fn the_copy_accepts_what_more_lookups_than_allowed_left(
        spec in pod_spec(),
        settings in settings(),
        registry in registries(),
        most in 1..4_usize,
    ) {
        let mut settings = in_mode(&settings, "Fix");
        settings["registry"]["maxLookups"] = json!(most);
        prop_assume!(settings_problems(&settings).is_none());
        let request = pod_create(&spec);
        let mut asked = registry.clone();
        let answer = validate_with(&request, &settings, &mut asked);
        // One for the digest, one for the platforms behind it.
        prop_assert!(asked.asked.len() <= 2 * most);
        prop_assume!(answer.accepted());
        let mut again = request.clone();
        again["object"] = answer.mutated().unwrap_or(&request["object"]).clone();
        the_copy_accepts(&again, &settings)?;
    }

    #[test]
    fn a_repaired_template_is_stable_minimal_and_valid(
        spec in pod_spec(),
        settings in settings(),
        registry in registries(),
        is_update in any::<bool>(),
    ) {
        let settings = in_mode(&settings, "Fix");
        prop_assume!(settings_problems(&settings).is_none());
        let mut request = deployment(&spec);
        if is_update {
            request["operation"] = json!("UPDATE");
            request["oldObject"] = json!({"spec": {"template": {"spec": {"containers": []}}}});
        }
        let answer = validate_with(&request, &settings, &mut registry.clone());
        is_well_told(&answer)?;
        if settings["templates"] != "Enforce" {
            prop_assert!(answer.accepted() && answer.mutated().is_none());
        }
        prop_assume!(answer.accepted());
        let after = answer.mutated().unwrap_or(&request["object"]);
        prop_assert_eq!(&after["metadata"]["annotations"]["other"], "kept");
        let recorded = after["metadata"]["annotations"].get(RECORD);
        let records = !is_update && settings["recordChanges"] != false;
        prop_assert_eq!(recorded.is_some(), records && answer.mutated().is_some());
        // No check is added, no tag is pinned.
        let repaired = &after["spec"]["template"]["spec"];
        is_minimal(&spec, repaired, &[])?;
        for change in answer.audited("changes") {
            let path = change["path"].as_str().expect("a path");
            prop_assert!(path.to_lowercase().ends_with("pullpolicy"), "{}", path);
        }
        serde_json::from_value::<Deployment>(after.clone()).expect("the API server reads it");

        let mut again = request.clone();
        again["object"] = after.clone();
        if settings["templates"] == "Enforce" {
            if depends_on_the_order(&answer, &settings, &spec, &registry) {
                return the_copy_accepts(&again, &settings);
            }
            needs_nothing_more(&again, &spec, &settings, &registry)?;
        } else {
            the_copy_accepts(&again, &settings)?;
        }
    }

    #[test]
    fn after_a_repair_no_check_is_weaker_than_what_it_guards(
        spec in pod_spec(),
        settings in settings(),
    ) {
        let mut settings = in_mode(&settings, "Fix");
        settings["exempt"] = Value::Null;
        settings["registry"] = Value::Null;
        prop_assume!(settings_problems(&settings).is_none());
        let request = pod_create(&spec);
        let answer = validate(&request, &settings);
        prop_assume!(answer.accepted());
        let object = answer.mutated().unwrap_or(&request["object"]);
        let spec = &object["spec"];
        let not_sidecar = |container: &Value| container["restartPolicy"] != "Always";
        let is_check =
            |init: &Value| is_named_as_check(init, &settings) && not_sidecar(init);
        let mut checks = containers(spec, "initContainers", is_check);
        checks.extend(check_volumes(spec, &settings));
        let alike = |one: &Reference<'_>, other: &Reference<'_>| {
            one.identity() == other.identity() && one.written() == other.written()
        };
        let apps = containers(spec, "containers", |_| true);
        for (image, needed) in &apps {
            let by_checks = checks
                .iter()
                .filter(|(check, _)| alike(check, image))
                .map(|(_, policy)| policy)
                .max();
            prop_assert!(by_checks.is_none_or(|policy| policy >= needed), "{:?}", image);
        }
        let everywhere = settings["imageChecks"]["everyPod"] == true;
        if settings["imageChecks"]["coverage"] == "Fix"
            && (everywhere || !checks.is_empty())
            && spec["os"]["name"] != "windows"
        {
            let inits = containers(spec, "initContainers", not_sidecar);
            for (image, needed) in &apps {
                let by_check = checks.iter().any(|(check, _)| alike(check, image));
                let by_init = || inits.iter().any(|(init, policy)| alike(init, image) && policy >= needed);
                prop_assert!(by_check || by_init(), "{:?}", image);
            }
        }
    }

    #[test]
    fn the_modes_find_the_same(
        spec in pod_spec(),
        metadata in metadata(),
        settings in settings(),
        registry in registries(),
    ) {
        prop_assume!(settings_problems(&settings).is_none());
        let mut request = pod_create(&spec);
        request["object"]["metadata"] = metadata;
        let in_mode = |mode| validate_with(&request, &in_mode(&settings, mode), &mut registry.clone());
        let (warn, reject, fix) = (in_mode("Warn"), in_mode("Reject"), in_mode("Fix"));
        for answer in [&warn, &reject, &fix] {
            is_well_told(answer)?;
        }
        prop_assert!(warn.accepted());
        prop_assert_eq!(warn.mutated(), None);
        prop_assert_eq!(reject.mutated(), None);
        let any = warn.audited("findings");
        if settings["registry"]["platform"] != "Warn" {
            prop_assert_eq!(reject.accepted(), advice_only(&any, &settings, &spec, false));
        }
        // Where nothing was rejected before a registry was asked, all of them found the same.
        if reject.accepted() {
            prop_assert!(fix.accepted());
            prop_assert_eq!(&any, &reject.audited("findings"));
            prop_assert_eq!(warn.warnings(), reject.warnings());
        }
        if fix.accepted() || registry_is_off(&settings) {
            prop_assert_eq!(&any, &fix.audited("findings"));
        }
    }

    /// In a Pod that exists only images may change, and policies only back to what is stored.
    #[test]
    fn an_update_changes_only_what_may_change(
        stored in pod_spec(),
        metadata in metadata(),
        other in pod_spec(),
        settings in settings(),
        registry in registries(),
    ) {
        let settings = in_mode(&settings, "Fix");
        prop_assume!(settings_problems(&settings).is_none());
        let mut request = pod_create(&stored);
        request["object"]["metadata"] = metadata;
        // Some images and policies of another Pod, and its last container.
        let mut spec = stored.clone();
        for (key, place, image, policy) in all_places(&mut spec) {
            if key != "volumes" && let Some(new) = by_name(list(&other, key), &place["name"]) {
                for field in [image, policy] {
                    place[field] = new[field].clone();
                }
            }
        }
        if let Some(last) = list(&other, "containers").last()
            && by_name(list(&spec, "containers"), &last["name"]).is_none()
        {
            let mut last = last.clone();
            last["volumeMounts"] = Value::Null;
            spec["containers"].as_array_mut().expect("a list").push(last);
        }
        let request = update(&request, &request["object"], "/spec", spec.clone());
        let answer = validate_with(&request, &settings, &mut registry.clone());
        is_well_told(&answer)?;
        prop_assume!(answer.accepted());
        let mut after = answer.mutated().unwrap_or(&request["object"]).clone();
        prop_assert_eq!(untouchable(&after["spec"]), untouchable(&spec));
        prop_assert_eq!(&after["metadata"], &request["object"]["metadata"]);
        for (key, place, image, policy) in all_places(&mut after["spec"]) {
            if key == "volumes" {
                continue;
            }
            let new = by_name(list(&spec, key), &place["name"]).expect("it was there");
            let old = by_name(list(&stored, key), &place["name"]);
            let is_stored = |field: &str| old.is_some_and(|old| place[field] == old[field]);
            prop_assert!(place[policy] == new[policy] || is_stored(policy));
            let is_new = old.is_none_or(|old| old[image] != new[image]);
            prop_assert!(place[image] == new[image] || is_new, "{}", place);
        }
        let mut again = request.clone();
        again["object"] = answer.mutated().unwrap_or(&request["object"]).clone();
        if depends_on_the_order(&answer, &settings, &spec, &registry) {
            return the_copy_accepts(&again, &settings);
        }
        needs_nothing_more(&again, &spec, &settings, &registry)?;
    }

    /// Of ephemeral containers only the new ones may change.
    #[test]
    fn ephemeral_containers_that_are_there_stay(
        spec in pod_spec(),
        metadata in metadata(),
        settings in settings(),
        registry in registries(),
        count in 0..4_usize,
    ) {
        let settings = in_mode(&settings, "Fix");
        prop_assume!(settings_problems(&settings).is_none());
        let mut stored = spec.clone();
        let mut ephemeral = list(&spec, "containers").to_vec();
        for (index, container) in ephemeral.iter_mut().enumerate() {
            container["name"] = json!(format!("debug-{index}"));
        }
        let old = &ephemeral[..count.min(ephemeral.len())];
        stored["ephemeralContainers"] = old.into();
        let mut spec = stored.clone();
        spec["ephemeralContainers"] = json!(ephemeral);
        let mut request = pod_create(&stored);
        request["object"]["metadata"] = metadata;
        let mut request = update(&request, &request["object"], "/spec", spec.clone());
        request["subResource"] = json!("ephemeralcontainers");
        let answer = validate_with(&request, &settings, &mut registry.clone());
        is_well_told(&answer)?;
        prop_assume!(answer.accepted());
        let after = answer.mutated().unwrap_or(&request["object"]);
        prop_assert_eq!(untouchable(&after["spec"]), untouchable(&spec));
        prop_assert_eq!(&after["metadata"], &request["object"]["metadata"]);
        for key in ["initContainers", "containers", "volumes"] {
            prop_assert_eq!(&after["spec"][key], &spec[key]);
        }
        prop_assert_eq!(&list(&after["spec"], "ephemeralContainers")[..old.len()], old);
        let mut again = request.clone();
        again["object"] = after.clone();
        if depends_on_the_order(&answer, &settings, &spec, &registry) {
            return the_copy_accepts(&again, &settings);
        }
        needs_nothing_more(&again, &spec, &settings, &registry)?;
    }

    /// Whatever the settings are by then, as long as the mode is `Fix`.
    #[test]
    fn what_is_applied_again_comes_out_as_it_is_stored(
        spec in pod_spec(),
        metadata in metadata(),
        earlier in settings(),
        later in settings(),
        registry in registries(),
        is_job in any::<bool>(),
    ) {
        let mut earlier = in_mode(&earlier, "Fix");
        earlier["recordChanges"] = json!(true);
        earlier["templates"] = json!("Enforce");
        let later = in_mode(&later, "Fix");
        prop_assume!(settings_problems(&earlier).is_none() && settings_problems(&later).is_none());
        let mut request = pod_create(&spec);
        request["object"]["metadata"] = metadata;
        // Nobody applies what a controller made.
        let members = request["object"]["metadata"].as_object_mut().expect("metadata");
        members.remove("ownerReferences");
        let mut path = "/spec";
        if is_job {
            request["kind"] = json!({"group": "batch", "version": "v1", "kind": "Job"});
            request["object"]["spec"] = json!({"template": {"spec": spec}});
            path = "/spec/template/spec";
        }
        let created = validate_with(&request, &earlier, &mut registry.clone());
        // The record may have been cut, for want of room.
        let is_whole = created.0["audit_annotations"]["record"].is_null();
        prop_assume!(created.accepted() && is_whole);
        let stored = created.mutated().unwrap_or(&request["object"]);
        let stored_spec = stored.pointer(path).expect("a Pod spec");
        let applied = applied_again(&spec, stored_spec);
        let request = update(&request, stored, path, applied);
        let answer = validate_with(&request, &later, &mut Table::default());
        prop_assert!(answer.accepted(), "{}", answer.message());
        let object = answer.mutated().unwrap_or(&request["object"]);
        prop_assert_eq!(object, stored);
        prop_assert!(answer.warnings().is_empty());
    }

    /// Two settings that differ in `registry` only give the same answer, in every mode, where
    /// nothing that differs can matter: (1) no image is looked up; (2) an override for all images
    /// says what `registry` said; (3) both allow enough lookups; (4) every lookup gives a digest
    /// that no other image has, and none is to be written down (a default `Never` doesn't reach
    /// what is looked up; who has to mount a volume that the containers carry, for it to be a check,
    /// depends on whether its repository is). And (5) who is accepted where a failed lookup rejects is accepted where
    /// it keeps the tag.
    #[test]
    fn settings_that_differ_in_registry_only(
        spec in pod_spec(),
        settings in settings(),
        registry in registries(),
        mode in prop::sample::select(&["Fix", "Reject", "Warn"][..]),
    ) {
        let settings = in_mode(&settings, mode);
        prop_assume!(settings_problems(&settings).is_none());
        let request = pod_create(&spec);
        let answers = |settings: &Value, table: &Table| {
            let mut table = table.clone();
            let answer = validate_with(&request, settings, &mut table);
            (answer.0, table.asked)
        };

        let nothing = with_registry(&settings, |registry| {
            registry["skipImages"] = json!(["*"]);
        });
        let off = with_registry(&settings, |registry| *registry = Value::Null);
        let (answer, asked) = answers(&nothing, &registry);
        prop_assert!(asked.is_empty());
        prop_assert_eq!(&answer, &answers(&off, &registry).0);

        let general = with_registry(&settings, |registry| registry["overrides"] = Value::Null);
        let overriding = with_registry(&general, |registry| {
            let mut own = json!({"images": ["*"]});
            for key in ON.into_iter().chain(["lookup"]) {
                own[key] = registry[key].take();
            }
            registry["overrides"] = json!([own]);
        });
        prop_assert_eq!(answers(&general, &registry), answers(&overriding, &registry));

        let more = with_registry(&settings, |registry| registry["maxLookups"] = json!(100));
        prop_assert_eq!(answers(&settings, &registry), answers(&more, &registry));

        let mut all_different = registry.clone();
        for (number, answer) in all_different.answers.values_mut().enumerate() {
            *answer = Ok(digest(1000 + number));
        }
        let mut verified = with_registry(&settings, |registry| *registry = json!({"lookup": "Verify"}));
        for default in ["imagePullPolicy", "imageCheckPullPolicy"] {
            if verified["defaults"][default] == "Never" {
                verified["defaults"][default] = Value::Null;
            }
        }
        let off = with_registry(&verified, |registry| *registry = Value::Null);
        let has_no_init_containers = list(&spec, "initContainers").is_empty();
        let is_check = |volume: &Value| is_named_as_check(volume, &settings);
        if !(has_no_init_containers && list(&spec, "volumes").iter().any(is_check)) {
            prop_assert_eq!(
                answers(&verified, &all_different).0,
                answers(&off, &all_different).0
            );
        }

        let lenient = with_registry(&settings, |registry| {
            if registry["onNotFound"].is_null() {
                registry["onNotFound"] = json!("KeepTag");
            }
            let keep = |own: &mut Value| {
                for key in ON {
                    if own[key] == "Reject" {
                        own[key] = json!("KeepTag");
                    }
                }
            };
            keep(registry);
            registry["overrides"].as_array_mut().into_iter().flatten().for_each(keep);
        });
        let strict = answers(&settings, &registry);
        if mode != "Warn" && strict.0["accepted"] == true {
            prop_assert_eq!(strict, answers(&lenient, &registry));
        }
    }

    #[test]
    fn no_pod_makes_it_panic(spec in any_shape(), settings in settings()) {
        let answer = validate(&pod_create(&spec), &settings);
        prop_assert!(answer.accepted() || answer.0["code"] == 400);
    }

    #[test]
    fn no_settings_make_it_panic(settings in any_shape()) {
        let _ = settings_problems(&settings);
        let spec = json!({"containers": [{"name": "a", "image": "b"}]});
        let _ = validate(&pod_create(&spec), &settings);
    }
}

/// No lookup is made, whatever the image.
fn registry_is_off(settings: &Value) -> bool {
    let is_off = |lookup: &Value| lookup.is_null() || lookup == "Off";
    let registry = &settings["registry"];
    is_off(&registry["lookup"])
        && list(registry, "overrides")
            .iter()
            .all(|own| is_off(&own["lookup"]))
}
