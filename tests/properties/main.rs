//! What must always hold, for any Pod and any settings.
//!
//! The seed is fixed, so that a commit fails for what it changed. `PROPTEST_CASES=1000000` runs
//! that many cases of each property, others each time unless `PROPTEST_RNG_SEED` names a seed; then
//! a profile that optimises is worth its time: `cargo test --release --test properties`.
//!
//! What is promised is promised for equal answers of the registries, and for images that were all
//! asked for; see [`promised::depends_on_the_order`].

#[path = "../common/mod.rs"]
mod common;
mod generate;
mod promised;
mod restated;

use common::{
    FakeRegistry, deployment, digest, pod_create, settings_problems, validate, validate_with,
};
use consistent_pull_policy::image::Reference;
use generate::{ANNOTATIONS_MAX, ON, RECORD};
use generate::{any_shape, metadata, pod_spec, registries, settings};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use promised::{
    advice_only, come_out, is_minimal, is_valid, is_well_told, needs_nothing_more,
    the_copy_accepts, untouchable,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use restated::{check_volumes, containers, is_named_as_check};
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

/// A list of an object; empty where it is missing or null.
fn list<'v>(object: &'v Value, key: &str) -> &'v [Value] {
    object[key].as_array().map_or(&[], Vec::as_slice)
}

fn by_name<'v>(items: &'v [Value], name: &Value) -> Option<&'v Value> {
    items.iter().find(|item| item["name"] == *name)
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

        needs_nothing_more(&request, &answer, &spec, &settings, &registry)?;
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
        the_copy_accepts(&come_out(&request, &answer), &settings)?;
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

        if settings["templates"] == "Enforce" {
            needs_nothing_more(&request, &answer, &spec, &settings, &registry)?;
        } else {
            the_copy_accepts(&come_out(&request, &answer), &settings)?;
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
        needs_nothing_more(&request, &answer, &spec, &settings, &registry)?;
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
        needs_nothing_more(&request, &answer, &spec, &settings, &registry)?;
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
        let answer = validate_with(&request, &later, &mut FakeRegistry::default());
        prop_assert!(answer.accepted(), "{}", answer.message());
        let object = answer.mutated().unwrap_or(&request["object"]);
        prop_assert_eq!(object, stored);
        prop_assert!(answer.warnings().is_empty());
    }

    /// Two settings that differ in `registry` only give the same answer, in every mode, where
    /// nothing that differs can matter: (1) no image is looked up; (2) an override for all images
    /// says what `registry` said; (3) both allow enough lookups; (4) every lookup gives a digest
    /// that no other image has, and none is to be written down (a default `Never` doesn't reach
    /// what is looked up; who has to mount a volume that the containers carry, for it to be a
    /// check, depends on whether its repository is). And (5) who is accepted where a failed lookup
    /// rejects is accepted where it keeps the tag.
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
        let answers = |settings: &Value, table: &FakeRegistry| {
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
