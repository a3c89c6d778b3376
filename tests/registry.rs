//! Tests of the rule *registry* with rare combinations of settings and images. The tests that compare
//! this policy with the specification reach these combinations only after many random cases.

use crate::common::{
    FakeRegistry, container, digest, image_update, of_user, pod_create, registry_with_answers,
    unreachable_registry, validate_with,
};
use serde_json::json;

#[test]
fn a_pod_gets_no_lookup_if_no_answer_can_prevent_its_rejection() {
    let with_digest = format!("b:latest@{}", digest(1));
    let two = pod_create(&json!({"containers": [
        {"name": "a", "image": "a:1", "imagePullPolicy": "IfNotPresent"},
        {"name": "b", "image": with_digest, "imagePullPolicy": "Always"},
    ]}));
    for (pod, default, lookup) in [
        // With these settings, `Verify` changes no pull policy, so the finding about `a` stays.
        (
            pod_create(&json!({"containers": [container("a", "a:1", "IfNotPresent")]})),
            "Always",
            "Verify",
        ),
        // `Pin` doesn't change the pull policy of an image with a digest, so the finding about `b` stays.
        (two, "IfNotPresent", "Pin"),
    ] {
        let settings = json!({
            "mode": "Reject",
            "defaults": {"imagePullPolicy": default},
            "registry": {"images": ["*"], "lookup": lookup, "onUnreachable": "KeepTag"},
        });
        let mut registry = FakeRegistry::default();
        assert!(!validate_with(&of_user(pod.clone()), &settings, &mut registry).accepted());
        assert!(registry.asked.is_empty(), "{:?}", registry.asked);
        // An audit reports all findings, so it makes the lookup.
        assert!(!validate_with(&pod, &settings, &mut registry).accepted());
        assert_eq!(registry.asked, ["docker.io/library/a:1"]);
    }
}

#[test]
fn a_pod_gets_no_lookup_if_a_tag_in_place_of_its_stored_digest_rejects_it() {
    let mut request = image_update(&format!("a:1@{}", digest(1)), "a:1");
    let other = container("b", "b:1", "IfNotPresent");
    for (key, image) in [("object", "b:1"), ("oldObject", "b:0")] {
        let mut other = other.clone();
        other["image"] = image.into();
        let containers = request[key]["spec"]["containers"].as_array_mut();
        containers.expect("a list").push(other);
    }
    let mut registry = unreachable_registry();
    let settings = json!({"mode": "Reject", "registry": {"images": ["*"], "lookup": "Pin"}});
    assert!(!validate_with(&of_user(request), &settings, &mut registry).accepted());
    assert_eq!(registry.asked, [""; 0]);
}

#[test]
fn a_digest_is_looked_up_if_registry_images_names_one_of_its_tags() {
    let images = [format!("a:1@{}", digest(1)), format!("a:2@{}", digest(1))];
    let settings = json!({
        "registry": {"lookup": "Verify", "platform": "Reject", "images": ["a:2"]},
    });
    for order in [[0, 1], [1, 0]] {
        let containers = order.map(|index| {
            let image = &images[index];
            container(&format!("c{index}"), image, "Always")
        });
        let pod = pod_create(&json!({
            "nodeSelector": {"kubernetes.io/arch": "arm64"},
            "containers": containers,
        }));
        let mut registry = FakeRegistry::default();
        validate_with(&pod, &settings, &mut registry);
        let asked = format!("docker.io/library/a@{}", digest(1));
        assert_eq!(registry.asked, [asked], "{order:?}");
    }
}

/// Under `Pin`, an image with a digest is looked up only for its platforms. Under `Verify`, it is also
/// looked up to see whether the registry still has the digest.
#[test]
fn a_failed_lookup_for_a_warning_about_platforms_alone_never_rejects() {
    let digest = digest(1);
    let spec = json!({
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "containers": [{"name": "app", "image": format!("a@{digest}"), "imagePullPolicy": "IfNotPresent"}],
    });
    let settings = |lookup: &str, platform: &str| json!({"registry": {"images": ["*"], "lookup": lookup, "platform": platform, "onUnknown": "Reject"}});
    for (lookup, platform, accepted) in [
        ("Pin", "Warn", true),
        ("Pin", "Reject", false),
        ("Verify", "Warn", false),
        ("Verify", "Reject", false),
    ] {
        let answer = validate_with(
            &pod_create(&spec),
            &settings(lookup, platform),
            &mut FakeRegistry::default(),
        );
        assert_eq!(answer.accepted(), accepted, "{lookup} {platform}");
        assert_eq!(
            answer.audited("lookups")[0]["action"],
            if accepted { "KeepTag" } else { "Reject" }
        );
    }
}

#[test]
fn an_attestation_in_an_index_is_no_platform() {
    let pod = pod_create(&json!({
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "containers": [container("app", "a:1", "Always")],
    }));
    let settings = json!({"registry": {"images": ["*"], "lookup": "Verify", "platform": "Reject"}});
    let unknown = json!({"os": "unknown", "architecture": "unknown"});
    let amd64 = json!({"os": "linux", "architecture": "amd64"});
    // An index without any platform can't be compared with the Pod.
    for (index, accepted) in [(json!([unknown]), true), (json!([amd64, unknown]), false)] {
        let mut registry = registry_with_answers(&[("docker.io/library/a:1", Ok(digest(1)))]);
        let at_digest = format!("docker.io/library/a@{}", digest(1));
        let platforms = serde_json::from_value(index).expect("platforms");
        registry.platforms.insert(at_digest, Ok(Some(platforms)));
        let answer = validate_with(&pod, &settings, &mut registry);
        let message = answer.message();
        assert_eq!(answer.accepted(), accepted, "{message}");
        assert_eq!(message.contains(" has linux/amd64 only, "), !accepted);
    }
}
