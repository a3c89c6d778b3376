//! The texts that people read: sentences of findings, warnings about repairs and lookups, and the
//! largest number of sentences and warnings in one answer.

use crate::common::{
    Answer, container, digest, pod_create, registry_with_answers, validate, validate_with,
};
use serde_json::{Value, json};

/// The CREATE request of a Pod with one container.
fn pod(image: &str, policy: &str) -> Value {
    pod_create(&json!({"containers": [container("app", image, policy)]}))
}

/// The CREATE request of a Pod with one image check and one container. Each of the two parameters is
/// an image and a pull policy.
fn pod_with_check(check: [&str; 2], app: [&str; 2]) -> Value {
    let of = |name, [image, pull_policy]: [&str; 2]| container(name, image, pull_policy);
    pod_create(&json!({
        "initContainers": [of("imagecheck-0", check)],
        "containers": [of("app", app)],
    }))
}

/// The answer to the request under these settings, with this value of `mode`.
fn in_mode(pod: &Value, settings: &Value, mode: &str) -> Answer {
    let mut settings = settings.clone();
    settings["mode"] = mode.into();
    validate(pod, &settings)
}

/// Containers `c0`, `c1` and so on, all with this image and `Never`.
fn numbered_containers(count: usize, image: &str) -> Value {
    (0..count)
        .map(|number| container(&format!("c{number}"), image, "Never"))
        .collect()
}

/// The sentence of a finding is the same in `Reject` and `Warn`. In `Fix`, a repair by *default* is
/// only written into the record of changes. The other repairs of this test get a warning.
/// A Pod with one app container and nothing else needs no check. With an init container, it needs one.
fn with_init_container(mut request: Value) -> Value {
    request["object"]["spec"]["initContainers"] = json!([container("i", "x:1", "IfNotPresent")]);
    request
}

#[test]
fn a_repair_has_a_sentence_and_a_warning() {
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
            pod_with_check(["a", "Always"], ["a", "Never"]),
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
            pod_with_check(["a:1", "Never"], ["a:1", "Always"]),
            json!({}),
            "imagecheck-0 pulls a:1 with Never but app pulls it with Always: set imagecheck-0 to Always",
            Some("imagecheck-0 now pulls a:1 with Always instead of Never, as app needs"),
        ),
        (
            with_init_container(pod("a:1", "Always")),
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

#[test]
fn a_finding_without_a_repair_has_the_same_sentence_in_fix_and_reject() {
    let same = digest(1);
    let mut update = pod("a:2", "IfNotPresent");
    update["oldObject"] = pod("a:1", "IfNotPresent")["object"].take();
    update["operation"] = "UPDATE".into();
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
            update,
            json!({"images": {"requireAlways": ["a"]}}),
            "app pulls a:2 with IfNotPresent but images.requireAlways has a: a running Pod's policy can't change, recreate it with Always".to_owned(),
        ),
        (
            pod_with_check([&format!("a:1@{same}"), "Never"], [&format!("a:2@{same}"), "Always"]),
            json!({"images": {"forbidAlways": ["a:1"]}}),
            format!("imagecheck-0 may not pull a:1@{same} with Always (images.forbidAlways), but app does: set app to IfNotPresent"),
        ),
        (
            pod_with_check(["docker.io/library/a:1", "Always"], ["a:1", "Always"]),
            json!({"imageChecks": {"coverage": "Reject"}}),
            "app has no check of its own, a:1 is checked as docker.io/library/a:1: a node asks the registry again for another spelling, write both alike or add a check with Always".to_owned(),
        ),
        (
            with_init_container(pod("a:1", "Always")),
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

#[test]
fn a_registry_answer_has_a_sentence_and_a_warning() {
    let digest = digest(1);
    let answer_to_pod = |policy: &str, registry: Value, mode: &str, answer: Result<&str, &str>| {
        let answer = answer.map(str::to_owned);
        let mut registries = registry_with_answers(&[("docker.io/library/a:1", answer)]);
        let settings =
            json!({"mode": mode, "registry": registry, "imageChecks": {"coverage": "Off"}});
        validate_with(&pod("a:1", policy), &settings, &mut registries)
    };
    let answer_to_always = |registry, mode, answer| answer_to_pod("Always", registry, mode, answer);
    let pin = answer_to_always(
        json!({"images": ["*"], "lookup": "Pin"}),
        "Reject",
        Ok(&digest),
    );
    assert_eq!(
        pin.message(),
        format!("app pulls a:1 by its tag: set its image to a:1@{digest} with IfNotPresent")
    );
    let unreachable = Err("Server error: url x, code: 503");
    let start = "docker.io/library/a:1 has a registry that gives no answer: try again later";
    let use_cached = json!({"images": ["*"], "lookup": "Verify", "onUnreachable": "UseCached"});
    assert_eq!(
        answer_to_always(use_cached.clone(), "Reject", unreachable).message(),
        "app pulls a:1 with Always but its registry gives no digest: set app to IfNotPresent"
    );
    let reject = json!({"images": ["*"], "lookup": "Verify", "onUnreachable": "Reject"});
    assert_eq!(
        answer_to_always(reject, "Fix", unreachable).message(),
        "app's image a:1 has a registry that gives no answer: try again later"
    );
    let keep_tag = json!({"images": ["*"], "lookup": "Verify"});
    for (registry, policy, mode, end) in [
        (&use_cached, "Always", "Fix", " (cached copy allowed)"),
        (&use_cached, "Always", "Warn", ""),
        (&use_cached, "IfNotPresent", "Fix", " (kept as it is)"),
        (&use_cached, "IfNotPresent", "Warn", " (kept as it is)"),
        (&keep_tag, "Always", "Fix", " (kept as it is)"),
        (&keep_tag, "Always", "Warn", " (kept as it is)"),
    ] {
        let answer = answer_to_pod(policy, registry.clone(), mode, unreachable);
        let warning = format!("{start}{end}");
        assert!(
            answer.warnings().contains(&&*warning),
            "{mode}: {:?}",
            answer.warnings()
        );
    }
}

#[test]
fn a_message_has_at_most_twenty_findings_and_counts_the_rest() {
    let twentieth = "c19 has no valid image in spec.containers[19].image: \"Bad\" can't be pulled, \
                    its repository has upper-case letters";
    for (count, last) in [
        (20, twentieth),
        (21, "and 1 more finding"),
        (23, "and 3 more findings"),
    ] {
        let pod = pod_create(&json!({"containers": numbered_containers(count, "Bad")}));
        let answer = validate(&pod, &json!({}));
        let sentences: Vec<&str> = answer.message().split("; ").collect();
        assert_eq!(sentences.len(), count.min(21), "{count}");
        assert_eq!(sentences.last(), Some(&last));
        assert_eq!(answer.audited("findings").len(), count);
    }
}

#[test]
fn an_answer_has_at_most_ten_warnings_and_the_last_counts_the_rest() {
    let settings = json!({"mode": "Warn", "images": {"forbidNever": ["*"]}});
    for (count, end) in [
        (10, "c9 pulls a:1 with Never"),
        (11, "and 2 more warnings"),
        (12, "and 3 more warnings"),
        (15, "and 6 more warnings"),
    ] {
        let pod = pod_create(&json!({"containers": numbered_containers(count, "a:1")}));
        let answer = validate(&pod, &settings);
        assert_eq!(answer.warnings().len(), 10, "{count}");
        let last = answer.warnings()[9];
        assert!(last.starts_with(end), "{count}: {last}");
    }
}
