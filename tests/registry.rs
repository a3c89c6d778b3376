//! The registry rule: what is asked, how failures are told apart, and what becomes of them.

mod common;

use common::{Table, captured, container, digest, pod_create, validate_with};
use consistent_pull_policy::lookup::FailureClass as Failure;
use serde_json::{Value, json};

/// Texts as a Kubewarden 1.36 host gives them to the guest.
#[test]
fn failures_are_classified_by_the_stable_parts_of_the_hosts_text() {
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
        (envelope("manifest unknown"), Failure::NotFound),
        (envelope("repository name not known to registry"), Failure::NotFound),
        (envelope("artifact team/denied:latest not found"), Failure::NotFound),
        (envelope("The repository with name 'a' does not exist in the registry with id '1'"), Failure::NotFound),
        (envelope("Tag t was deleted or has expired."), Failure::NotFound),
        (envelope("requested access to the resource is denied"), Failure::Denied),
        (envelope("authentication required"), Failure::Denied),
        (envelope("You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit"), Failure::RateLimited),
        (envelope("too many requests"), Failure::RateLimited),
        (envelope("service unavailable"), Failure::Unreachable),
        (envelope("something else"), Failure::Unknown),
        (host("Not authorized: url https://r/v2/a/manifests/t"), Failure::Denied),
        (status(401, ""), Failure::Denied),
        (status(403, "<html>"), Failure::Denied),
        (status(404, "<html>code: 500</html>"), Failure::NotFound),
        (status(429, "slow down"), Failure::RateLimited),
        (status(500, "internal"), Failure::Unreachable),
        (status(503, "Not authorized: url"), Failure::Unreachable),
        (status(418, "teapot"), Failure::Unknown),
        (host("error sending request for url (https://127.0.0.1:5999/v2/a/manifests/t)"), Failure::Unreachable),
        ("Host error: Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. The violation has been reported.".to_owned(), Failure::NotGranted),
        ("Host error: Callback evaluation failure: invalid reference format".to_owned(), Failure::Unknown),
        ("Host error: Cannot process Wasm guest request: callback channel not provided".to_owned(), Failure::Unknown),
        (String::new(), Failure::Unknown),
    ];
    for (text, expected) in cases {
        assert_eq!(Failure::classify(&text), expected, "{text}");
        // A replayed session keeps only the first line.
        let first_line = text.lines().next().unwrap_or_default();
        assert_eq!(Failure::classify(first_line), expected, "{first_line}");
    }
}

const DOWN: &str = "error sending request for url (http://x/)";

fn table(answers: &[(&str, Result<String, &str>)]) -> Table {
    Table {
        answers: answers
            .iter()
            .map(|(image, answer)| ((*image).to_owned(), answer.clone().map_err(str::to_owned)))
            .collect(),
        ..Table::default()
    }
}

#[test]
fn each_image_is_asked_for_once_those_of_containers_first() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "b:1", "Always")],
        "containers": [
            container("a", "a", "Always"),
            container("b", "docker.io/library/b:1", "Always"),
            container("never", "local:1", "Never"),
            container("digest", &format!("d@{}", digest(9)), "IfNotPresent"),
            container("skipped", "localhost:5000/x:1", "Always"),
        ],
        "volumes": [{"name": "v", "image": {"reference": "ghcr.io/m/v:3", "pullPolicy": "Always"}}],
    }));
    let mut registry = table(&[
        ("docker.io/library/b:1", Ok(digest(1))),
        ("docker.io/library/a:latest", Ok(digest(2))),
        ("ghcr.io/m/v:3", Ok(digest(3))),
    ]);
    let settings = json!({"registry": {"lookup": "Pin", "skipImages": ["localhost:5000/*"]}, "imageChecks": {"coverage": "Off"}});
    let answer = validate_with(&pod, &settings, &mut registry);
    assert_eq!(
        registry.asked,
        [
            "docker.io/library/a:latest",
            "docker.io/library/b:1",
            "ghcr.io/m/v:3"
        ]
    );
    let spec = &answer.mutated().expect("pinned")["spec"];
    assert_eq!(
        spec["initContainers"][0],
        container(
            "imagecheck-0",
            &format!("b:1@{}", digest(1)),
            "IfNotPresent"
        )
    );
    assert_eq!(
        spec["containers"][0],
        container("a", &format!("a:latest@{}", digest(2)), "IfNotPresent")
    );
    assert_eq!(
        spec["containers"][1],
        container(
            "b",
            &format!("docker.io/library/b:1@{}", digest(1)),
            "IfNotPresent"
        )
    );
    assert_eq!(
        spec["containers"][2],
        container("never", "local:1", "Never")
    );
    assert_eq!(
        spec["containers"][4],
        container("skipped", "localhost:5000/x:1", "Always")
    );
    assert_eq!(
        spec["volumes"][0]["image"],
        json!({"reference": format!("ghcr.io/m/v:3@{}", digest(3)), "pullPolicy": "IfNotPresent"})
    );
}

#[test]
fn after_the_first_silence_a_registry_is_left_alone() {
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
    let mut registry = table(&[
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
fn lookups_end_at_the_limit_and_say_so() {
    let containers: Vec<Value> = (0..4)
        .map(|n| container(&format!("c{n}"), &format!("r{n}.example.com/a:1"), "Always"))
        .collect();
    let mut registry = table(&[
        ("r0.example.com/a:1", Ok(digest(0))),
        ("r1.example.com/a:1", Ok(digest(1))),
    ]);
    let settings =
        json!({"registry": {"lookup": "Verify", "maxLookups": 2, "onUnreachable": "Reject"}});
    let answer = validate_with(
        &pod_create(&json!({"containers": containers})),
        &settings,
        &mut registry,
    );
    assert_eq!(registry.asked.len(), 2);
    assert!(!answer.accepted());
    assert_eq!(
        answer.message(),
        "c2's image r2.example.com/a:1 was not looked up: registry.maxLookups is reached; \
         c3's image r3.example.com/a:1 was not looked up: registry.maxLookups is reached"
    );
}

#[test]
fn a_registry_is_asked_only_for_what_would_otherwise_be_accepted() {
    let pod = pod_create(&json!({"containers": [
        container("good", "a:1", "Always"),
        container("bad", "NGINX", "Always"),
    ]}));
    let mut registry = table(&[("docker.io/library/a:1", Ok(digest(1)))]);
    let settings = json!({"registry": {"lookup": "Pin"}});
    assert!(!validate_with(&pod, &settings, &mut registry).accepted());
    assert!(registry.asked.is_empty());
}

#[test]
fn without_the_capability_one_call_is_enough() {
    let text = "Host error: Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. The violation has been reported.";
    let mut registry = table(&[("docker.io/library/a:1", Err(text))]);
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
fn an_update_pins_only_what_changed_and_never_a_policy() {
    let mut request = captured("pod-update-image");
    let settings = json!({"registry": {"lookup": "Pin"}});
    let mut registry = table(&[("docker.io/library/nginx:1.27", Ok(digest(1)))]);
    let answer = validate_with(&request, &settings, &mut registry);
    assert_eq!(registry.asked, ["docker.io/library/nginx:1.27"]);
    let mut expected = request["object"].clone();
    expected["spec"]["containers"][0]["image"] = json!(format!("nginx:1.27@{}", digest(1)));
    assert_eq!(answer.mutated(), Some(&expected));

    // Applied again after the tag has moved: the container must not restart.
    request["oldObject"]["spec"]["containers"][0]["image"] =
        json!(format!("nginx:1.27@{}", digest(1)));
    let mut registry = table(&[("docker.io/library/nginx:1.27", Ok(digest(2)))]);
    let answer = validate_with(&request, &settings, &mut registry);
    assert!(registry.asked.is_empty());
    assert_eq!(answer.mutated(), Some(&expected));
}

#[test]
fn a_template_is_verified_and_never_pinned() {
    let request = captured("deployment-create");
    let mut registry = table(&[
        ("docker.io/library/nginx:latest", Ok(digest(1))),
        (
            "docker.io/library/nginx:1.25",
            Err("Server error: url x, code: 404, message: "),
        ),
    ]);
    let settings = json!({"registry": {"lookup": "Pin"}, "templates": "Enforce"});
    let answer = validate_with(&request, &settings, &mut registry);
    assert_eq!(registry.asked.len(), 2);
    assert_eq!(
        answer.message(),
        "b's image nginx:1.25 does not exist in its registry: correct its tag or repository"
    );
}

#[test]
fn what_a_node_has_serves_while_the_registry_is_away() {
    let pod = pod_create(&json!({
        "initContainers": [container("imagecheck-0", "ghcr.io/a:1", "Always")],
        "containers": [
            container("a", "ghcr.io/a:1", "Always"),
            container("secret", "ghcr.io/secret/b:1", "Always"),
        ],
    }));
    let mut registry = table(&[("ghcr.io/a:1", Err(DOWN))]);
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

/// A check that never asks stays weak beside a container that an outage leaves with `IfNotPresent`.
#[test]
fn an_outage_leaves_no_check_weaker_than_its_container() {
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
        let mut registry = table(&[("ghcr.io/a:1", Err(DOWN))]);
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

/// A check that is pinned doesn't pull with `Always` any more, so it spares nobody a pull.
#[test]
fn what_is_pinned_leaves_no_default_for_the_next_look() {
    let by_digest = format!("app@{}", digest(1));
    let mut request = pod_create(&json!({
        "initContainers": [{"name": "imagecheck-0", "image": "app:v2", "imagePullPolicy": "Always"}],
        "containers": [{"name": "a", "image": by_digest, "imagePullPolicy": "IfNotPresent"}],
    }));
    let settings = json!({
        "defaults": {"imagePullPolicy": "Never"},
        "registry": {"lookup": "Pin", "images": ["*:v?"]},
    });
    let table = Table {
        answers: [("docker.io/library/app:v2".to_owned(), Ok(digest(1)))].into(),
        ..Table::default()
    };
    let first = validate_with(&request, &settings, &mut table.clone());
    request["object"] = first.mutated().expect("a pin").clone();
    let second = validate_with(&request, &settings, &mut table.clone());
    assert_eq!(second.mutated(), None);
}

/// Without image checks nothing takes back what a default raises, and the pair is none any more.
#[test]
fn a_default_that_raises_a_container_leaves_nothing_for_the_next_look() {
    let image = |tag: &str| format!("app:{tag}@{}", digest(1));
    let mut request = pod_create(&json!({
        "initContainers": [{"name": "setup", "image": image("latest"), "imagePullPolicy": "Always"}],
        "containers": [{"name": "a", "image": image("v2"), "imagePullPolicy": "IfNotPresent"}],
    }));
    let settings = json!({
        "defaults": {"imagePullPolicy": "Always"},
        "registry": {"lookup": "Pin", "images": ["app:latest"]},
    });
    let first = validate_with(&request, &settings, &mut Table::default());
    request["object"] = first.mutated().expect("a default").clone();
    let second = validate_with(&request, &settings, &mut Table::default());
    assert_eq!(second.mutated(), None);
}

/// Of two checks the first was raised, the other one has what `UseCached` may have left.
#[test]
fn the_copy_raises_again_what_its_default_would_lower() {
    let request = pod_create(&json!({
        "initContainers": [
            {"name": "imagecheck-0", "image": "app", "imagePullPolicy": "Always"},
            {"name": "imagecheck-1", "image": "app", "imagePullPolicy": "IfNotPresent"},
        ],
        "containers": [{"name": "a", "image": "app", "imagePullPolicy": "Always"}],
    }));
    let mut settings = json!({
        "pullOnce": false,
        "defaults": {"imageCheckPullPolicy": "IfNotPresent"},
        "registry": {"lookup": "Verify", "onUnknown": "UseCached"},
    });
    let mut table = Table {
        answers: [("docker.io/library/app:latest".to_owned(), Ok(digest(1)))].into(),
        ..Table::default()
    };
    let first = validate_with(&request, &settings, &mut table);
    assert!(first.accepted() && first.mutated().is_none());
    settings["mode"] = json!("Reject");
    settings["registry"]["maxLookups"] = json!(0);
    let copy = validate_with(&request, &settings, &mut Table::default());
    assert!(copy.accepted(), "{}", copy.message());
}

/// The check is that of the container, as soon as a registry has said so: its forbidden default acts
/// no more.
#[test]
fn a_default_that_is_forbidden_rejects_nothing_before_a_registry_was_asked() {
    let check = format!("app:latest@{}", digest(1));
    let mut request = pod_create(&json!({
        "initContainers": [{"name": "imagecheck-0", "image": check, "imagePullPolicy": "Always"}],
        "containers": [{"name": "a", "image": "app:v1", "imagePullPolicy": "Always"}],
    }));
    let mut settings = json!({
        "defaults": {"imageCheckPullPolicy": "Never"},
        "images": {"forbidNever": ["app:latest"]},
        "registry": {"lookup": "Verify", "images": ["app:v1"]},
    });
    let mut table = Table {
        answers: [("docker.io/library/app:v1".to_owned(), Ok(digest(1)))].into(),
        ..Table::default()
    };
    let first = validate_with(&request, &settings, &mut table);
    request["object"] = first.mutated().expect("pull-once").clone();
    settings["mode"] = json!("Reject");
    let second = validate_with(&request, &settings, &mut table);
    assert!(second.accepted(), "{}", second.message());
}
