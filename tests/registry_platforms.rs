//! The setting `registry.platform`: compares the platforms of an image with those that its Pod asks
//! for.

mod common;

use common::{FakeRegistry, digest, pod_create, validate_with};
use oci_spec::image::{Arch, Os, Platform, PlatformBuilder};
use serde_json::{Value, json};

fn platform(os: &str, architecture: &str, variant: Option<&str>) -> Platform {
    let builder = PlatformBuilder::default()
        .os(Os::from(os))
        .architecture(Arch::from(architecture));
    match variant {
        Some(variant) => builder.variant(variant).build(),
        None => builder.build(),
    }
    .expect("a platform")
}

/// A registry in which the image `a:1` has these platforms.
fn registry_with_platforms(platforms: Option<Vec<Platform>>) -> FakeRegistry {
    let image = format!("docker.io/library/a@{}", digest(1));
    FakeRegistry {
        answers: [
            ("docker.io/library/a:1".to_owned(), Ok(digest(1))),
            (image.clone(), Ok(digest(1))),
        ]
        .into(),
        platforms: [(image, Ok(platforms))].into(),
        ..FakeRegistry::default()
    }
}

fn affinity(terms: &[Value]) -> Value {
    let required = json!({"nodeSelectorTerms": terms});
    json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}})
}

fn term(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
}

const ARCH: &str = "kubernetes.io/arch";

/// The message and the calls for a Pod with these fields. Its image has amd64 and arm/v7 for Linux.
fn message_and_calls(fields: &Value, image: &str) -> (String, Vec<String>) {
    let mut spec =
        json!({"containers": [{"name": "app", "image": image, "imagePullPolicy": "IfNotPresent"}]});
    for (key, value) in fields.as_object().expect("fields") {
        spec[key] = value.clone();
    }
    let mut registry = registry_with_platforms(Some(vec![
        platform("linux", "amd64", None),
        platform("linux", "arm", Some("v7")),
        platform("unknown", "unknown", None),
    ]));
    let settings = json!({"registry": {"lookup": "Verify", "platform": "Reject"}});
    let answer = validate_with(&pod_create(&spec), &settings, &mut registry);
    (answer.message().to_owned(), registry.asked)
}

#[test]
fn an_image_that_lacks_the_platform_of_its_pod_is_found() {
    let lacks = |wanted: &str, field: &str| {
        format!(
            "app's image a:1 has linux/amd64, linux/arm/v7 only, but the Pod asks for {wanted}: build it for {wanted} or change {field}"
        )
    };
    let cases = [
        (json!({}), String::new()),
        (json!({"nodeSelector": {ARCH: "amd64"}}), String::new()),
        (
            json!({"nodeSelector": {ARCH: "arm"}, "os": {"name": "linux"}}),
            String::new(),
        ),
        (
            json!({"nodeSelector": {ARCH: "arm64"}}),
            lacks("arm64", "spec.nodeSelector"),
        ),
        (
            json!({"nodeSelector": {"kubernetes.io/os": "windows"}}),
            lacks("windows", "spec.nodeSelector"),
        ),
        (
            json!({"os": {"name": "windows"}}),
            lacks("windows", "spec.os"),
        ),
        (
            json!({"nodeSelector": {ARCH: "arm64"}, "os": {"name": "linux"}}),
            lacks("linux/arm64", "spec.nodeSelector"),
        ),
        // The terms are alternatives. Each platform that they allow has to exist.
        (
            json!({"affinity": affinity(&[term(ARCH, "In", &["amd64", "arm"])])}),
            String::new(),
        ),
        (
            json!({"affinity": affinity(&[term(ARCH, "In", &["amd64", "s390x"])])}),
            lacks("s390x", "spec.affinity"),
        ),
        (
            json!({"affinity": affinity(&[term(ARCH, "In", &["amd64"]), term(ARCH, "In", &["riscv64"])])}),
            lacks("riscv64", "spec.affinity"),
        ),
        // A node has to match both the node selector and the affinity, so s390x is not asked for.
        (
            json!({"nodeSelector": {ARCH: "amd64"}, "affinity": affinity(&[term(ARCH, "In", &["amd64", "s390x"])])}),
            String::new(),
        ),
        // Only `In` counts. Other keys and malformed fields ask for no platform.
        (
            json!({"affinity": affinity(&[term(ARCH, "NotIn", &["amd64"])])}),
            String::new(),
        ),
        (
            json!({"affinity": affinity(&[term("zone", "In", &["a"])])}),
            String::new(),
        ),
        (json!({"affinity": 7, "nodeSelector": []}), String::new()),
    ];
    for (fields, expected) in cases {
        assert_eq!(message_and_calls(&fields, "a:1").0, expected, "{fields}");
    }
}

#[test]
fn a_lookup_makes_two_calls_and_digests_are_looked_up_too() {
    let by_digest = format!("docker.io/library/a@{}", digest(1));
    let arm64 = json!({"nodeSelector": {ARCH: "arm64"}});
    assert_eq!(
        message_and_calls(&arm64, "a:1").1,
        ["docker.io/library/a:1", &by_digest]
    );
    let (message, asked) = message_and_calls(&arm64, &format!("a@{}", digest(1)));
    assert!(message.contains("linux/amd64"), "{message}");
    assert_eq!(asked, [&*by_digest, &*by_digest]);
    // A Pod that asks for no platform needs no second call.
    assert_eq!(
        message_and_calls(&json!({}), "a:1").1,
        ["docker.io/library/a:1"]
    );
    let (message, asked) = message_and_calls(&json!({}), &format!("a@{}", digest(1)));
    assert_eq!((&*message, asked), ("", vec![by_digest]));
}

#[test]
fn warn_gives_a_warning_in_every_mode_and_the_index_is_pinned() {
    let spec = json!({
        "nodeSelector": {ARCH: "arm64"},
        "containers": [{"name": "app", "image": "a:1", "imagePullPolicy": "IfNotPresent"}],
    });
    for mode in ["Fix", "Reject", "Warn"] {
        let lookup = if mode == "Fix" { "Pin" } else { "Verify" };
        let settings = json!({"mode": mode, "registry": {"lookup": lookup, "platform": "Warn"}});
        let mut registry = registry_with_platforms(Some(vec![platform("linux", "amd64", None)]));
        let answer = validate_with(&pod_create(&spec), &settings, &mut registry);
        assert!(answer.accepted(), "{mode}");
        assert_eq!(
            answer.warnings(),
            [
                "app's image a:1 has linux/amd64 only, but the Pod asks for arm64: build it for arm64 or change spec.nodeSelector"
            ],
            "{mode}"
        );
        let pinned = answer
            .mutated()
            .map(|object| &object["spec"]["containers"][0]["image"]);
        let expected = json!(format!("a:1@{}", digest(1)));
        assert_eq!(pinned, (mode == "Fix").then_some(&expected));
    }
}

#[test]
fn an_image_without_an_index_gives_no_finding() {
    let spec = json!({
        "nodeSelector": {ARCH: "arm64"},
        "containers": [{"name": "app", "image": "a:1", "imagePullPolicy": "IfNotPresent"}],
    });
    let settings = json!({"registry": {"lookup": "Verify", "platform": "Reject"}});
    let answer = validate_with(
        &pod_create(&spec),
        &settings,
        &mut registry_with_platforms(None),
    );
    assert!(answer.accepted() && answer.warnings().is_empty());
}

#[test]
fn a_host_that_refuses_manifests_gives_a_warning_that_names_the_capability() {
    let spec = json!({
        "nodeSelector": {ARCH: "arm64"},
        "containers": [{"name": "app", "image": "a:1", "imagePullPolicy": "IfNotPresent"}],
    });
    let mut registry = registry_with_platforms(None);
    let refused = "Host error: Policy has not been granted access to the 'oci/v1/oci_manifest' host capability.";
    for answer in registry.platforms.values_mut() {
        *answer = Err(refused.to_owned());
    }
    let settings = json!({"registry": {"lookup": "Verify", "platform": "Reject"}});
    let answer = validate_with(&pod_create(&spec), &settings, &mut registry);
    assert!(answer.accepted());
    assert!(answer.warnings()[0].contains("oci/v1/oci_manifest"));
}

/// Under `Pin` an image with a digest is looked up for its platforms only. Under `Verify` it is looked
/// up in any case.
#[test]
fn a_failed_lookup_for_a_warning_about_platforms_alone_never_rejects() {
    let digest = digest(1);
    let spec = json!({
        "nodeSelector": {ARCH: "arm64"},
        "containers": [{"name": "app", "image": format!("a@{digest}"), "imagePullPolicy": "IfNotPresent"}],
    });
    let settings = |lookup: &str, platform: &str| json!({"registry": {"lookup": lookup, "platform": platform, "onUnknown": "Reject"}});
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

/// An attestation has `unknown` as its operating system and as its architecture.
#[test]
fn only_attestations_do_not_count_as_platforms() {
    let spec = json!({
        "nodeSelector": {ARCH: "arm64"},
        "containers": [{"name": "app", "image": "a:1", "imagePullPolicy": "IfNotPresent"}],
    });
    let settings = json!({"registry": {"lookup": "Verify", "platform": "Reject"}});
    for (os, architecture, accepted) in [
        ("unknown", "unknown", true),
        ("linux", "unknown", false),
        ("unknown", "amd64", false),
    ] {
        let mut registry = registry_with_platforms(Some(vec![platform(os, architecture, None)]));
        let answer = validate_with(&pod_create(&spec), &settings, &mut registry);
        assert_eq!(answer.accepted(), accepted, "{os}/{architecture}");
    }
}
