//! Tests each clause of the design with one case: a request and the expected verdict.

mod real_pods;

use consistent_pull_policy_spec::generate::Answers;
use consistent_pull_policy_spec::{Failure, Verdict, server_default, validate};
use serde_json::{Value, json};

const D1: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

#[allow(clippy::needless_pass_by_value)]
fn review(kind: (&str, &str), object: Value) -> Value {
    json!({
        "uid": "u", "operation": "CREATE", "object": object, "oldObject": null,
        "kind": {"group": kind.0, "version": "v1", "kind": kind.1},
        "userInfo": {"username": "a", "groups": ["system:authenticated"]},
    })
}

/// A Pod of `list name image policy` lines. The list is `i` for an init container, and `c` for an app
/// container. Each init container has a command, so that it can be copied.
fn pod(lines: &[&str]) -> Value {
    let mut spec = json!({"containers": [], "initContainers": []});
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [list, name, image, policy] = words[..] else {
            panic!("{line}")
        };
        let mut container = json!({"name": name, "image": image, "imagePullPolicy": policy});
        let list = if list == "i" {
            container["command"] = json!(["/check"]);
            "initContainers"
        } else {
            "containers"
        };
        spec[list].as_array_mut().expect("a list").push(container);
    }
    review(
        ("", "Pod"),
        json!({"metadata": {"name": "p"}, "spec": spec}),
    )
}

fn run(request: &Value, settings: &Value) -> Verdict {
    validate(request, settings, &mut Answers::default())
}

fn asking(request: &Value, settings: &Value, answers: &[(&str, Result<&str, Failure>)]) -> Verdict {
    let mut registry = Answers::default();
    for (image, answer) in answers {
        registry
            .digests
            .insert((*image).to_owned(), answer.map(str::to_owned));
    }
    validate(request, settings, &mut registry)
}

/// The containers of the changed object, or of the request if nothing was changed. Each line has
/// the format that `pod` reads.
fn lines(request: &Value, verdict: &Verdict) -> Vec<String> {
    let object = verdict.object.as_ref().unwrap_or(&request["object"]);
    let mut lines = Vec::new();
    for (list, letter) in [("initContainers", "i"), ("containers", "c")] {
        for one in object["spec"][list].as_array().into_iter().flatten() {
            let text = |key: &str| one[key].as_str().unwrap_or("-").to_owned();
            lines.push(format!(
                "{letter} {} {} {}",
                text("name"),
                text("image"),
                text("imagePullPolicy")
            ));
        }
    }
    lines
}

fn found(verdict: &Verdict) -> Vec<String> {
    verdict
        .findings
        .iter()
        .map(|one| format!("{} {}", one.rule, one.path))
        .collect()
}

#[track_caller]
fn repairs(settings: &Value, before: &[&str], after: &[&str]) {
    let request = pod(before);
    let verdict = run(&request, settings);
    assert!(verdict.allowed, "{verdict:#?}");
    assert_eq!(lines(&request, &verdict), after);
}

#[track_caller]
fn rejects(settings: &Value, before: &[&str], expected: &[&str]) {
    let verdict = run(&pod(before), settings);
    assert!(!verdict.allowed, "{verdict:#?}");
    assert!(verdict.object.is_none());
    assert_eq!(found(&verdict), expected);
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
fn a_weak_check_is_raised_and_its_container_is_lowered() {
    repairs(
        &json!({}),
        &["i imagecheck-0 app:v1 IfNotPresent", "c app app:v1 Always"],
        &["i imagecheck-0 app:v1 Always", "c app app:v1 IfNotPresent"],
    );
    repairs(
        &json!({"pullOnce": false}),
        &["i imagecheck-0 app:v1 IfNotPresent", "c app app:v1 Always"],
        &["i imagecheck-0 app:v1 Always", "c app app:v1 Always"],
    );
    rejects(
        &json!({"mode": "Reject"}),
        &["i imagecheck-0 app:v1 IfNotPresent", "c app app:v1 Always"],
        &["weak-check spec.initContainers[0].imagePullPolicy"],
    );
}

#[test]
fn the_first_check_is_raised_if_none_is_strong_enough() {
    repairs(
        &json!({"pullOnce": false}),
        &[
            "i imagecheck-0 app:v1 Never",
            "i imagecheck-1 app:v1 IfNotPresent",
            "c app app:v1 Always",
        ],
        &[
            "i imagecheck-0 app:v1 Always",
            "i imagecheck-1 app:v1 IfNotPresent",
            "c app app:v1 Always",
        ],
    );
    repairs(
        &json!({"pullOnce": false}),
        &[
            "i imagecheck-0 app:v1 Never",
            "i imagecheck-1 app:v1 Always",
            "c app app:v1 Always",
        ],
        &[
            "i imagecheck-0 app:v1 Never",
            "i imagecheck-1 app:v1 Always",
            "c app app:v1 Always",
        ],
    );
}

#[test]
fn checks_in_another_spelling_count_only_if_there_are_no_others() {
    let before = [
        "i imagecheck-0 docker.io/library/app:v1 IfNotPresent",
        "c app app:v1 Always",
    ];
    // These checks find a missing image early, but the container still has to pull the image.
    repairs(
        &json!({}),
        &before,
        &[
            "i imagecheck-0 docker.io/library/app:v1 Always",
            "c app app:v1 Always",
        ],
    );
    repairs(
        &json!({"imageChecks": {"coverage": "Fix"}}),
        &before,
        &[
            "i imagecheck-0 docker.io/library/app:v1 IfNotPresent",
            "i imagecheck-1 app:v1 Always",
            "c app app:v1 IfNotPresent",
        ],
    );
    repairs(
        &json!({}),
        &[
            "i imagecheck-0 docker.io/library/app:v1 IfNotPresent",
            "i imagecheck-1 app:v1 Always",
            "c app app:v1 Always",
        ],
        &[
            "i imagecheck-0 docker.io/library/app:v1 IfNotPresent",
            "i imagecheck-1 app:v1 Always",
            "c app app:v1 IfNotPresent",
        ],
    );
}

#[test]
fn a_sidecar_neither_covers_nor_proves() {
    let mut request = pod(&[
        "i imagecheck-0 b:v1 Always",
        "i proxy app:v1 Always",
        "c app app:v1 Always",
    ]);
    request["object"]["spec"]["initContainers"][1]["restartPolicy"] = "Always".into();
    let verdict = run(&request, &json!({}));
    assert_eq!(found(&verdict), ["missing-check spec.containers[0].image"]);
    assert!(verdict.object.is_none() && verdict.warned);
}

#[test]
fn an_init_container_covers_an_image_that_it_pulls_strongly_enough() {
    repairs(
        &json!({}),
        &[
            "i copy-agent agent:3 Always",
            "i imagecheck-0 b:v1 Always",
            "c agent agent:3 Always",
        ],
        &[
            "i copy-agent agent:3 Always",
            "i imagecheck-0 b:v1 Always",
            "c agent agent:3 IfNotPresent",
        ],
    );
    let weak = pod(&[
        "i copy-agent agent:3 IfNotPresent",
        "i imagecheck-0 b:v1 Always",
        "c agent agent:3 Always",
    ]);
    assert_eq!(
        found(&run(&weak, &json!({}))),
        ["missing-check spec.containers[0].image"]
    );
}

#[test]
fn a_missing_check_is_a_copy_of_the_last_one_straight_after_it() {
    let mut request = pod(&[
        "i imagecheck-3 b:v1 Always",
        "i setup s:1 Always",
        "c imagecheck-0 app:v1 Always",
    ]);
    request["object"]["spec"]["initContainers"][0]["command"] = json!(["/x"]);
    let verdict = run(&request, &json!({"imageChecks": {"coverage": "Fix"}}));
    let added = &verdict.object.as_ref().expect("a changed object")["spec"]["initContainers"][1];
    let expected = json!({"name": "imagecheck-1", "image": "app:v1", "imagePullPolicy": "Always", "command": ["/x"]});
    assert_eq!(*added, expected);
    let change = verdict
        .changes
        .iter()
        .find(|one| one.rule == "missing-check")
        .expect("a change");
    assert_eq!(
        change.json(),
        json!({
            "path": "spec.initContainers[1]", "container": "imagecheck-1", "from": null, "rule": "missing-check",
            "to": {"name": "imagecheck-1", "image": "app:v1", "imagePullPolicy": "Always"},
        })
    );
}

#[test]
fn the_check_template_is_used_in_pods_without_a_check() {
    let settings = json!({"imageChecks": {
        "coverage": "Fix", "everyPod": true, "after": ["copy-*"], "template": {"command": ["/t"]},
    }});
    repairs(
        &settings,
        &[
            "i copy-a a:1 Always",
            "i z z:1 Always",
            "c app app:v1 IfNotPresent",
            "c b b:1 Always",
        ],
        &[
            "i copy-a a:1 Always",
            "i imagecheck-0 app:v1 IfNotPresent",
            "i imagecheck-1 b:1 Always",
            "i z z:1 Always",
            "c app app:v1 IfNotPresent",
            "c b b:1 IfNotPresent",
        ],
    );
    repairs(
        &settings,
        &["c app app:v1 Never"],
        &["i imagecheck-0 app:v1 Never", "c app app:v1 Never"],
    );
}

#[test]
fn an_image_volume_can_be_an_image_check() {
    let settings =
        json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "as": "ImageVolume"}});
    let request = pod(&["i setup s:1 Always", "c app app:v1 Always"]);
    let object = run(&request, &settings).object.expect("a changed object");
    assert_eq!(
        object["spec"]["volumes"],
        json!([{"name": "imagecheck-0", "image": {"reference": "app:v1", "pullPolicy": "Always"}}])
    );
    assert_eq!(
        object["spec"]["initContainers"][0]["volumeMounts"],
        json!([{"name": "imagecheck-0", "mountPath": "/.imagecheck/imagecheck-0", "readOnly": true}])
    );
    assert_eq!(
        object["spec"]["containers"][0]["imagePullPolicy"],
        "IfNotPresent"
    );
    // Without init containers, the app containers mount the check volume. They would pull the image
    // again, so *pull-once* doesn't act.
    let object = run(&pod(&["c app app:v1 Always"]), &settings)
        .object
        .expect("a changed object");
    assert_eq!(
        object["spec"]["containers"][0]["volumeMounts"][0]["name"],
        "imagecheck-0"
    );
    assert_eq!(object["spec"]["containers"][0]["imagePullPolicy"], "Always");
}

#[test]
fn windows_pods_get_nothing_added() {
    let settings =
        json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "as": "ImageVolume"}});
    let mut request = pod(&["c app app:v1 Always"]);
    request["object"]["spec"]["os"] = json!({"name": "windows"});
    for mode in ["Fix", "Reject", "Warn"] {
        let mut settings = settings.clone();
        settings["mode"] = mode.into();
        let verdict = run(&request, &settings);
        assert!(
            verdict.allowed && verdict.object.is_none() && verdict.warned,
            "{mode}"
        );
    }
}

#[test]
fn a_controllers_checks_become_image_volumes() {
    let settings = json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true}});
    let mut request = pod(&[
        "i copy-agent agent:3 Always",
        "i imagecheck-0 app:v1 IfNotPresent",
        "i imagecheck-1 db:16 IfNotPresent",
        "c app app:v1 Always",
        "c db db:16 IfNotPresent",
    ]);
    assert!(run(&request, &settings).object.expect("a weak check")["spec"]["volumes"].is_null());
    request["object"]["metadata"]["ownerReferences"] = json!([{"controller": true}]);
    let verdict = run(&request, &settings);
    assert_eq!(
        lines(&request, &verdict),
        [
            "i copy-agent agent:3 Always",
            "c app app:v1 IfNotPresent",
            "c db db:16 IfNotPresent"
        ]
    );
    let object = verdict.object.as_ref().expect("a changed object");
    assert_eq!(
        object["spec"]["volumes"][0]["image"],
        json!({"reference": "app:v1", "pullPolicy": "Always"})
    );
    assert_eq!(
        object["spec"]["initContainers"][0]["volumeMounts"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let first = &verdict
        .changes
        .iter()
        .find(|one| one.to.is_null())
        .expect("a removed check")
        .json();
    assert_eq!(
        *first,
        json!({
            "path": "spec.initContainers[1]", "container": "imagecheck-0", "to": null, "rule": "replace-check",
            "from": {"name": "imagecheck-0", "image": "app:v1", "imagePullPolicy": "IfNotPresent"},
        })
    );
}

#[test]
fn the_first_check_stays_if_no_init_container_would_remain() {
    let settings = json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true}});
    let mut request = pod(&[
        "i imagecheck-0 a:1 Always",
        "i imagecheck-1 b:1 Always",
        "c a a:1 Always",
        "c b b:1 Always",
    ]);
    request["object"]["metadata"]["ownerReferences"] = json!([{"controller": true}]);
    let verdict = run(&request, &settings);
    assert_eq!(
        lines(&request, &verdict),
        [
            "i imagecheck-0 a:1 Always",
            "c a a:1 IfNotPresent",
            "c b b:1 IfNotPresent"
        ]
    );
}

#[test]
fn defaults_replace_pull_policies_that_nobody_chose() {
    repairs(
        &json!({"defaults": {"imagePullPolicy": "Always"}}),
        &[
            "c a a:1 IfNotPresent",
            "c b b Always",
            "c c c IfNotPresent",
            "c d d:1 Never",
        ],
        &[
            "c a a:1 Always",
            "c b b Always",
            "c c c IfNotPresent",
            "c d d:1 Never",
        ],
    );
    repairs(
        &json!({"defaults": {"imagePullPolicy": "Always", "replaceServerDefaults": false}}),
        &["c a a:1 IfNotPresent"],
        &["c a a:1 IfNotPresent"],
    );
    repairs(
        &json!({"defaults": {"imagePullPolicy": "AlwaysUnlessDigest"}}),
        &[&format!("c a a:latest@{D1} Always"), "c b b:1 IfNotPresent"],
        &[&format!("c a a:latest@{D1} IfNotPresent"), "c b b:1 Always"],
    );
    // A forbidden default is clamped to `IfNotPresent`. A forbidden pull policy counts as not
    // chosen.
    repairs(
        &json!({"defaults": {"imagePullPolicy": "Always"}, "images": {"forbidAlways": ["a"], "forbidNever": ["*"]}}),
        &["c a a Always", "c b b:1 Never"],
        &["c a a IfNotPresent", "c b b:1 Always"],
    );
    repairs(
        &json!({"defaults": {"imagePullPolicy": "IfNotPresent"}}),
        &["i imagecheck-0 a Always", "c a a IfNotPresent"],
        &["i imagecheck-0 a Always", "c a a IfNotPresent"],
    );
}

#[test]
fn a_default_that_pull_once_takes_back_is_no_finding() {
    let settings = json!({"mode": "Reject", "defaults": {"imagePullPolicy": "Always"}});
    let verdict = run(
        &pod(&["i imagecheck-0 a:1 Always", "c a a:1 IfNotPresent"]),
        &settings,
    );
    assert!(
        verdict.allowed && verdict.findings.is_empty(),
        "{verdict:#?}"
    );
}

#[test]
fn disallowed_pull_policies_are_repaired_unless_the_settings_conflict() {
    repairs(
        &json!({"images": {"requireAlways": ["a"], "forbidAlways": ["b"], "forbidNever": ["c"]}}),
        &[
            "c a a:1 Never",
            "c b b:1 Always",
            "c c c:1 Never",
            "c d b:1 Never",
        ],
        &[
            "c a a:1 Always",
            "c b b:1 IfNotPresent",
            "c c c:1 IfNotPresent",
            "c d b:1 Never",
        ],
    );
    rejects(
        &json!({"images": {"requireAlways": ["a"], "forbidAlways": ["*"]}}),
        &["c a a:1 Never"],
        &["disallowed-policy spec.containers[0].imagePullPolicy"],
    );
    repairs(
        &json!({"images": {"requireAlways": ["a"]}}),
        &["i imagecheck-0 a:1 Always", "c a a:1 Always"],
        &["i imagecheck-0 a:1 Always", "c a a:1 Always"],
    );
}

#[test]
fn images_that_no_node_can_pull_are_found() {
    for image in [
        "NGINX",
        "$(IMG)",
        "nginx:",
        "sha256:abc",
        &"1".repeat(64),
        &format!("sha256:{}", "1".repeat(64)),
    ] {
        rejects(
            &json!({}),
            &[&format!("c a {image} Always")],
            &["invalid-image spec.containers[0].image"],
        );
    }
    let template =
        json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": ""}]}}}});
    let verdict = run(
        &review(("apps", "Deployment"), template),
        &json!({"templates": "Enforce"}),
    );
    assert!(verdict.allowed && verdict.findings.is_empty());
}

#[test]
fn pin_writes_digests() {
    let settings = json!({"registry": {"lookup": "Pin"}});
    let request = pod(&[
        "i imagecheck-0 a:1 IfNotPresent",
        "c a a:1 Always",
        "c b b:1 Never",
    ]);
    let verdict = asking(&request, &settings, &[("docker.io/library/a:1", Ok(D1))]);
    assert_eq!(
        lines(&request, &verdict),
        [
            format!("i imagecheck-0 a:1@{D1} IfNotPresent"),
            format!("c a a:1@{D1} IfNotPresent"),
            "c b b:1 Never".to_owned(),
        ]
    );
    assert_eq!(verdict.lookups, ["docker.io/library/a:1"]);
}

#[test]
fn the_class_of_a_failed_lookup_decides_the_action() {
    let cases = [
        (Failure::NotFound, json!({}), "Reject"),
        (Failure::Denied, json!({}), "KeepTag"),
        (
            Failure::Unreachable,
            json!({"onUnreachable": "UseCached"}),
            "UseCached",
        ),
        (
            Failure::NotGranted,
            json!({"onUnknown": "Reject"}),
            "Reject",
        ),
    ];
    for (failure, mut registry, action) in cases {
        registry["lookup"] = "Verify".into();
        let request = pod(&["i imagecheck-0 a:1 Always", "c a a:1 Always"]);
        let settings = json!({"registry": registry, "pullOnce": false});
        let verdict = asking(
            &request,
            &settings,
            &[("docker.io/library/a:1", Err(failure))],
        );
        assert_eq!(verdict.failed[0].action, action);
        assert_eq!(verdict.allowed, action != "Reject");
        let policy = if action == "UseCached" {
            "IfNotPresent"
        } else {
            "Always"
        };
        let after = lines(&request, &verdict);
        assert_eq!(
            after,
            [
                format!("i imagecheck-0 a:1 {policy}"),
                format!("c a a:1 {policy}")
            ]
        );
    }
}

#[test]
fn lookups_are_limited_and_stop_after_an_unreachable_answer() {
    let settings = json!({"registry": {"lookup": "Verify", "maxLookups": 2}});
    let request = pod(&[
        "i i r.io/a:1 Always",
        "c a r.io/b:1 Always",
        "c b r.io/c:1 Always",
        "c c s.io/x:1 Always",
    ]);
    let verdict = asking(
        &request,
        &settings,
        &[("r.io/b:1", Err(Failure::Unreachable))],
    );
    assert_eq!(verdict.lookups, ["r.io/b:1", "s.io/x:1"]);
    assert_eq!(verdict.failed.iter().filter(|one| one.asked).count(), 1);
    // No registry is asked about an object that is rejected for another reason.
    let verdict = asking(
        &pod(&["c a NGINX Always", "c b b:1 Always"]),
        &settings,
        &[],
    );
    assert!(verdict.lookups.is_empty());
}

#[test]
fn the_platforms_of_an_index_are_compared_with_those_that_the_pod_asks_for() {
    let mut request = pod(&["c a r.io/a:1 Always"]);
    request["object"]["spec"]["nodeSelector"] = json!({"kubernetes.io/arch": "arm64"});
    let mut answers = Answers::default();
    answers
        .digests
        .insert("r.io/a:1".to_owned(), Ok(D1.to_owned()));
    let has = |arch: &str| {
        Ok(Some(vec![
            ("linux".to_owned(), arch.to_owned()),
            ("unknown".to_owned(), "unknown".to_owned()),
        ]))
    };
    for (platform, arch, allowed) in [
        ("Reject", "amd64", false),
        ("Reject", "arm64", true),
        ("Warn", "amd64", true),
    ] {
        answers.indexes.insert(format!("r.io/a@{D1}"), has(arch));
        let settings = json!({"registry": {"lookup": "Verify", "platform": platform}});
        let verdict = validate(&request, &settings, &mut answers.clone());
        assert_eq!(verdict.allowed, allowed);
        assert_eq!(verdict.findings.is_empty(), arch == "arm64");
        assert_eq!(verdict.manifests, [format!("r.io/a@{D1}")]);
    }
}

#[test]
fn a_running_pod_gets_only_what_can_be_changed() {
    let settings = json!({"images": {"requireAlways": ["b"]}, "registry": {"lookup": "Pin"}});
    let stored = pod(&["i imagecheck-0 a:1 IfNotPresent", "c a a:1 Always"])["object"].clone();
    let update = |lines: &[&str]| {
        let mut request = pod(lines);
        request["operation"] = "UPDATE".into();
        request["oldObject"] = stored.clone();
        request
    };
    let same = update(&["i imagecheck-0 a:1 IfNotPresent", "c a a:1 Always"]);
    assert_eq!(
        run(&same, &settings),
        Verdict {
            allowed: true,
            ..Verdict::default()
        }
    );
    let changed = update(&["i imagecheck-0 a:1 IfNotPresent", "c a c:1 Always"]);
    let verdict = asking(&changed, &settings, &[("docker.io/library/c:1", Ok(D1))]);
    assert_eq!(lines(&changed, &verdict)[1], format!("c a c:1@{D1} Always"));
    assert!(verdict.record.is_none());
    let required = update(&["i imagecheck-0 a:1 IfNotPresent", "c a b:1 IfNotPresent"]);
    assert_eq!(
        found(&run(&required, &settings)),
        ["disallowed-policy spec.containers[0].imagePullPolicy"]
    );
}

#[test]
fn a_manifest_applied_again_comes_out_as_stored() {
    let record = json!([{
        "path": "spec.containers[3].imagePullPolicy", "container": "a",
        "from": "Always", "to": "IfNotPresent", "rule": "pull-once",
    }]);
    let mut stored = pod(&["c a a:1 IfNotPresent", "c c c:1 IfNotPresent"])["object"].clone();
    stored["metadata"]["annotations"] =
        json!({"consistent-pull-policy/changes": record.to_string()});
    let mut request = pod(&["c a a:1 Always", "c c c:1 Always"]);
    request["operation"] = "UPDATE".into();
    request["oldObject"] = stored;
    let verdict = run(&request, &json!({}));
    assert_eq!(
        lines(&request, &verdict),
        ["c a a:1 IfNotPresent", "c c c:1 Always"]
    );
    assert!(verdict.changes.is_empty() && verdict.findings.is_empty() && !verdict.warned);
    assert!(run(&request, &json!({"mode": "Reject"})).object.is_none());
}

#[test]
fn a_tag_keeps_the_digest_that_is_stored() {
    let mut request = pod(&["c a a:1 Always", "c b b:2 Always"]);
    request["operation"] = "UPDATE".into();
    request["oldObject"] =
        pod(&[&format!("c a a:1@{D1} Always"), "c b b:2 Always"])["object"].clone();
    let verdict = run(&request, &json!({"registry": {"lookup": "Pin"}}));
    assert_eq!(
        lines(&request, &verdict),
        [format!("c a a:1@{D1} Always"), "c b b:2 Always".to_owned()]
    );
    assert!(verdict.lookups.is_empty() && verdict.record.is_none());
}

#[test]
fn requests_that_are_not_examined_pass_unchanged() {
    let weak = [
        "i imagecheck-0 a:1 IfNotPresent",
        "c a a:1 Always",
        "c b NGINX Always",
    ];
    let untouched = |change: &dyn Fn(&mut Value)| {
        let mut request = pod(&weak);
        change(&mut request);
        run(&request, &json!({}))
            == Verdict {
                allowed: true,
                ..Verdict::default()
            }
    };
    assert!(!untouched(&|_| {}));
    assert!(untouched(&|request| request["operation"] = "DELETE".into()));
    assert!(untouched(
        &|request| request["subResource"] = "status".into()
    ));
    assert!(untouched(
        &|request| request["kind"]["group"] = "example.com".into()
    ));
    assert!(untouched(&|request| {
        request["operation"] = "DELETE".into();
        request["object"] = Value::Null;
    }));
    assert!(!untouched(&|request| request["object"] = Value::Null));
    let mirror = |request: &mut Value| {
        request["object"]["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    };
    assert!(!untouched(&mirror));
    assert!(untouched(&|request| {
        mirror(request);
        request["userInfo"]["groups"] = json!(["system:nodes"]);
    }));
    let deleted = |request: &mut Value| {
        request["object"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    };
    assert!(!untouched(&deleted));
    assert!(untouched(&|request| {
        deleted(request);
        request["operation"] = "UPDATE".into();
        request["object"]["spec"] = json!(7);
    }));
    assert!(!untouched(&|request| request["object"]["spec"] = json!(7)));
    assert!(!untouched(&|request| {
        request["object"]
            .as_object_mut()
            .expect("a Pod")
            .remove("spec");
    }));
}

#[test]
fn the_setting_templates_works_in_every_mode() {
    let spec = pod(&[
        "i imagecheck-0 a:1 IfNotPresent",
        "c a a:1 Always",
        "c b b:1 Always",
    ])["object"]["spec"]
        .clone();
    let object = json!({"metadata": {}, "spec": {"template": {"spec": spec}}});
    let request = review(("apps", "Deployment"), object);
    let settings = |templates: &str, mode: &str| json!({"templates": templates, "mode": mode, "imageChecks": {"coverage": "Fix"}});
    for mode in ["Fix", "Reject", "Warn"] {
        assert_eq!(
            run(&request, &settings("Off", mode)),
            Verdict {
                allowed: true,
                ..Verdict::default()
            }
        );
        let warned = run(&request, &settings("Warn", mode));
        assert!(warned.allowed && warned.warned && warned.object.is_none());
    }
    let fixed = run(&request, &settings("Enforce", "Fix"));
    let spec = &fixed.object.as_ref().expect("a changed object")["spec"]["template"]["spec"];
    // A missing check is reported, but never added.
    assert_eq!(spec["initContainers"].as_array().map(Vec::len), Some(1));
    assert_eq!(spec["initContainers"][0]["imagePullPolicy"], "Always");
    assert!(!run(&request, &settings("Enforce", "Reject")).allowed);
    let mut owned = request.clone();
    owned["object"]["metadata"]["ownerReferences"] = json!([{"controller": true}]);
    assert_eq!(
        run(&owned, &settings("Enforce", "Reject")),
        Verdict {
            allowed: true,
            ..Verdict::default()
        }
    );
    let mut same = request.clone();
    same["operation"] = "UPDATE".into();
    same["oldObject"] = same["object"].clone();
    same["object"]["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(
        run(&same, &settings("Enforce", "Reject")),
        Verdict {
            allowed: true,
            ..Verdict::default()
        }
    );
}

#[test]
fn exempt_places_are_never_examined() {
    let settings = json!({"exempt": {"containers": ["istio-*"], "images": ["r.io/*"]}, "imageChecks": {"coverage": "Reject", "everyPod": true}});
    let verdict = run(
        &pod(&["c istio-proxy NGINX Always", "c a r.io/a:1 Always"]),
        &settings,
    );
    assert!(verdict.allowed && verdict.findings.is_empty());
}

#[test]
fn stuck_pods_are_found_in_audits() {
    let mut request = pod(&["i imagecheck-0 a:1 Always", "c a a:1 IfNotPresent"]);
    request["userInfo"] = Value::Null;
    request["object"]["status"] = json!({"containerStatuses": [
        {"name": "a", "state": {"waiting": {"reason": "ImagePullBackOff"}}},
    ]});
    let verdict = run(&request, &json!({"mode": "Reject"}));
    assert_eq!(
        found(&verdict),
        ["stuck-pull status.containerStatuses[0].state.waiting.reason"]
    );
    assert!(!verdict.allowed);
    assert!(run(&request, &json!({"mode": "Warn"})).warned);
    assert!(run(&request, &json!({})).findings.is_empty());
}

#[test]
fn the_copy_accepts_the_possible_results_of_a_lookup() {
    let copy = |registry: &Value| {
        let mut settings = json!({"mode": "Reject", "defaults": {"imagePullPolicy": "Always"}, "registry": registry});
        settings["registry"]["maxLookups"] = 0.into();
        settings
    };
    let cached = pod(&["c a a:1 IfNotPresent"]);
    assert!(
        run(
            &cached,
            &copy(&json!({"lookup": "Pin", "onUnreachable": "UseCached"}))
        )
        .allowed
    );
    assert!(!run(&cached, &copy(&json!({"lookup": "Pin"}))).allowed);
    let pinned = pod(&[&format!("c a a:1@{D1} IfNotPresent")]);
    assert!(run(&pinned, &copy(&json!({"lookup": "Pin"}))).allowed);
    assert!(!run(&pinned, &copy(&json!({"lookup": "Verify"}))).allowed);
}
