//! Tests those clauses of the specification that the tables of the end-to-end tests can't express: the
//! server default of a real API server, the order of lookups, the order of containers, the copy, and an
//! undecided verdict. `make replay` compares the specification with all rows of the end-to-end tests.

use consistent_pull_policy_spec::answers::{Answers, Failure};
use consistent_pull_policy_spec::generate::{Case, bytes, case, shrink};
use consistent_pull_policy_spec::json::ROOTS;
use consistent_pull_policy_spec::{Settings, server_default, validate};
use serde_json::{Value, json};

const D1: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

/// A request that creates a Pod with these app containers and init containers.
fn pod(containers: &Value, init_containers: &Value) -> Value {
    json!({
        "uid": "u", "operation": "CREATE", "oldObject": null,
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "userInfo": {"username": "a", "groups": ["system:authenticated"]},
        "object": {
            "metadata": {"name": "p"},
            "spec": {"containers": containers, "initContainers": init_containers},
        },
    })
}

fn container(name: &str, image: &str, policy: &str) -> Value {
    json!({"name": name, "image": image, "imagePullPolicy": policy, "command": ["/x"]})
}

#[test]
fn the_server_default_is_the_one_observed_on_an_api_server() {
    let hex = "1".repeat(64);
    let cases = [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.25", "IfNotPresent"),
        (&format!("nginx@sha256:{hex}"), "IfNotPresent"),
        (&format!("nginx:latest@sha256:{hex}"), "Always"),
        (&format!("nginx:1.25@sha256:{hex}"), "IfNotPresent"),
        ("localhost:5000/a/b", "Always"),
        ("localhost/a/b", "Always"),
        ("[::1]:5000/a/b", "Always"),
        ("localhost:5000/a/b:latest", "Always"),
        ("localhost:5000/a/b:v1", "IfNotPresent"),
        ("nginx:Latest", "IfNotPresent"),
        ("nginx:LATEST", "IfNotPresent"),
        ("nginx:latest-alpine", "IfNotPresent"),
        ("nginx:stable-latest", "IfNotPresent"),
        ("Registry.Example.com/nginx", "Always"),
        ("REGISTRY/nginx", "Always"),
        (&format!("{hex}:latest"), "Always"),
        (&hex, "IfNotPresent"),
        ("NGINX", "IfNotPresent"),
        ("NGINX:latest", "IfNotPresent"),
        ("nginx:", "IfNotPresent"),
        ("nginx::latest", "IfNotPresent"),
        ("nginx@latest", "IfNotPresent"),
        ("nginx:latest@sha256:abc", "IfNotPresent"),
        ("http://reg/nginx:latest", "IfNotPresent"),
        ("$(IMG)", "IfNotPresent"),
        ("a//b:latest", "IfNotPresent"),
        ("-nginx:latest", "IfNotPresent"),
        ("ngi nx", "IfNotPresent"),
    ];
    for (image, policy) in cases {
        assert_eq!(server_default(image).name(), policy, "{image}");
    }
}

#[test]
fn the_images_of_app_containers_are_looked_up_first() {
    let settings = json!({"registry": {"images": ["*"], "lookup": "Verify", "maxLookups": 2}});
    let request = pod(
        &json!([
            container("a", "r.io/b:1", "Always"),
            container("b", "R.io:0443/c:1", "Always"),
            container("c", "s.io/x:1", "Always"),
        ]),
        &json!([container("i", "r.io/a:1", "Always")]),
    );
    let unreachable = ("r.io/b:1".to_owned(), Err(Failure::Unreachable));
    let answers = Answers {
        digests: [unreachable].into(),
        ..Answers::default()
    };
    let verdict = validate(&request, &settings, &answers);
    // The registry `r.io` doesn't answer for `b:1`, so no other image of `r.io` is looked up, in whatever
    // spelling of its host.
    assert_eq!(verdict.lookups, ["r.io/b:1", "s.io/x:1"]);
    let asked = verdict.failed.iter().filter(|one| one["asked"] == true);
    assert_eq!(asked.count(), 1);
}

/// The copy has no finding about a repository if any place has an image of it that is looked up, also
/// an exempt one.
#[test]
fn the_copy_leaves_alone_what_a_lookup_may_have_decided() {
    let is_accepted = |images: Value, exempt: Value| {
        let settings = json!({
            "mode": "Reject", "validatingCopy": true, "defaults": {"imagePullPolicy": "Always"},
            "exempt": {"containers": exempt}, "registry": {"images": images, "lookup": "Pin"},
        });
        let request = pod(
            &json!([
                container("a", "a:1", "IfNotPresent"),
                container("b", "docker.io/library/a:2", "Always"),
            ]),
            &json!([]),
        );
        validate(&request, &settings, &Answers::default()).allowed
    };
    assert!(is_accepted(json!(["*"]), json!([])));
    assert!(is_accepted(json!(["a:2"]), json!(["b"])));
    assert!(!is_accepted(json!(["b"]), json!([])));
}

/// The copy can't know whether a webhook added a digest to one of two references after the first
/// installation ran. So the two references count as one image where this removes a finding.
#[test]
fn the_copy_forgives_a_digest_that_a_webhook_added() {
    let pinned = format!("a@{D1}");
    for (check, app, allowed) in [
        ("a:latest", pinned.as_str(), true),
        (&pinned, "a", true),
        ("a:1", &pinned, false),
        ("library/a", &pinned, false),
    ] {
        let request = pod(
            &json!([
                container("a", app, "Always"),
                container("b", "b:1", "Never"),
            ]),
            &json!([
                container("imagecheck-0", check, "Always"),
                container("imagecheck-1", "b:1", "Never"),
            ]),
        );
        let mut settings = json!({"mode": "Reject", "imageChecks": {"coverage": "Reject"}});
        for (is_copy, allowed) in [(false, false), (true, allowed)] {
            settings["validatingCopy"] = is_copy.into();
            let verdict = validate(&request, &settings, &Answers::default());
            assert_eq!(verdict.allowed, allowed, "{check} {app} {is_copy}");
        }
    }
}

/// The size of the additions depends on how the module writes the object. So the specification
/// doesn't decide whether additions near the limit fit.
#[test]
fn a_size_near_the_limit_makes_the_verdict_undecided() {
    let settings = json!({"imageChecks": {"coverage": "Fix"}});
    for (argument, allowed) in [
        (90_000, Some(true)),
        (104_800, None),
        (120_000, Some(false)),
    ] {
        let mut check = container("imagecheck-x", "base:1", "Always");
        check["args"] = json!(["x".repeat(argument)]);
        // A check is copied only if its program comes from a mount.
        check["volumeMounts"] = json!([{"name": "tools", "mountPath": "/x"}]);
        let containers: Value = (0..10)
            .map(|n| container(&format!("c{n}"), &format!("a{n}:1"), "Always"))
            .collect();
        let request = pod(&containers, &json!([check]));
        let verdict = validate(&request, &settings, &Answers::default());
        let decided = (!verdict.is_undecided).then_some(verdict.allowed);
        assert_eq!(decided, allowed, "{argument}");
    }
}

/// Whether all lookups are made, and the case lists no answers for digests. Then the order of the
/// containers can't change the findings, because the answer about a digest depends only on the image
/// reference.
///
/// **Decided\***: after a registry gave no answer, its other images are not looked up. The order of the
/// images decides which images are looked up before a registry gives no answer.
fn asks_for_all(case: &Case) -> bool {
    let verdict = validate(&case.request, &case.settings, &case.answers);
    case.answers.digests.is_empty()
        && (verdict.lookups.len() as u64) < Settings(&case.settings).max_lookups()
        && verdict.failed.iter().all(|lookup| lookup["asked"] == true)
}

/// Whether the request is allowed, the rule and container of findings, and the number of all findings. A
/// finding of *missing-check* names one of an image's containers. The order of the containers decides
/// which container is named. So the findings of *missing-check* are only counted.
fn told(case: &Case) -> (bool, Vec<(&'static str, String)>, usize) {
    let verdict = validate(&case.request, &case.settings, &case.answers);
    let others = verdict
        .findings
        .iter()
        .filter(|one| one.rule != "missing-check");
    let mut found: Vec<_> = others
        .map(|one| (one.rule, one.container.clone()))
        .collect();
    found.sort();
    (verdict.allowed, found, verdict.findings.len())
}

#[test]
fn the_order_of_containers_does_not_change_the_findings() {
    let changes = |case: &Case| {
        let object = &case.request["object"];
        if case.request["operation"] != "CREATE"
            || !asks_for_all(case)
            || object.to_string().contains("status")
        {
            return false;
        }
        let mut turned = case.clone();
        for root in ROOTS {
            let containers = turned.request["object"].pointer_mut(&format!("{root}/containers"));
            if let Some(Value::Array(list)) = containers {
                list.reverse();
            }
        }
        told(case) != told(&turned)
    };
    for number in 0..4_000 {
        let bytes = bytes(6, number);
        let is_changed = changes(&case(&bytes));
        assert!(
            !is_changed,
            "case {number}: {:#?}",
            case(&shrink(&bytes, changes))
        );
    }
}
