//! What must always hold, for any Pod and any settings.

mod common;

use common::{Table, digest, pod_create, settings_problems, validate, validate_with};
use consistent_pull_policy::image::Reference;
use consistent_pull_policy::pull_policy::PullPolicy;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// A few images in several spellings, so that they meet each other and the patterns.
const IMAGES: [&str; 9] = [
    "app:v1",
    "docker.io/library/app:v1",
    "app",
    "app:latest",
    "ghcr.io/team/db:16",
    "ghcr.io/team/db",
    "app:latest@sha256:00000000000000000000000000000000000000000000000000000000000000aa",
    "app@sha256:00000000000000000000000000000000000000000000000000000000000000aa",
    "quay.io/tools/agent:3",
];

fn image() -> impl Strategy<Value = String> {
    prop::sample::select(&IMAGES[..]).prop_map(str::to_owned)
}

/// What the API server sends: mostly a policy, now and then none (a request written by hand).
fn policy() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![
        4 => Just(Some("Always")),
        4 => Just(Some("IfNotPresent")),
        1 => Just(Some("Never")),
        1 => Just(None),
        1 => Just(Some("")),
    ]
}

fn container() -> impl Strategy<Value = Value> {
    (image(), policy(), any::<bool>(), "[a-z]{1,4}").prop_map(|(image, policy, server, extra)| {
        let mut container =
            json!({"image": image, "args": ["--", extra], "futureField": {"x": [1.5, null]}});
        // Half of them as the API server fills them in.
        let policy = if server {
            Reference::parse(&image)
                .ok()
                .map(|image| PullPolicy::server_default(image.tag(), image.digest()).as_str())
        } else {
            policy
        };
        if let Some(policy) = policy {
            container["imagePullPolicy"] = json!(policy);
        }
        container
    })
}

fn init_name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(
        &[
            "imagecheck-",
            "imagecheck-",
            "imagepullcheck-",
            "setup-",
            "copy-agent-",
        ][..],
    )
}

fn pod_spec() -> impl Strategy<Value = Value> {
    let init = (init_name(), container(), prop::bool::weighted(0.15));
    (
        prop::collection::vec(init, 0..5),
        prop::collection::vec(container(), 1..5),
        prop::collection::vec(container(), 0..2),
    )
        .prop_map(|(inits, containers, volumes)| {
            let name = |mut container: Value, name: String| {
                container["name"] = json!(name);
                container
            };
            let inits: Vec<Value> = inits
                .into_iter()
                .enumerate()
                .map(|(index, (prefix, container, sidecar))| {
                    let mut container = name(container, format!("{prefix}{}", index * 2));
                    if sidecar {
                        container["restartPolicy"] = json!("Always");
                    }
                    container
                })
                .collect();
            let containers: Vec<Value> = containers
                .into_iter()
                .enumerate()
                .map(|(index, container)| name(container, format!("container-{index}")))
                .collect();
            let volumes: Vec<Value> = volumes
                .into_iter()
                .enumerate()
                .map(|(index, container)| {
                    let mut source = json!({"reference": container["image"], "futureField": 1});
                    if let Some(policy) = container.get("imagePullPolicy") {
                        source["pullPolicy"] = policy.clone();
                    }
                    json!({"name": format!("volume-{index}"), "image": source})
                })
                .collect();
            json!({
                "initContainers": inits,
                "containers": containers,
                "volumes": volumes,
                "futureField": {"deep": ["a", {"b": null}]},
            })
        })
}

fn maybe<T: Clone + Into<Value> + std::fmt::Debug + 'static>(
    values: &'static [T],
) -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Null),
        3 => prop::sample::select(values).prop_map(Into::into),
    ]
}

fn patterns() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => Just(json!([])),
        1 => Just(json!(["app"])),
        1 => Just(json!(["app:latest", "quay.io/*"])),
        1 => Just(json!(["ghcr.io/*/db:1?"])),
    ]
}

fn settings() -> impl Strategy<Value = Value> {
    const DEFAULTS: &[&str] = &["Always", "IfNotPresent", "Never", "AlwaysUnlessDigest"];
    const ACTIONS: &[&str] = &["Reject", "KeepTag", "UseCached"];
    const BOOLEANS: &[bool] = &[true, false];
    let checks = (maybe(&["Off", "Warn", "Reject", "Fix"]), maybe(BOOLEANS));
    let defaults = (maybe(DEFAULTS), maybe(DEFAULTS), maybe(BOOLEANS));
    let registry = (
        maybe(&["Off", "Verify", "Pin"]),
        maybe(ACTIONS),
        maybe(ACTIONS),
        // As many as there are images: beyond that each look may pin some more.
        12..=100_usize,
    );
    let exempt = prop_oneof![
        3 => Just(json!([])),
        1 => Just(json!(["container-1"])),
        1 => Just(json!(["imagecheck-2", "setup-*"])),
    ];
    (
        (checks, maybe(BOOLEANS), defaults, registry),
        (patterns(), patterns(), exempt, patterns(), maybe(BOOLEANS)),
    )
        .prop_map(
            |(((coverage, every), once, defaults, registry), (require, forbid, exempt, skip, record))| {
                json!({
                    "imageChecks": {
                        "coverage": coverage,
                        "everyPod": every,
                        "after": ["copy-agent-*"],
                        "template": {"command": ["/check"], "resources": {"limits": {"cpu": "100m"}}},
                    },
                    "pullOnce": once,
                    "defaults": {
                        "imagePullPolicy": defaults.0,
                        "imageCheckPullPolicy": defaults.1,
                        "replaceServerDefaults": defaults.2,
                    },
                    "images": {"requireAlways": require, "forbidAlways": forbid},
                    "registry": {
                        "lookup": registry.0,
                        "onNotFound": registry.1,
                        "onUnreachable": registry.2,
                        "skipImages": skip,
                        "maxLookups": registry.3,
                    },
                    "exempt": {"containers": exempt},
                    "recordChanges": record,
                })
            },
        )
}

/// Registries that answer for some images and fail for others, or are down altogether.
fn registries() -> impl Strategy<Value = Table> {
    let answer = || {
        prop_oneof![
            3 => (0..3_usize).prop_map(|number| Ok(digest(number))),
            1 => Just(Err("Server error: url http://x/, code: 404, message: gone".to_owned())),
            1 => Just(Ok("not a digest".to_owned())),
        ]
    };
    let down = prop::bool::weighted(0.2);
    let of_registry = (down, answer(), answer()).prop_map(|(down, first, second)| {
        let refused = || Err("error sending request for url (http://x/)".to_owned());
        if down {
            [refused(), refused()]
        } else {
            [first, second]
        }
    });
    prop::collection::vec(of_registry, 3).prop_map(|answers| {
        let images = [
            "docker.io/library/app:v1",
            "docker.io/library/app:latest",
            "ghcr.io/team/db:16",
            "ghcr.io/team/db:latest",
            "quay.io/tools/agent:3",
            "quay.io/tools/agent:latest",
        ];
        Table {
            answers: images
                .into_iter()
                .map(str::to_owned)
                .zip(answers.into_iter().flatten())
                .collect(),
            ..Table::default()
        }
    })
}

fn in_mode(settings: &Value, mode: &str) -> Value {
    let mut settings = settings.clone();
    settings["mode"] = json!(mode);
    settings
}

/// The object without what the policy may change.
fn untouchable(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        if let Some(annotations) = metadata
            .get_mut("annotations")
            .and_then(Value::as_object_mut)
        {
            annotations.remove("consistent-pull-policy/changes");
        }
        if metadata.get("annotations") == Some(&json!({})) {
            metadata.remove("annotations");
        }
    }
    let spec = &mut object["spec"];
    for list in ["initContainers", "containers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            let container = container.as_object_mut().expect("a container is an object");
            container.remove("imagePullPolicy");
            unpin(container, "image");
        }
    }
    for volume in spec["volumes"].as_array_mut().into_iter().flatten() {
        let source = volume["image"].as_object_mut().expect("an image volume");
        source.remove("pullPolicy");
        unpin(source, "reference");
    }
    object
}

fn unpin(container: &mut Map<String, Value>, key: &str) {
    let image = container[key].as_str().expect("an image").to_owned();
    let tag = image.split_once('@').map_or(&*image, |(tag, _)| tag);
    let tag = tag.strip_suffix(":latest").unwrap_or(tag);
    container.insert(key.to_owned(), json!(tag));
}

/// Takes the checks out that the changes name.
fn without_added(object: &Value, changes: &[Value]) -> Value {
    let mut object = object.clone();
    let names: Vec<&str> = changes
        .iter()
        .filter(|change| change["rule"] == "missing-check")
        .filter_map(|change| change["to"]["name"].as_str())
        .collect();
    if let Some(inits) = object["spec"]["initContainers"].as_array_mut() {
        inits.retain(|init| !names.contains(&init["name"].as_str().unwrap_or_default()));
    }
    object
}

/// What a repair may leave: advice, because the settings ask for no more.
fn advice_only(findings: &[Value], settings: &Value, is_template: bool) -> bool {
    // In a template a missing check is told, never added.
    let coverage = &settings["imageChecks"]["coverage"];
    let warns = coverage == "Warn" || coverage.is_null() || (is_template && coverage == "Fix");
    findings
        .iter()
        .all(|finding| finding["rule"] == "missing-check" && warns)
}

/// A repaired object needs no repair, in any mode.
fn needs_nothing_more(
    request: &Value,
    settings: &Value,
    registry: &Table,
) -> Result<(), TestCaseError> {
    let second = validate_with(request, settings, &mut registry.clone());
    prop_assert!(second.accepted(), "{}", second.message());
    prop_assert_eq!(second.mutated(), None);
    prop_assert!(
        advice_only(
            &second.audited("findings"),
            settings,
            request["kind"]["kind"] != "Pod"
        ),
        "{:?}",
        second
    );
    let checked = validate_with(request, &in_mode(settings, "Reject"), &mut registry.clone());
    prop_assert!(checked.accepted(), "{}", checked.message());
    // The second copy asks nobody, and accepts whatever the first may have left.
    let mut copy = in_mode(settings, "Reject");
    copy["registry"]["maxLookups"] = json!(0);
    let mut nobody = Table::default();
    let copied = validate_with(request, &copy, &mut nobody);
    prop_assert!(copied.accepted(), "the copy: {}", copied.message());
    prop_assert!(nobody.asked.is_empty());
    Ok(())
}

/// The strongest policy of the containers of each image, restated without the rules' code.
fn strongest<'s>(
    spec: &'s Value,
    list: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Vec<(Reference<'s>, PullPolicy)> {
    spec[list]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|container| wanted(container))
        .map(|container| {
            let image =
                Reference::parse(container["image"].as_str().expect("an image")).expect("valid");
            let policy = container["imagePullPolicy"]
                .as_str()
                .and_then(PullPolicy::parse)
                .unwrap_or_else(|| PullPolicy::server_default(image.tag(), image.digest()));
            (image, policy)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, max_global_rejects: 1_000_000, ..ProptestConfig::default() })]

    #[test]
    fn a_repair_is_stable_minimal_and_valid(
        spec in pod_spec(),
        settings in settings(),
        registry in registries(),
    ) {
        prop_assume!(settings_problems(&settings).is_none());
        let settings = in_mode(&settings, "Fix");
        let request = pod_create(&spec);
        let answer = validate_with(&request, &settings, &mut registry.clone());
        if !answer.accepted() {
            prop_assert!(answer.mutated().is_none());
            prop_assert_eq!(&answer.0["code"], &json!(400));
            prop_assert!(!answer.message().is_empty());
            return Ok(());
        }
        prop_assert!(answer.warnings().len() <= 10);
        for line in answer.warnings() {
            prop_assert!(line.chars().count() <= 120, "{}", line);
        }
        let object = answer.mutated().unwrap_or(&request["object"]);

        // Minimal: nothing else changes, and every field has its place and value.
        let without = without_added(object, &answer.audited("changes"));
        let before = &request["object"];
        prop_assert_eq!(untouchable(&without), untouchable(before));
        prop_assert_eq!(answer.mutated().is_some(), !answer.audited("changes").is_empty());
        if let Some(mutated) = answer.mutated() {
            prop_assert_ne!(mutated, before);
        }

        // Stable: its own output needs no repair, in any mode.
        let mut again = request.clone();
        again["object"] = object.clone();
        needs_nothing_more(&again, &settings, &registry)?;

        // Valid: Kubernetes' own types read it, and no two containers share a name.
        serde_json::from_value::<Pod>(object.clone()).expect("the API server reads it");
        let mut names: Vec<&Value> = common::places(&object["spec"]).iter().map(|(.., c)| &c["name"]).collect();
        let count = names.len();
        names.sort_by_key(ToString::to_string);
        names.dedup();
        prop_assert_eq!(names.len(), count);
    }

    #[test]
    fn a_repaired_template_is_stable_and_valid(
        spec in pod_spec(),
        settings in settings(),
        registry in registries(),
        update in any::<bool>(),
    ) {
        let mut settings = in_mode(&settings, "Fix");
        settings["templates"] = json!("Enforce");
        prop_assume!(settings_problems(&settings).is_none());
        let mut request = pod_create(&spec);
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": spec});
        request["kind"] = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
        request["object"] = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "d", "annotations": {"other": "kept"}},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
        });
        if update {
            request["operation"] = json!("UPDATE");
            request["oldObject"] = json!({"spec": {"template": {"spec": {"containers": []}}}});
        }
        let answer = validate_with(&request, &settings, &mut registry.clone());
        prop_assume!(answer.accepted());
        let object = answer.mutated().unwrap_or(&request["object"]);
        prop_assert_eq!(&object["metadata"]["annotations"]["other"], "kept");
        let recorded = object["metadata"]["annotations"].get("consistent-pull-policy/changes");
        let records = !update && settings["recordChanges"] != false;
        prop_assert_eq!(recorded.is_some(), records && answer.mutated().is_some());
        serde_json::from_value::<Deployment>(object.clone()).expect("the API server reads it");

        let mut again = request.clone();
        again["object"] = object.clone();
        needs_nothing_more(&again, &settings, &registry)?;
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
        let is_check = |container: &Value| {
            let name = container["name"].as_str().expect("a name");
            (name.starts_with("imagecheck-") || name.starts_with("imagepullcheck-"))
                && container["restartPolicy"] != "Always"
        };
        let checks = strongest(&object["spec"], "initContainers", is_check);
        for (image, needed) in strongest(&object["spec"], "containers", |_| true) {
            let by_checks = checks
                .iter()
                .filter(|(check, _)| {
                    check.identity() == image.identity() && check.written() == image.written()
                })
                .map(|(_, policy)| *policy)
                .max();
            prop_assert!(by_checks.is_none_or(|policy| policy >= needed), "{:?}", image);
        }
        let fixes_coverage = settings["imageChecks"]["coverage"] == "Fix";
        if fixes_coverage && !checks.is_empty() {
            let not_sidecar = |container: &Value| container["restartPolicy"] != "Always";
            let inits = strongest(&object["spec"], "initContainers", not_sidecar);
            for (image, _) in strongest(&object["spec"], "containers", |_| true) {
                prop_assert!(inits.iter().any(|(init, _)| init.identity() == image.identity()));
            }
        }
    }

    #[test]
    fn the_modes_find_the_same(
        spec in pod_spec(),
        settings in settings(),
        registry in registries(),
    ) {
        prop_assume!(settings_problems(&settings).is_none());
        let request = pod_create(&spec);
        let in_mode = |mode| validate_with(&request, &in_mode(&settings, mode), &mut registry.clone());
        let (warn, reject, fix) = (in_mode("Warn"), in_mode("Reject"), in_mode("Fix"));
        prop_assert!(warn.accepted());
        prop_assert_eq!(warn.mutated(), None);
        prop_assert_eq!(reject.mutated(), None);
        let any = warn.audited("findings");
        prop_assert_eq!(reject.accepted(), advice_only(&any, &settings, false));
        // Where nothing was rejected before a registry was asked, all of them found the same.
        if settings["registry"]["lookup"].is_null() || settings["registry"]["lookup"] == "Off" {
            prop_assert_eq!(&any, &reject.audited("findings"));
            prop_assert_eq!(&any, &fix.audited("findings"));
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

/// JSON that is made of the words that the policy reads, in any shape.
fn any_shape() -> impl Strategy<Value = Value> {
    const WORDS: &[&str] = &[
        "initContainers",
        "containers",
        "volumes",
        "image",
        "name",
        "imagePullPolicy",
        "reference",
        "restartPolicy",
        "Always",
        "imagecheck-0",
        "app:v1",
        "mode",
        "imageChecks",
        "template",
        "command",
        "namePrefixes",
        "registry",
        "maxLookups",
        "exempt",
        "images",
        "requireAlways",
        "Fix",
    ];
    let word = || prop::sample::select(WORDS).prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..200_i32).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}
