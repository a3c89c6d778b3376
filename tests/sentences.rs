//! What people read: the sentence of each rule, and the warning after its repair.

mod common;

use common::{Answer, Table, container, digest, pod_create, validate, validate_with};
use serde_json::{Value, json};

/// A Pod of one container, whose image has this policy.
fn pod(image: &str, policy: &str) -> Value {
    pod_create(&json!({"containers": [container("app", image, policy)]}))
}

/// A Pod of a check and a container.
fn checked(check: [&str; 2], app: [&str; 2]) -> Value {
    let of = |name, [image, policy]: [&str; 2]| container(name, image, policy);
    pod_create(&json!({
        "initContainers": [of("imagecheck-0", check)],
        "containers": [of("app", app)],
    }))
}

/// The answer in a mode.
fn in_mode(pod: &Value, settings: &Value, mode: &str) -> Answer {
    let mut settings = settings.clone();
    settings["mode"] = mode.into();
    validate(pod, &settings)
}

/// Each rule in `Reject`, and what is said after the repair in `Fix`; nothing where a change is only
/// recorded.
#[test]
fn rules_that_repair() {
    let template =
        json!({"coverage": "Fix", "everyPod": true, "template": {"command": ["/bin/true"]}});
    let cases = [
        (
            pod("a:1", "IfNotPresent"),
            json!({"defaults": {"imagePullPolicy": "Always"}}),
            "app pulls a:1 with IfNotPresent, which nobody chose: set app to Always (defaults.imagePullPolicy)",
            None,
        ),
        (
            checked(["a", "Always"], ["a", "Never"]),
            json!({"defaults": {"imageCheckPullPolicy": "IfNotPresent"}}),
            "imagecheck-0 pulls a with Always, which nobody chose: set imagecheck-0 to IfNotPresent (defaults.imageCheckPullPolicy)",
            None,
        ),
        (
            pod("a:1", "IfNotPresent"),
            json!({"images": {"requireAlways": ["a:*"]}}),
            "app pulls a:1 with IfNotPresent but images.requireAlways has a:*: set app to Always",
            Some("app now pulls a:1 with Always instead of IfNotPresent (images.requireAlways)"),
        ),
        (
            pod("a:1", "Always"),
            json!({"images": {"forbidAlways": ["a"]}}),
            "app pulls a:1 with Always but images.forbidAlways has a: set app to IfNotPresent",
            Some("app now pulls a:1 with IfNotPresent instead of Always (images.forbidAlways)"),
        ),
        (
            pod("a:1", "Never"),
            json!({"images": {"forbidNever": ["*"]}}),
            "app pulls a:1 with Never but images.forbidNever has *: set app to IfNotPresent",
            Some("app now pulls a:1 with IfNotPresent instead of Never (images.forbidNever)"),
        ),
        (
            checked(["a:1", "Never"], ["a:1", "Always"]),
            json!({}),
            "imagecheck-0 pulls a:1 with Never but app pulls it with Always: set imagecheck-0 to Always",
            Some("imagecheck-0 now pulls a:1 with Always instead of Never, as app needs"),
        ),
        (
            pod("a:1", "Always"),
            json!({"imageChecks": template}),
            "app pulls a:1 but no image check pulls it first: add imagecheck-0 with Always",
            Some("imagecheck-0 was added: it pulls a:1 with Always before app does"),
        ),
    ];
    for (pod, settings, sentence, warning) in cases {
        let rejected = in_mode(&pod, &settings, "Reject");
        assert_eq!(rejected.message(), sentence);
        assert_eq!(in_mode(&pod, &settings, "Warn").warnings(), [sentence]);
        let fixed = in_mode(&pod, &settings, "Fix");
        assert!(fixed.mutated().is_some(), "{sentence}");
        assert_eq!(fixed.warnings(), warning.into_iter().collect::<Vec<_>>());
    }
}

/// What nobody can repair rejects in `Fix` as well.
#[test]
fn rules_that_cannot_repair() {
    let same = digest(1);
    let mut running = pod("a:2", "IfNotPresent");
    running["oldObject"] = pod("a:1", "IfNotPresent")["object"].take();
    running["operation"] = "UPDATE".into();
    let cases = [
        (
            pod("NGINX", "Always"),
            json!({}),
            "app has no valid image in spec.containers[0].image: \"NGINX\" can't be pulled, its repository has upper-case letters".to_owned(),
        ),
        (
            pod("a:1", "Always"),
            json!({"images": {"requireAlways": ["a"], "forbidAlways": ["a:1"]}}),
            "app pulls a:1, but images.requireAlways has a and images.forbidAlways has a:1: take one out of the policy's settings".to_owned(),
        ),
        (
            running,
            json!({"images": {"requireAlways": ["a"]}}),
            "app pulls a:2 with IfNotPresent but images.requireAlways has a: a running Pod's policy can't change, recreate it with Always".to_owned(),
        ),
        (
            checked([&format!("a:1@{same}"), "Never"], [&format!("a:2@{same}"), "Always"]),
            json!({"images": {"forbidAlways": ["a:1"]}}),
            format!("imagecheck-0 may not pull a:1@{same} with Always (images.forbidAlways), but app does: set app to IfNotPresent"),
        ),
        (
            checked(["docker.io/library/a:1", "Always"], ["a:1", "Always"]),
            json!({"imageChecks": {"coverage": "Reject"}}),
            "app has no check of its own, a:1 is checked as docker.io/library/a:1: a node asks the registry again for another spelling, write both alike or add a check with Always".to_owned(),
        ),
        (
            pod("a:1", "Always"),
            json!({"imageChecks": {"coverage": "Reject", "everyPod": true}}),
            "app pulls a:1 but no image check pulls it first: add one with Always".to_owned(),
        ),
    ];
    for (pod, settings, sentence) in cases {
        for mode in ["Fix", "Reject"] {
            assert_eq!(in_mode(&pod, &settings, mode).message(), sentence, "{mode}");
        }
    }
}

/// What a registry's answer means, in the modes that tell and after the repair.
#[test]
fn registries() {
    let digest = digest(1);
    let asks_for = |policy: &str, registry: Value, mode: &str, answer: Result<&str, &str>| {
        let pod = pod("a:1", policy);
        let mut table = Table::default();
        let answer = answer.map(str::to_owned).map_err(str::to_owned);
        table.answers.insert("docker.io/library/a:1".into(), answer);
        let settings =
            json!({"mode": mode, "registry": registry, "imageChecks": {"coverage": "Off"}});
        validate_with(&pod, &settings, &mut table)
    };
    let asks = |registry, mode, answer| asks_for("Always", registry, mode, answer);
    let pin = asks(json!({"lookup": "Pin"}), "Reject", Ok(&digest));
    assert_eq!(
        pin.message(),
        format!("app pulls a:1 by its tag: set its image to a:1@{digest} with IfNotPresent")
    );
    let away = Err("Server error: url x, code: 503");
    let gone = "docker.io/library/a:1 has a registry that gives no answer: try again later";
    let cached = json!({"lookup": "Verify", "onUnreachable": "UseCached"});
    assert_eq!(
        asks(cached.clone(), "Reject", away).message(),
        "app pulls a:1 with Always but its registry gives no digest: set app to IfNotPresent"
    );
    let rejects = json!({"lookup": "Verify", "onUnreachable": "Reject"});
    assert_eq!(
        asks(rejects, "Fix", away).message(),
        "app's image a:1 has a registry that gives no answer: try again later"
    );
    let keeps = json!({"lookup": "Verify"});
    for (registry, policy, mode, end) in [
        (&cached, "Always", "Fix", " (cached copy allowed)"),
        (&cached, "Always", "Warn", ""),
        (&cached, "IfNotPresent", "Fix", " (kept as it is)"),
        (&cached, "IfNotPresent", "Warn", " (kept as it is)"),
        (&keeps, "Always", "Fix", " (kept as it is)"),
        (&keeps, "Always", "Warn", " (kept as it is)"),
    ] {
        let answer = asks_for(policy, registry.clone(), mode, away);
        let warning = format!("{gone}{end}");
        assert!(
            answer.warnings().contains(&&*warning),
            "{mode}: {:?}",
            answer.warnings()
        );
    }
}

/// A registry is asked only where its answer can make a difference.
#[test]
fn nobody_is_asked_for_a_pod_that_is_rejected_anyway() {
    let with_digest = format!("b:latest@{}", digest(1));
    let two = pod_create(&json!({"containers": [
        {"name": "a", "image": "a:1", "imagePullPolicy": "IfNotPresent"},
        {"name": "b", "image": with_digest, "imagePullPolicy": "Always"},
    ]}));
    for (pod, default, lookup) in [
        // No answer changes a policy.
        (pod("a:1", "IfNotPresent"), "Always", "Verify"),
        // A pin does, but an image with a digest needs none.
        (two, "IfNotPresent", "Pin"),
    ] {
        let settings = json!({
            "mode": "Reject",
            "defaults": {"imagePullPolicy": default},
            "registry": {"lookup": lookup, "onUnreachable": "KeepTag"},
        });
        let mut table = Table::default();
        assert!(!validate_with(&pod, &settings, &mut table).accepted());
        assert!(table.asked.is_empty(), "{:?}", table.asked);
    }
}
