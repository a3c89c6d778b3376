//! Tests the clauses of issue 20. They are about meshes, Windows Pods, Pods with many images, and
//! the codes of rejections.

use super::{D1, asking, found, lines, pod, rejects, repairs, review, run};
use consistent_pull_policy_spec::generate::Answers;
use consistent_pull_policy_spec::image::Reference;
use consistent_pull_policy_spec::pattern::names_image;
use consistent_pull_policy_spec::{Failure, Settings, Verdict, validate};
use serde_json::{Value, json};

fn covering(more: &Value) -> Value {
    let mut settings = json!({"imageChecks": {"coverage": "Fix"}});
    for (key, value) in more.as_object().expect("a map") {
        settings["imageChecks"][key] = value.clone();
    }
    settings
}

fn volumes() -> Value {
    covering(&json!({"everyPod": true, "as": "ImageVolume"}))
}

/// The name and the contents of each init container that was added.
fn added(request: &Value, verdict: &Verdict) -> Vec<Value> {
    let list = |object: &Value| {
        let list = object["spec"]["initContainers"].as_array();
        list.cloned().unwrap_or_default()
    };
    let before = list(&request["object"]);
    let mut after = list(verdict.object.as_ref().unwrap_or(&request["object"]));
    after.retain(|one| !before.iter().any(|other| other["name"] == one["name"]));
    after
}

/// Mounts a check volume of an image on app containers.
fn check_volume(request: &mut Value, name: &str, image: &str, containers: &[usize]) {
    let spec = &mut request["object"]["spec"];
    spec["volumes"] =
        json!([{"name": name, "image": {"reference": image, "pullPolicy": "Always"}}]);
    for index in containers {
        spec["containers"][*index]["volumeMounts"] =
            json!([{"name": name, "mountPath": format!("/.imagecheck/{name}"), "readOnly": true}]);
    }
}

/// A Pod with one check that has long arguments, and with a given number of images.
fn large_pod(images: usize, argument: usize) -> Value {
    let mut request = pod(&["i imagecheck-x base:1 Always"]);
    let spec = &mut request["object"]["spec"];
    spec["initContainers"][0]["args"] = json!(["x".repeat(argument)]);
    spec["containers"] = (0..images)
        .map(|n| json!({"name": format!("c{n}"), "image": format!("a{n}:1"), "imagePullPolicy": "Always"}))
        .collect();
    request
}

#[test]
fn additions_have_at_most_one_mebibyte() {
    // Each copy has 100,000 bytes: ten fit, eleven don't.
    let fits = large_pod(10, 100_000);
    let verdict = run(&fits, &covering(&json!({})));
    assert!(verdict.allowed);
    assert_eq!(added(&fits, &verdict).len(), 10);
    let too_large = run(&large_pod(11, 100_000), &covering(&json!({})));
    assert!(!too_large.allowed && !too_large.is_undecided);
    assert_eq!(too_large.findings.len(), 11);
    assert_eq!(too_large.code, Some(422));
    // The limit includes mounts. Here 20 images are mounted on each of 320 app containers.
    let mut many = large_pod(320, 1);
    let containers = many["object"]["spec"]["containers"].as_array_mut();
    for (index, container) in containers.into_iter().flatten().enumerate() {
        container["image"] = format!("a{}:1", index % 20).into();
    }
    let mut settings = volumes();
    settings["imageChecks"]["namePrefixes"] = json!(["imagecheck-".repeat(5)]);
    // With an init container, only this container mounts the volumes.
    assert!(run(&many, &settings).allowed);
    many["object"]["spec"]["initContainers"] = json!([]);
    assert!(!run(&many, &settings).allowed);
}

#[test]
fn a_size_near_the_limit_makes_the_verdict_undecided() {
    let verdict = run(&large_pod(10, 104_800), &covering(&json!({})));
    assert!(verdict.is_undecided);
}

#[test]
fn volume_checks_on_app_containers_stay_checks_behind_a_mesh() {
    let request = pod(&["c app app:v1 Always"]);
    let mut object = run(&request, &volumes()).object.expect("a changed object");
    let mesh =
        json!({"name": "istio-init", "image": "istio/proxyv2:1", "imagePullPolicy": "Always"});
    object["spec"]["initContainers"] = json!([mesh]);
    object["spec"]["containers"]
        .as_array_mut()
        .expect("a list")
        .push(json!({"name": "istio-proxy", "image": "istio/proxyv2:1", "imagePullPolicy": "IfNotPresent"}));
    let request = review(("", "Pod"), object);
    let mut copy = volumes();
    copy["mode"] = "Reject".into();
    copy["imageChecks"]["coverage"] = "Reject".into();
    assert!(run(&request, &copy).allowed);
    let second = run(&request, &volumes());
    assert!(second.object.is_none(), "{second:#?}");
}

#[test]
fn a_check_volume_is_on_every_app_container_that_pulls_its_image() {
    let mut request = pod(&[
        "i setup s:1 Always",
        "c app app:v1 IfNotPresent",
        "c other app:v1 IfNotPresent",
        "c b b:1 IfNotPresent",
    ]);
    check_volume(&mut request, "imagecheck-0", "app:v1", &[0, 1]);
    let settings = json!({"imageChecks": {"coverage": "Reject"}});
    assert_eq!(
        found(&run(&request, &settings)),
        ["missing-check spec.containers[2].image"]
    );
    check_volume(&mut request, "imagecheck-0", "app:v1", &[]);
    request["object"]["spec"]["containers"][1]["volumeMounts"] = json!([]);
    // The volume is no longer a check, so the Pod has no check.
    assert!(run(&request, &settings).findings.is_empty());
}

#[test]
fn a_volume_that_no_init_container_mounts_proves_nothing_for_pull_once() {
    let mut request = pod(&[
        "i setup s:1 Always",
        "c app app:v1 Always",
        "c b b:1 Always",
    ]);
    check_volume(&mut request, "imagecheck-0", "app:v1", &[0]);
    assert!(run(&request, &json!({})).object.is_none());
    // The volume proves the image if an init container mounts it.
    let mount = request["object"]["spec"]["containers"][0]["volumeMounts"].take();
    request["object"]["spec"]["initContainers"][0]["volumeMounts"] = mount;
    assert_eq!(
        lines(&request, &run(&request, &json!({})))[1],
        "c app app:v1 IfNotPresent"
    );
}

#[test]
fn a_pod_with_check_volumes_gets_a_volume_if_no_check_can_be_copied() {
    let mut request = pod(&["c app app:v1 Always", "c b b:1 Always"]);
    check_volume(&mut request, "imagecheck-0", "app:v1", &[0]);
    let object = run(&request, &covering(&json!({})))
        .object
        .expect("a volume");
    assert_eq!(object["spec"]["volumes"][1]["image"]["reference"], "b:1");
    // With a check template, init containers are added although the Pod has a check volume.
    let template = covering(&json!({"template": {"command": ["/t"]}}));
    let verdict = run(&request, &template);
    assert_eq!(lines(&request, &verdict)[0], "i imagecheck-0 b:1 Always");
    // An init container is also added if a check can be copied.
    request["object"]["spec"]["initContainers"] = json!([
        {"name": "imagecheck-1", "image": "s:1", "imagePullPolicy": "Always", "command": ["/c"]},
    ]);
    let verdict = run(&request, &covering(&json!({})));
    assert_eq!(added(&request, &verdict)[0]["command"], json!(["/c"]));
}

#[test]
fn the_last_check_with_a_command_is_copied_behind_the_last_check() {
    let mut request = pod(&[
        "i imagecheck-0 a:1 Always",
        "i imagecheck-1 b:1 Always",
        "i imagecheck-2 c:1 Always",
        "i setup s:1 Always",
        "c a d:1 Always",
        "c b e:1 Always",
    ]);
    let spec = &mut request["object"]["spec"];
    spec["initContainers"][1]["command"] = json!(["/b"]);
    for without in [json!(null), json!([])] {
        spec_command(&mut request, 2, without);
        let verdict = run(&request, &covering(&json!({})));
        assert_eq!(
            lines(&request, &verdict)[2..6],
            [
                "i imagecheck-2 c:1 Always",
                "i imagecheck-3 d:1 Always",
                "i imagecheck-4 e:1 Always",
                "i setup s:1 Always",
            ]
        );
        for check in added(&request, &verdict) {
            assert_eq!(check["command"], json!(["/b"]));
        }
    }
    // A check whose AppArmor profile is an annotation is not copied either.
    request["object"]["metadata"]["annotations"] =
        json!({"container.apparmor.security.beta.kubernetes.io/imagecheck-1": "runtime/default"});
    let verdict = run(&request, &covering(&json!({})));
    assert_eq!(added(&request, &verdict)[0]["command"], json!(["/check"]));
}

fn spec_command(request: &mut Value, index: usize, command: Value) {
    request["object"]["spec"]["initContainers"][index]["command"] = command;
}

#[test]
fn a_copied_check_has_only_the_fields_that_it_needs() {
    let mut request = pod(&["i imagecheck-0 a:1 Always", "c b b:1 Always"]);
    let needed = json!({
        "command": ["/c"], "args": ["x"], "workingDir": "/w",
        "volumeMounts": [{"name": "tools", "mountPath": "/tools"}],
        "securityContext": {"runAsNonRoot": true},
        "terminationMessagePath": "/t", "terminationMessagePolicy": "File",
        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}},
    });
    let mut check = needed.clone();
    check["resources"]["claims"] = json!([{"name": "gpu"}]);
    for (key, value) in [
        ("name", json!("imagecheck-0")),
        ("image", json!("a:1")),
        ("imagePullPolicy", json!("Always")),
        ("env", json!([{"name": "A", "value": "b"}])),
        ("envFrom", json!([{"secretRef": {"name": "s"}}])),
        ("ports", json!([{"containerPort": 1}])),
        ("startupProbe", json!({})),
        ("volumeDevices", json!([{"name": "d", "devicePath": "/d"}])),
        ("futureField", json!(1)),
    ] {
        check[key] = value;
    }
    let copy_of = |check: &Value| {
        let mut request = request.clone();
        request["object"]["spec"]["initContainers"][0] = check.clone();
        let verdict = run(&request, &covering(&json!({})));
        let mut copy = added(&request, &verdict).remove(0);
        for key in ["name", "image", "imagePullPolicy"] {
            copy.as_object_mut().expect("a container").remove(key);
        }
        copy
    };
    assert_eq!(copy_of(&check), needed);
    let mut with_environment = needed.clone();
    with_environment["env"] = check["env"].clone();
    with_environment["envFrom"] = check["envFrom"].clone();
    for (key, value) in [
        ("command", json!(["sh", "$(A)"])),
        ("args", json!(["$A"])),
        (
            "volumeMounts",
            json!([{"name": "tools", "mountPath": "/t", "subPathExpr": "$(A)"}]),
        ),
    ] {
        let (mut check, mut expected) = (check.clone(), with_environment.clone());
        check[key] = value.clone();
        expected[key] = value;
        assert_eq!(copy_of(&check), expected, "{key}");
    }
    request["object"]["spec"]["initContainers"] = json!([]);
    // The check template is kept as it is written.
    let template =
        json!({"command": ["/t"], "ports": [{"containerPort": 1}], "env": [{"name": "A"}]});
    let verdict = run(
        &request,
        &covering(&json!({"everyPod": true, "template": template})),
    );
    assert_eq!(added(&request, &verdict)[0]["ports"], template["ports"]);
}

#[test]
fn a_pod_that_can_get_no_check_gets_a_warning_in_every_mode() {
    let mut without_command = pod(&["i imagecheck-0 a:1 Always", "c b b:1 IfNotPresent"]);
    spec_command(&mut without_command, 0, Value::Null);
    let mut with_pod_resources = pod(&["i imagecheck-0 a:1 Always", "c b b:1 IfNotPresent"]);
    let spec = &mut with_pod_resources["object"]["spec"];
    spec["resources"] = json!({"limits": {"cpu": "1"}});
    spec["initContainers"][0]["resources"] = json!({"requests": {"memory": "1Mi"}});
    for request in [&without_command, &with_pod_resources] {
        for mode in ["Fix", "Reject", "Warn"] {
            let mut settings = covering(&json!({}));
            settings["mode"] = mode.into();
            let verdict = run(request, &settings);
            assert!(
                verdict.allowed && verdict.warned && verdict.object.is_none(),
                "{mode}"
            );
        }
        let reject = json!({"imageChecks": {"coverage": "Reject"}});
        assert!(!run(request, &reject).allowed);
    }
    // A check that asks for nothing can be added beside pod-level resources.
    spec_resources(&mut with_pod_resources, json!({}));
    assert!(
        run(&with_pod_resources, &covering(&json!({})))
            .object
            .is_some()
    );
}

fn spec_resources(request: &mut Value, resources: Value) {
    request["object"]["spec"]["initContainers"][0]["resources"] = resources;
}

#[test]
fn checks_in_another_spelling_count_if_no_check_can_be_added() {
    let mut request = pod(&[
        "i imagecheck-0 docker.io/library/app:v1 IfNotPresent",
        "c app app:v1 Always",
    ]);
    spec_command(&mut request, 0, Value::Null);
    assert_eq!(
        lines(&request, &run(&request, &covering(&json!({})))),
        [
            "i imagecheck-0 docker.io/library/app:v1 Always",
            "c app app:v1 Always",
        ]
    );
}

#[test]
fn a_rejection_at_create_is_final_unless_it_is_momentary() {
    let code = |request: &Value, settings: &Value, answers: &[(&str, Result<&str, Failure>)]| {
        let verdict = asking(request, settings, answers);
        assert!(!verdict.allowed);
        verdict.code.expect("a code")
    };
    let weak = ["i imagecheck-0 a:1 IfNotPresent", "c a a:1 Always"];
    assert_eq!(code(&pod(&weak), &json!({"mode": "Reject"}), &[]), 422);
    let bad = pod(&["c a NGINX Always"]);
    assert_eq!(code(&bad, &json!({}), &[]), 422);
    let mut updated = bad.clone();
    updated["operation"] = "UPDATE".into();
    assert_eq!(code(&updated, &json!({}), &[]), 400);
    let mut broken = bad.clone();
    broken["object"]["spec"] = json!(7);
    assert_eq!(code(&broken, &json!({}), &[]), 422);
    broken["operation"] = "UPDATE".into();
    assert_eq!(code(&broken, &json!({}), &[]), 400);
    let spec = bad["object"]["spec"].clone();
    let deployment = review(
        ("apps", "Deployment"),
        json!({"spec": {"template": {"spec": spec}}}),
    );
    assert_eq!(
        code(&deployment, &json!({"templates": "Enforce"}), &[]),
        422
    );

    let a = pod(&["c a a:1 Always", "c b b:1 Always"]);
    let all = json!({
        "lookup": "Verify", "onNotFound": "Reject", "onDenied": "Reject", "onRateLimited": "Reject",
        "onUnreachable": "Reject", "onUnknown": "Reject",
    });
    let registry = json!({"registry": all});
    for (failure, expected) in [
        (Failure::NotFound, 422),
        (Failure::Denied, 400),
        (Failure::RateLimited, 400),
        (Failure::Unreachable, 400),
        (Failure::Unknown, 400),
        (Failure::NotGranted, 400),
    ] {
        let found = ("docker.io/library/b:1", Ok(D1));
        let answers = [("docker.io/library/a:1", Err(failure)), found];
        assert_eq!(code(&a, &registry, &answers), expected, "{failure:?}");
    }
    let mixed = [
        ("docker.io/library/a:1", Err(Failure::Denied)),
        ("docker.io/library/b:1", Err(Failure::NotFound)),
    ];
    assert_eq!(code(&a, &registry, &mixed), 422);
    // The limit `maxLookups` is reached.
    let mut one = registry.clone();
    one["registry"]["maxLookups"] = 1.into();
    assert_eq!(code(&a, &one, &[("docker.io/library/a:1", Ok(D1))]), 422);
    // A finding that `Fix` repairs doesn't reject the object.
    let mut request = pod(&weak);
    let answers = [("docker.io/library/a:1", Err(Failure::Denied))];
    assert_eq!(code(&request, &registry, &answers), 400);
    request["operation"] = "UPDATE".into();
    assert_eq!(code(&request, &registry, &answers), 400);
}

#[test]
fn the_first_field_that_names_an_os_decides_about_windows() {
    let term = |key: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": "In", "values": values}]});
    let affinity = |terms: &[Value]| json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
    let windows = affinity(&[term("kubernetes.io/os", &["windows"])]);
    let cases = [
        (json!({"os": {"name": "windows"}}), true),
        (
            json!({"os": {"name": "linux"}, "nodeSelector": {"kubernetes.io/os": "windows"}}),
            false,
        ),
        (
            json!({"nodeSelector": {"kubernetes.io/os": "windows"}}),
            true,
        ),
        (
            json!({"nodeSelector": {"beta.kubernetes.io/os": "windows"}}),
            true,
        ),
        (
            json!({"nodeSelector": {"kubernetes.io/os": "linux"}, "affinity": windows}),
            false,
        ),
        (
            json!({"nodeSelector": {"disk": "ssd"}, "affinity": windows}),
            true,
        ),
        (json!({"affinity": windows}), true),
        (
            json!({"affinity": affinity(&[term("beta.kubernetes.io/os", &["windows"])])}),
            true,
        ),
        (
            json!({"affinity": affinity(&[term("kubernetes.io/os", &["windows", "linux"])])}),
            false,
        ),
        (
            json!({"affinity": affinity(&[
                term("kubernetes.io/os", &["windows"]), term("zone", &["a"]),
            ])}),
            false,
        ),
        (json!({"affinity": affinity(&[])}), false),
    ];
    for (fields, is_windows) in cases {
        let mut request = pod(&["c app app:v1 Always"]);
        for (key, value) in fields.as_object().expect("a map") {
            request["object"]["spec"][key] = value.clone();
        }
        let verdict = run(&request, &volumes());
        assert_eq!(verdict.object.is_none(), is_windows, "{fields}");
        let mut copy = volumes();
        copy["mode"] = "Reject".into();
        let verdict = run(&request, &copy);
        assert_eq!(verdict.allowed && verdict.warned, is_windows, "{fields}");
    }
}

#[test]
fn replaced_checks_never_leave_a_pod_without_resources() {
    let after = |change: &dyn Fn(&mut Value)| {
        let mut request = pod(&[
            "i copy-agent agent:3 Always",
            "i imagecheck-0 a:1 Always",
            "i imagecheck-1 b:1 Always",
            "i imagecheck-2 c:1 Always",
            "c a a:1 Always",
            "c b b:1 Always",
            "c c c:1 Always",
        ]);
        let object = &mut request["object"];
        object["metadata"]["ownerReferences"] = json!([{"controller": true}]);
        change(object);
        let settings = json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true}});
        let verdict = run(&request, &settings);
        assert!(verdict.allowed);
        let mut left = lines(&request, &verdict);
        left.retain(|line| line.starts_with("i imagecheck"));
        left.iter()
            .map(|line| line.split(' ').nth(1).expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    let resources = |object: &mut Value, list: &str, index: usize, resources: Value| {
        object["spec"][list][index]["resources"] = resources;
    };
    assert!(after(&|_| {}).is_empty());
    let one = |object: &mut Value| {
        resources(
            object,
            "initContainers",
            1,
            json!({"requests": {"cpu": "0"}}),
        );
        resources(
            object,
            "initContainers",
            2,
            json!({"limits": {"memory": "1Mi"}}),
        );
        resources(
            object,
            "initContainers",
            3,
            json!({"requests": {"cpu": "10m"}}),
        );
    };
    assert_eq!(after(&one), ["imagecheck-1"]);
    let of_app = |object: &mut Value| {
        one(object);
        resources(object, "containers", 0, json!({"requests": {"cpu": "1"}}));
    };
    assert!(after(&of_app).is_empty());
    let of_pod = |object: &mut Value| {
        one(object);
        object["spec"]["resources"] = json!({"requests": {"cpu": "1"}});
    };
    assert!(after(&of_pod).is_empty());
    // `ephemeral-storage` doesn't matter for the quality of service.
    let storage = |object: &mut Value| {
        let amounts = json!({"requests": {"ephemeral-storage": "1Gi"}});
        resources(object, "initContainers", 1, amounts);
    };
    assert!(after(&storage).is_empty());

    let apparmor = |object: &mut Value| {
        object["metadata"]["annotations"] = json!({
            "container.apparmor.security.beta.kubernetes.io/imagecheck-2": "runtime/default",
        });
    };
    assert_eq!(after(&apparmor), ["imagecheck-2"]);
    let field =
        json!({"resourceFieldRef": {"containerName": "imagecheck-0", "resource": "limits.cpu"}});
    let in_environment = |object: &mut Value| {
        object["spec"]["containers"][0]["env"] = json!([{"name": "CPUS", "valueFrom": field}]);
    };
    assert_eq!(after(&in_environment), ["imagecheck-0"]);
    let in_volume = |object: &mut Value| {
        let mut item = field.clone();
        item["path"] = "cpus".into();
        object["spec"]["volumes"] = json!([{"name": "info", "downwardAPI": {"items": [item]}}]);
    };
    assert_eq!(after(&in_volume), ["imagecheck-0"]);
    let device = |object: &mut Value| {
        object["spec"]["initContainers"][0]["volumeDevices"] =
            json!([{"name": "d", "devicePath": "/.imagecheck/imagecheck-1"}]);
    };
    assert_eq!(after(&device), ["imagecheck-1"]);
}

#[test]
fn a_device_path_is_a_path_in_use() {
    let mut request = pod(&["c app app:v1 Always"]);
    request["object"]["spec"]["containers"][0]["volumeDevices"] =
        json!([{"name": "d", "devicePath": "/.imagecheck/imagecheck-0"}]);
    let object = run(&request, &volumes()).object.expect("a volume");
    assert_eq!(object["spec"]["volumes"][0]["name"], "imagecheck-1");
}

/// An audit's request about a Pod whose container `a` waits with this message. The container mounts
/// the image volumes `v` and `w`.
fn waiting(message: &str) -> Value {
    let mut request = pod(&["c a app:v1 IfNotPresent"]);
    request["userInfo"] = json!({});
    let object = &mut request["object"];
    object["spec"]["volumes"] = json!([
        {"name": "v", "image": {"reference": "tools:v1", "pullPolicy": "Always"}},
        {"name": "w", "image": {"reference": format!("r.io/x:2@{D1}"), "pullPolicy": "Always"}},
        {"name": "unused", "image": {"reference": "unused:v1", "pullPolicy": "Always"}},
    ]);
    object["spec"]["containers"][0]["volumeMounts"] =
        json!([{"name": "v", "mountPath": "/v"}, {"name": "w", "mountPath": "/w"}]);
    let state = json!({"waiting": {"reason": "ErrImagePull", "message": message}});
    object["status"] = json!({"containerStatuses": [
        {"name": "a", "state": state}, {"name": "a", "state": state},
    ]});
    request
}

fn stuck(request: &Value, settings: &Value) -> Vec<String> {
    let verdict = run(request, settings);
    let findings = verdict.findings.into_iter();
    findings
        .filter(|finding| finding.rule == "stuck-pull")
        .map(|finding| finding.image)
        .collect()
}

#[test]
fn a_stuck_pull_names_the_image_that_is_missing() {
    let reject = json!({"mode": "Reject"});
    let w = format!("r.io/x:2@{D1}");
    for (message, image) in [
        ("Back-off pulling image \"app:v1\"", "app:v1"),
        ("Back-off pulling image \"tools:v1\"", "tools:v1"),
        (
            "failed to pull \"docker.io/library/tools:v1\": gone",
            "tools:v1",
        ),
        (&format!("pulling \"{w}\""), &w),
        (&format!("pulling \"r.io/x@{D1}\""), &w),
        // The container's own image is tried first.
        ("\"tools:v1\" or \"app:v1\"", "app:v1"),
        // The message has no reference in double quotes, so all possible images are listed.
        ("pulling tools:v1", &format!("app:v1, {w}, tools:v1")),
        ("pulling \"unused:v1\"", &format!("app:v1, {w}, tools:v1")),
    ] {
        assert_eq!(stuck(&waiting(message), &reject), [image], "{message}");
    }
    // The volumes of an exempt container are examined.
    let exempt = json!({"mode": "Reject", "exempt": {"containers": ["a"]}});
    assert_eq!(stuck(&waiting("\"tools:v1\""), &exempt), ["tools:v1"]);
    assert!(stuck(&waiting("\"app:v1\""), &exempt).is_empty());
    let exempt = json!({"mode": "Reject", "exempt": {"images": ["tools", "r.io/*"]}});
    assert_eq!(stuck(&waiting("gone"), &exempt), ["app:v1"]);
}

#[test]
fn a_status_is_read_only_in_audits() {
    let reject = json!({"mode": "Reject"});
    let mut request = waiting("\"app:v1\"");
    for user in [json!(null), json!({}), json!({"username": null})] {
        request["userInfo"] = user;
        assert_eq!(stuck(&request, &reject), ["app:v1"]);
    }
    request["userInfo"] = json!({"username": "jane"});
    assert!(run(&request, &reject).allowed);
    request
        .as_object_mut()
        .expect("a request")
        .remove("userInfo");
    assert!(!run(&request, &reject).allowed);
}

#[test]
fn hosts_are_compared_in_one_spelling() {
    let names = |pattern: &str, image: &str| {
        names_image(pattern, &Reference::parse(image).expect("a reference"))
    };
    for (pattern, image) in [
        ("registry.example.com/*", "Registry.Example.com/a"),
        ("registry.example.com/*", "registry.example.com:443/a"),
        ("registry.example.com/*", "registry.example.com:0443/a"),
        ("Registry.Example.com:443/*", "registry.example.com/a"),
        ("nginx", "registry-1.docker.io/library/nginx"),
        (
            "docker.io/library/nginx",
            "registry-1.docker.io:443/library/nginx",
        ),
        ("registry-1.docker.io/library/nginx", "nginx"),
        ("r.example.com:*/a", "r.example.com/a"),
        ("r.example.com:*/a", "r.example.com:5000/a"),
        ("*.example.com/*", "a.example.com/b/c"),
        (
            "*.dkr.ecr.*.amazonaws.com/*",
            "1.dkr.ecr.eu.amazonaws.com/x/y",
        ),
        ("*/nginx", "r.io/team/nginx"),
        ("*nginx/x", "r.io/team/nginx/x"),
        ("*", "r.io/a/b"),
        ("ghcr.io/*/db", "ghcr.io/a/b/db"),
        ("*:latest", "r.io/a/b"),
    ] {
        assert!(names(pattern, image), "{pattern} {image}");
    }
    for (pattern, image) in [
        ("*.example.com/*", "evil.io/a.example.com/b"),
        ("?.io/a", "x/y.io/a"),
        (
            "*.dkr.ecr.*.amazonaws.com/*",
            "evil.io/1.dkr.ecr.x.amazonaws.com/x",
        ),
        ("r.example.com:*/a", "r.example.com.evil.io/a"),
        ("r.example.com/*", "r.example.com:444/a"),
    ] {
        assert!(!names(pattern, image), "{pattern} {image}");
    }
}

#[test]
fn some_patterns_are_settings_errors() {
    let is_refused = |pattern: &str| {
        let settings = json!({"exempt": {"images": [pattern]}});
        !Settings(&settings).contradictions().is_empty()
    };
    for pattern in [
        "*:443/a",
        "*.example.com:0443/*",
        "registry.example.com",
        "registry.example.com:5000",
        "localhost",
        "localhost:5000",
        "[::1]:5000",
    ] {
        assert!(is_refused(pattern), "{pattern}");
    }
    for pattern in [
        "nginx",
        "nginx:1.25",
        "*:latest",
        "*",
        "r.io:443/*",
        "*:*/x",
    ] {
        assert!(!is_refused(pattern), "{pattern}");
    }
}

#[test]
fn an_empty_text_in_a_list_counts_as_absent() {
    repairs(
        &json!({"images": {"requireAlways": ["", "a"]}, "imageChecks": {"namePrefixes": [""]}}),
        &["i imagecheck-0 a:1 Never", "c a a:1 Never", "c b b:1 Never"],
        &[
            "i imagecheck-0 a:1 Always",
            "c a a:1 Always",
            "c b b:1 Never",
        ],
    );
    let settings = json!({"registry": {"lookup": "Verify", "images": [""]}});
    let verdict = asking(&pod(&["c a a:1 Always"]), &settings, &[]);
    assert_eq!(verdict.lookups, ["docker.io/library/a:1"]);
    for images in [json!([]), json!([""]), json!(null)] {
        let settings = json!({"registry": {"overrides": [{"images": images, "lookup": "Pin"}]}});
        assert_eq!(Settings(&settings).contradictions().len(), 1);
    }
}

#[test]
fn verify_asks_for_digests_too() {
    let by_digest = format!("docker.io/library/a@{D1}");
    let request = pod(&[&format!("c a a:1@{D1} Always")]);
    let ask = |registry: Value, failure: Failure| {
        asking(
            &request,
            &json!({"registry": registry}),
            &[(&by_digest, Err(failure))],
        )
    };
    let verdict = ask(json!({"lookup": "Verify"}), Failure::NotFound);
    assert!(!verdict.allowed);
    assert_eq!(verdict.lookups, [by_digest.as_str()]);
    assert!(
        ask(json!({"lookup": "Pin"}), Failure::NotFound)
            .lookups
            .is_empty()
    );
    // On a digest, `UseCached` acts as `KeepTag`.
    let cached = json!({"lookup": "Verify", "onDenied": "UseCached"});
    let verdict = ask(cached, Failure::Denied);
    assert!(verdict.object.is_none());
    assert_eq!(verdict.failed[0].action, "KeepTag");
    // `platform: Warn` matters only for digests that are looked up for the platform alone.
    let mut request = request.clone();
    request["object"]["spec"]["nodeSelector"] = json!({"kubernetes.io/arch": "arm64"});
    for (lookup, allowed) in [("Verify", false), ("Pin", true)] {
        let settings = json!({"registry": {"lookup": lookup, "platform": "Warn"}});
        let answer = [(by_digest.as_str(), Err(Failure::NotFound))];
        let verdict = asking(&request, &settings, &answer);
        assert_eq!(verdict.lookups, [by_digest.as_str()]);
        assert_eq!(verdict.allowed, allowed, "{lookup}");
    }
}

#[test]
fn an_audit_looks_up_the_images_of_objects_that_it_rejects() {
    let mut request = pod(&["c a NGINX Always", "c b b:1 Always"]);
    let settings = json!({"mode": "Reject", "registry": {"lookup": "Verify"}});
    let answer = [("docker.io/library/b:1", Err(Failure::NotFound))];
    assert!(asking(&request, &settings, &answer).lookups.is_empty());
    request["userInfo"] = Value::Null;
    let verdict = asking(&request, &settings, &answer);
    assert_eq!(
        found(&verdict),
        [
            "invalid-image spec.containers[0].image",
            "registry spec.containers[1].image",
        ]
    );
    let mut fix = settings.clone();
    fix["mode"] = "Fix".into();
    assert!(asking(&request, &fix, &answer).lookups.is_empty());
}

#[test]
fn a_template_gets_no_warning_for_defaults_and_added_checks() {
    let template = |lines: &[&str]| {
        let spec = pod(lines)["object"]["spec"].clone();
        review(
            ("batch", "Job"),
            json!({"spec": {"template": {"spec": spec}}}),
        )
    };
    let quiet = template(&["c a a:1 IfNotPresent"]);
    let mut settings = volumes();
    settings["defaults"] = json!({"imagePullPolicy": "Always"});
    for templates in ["Warn", "Enforce"] {
        settings["templates"] = templates.into();
        let verdict = run(&quiet, &settings);
        assert!(!verdict.warned && verdict.is_silent);
        assert_eq!(
            found(&verdict),
            [
                "default spec.template.spec.containers[0].imagePullPolicy",
                "missing-check spec.template.spec.containers[0].image",
            ]
        );
    }
    settings["mode"] = "Warn".into();
    assert!(run(&quiet, &settings).warned);
    let weak = template(&["i imagecheck-0 a:1 IfNotPresent", "c a a:1 Always"]);
    let verdict = run(&weak, &volumes());
    assert!(verdict.warned && !verdict.is_silent);
    // Without `everyPod`, a missing check in a template is worth a warning.
    let missing = template(&["i imagecheck-0 a:1 Always", "c b b:1 Always"]);
    assert!(run(&missing, &covering(&json!({}))).warned);
}

#[test]
fn a_static_pod_is_left_alone_in_an_audit() {
    let settings = json!({"mode": "Reject", "images": {"requireAlways": ["*"]}});
    let request = |annotation: bool, owner: &str, user: Value| {
        let mut request = pod(&["c a a:1 IfNotPresent"]);
        let metadata = &mut request["object"]["metadata"];
        metadata["ownerReferences"] = json!([{"kind": owner, "controller": true}]);
        if annotation {
            metadata["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
        }
        request["userInfo"] = user;
        request
    };
    let jane = json!({"username": "jane", "groups": ["system:authenticated"]});
    let is_accepted = |request: Value| run(&request, &settings).allowed;
    assert!(is_accepted(request(true, "Node", Value::Null)));
    assert!(is_accepted(request(true, "Node", json!({}))));
    assert!(!is_accepted(request(false, "Node", Value::Null)));
    assert!(!is_accepted(request(true, "Job", Value::Null)));
    assert!(!is_accepted(request(true, "Node", jane)));
}

#[test]
fn a_first_part_with_an_underscore_counts_towards_the_length() {
    let name = |first: &str, rest: usize| format!("{first}/{}", "a".repeat(rest));
    for (first, rest, is_valid) in [
        ("a.b", 255, true),
        ("a.b", 256, false),
        ("a_b.c", 249, true),
        ("a_b.c", 250, false),
    ] {
        let image = name(first, rest);
        assert_eq!(
            Reference::parse(&image).is_some(),
            is_valid,
            "{first} {rest}"
        );
    }
    rejects(
        &json!({}),
        &[&format!("c a {} Always", name("a_b.c", 250))],
        &["invalid-image spec.containers[0].image"],
    );
}

#[test]
fn a_registry_that_was_not_asked_for_lack_of_lookups_is_no_momentary_answer() {
    let request = pod(&["c a r.io/a:1 Always", "c b r.io/b:1 Always"]);
    let registry = json!({"lookup": "Verify", "onUnreachable": "Reject", "maxLookups": 1});
    let mut answers = Answers::default();
    answers
        .digests
        .insert("r.io/a:1".to_owned(), Err(Failure::Unreachable));
    // The first image shows that the registry doesn't answer, so its second image isn't asked for.
    // This failure is momentary.
    let settings = json!({"registry": registry});
    let verdict = validate(&request, &settings, &mut answers);
    assert_eq!(verdict.code, Some(400));
}
