//! Where the specification in `spec/` said otherwise and was right, and what hostile requests found: a
//! test for each.

mod common;

use common::{Table, container, digest, pod_create, validate, validate_with};
use serde_json::{Value, json};

/// An UPDATE of a Pod with one container, whose image changes.
fn update(stored: &str, brought: &str) -> Value {
    let mut request = pod_create(&json!({"containers": [container("a", brought, "IfNotPresent")]}));
    request["operation"] = "UPDATE".into();
    request["oldObject"] = request["object"].clone();
    request["oldObject"]["spec"]["containers"][0]["image"] = stored.into();
    request
}

fn unreachable() -> Table {
    Table {
        answers: [("docker.io/library/a:1", 1), ("docker.io/library/b:1", 2)]
            .map(|(image, _)| {
                (
                    image.to_owned(),
                    Err("Server error: url x, code: 503".into()),
                )
            })
            .into(),
        ..Table::default()
    }
}

#[test]
fn a_forbidden_never_stays_a_finding_where_pull_once_acts_as_well() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "a:1", "Always")],
        "containers": [container("a", "a:1", "Never")],
    }));
    let defaults = json!({"imagePullPolicy": "Always"});
    for mode in ["Reject", "Warn", "Fix"] {
        let settings =
            json!({"mode": mode, "defaults": defaults, "images": {"forbidNever": ["a"]}});
        let answer = validate(&pod, &settings);
        assert_eq!(answer.accepted(), mode != "Reject", "{mode}");
        let findings = answer.audited("findings");
        assert_eq!(findings.len(), 1, "{mode}");
        assert_eq!(findings[0]["rule"], "disallowed-policy", "{mode}");
        assert_eq!(findings[0]["expected"], "IfNotPresent", "{mode}");
    }
}

#[test]
fn the_copy_says_nothing_of_a_tag_whose_digest_is_stored() {
    let request = update(&format!("a:1@{}", digest(1)), "a:1");
    for (lookups, accepted) in [(0, true), (10, false)] {
        let registry = json!({"lookup": "Pin", "maxLookups": lookups});
        let answer = validate(&request, &json!({"mode": "Reject", "registry": registry}));
        assert_eq!(answer.accepted(), accepted, "maxLookups {lookups}");
    }
}

#[test]
fn nobody_is_asked_where_a_moved_tag_rejects_anyway() {
    let mut request = update(&format!("a:1@{}", digest(1)), "a:1");
    let other = container("b", "b:1", "IfNotPresent");
    for (key, image) in [("object", "b:1"), ("oldObject", "b:0")] {
        let mut other = other.clone();
        other["image"] = image.into();
        let containers = request[key]["spec"]["containers"].as_array_mut();
        containers.expect("a list").push(other);
    }
    let mut registry = unreachable();
    let settings = json!({"mode": "Reject", "registry": {"lookup": "Pin"}});
    assert!(!validate_with(&request, &settings, &mut registry).accepted());
    assert_eq!(registry.asked, [""; 0]);
}

/// It was asked for its platforms only, and the copy would find the default missing.
#[test]
fn an_outage_leaves_the_policy_of_a_digest() {
    let image = format!("a@{}", digest(1));
    let pod = pod_create(&json!({
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "containers": [container("a", &image, "Always")],
    }));
    let registry = json!({"lookup": "Verify", "platform": "Reject", "onUnknown": "UseCached"});
    let mut settings = json!({"defaults": {"imagePullPolicy": "Always"}, "registry": registry});
    let answer = validate(&pod, &settings);
    assert!(answer.accepted() && answer.mutated().is_none());
    assert_eq!(answer.audited("lookups")[0]["action"], "KeepTag");
    settings["mode"] = "Reject".into();
    settings["registry"]["maxLookups"] = 0.into();
    assert!(validate(&pod, &settings).accepted());
}

#[test]
fn a_digest_is_looked_up_if_any_of_its_tags_is_named() {
    let images = [format!("a:1@{}", digest(1)), format!("a:2@{}", digest(1))];
    let registry = json!({"lookup": "Verify", "platform": "Reject", "images": ["a:2"]});
    for order in [[0, 1], [1, 0]] {
        let containers = order.map(|index| {
            let image = &images[index];
            container(&format!("c{index}"), image, "Always")
        });
        let pod = pod_create(&json!({
            "nodeSelector": {"kubernetes.io/arch": "arm64"},
            "containers": containers,
        }));
        let mut table = Table::default();
        validate_with(&pod, &json!({"registry": registry}), &mut table);
        let asked = format!("docker.io/library/a@{}", digest(1));
        assert_eq!(table.asked, [asked], "{order:?}");
    }
}

#[test]
fn use_cached_is_no_excuse_for_a_check_with_never() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "a:1", "Never")],
        "containers": [container("a", "a:1", "Always")],
    }));
    let mut settings = json!({"registry": {"lookup": "Pin", "onUnreachable": "UseCached"}});
    let answer = validate_with(&pod, &settings, &mut unreachable());
    let object = answer.mutated().expect("a change");
    for list in ["initContainers", "containers"] {
        let policy = &object["spec"][list][0]["imagePullPolicy"];
        assert_eq!(policy, "IfNotPresent", "{list}");
    }
    settings["mode"] = "Reject".into();
    settings["registry"]["maxLookups"] = 0.into();
    assert!(validate(&pod_create(&object["spec"]), &settings).accepted());
}

/// Every volume on every container: the answer would grow with the square of the request.
#[test]
fn a_pod_that_would_get_too_many_mounts_is_rejected() {
    let settings =
        json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "as": "ImageVolume"}});
    for (count, accepted) in [(100, true), (101, false)] {
        let containers: Vec<Value> = (0..count)
            .map(|number| container(&format!("c{number}"), &format!("a{number}:1"), "Always"))
            .collect();
        let answer = validate(&pod_create(&json!({"containers": containers})), &settings);
        assert_eq!(answer.accepted(), accepted, "{count}");
        assert_eq!(answer.mutated().is_some(), accepted, "{count}");
        assert_eq!(answer.audited("findings").len(), count, "{count}");
    }
    // A volume that an init container carries is mounted once, and an init container nowhere.
    let containers: Vec<Value> = (0..101)
        .map(|number| container(&format!("c{number}"), &format!("a{number}:1"), "Always"))
        .collect();
    let template = json!({"command": ["/bin/true"]});
    let by_template =
        json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "template": template}});
    for (inits, settings) in [
        (json!([container("setup", "s:1", "Never")]), settings),
        (json!([]), by_template),
    ] {
        let pod = pod_create(&json!({"initContainers": inits, "containers": containers}));
        assert!(validate(&pod, &settings).accepted(), "{settings}");
    }
}

/// Behind an added init container the volumes that the app carries would be checks no more.
#[test]
fn volumes_that_the_app_carries_stay_checks() {
    let mount = json!([{"name": "imagecheck-0", "mountPath": "/c"}]);
    let mut containers = [
        container("a", "a:1", "Always"),
        container("b", "b:1", "Always"),
    ];
    for container in &mut containers {
        container["volumeMounts"] = mount.clone();
    }
    let pod = pod_create(&json!({
        "volumes": [{"name": "imagecheck-0", "image": {"reference": "a:1", "pullPolicy": "Always"}}],
        "containers": containers,
    }));
    let template = json!({"command": ["/bin/true"]});
    let mut settings = json!({"imageChecks": {"coverage": "Fix", "template": template}});
    let answer = validate(&pod, &settings);
    let object = answer.mutated().expect("a change");
    assert_eq!(object["spec"]["initContainers"], Value::Null);
    assert_eq!(object["spec"]["volumes"][1]["image"]["reference"], "b:1");
    let again = pod_create(&object["spec"]);
    assert!(validate(&again, &settings).mutated().is_none());
    settings["mode"] = "Reject".into();
    assert!(validate(&again, &settings).accepted());
}

/// What `Pin` would have written it may not write: the check goes on asking the registry.
#[test]
fn an_outage_leaves_what_pull_once_left() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "a:latest", "Always")],
        "containers": [container("a", "a:latest", "IfNotPresent")],
    }));
    let settings = json!({
        "defaults": {"imageCheckPullPolicy": "IfNotPresent"},
        "registry": {"lookup": "Pin", "onUnreachable": "KeepTag"},
    });
    let answer = validate_with(&pod, &settings, &mut unreachable());
    assert!(answer.accepted());
    assert_eq!(answer.mutated(), None);
}
