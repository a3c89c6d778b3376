//! The rule *registry*: the class of a failed lookup, and the settings `registry.on…` that decide
//! what follows.

mod common;

use common::{
    container, copy_settings, digest, pod_create, registry_with_answers, unreachable_registry,
    validate, validate_with,
};
use consistent_pull_policy::lookup::FailureClass;
use serde_json::{Value, json};

/// A host's text for a registry that does not answer.
const DOWN: &str = "error sending request for url (http://x/)";

/// The texts are those of a Kubewarden 1.36 host.
#[test]
fn a_failure_is_classified_by_the_text_of_the_host() {
    let host = |text: &str| {
        format!(
            "Host error: Callback evaluation failure: Fail to interact with OCI registry: {text}\n\nCaused by:\n    {text}"
        )
    };
    let envelope = |message: &str| {
        host(&format!(
            "Registry error: url https://r/v2/a/manifests/t, envelope: OCI API errors: [OCI API error: {message}]"
        ))
    };
    let status = |code: u16, body: &str| {
        host(&format!(
            "Server error: url https://r/v2/a/manifests/t, code: {code}, message: {body}"
        ))
    };
    let cases = [
        (envelope("manifest unknown"), FailureClass::NotFound),
        (envelope("repository name not known to registry"), FailureClass::NotFound),
        (envelope("artifact team/denied:latest not found"), FailureClass::NotFound),
        (envelope("The repository with name 'a' does not exist in the registry with id '1'"), FailureClass::NotFound),
        (envelope("Tag t was deleted or has expired."), FailureClass::NotFound),
        (envelope("requested access to the resource is denied"), FailureClass::Denied),
        (envelope("authentication required"), FailureClass::Denied),
        (envelope("You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit"), FailureClass::RateLimited),
        (envelope("too many requests"), FailureClass::RateLimited),
        (envelope("service unavailable"), FailureClass::Unreachable),
        (envelope("something else"), FailureClass::Unknown),
        (host("Not authorized: url https://r/v2/a/manifests/t"), FailureClass::Denied),
        (status(401, ""), FailureClass::Denied),
        (status(403, "<html>"), FailureClass::Denied),
        (status(404, "<html>code: 500</html>"), FailureClass::NotFound),
        (status(429, "slow down"), FailureClass::RateLimited),
        (status(500, "internal"), FailureClass::Unreachable),
        (status(503, "Not authorized: url"), FailureClass::Unreachable),
        (status(418, "teapot"), FailureClass::Unknown),
        (host("error sending request for url (https://127.0.0.1:5999/v2/a/manifests/t)"), FailureClass::Unreachable),
        ("Host error: Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. The violation has been reported.".to_owned(), FailureClass::NotGranted),
        ("Host error: Callback evaluation failure: invalid reference format".to_owned(), FailureClass::Unknown),
        ("Host error: Cannot process Wasm guest request: callback channel not provided".to_owned(), FailureClass::Unknown),
        (String::new(), FailureClass::Unknown),
    ];
    for (text, expected) in cases {
        assert_eq!(FailureClass::classify(&text), expected, "{text}");
        // A recorded session has only the first line of the text.
        let first_line = text.lines().next().unwrap_or_default();
        assert_eq!(FailureClass::classify(first_line), expected, "{first_line}");
    }
}

#[test]
fn a_denied_answer_of_ecr_is_recognised() {
    let text = "Host error: Callback evaluation failure: Fail to interact with OCI registry: \
                Registry error: url https://x, envelope: OCI API errors: [OCI API error: User: \
                arn:aws:sts::1:assumed-role/x is not authorized to perform: ecr:BatchGetImage on \
                resource: arn:aws:ecr:x because no identity-based policy allows it]";
    assert_eq!(FailureClass::classify(text), FailureClass::Denied);
}

#[test]
fn a_registry_that_does_not_answer_gets_no_further_lookups() {
    let containers: Vec<Value> = (0..5)
        .map(|n| {
            container(
                &format!("c{n}"),
                &format!("dead.example.com/a{n}:1"),
                "Always",
            )
        })
        .chain([container("other", "ghcr.io/a:1", "Always")])
        .collect();
    let mut registry = registry_with_answers(&[
        ("dead.example.com/a0:1", Err(DOWN)),
        ("ghcr.io/a:1", Ok(digest(1))),
    ]);
    let answer = validate_with(
        &pod_create(&json!({"containers": containers})),
        &json!({"registry": {"lookup": "Verify"}}),
        &mut registry,
    );
    assert_eq!(registry.asked, ["dead.example.com/a0:1", "ghcr.io/a:1"]);
    assert!(answer.accepted());
    assert_eq!(answer.warnings().len(), 5);
    let lookups = answer.audited("lookups");
    assert_eq!(lookups.len(), 5);
    assert_eq!(
        lookups[0],
        json!({"image": "dead.example.com/a0:1", "failure": "unreachable", "asked": true, "action": "KeepTag"})
    );
    assert_eq!(lookups[4]["asked"], false);
}

#[test]
fn a_host_that_refuses_a_lookup_is_asked_once() {
    let text = "Host error: Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. The violation has been reported.";
    let mut registry = registry_with_answers(&[("docker.io/library/a:1", Err(text))]);
    let pod = pod_create(&json!({"containers": [
        container("a", "a:1", "Always"),
        container("b", "ghcr.io/b:1", "Always"),
    ]}));
    let settings = json!({"registry": {"lookup": "Verify", "onUnknown": "Reject"}});
    let answer = validate_with(&pod, &settings, &mut registry);
    assert_eq!(registry.asked, ["docker.io/library/a:1"]);
    assert!(
        answer
            .message()
            .contains("grant oci/v1/manifest_digest in hostCapabilities of its policy server"),
        "{}",
        answer.message()
    );
    let lookups = answer.audited("lookups");
    assert_eq!(lookups[0]["failure"], "notGranted");
    assert_eq!(lookups[0]["asked"], true);
    assert_eq!(lookups[1]["failure"], "notGranted");
    assert_eq!(lookups[1]["asked"], false);
}

#[test]
fn use_cached_sets_if_not_present_except_for_require_always() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "ghcr.io/a:1", "Always")],
        "containers": [
            container("a", "ghcr.io/a:1", "Always"),
            container("secret", "ghcr.io/secret/b:1", "Always"),
        ],
    }));
    let mut registry = registry_with_answers(&[("ghcr.io/a:1", Err(DOWN))]);
    let settings = json!({
        "registry": {"lookup": "Pin", "onUnreachable": "UseCached"},
        "images": {"requireAlways": ["ghcr.io/secret/*"]},
        "imageChecks": {"coverage": "Off"},
    });
    let answer = validate_with(&pod, &settings, &mut registry);
    let spec = &answer.mutated().expect("changed")["spec"];
    assert_eq!(spec["initContainers"][0]["imagePullPolicy"], "IfNotPresent");
    assert_eq!(
        spec["containers"][0],
        container("a", "ghcr.io/a:1", "IfNotPresent")
    );
    assert_eq!(
        spec["containers"][1],
        container("secret", "ghcr.io/secret/b:1", "Always")
    );
    assert_eq!(answer.warnings().len(), 2);
    assert!(
        answer.warnings()[1].ends_with("(Always kept: images.requireAlways)"),
        "{:?}",
        answer.warnings()
    );
}

/// The check gets `IfNotPresent`, even if it had `Never` before.
#[test]
fn use_cached_leaves_no_check_weaker_than_its_container() {
    for (before, after) in [
        ("Never", "IfNotPresent"),
        ("IfNotPresent", "IfNotPresent"),
        ("Always", "IfNotPresent"),
    ] {
        let pod = pod_create(&json!({
            "initContainers": [container("imagecheck-0", "ghcr.io/a:1", before)],
            "containers": [container("a", "ghcr.io/a:1", "Always")],
        }));
        let settings = json!({"registry": {"lookup": "Verify", "onUnreachable": "UseCached"}});
        let mut registry = registry_with_answers(&[("ghcr.io/a:1", Err(DOWN))]);
        let answer = validate_with(&pod, &settings, &mut registry);
        let spec = &answer.mutated().expect("changed")["spec"];
        assert_eq!(
            spec["containers"][0]["imagePullPolicy"], "IfNotPresent",
            "{before}"
        );
        assert_eq!(
            spec["initContainers"][0]["imagePullPolicy"], after,
            "{before}"
        );
    }
}

#[test]
fn use_cached_raises_a_check_with_never_so_that_the_copy_accepts_it() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "a:1", "Never")],
        "containers": [container("a", "a:1", "Always")],
    }));
    let settings = json!({"registry": {"lookup": "Pin", "onUnreachable": "UseCached"}});
    let answer = validate_with(&pod, &settings, &mut unreachable_registry());
    let object = answer.mutated().expect("a change");
    for list in ["initContainers", "containers"] {
        let policy = &object["spec"][list][0]["imagePullPolicy"];
        assert_eq!(policy, "IfNotPresent", "{list}");
    }
    let copy = copy_settings(&settings);
    assert!(validate(&pod_create(&object["spec"]), &copy).accepted());
}

/// Such an image is looked up for its platforms only. With `IfNotPresent` the copy would find that
/// the default is missing.
#[test]
fn use_cached_acts_as_keep_tag_for_an_image_with_a_digest() {
    let image = format!("a@{}", digest(1));
    let pod = pod_create(&json!({
        "nodeSelector": {"kubernetes.io/arch": "arm64"},
        "containers": [container("a", &image, "Always")],
    }));
    let registry = json!({"lookup": "Verify", "platform": "Reject", "onUnknown": "UseCached"});
    let settings = json!({"defaults": {"imagePullPolicy": "Always"}, "registry": registry});
    let answer = validate(&pod, &settings);
    assert!(answer.accepted() && answer.mutated().is_none());
    assert_eq!(answer.audited("lookups")[0]["action"], "KeepTag");
    assert!(validate(&pod, &copy_settings(&settings)).accepted());
}

#[test]
fn only_fix_says_that_a_cached_copy_is_allowed() {
    let spec = json!({"containers": [container("a", "a:1", "Always")]});
    let warnings = |mode: &str| {
        let settings = json!({
            "mode": mode,
            "registry": {"lookup": "Verify", "onUnknown": "UseCached"},
        });
        let answer = validate(&pod_create(&spec), &settings);
        answer.warnings().join("\n")
    };
    assert!(warnings("Fix").contains("(cached copy allowed)"));
    assert!(
        !warnings("Warn").contains("cached copy allowed"),
        "{}",
        warnings("Warn")
    );
}
