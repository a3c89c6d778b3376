//! Image checks that are image volumes: recognised, added, and made of checks that were there.

mod common;

use common::{Table, captured, container, digest, pod_create, validate, validate_with};
use serde_json::{Value, json};

fn volume(name: &str, image: &str, policy: &str) -> Value {
    json!({"name": name, "image": {"reference": image, "pullPolicy": policy}})
}

fn mount(name: &str) -> Value {
    json!({"name": name, "mountPath": format!("/.imagecheck/{name}"), "readOnly": true})
}

fn with(mut container: Value, mounts: Value) -> Value {
    container["volumeMounts"] = mounts;
    container
}

/// Added checks are volumes, in any Pod.
fn settings() -> Value {
    json!({"imageChecks": {"as": "ImageVolume", "coverage": "Fix", "everyPod": true}, "recordChanges": false})
}

/// The Pod spec after a repair that is stable, and that the copy accepts.
fn repaired(request: &Value, settings: &Value) -> Value {
    let answer = validate(request, settings);
    assert!(answer.accepted(), "{}", answer.message());
    let object = answer.mutated().expect("a repair").clone();
    serde_json::from_value::<k8s_openapi::api::core::v1::Pod>(object.clone()).expect("a Pod");
    let mut again = request.clone();
    again["object"] = object.clone();
    let second = validate(&again, settings);
    assert_eq!(second.mutated(), None);
    assert!(second.audited("findings").is_empty());
    let mut copy = settings.clone();
    copy["mode"] = json!("Reject");
    copy["registry"]["maxLookups"] = json!(0);
    copy["imageChecks"]["replaceExisting"] = json!(false);
    let copy = validate(&again, &copy);
    assert!(copy.accepted(), "{}", copy.message());
    object["spec"].clone()
}

#[test]
fn a_check_is_mounted_on_the_first_init_container() {
    let app = container("a", "a:1", "Always");
    let saved = container("a", "a:1", "IfNotPresent");
    let check = volume("imagecheck-0", "a:1", "Always");
    let sidecar = |name: &str| {
        let mut sidecar = container(name, "s:1", "IfNotPresent");
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    };
    let init = container("init", "i:1", "IfNotPresent");
    let mounted = json!([mount("imagecheck-0")]);
    let cases = [
        (json!([init]), json!([with(init.clone(), mounted.clone())])),
        // A native sidecar comes first only where there is nothing else.
        (
            json!([sidecar("s"), init]),
            json!([sidecar("s"), with(init.clone(), mounted.clone())]),
        ),
        (
            json!([sidecar("s"), sidecar("t")]),
            json!([with(sidecar("s"), mounted.clone()), sidecar("t")]),
        ),
        // Other mounts stay; an empty list and null are filled.
        (
            json!([with(
                init.clone(),
                json!([{"name": "x", "mountPath": "/x"}])
            )]),
            json!([with(
                init.clone(),
                json!([{"name": "x", "mountPath": "/x"}, mount("imagecheck-0")])
            )]),
        ),
        (
            json!([with(init.clone(), json!([]))]),
            json!([with(init.clone(), mounted.clone())]),
        ),
        (
            json!([with(init.clone(), Value::Null)]),
            json!([with(init.clone(), mounted.clone())]),
        ),
    ];
    for (before, after) in cases {
        let spec = repaired(
            &pod_create(&json!({"initContainers": before, "containers": [app]})),
            &settings(),
        );
        assert_eq!(spec["initContainers"], after);
        assert_eq!(spec["containers"], json!([saved]));
        assert_eq!(spec["volumes"], json!([check]));
    }
}

#[test]
fn without_init_containers_every_container_mounts_it_and_pulls_again() {
    let app = container("a", "a:1", "Always");
    let other = container("b", "a:1", "IfNotPresent");
    for volumes in [json!([]), Value::Null] {
        let spec = json!({"containers": [app, other], "volumes": volumes});
        let spec = repaired(&pod_create(&spec), &settings());
        let mounts = json!([mount("imagecheck-0")]);
        // Who mounts it pulls it again, so Always has to stay.
        assert_eq!(
            spec["containers"],
            json!([
                with(app.clone(), mounts.clone()),
                with(other.clone(), mounts)
            ])
        );
        assert_eq!(
            spec["volumes"],
            json!([volume("imagecheck-0", "a:1", "Always")])
        );
    }
}

#[test]
fn names_and_mount_paths_are_free() {
    let mut init = container("imagecheck-0", "i:1", "IfNotPresent");
    init["volumeMounts"] = json!([{"name": "x", "mountPath": "/.imagecheck/imagecheck-2"}]);
    let spec = json!({
        "initContainers": [init],
        "containers": [container("a", "a:1", "Never")],
        "volumes": [{"name": "imagecheck-1", "emptyDir": {}}, {"name": "x", "emptyDir": {}}],
    });
    let spec = repaired(&pod_create(&spec), &settings());
    assert_eq!(spec["volumes"][2], volume("imagecheck-3", "a:1", "Never"));
    assert_eq!(
        spec["initContainers"][0]["volumeMounts"][1],
        mount("imagecheck-3")
    );
}

#[test]
fn an_image_volume_that_only_containers_mount_is_guarded() {
    let mounts = json!([{"name": "data", "mountPath": "/data"}]);
    let spec = json!({
        "initContainers": [container("init", "a:1", "Always")],
        "containers": [with(container("a", "a:1", "IfNotPresent"), mounts)],
        "volumes": [volume("data", "d:1", "Always")],
    });
    let spec = repaired(&pod_create(&spec), &settings());
    assert_eq!(
        spec["volumes"],
        json!([
            volume("data", "d:1", "Always"),
            volume("imagecheck-0", "d:1", "Always")
        ])
    );
    assert_eq!(
        spec["initContainers"][0]["volumeMounts"],
        json!([mount("imagecheck-0")])
    );
}

#[test]
fn a_check_volume_is_raised_like_any_check() {
    let request = pod_create(&json!({
        "initContainers": [with(container("init", "i:1", "IfNotPresent"), json!([mount("imagecheck-0")]))],
        "containers": [container("a", "a:1", "Always")],
        "volumes": [volume("imagecheck-0", "a:1", "IfNotPresent")],
    }));
    let spec = repaired(&request, &json!({"recordChanges": false}));
    assert_eq!(spec["volumes"][0], volume("imagecheck-0", "a:1", "Always"));
    assert_eq!(spec["containers"][0], container("a", "a:1", "IfNotPresent"));
    let rejected = validate(&request, &json!({"mode": "Reject"}));
    assert_eq!(
        rejected.message(),
        "imagecheck-0 pulls a:1 with IfNotPresent but a pulls it with Always: set imagecheck-0 to Always"
    );
}

/// A volume without init containers proves an image if all its containers mount it; that a
/// container's digest is the image, the registry says.
/// What a registry says doesn't make a check of a volume, nor takes it away: the copy never hears it.
#[test]
fn of_a_repository_that_is_looked_up_every_container_has_to_mount_a_volume() {
    let by_digest = format!("a@{}", digest(1));
    let request = pod_create(&json!({
        "containers": [
            with(container("a", "a:1", "IfNotPresent"), json!([mount("imagecheck-0")])),
            container("b", &by_digest, "IfNotPresent"),
        ],
        "volumes": [volume("imagecheck-0", "a:1", "IfNotPresent")],
    }));
    // Without a lookup the volume is a check, so the other image gets one; with one it is none.
    let cases = [
        ("Off", 1, ["imagecheck-0", "imagecheck-1"].as_slice()),
        ("Pin", 1, &["imagecheck-0", "imagecheck-1"]),
        ("Pin", 2, &["imagecheck-0", "imagecheck-1", "imagecheck-2"]),
    ];
    for (lookup, number, names) in cases {
        let mut settings = settings();
        settings["imageChecks"]["everyPod"] = json!(true);
        settings["registry"] = json!({"lookup": lookup});
        let table = Table {
            answers: [("docker.io/library/a:1".to_owned(), Ok(digest(number)))].into(),
            ..Table::default()
        };
        let answer = validate_with(&request, &settings, &mut table.clone());
        let mut again = request.clone();
        again["object"] = answer.mutated().expect("a repair").clone();
        let volumes = again["object"]["spec"]["volumes"]
            .as_array()
            .expect("a list");
        let volumes: Vec<_> = volumes.iter().map(|volume| &volume["name"]).collect();
        assert_eq!(volumes, names, "{lookup} {number}");
        assert_eq!(validate(&again, &settings).mutated(), None);
        settings["mode"] = json!("Reject");
        settings["registry"]["maxLookups"] = json!(0);
        let copy = validate(&again, &settings);
        assert!(copy.accepted(), "{}", copy.message());
    }
}

/// Beside images that the copy can't tell apart, a check that was raised for another one stays.
#[test]
fn the_copy_accepts_raised_volumes_beside_images_that_it_can_not_tell_apart() {
    let request = pod_create(&json!({
        "containers": [
            container("a", "a", "Always"),
            container("b", "b", "Always"),
            container("c", "b:1", "Always"),
        ],
    }));
    let mut settings = settings();
    settings["imageChecks"]["everyPod"] = json!(true);
    settings["defaults"] = json!({"imageCheckPullPolicy": "IfNotPresent"});
    settings["registry"] = json!({"lookup": "Verify"});
    let answers = ["a:latest", "b:latest", "b:1"]
        .map(|image| (format!("docker.io/library/{image}"), Ok(digest(1))));
    let mut table = Table {
        answers: answers.into(),
        ..Table::default()
    };
    let answer = validate_with(&request, &settings, &mut table);
    let mut again = request;
    again["object"] = answer.mutated().expect("a repair").clone();
    settings["mode"] = json!("Reject");
    settings["registry"]["maxLookups"] = json!(0);
    let copy = validate(&again, &settings);
    assert!(copy.accepted(), "{}", copy.message());
}

#[test]
fn who_is_exempt_need_not_mount_a_volume() {
    let request = pod_create(&json!({
        "containers": [
            with(container("a", "a:1", "IfNotPresent"), json!([mount("imagecheck-0")])),
            container("istio-proxy", "a:1", "IfNotPresent"),
        ],
        "volumes": [volume("imagecheck-0", "a:1", "IfNotPresent")],
    }));
    let mut settings = settings();
    assert_eq!(
        repaired(&request, &settings)["volumes"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    settings["exempt"] = json!({"containers": ["istio-proxy"]});
    assert_eq!(validate(&request, &settings).mutated(), None);
}

#[test]
fn windows_pods_get_nothing_added_and_a_warning() {
    let request = pod_create(&json!({
        "os": {"name": "windows"},
        "containers": [container("a", "a:1", "Always")],
    }));
    for mode in ["Fix", "Reject", "Warn"] {
        let mut settings = settings();
        settings["mode"] = json!(mode);
        let answer = validate(&request, &settings);
        assert!(answer.accepted() && answer.mutated().is_none(), "{mode}");
        assert_eq!(
            answer.warnings(),
            ["a pulls a:1 but no image check pulls it first: none is added on Windows"],
            "{mode}"
        );
    }
}

#[test]
fn the_checks_of_a_controller_become_volumes() {
    let request = captured("agent-stack-pod-create");
    let settings =
        json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true, "coverage": "Off"}});
    let spec = repaired(&request, &settings);
    let names = |list: &str| -> Vec<&str> {
        spec[list]
            .as_array()
            .expect("a list")
            .iter()
            .map(|item| item["name"].as_str().expect("a name"))
            .collect()
    };
    assert_eq!(names("initContainers"), ["copy-agent"]);
    let volumes = spec["volumes"].as_array().expect("volumes");
    let added: Vec<&Value> = volumes
        .iter()
        .filter(|volume| volume.get("image").is_some())
        .collect();
    assert_eq!(
        added,
        [
            &volume("imagecheck-0", "my-app:v1.2.3", "Always"),
            &volume(
                "imagecheck-1",
                "docker.io/library/postgres:16",
                "IfNotPresent"
            ),
        ]
    );
    let mounts = spec["initContainers"][0]["volumeMounts"]
        .as_array()
        .expect("mounts");
    assert!(mounts.ends_with(&[mount("imagecheck-0"), mount("imagecheck-1")]));
}

fn of_a_controller(spec: &Value) -> Value {
    let mut request = pod_create(spec);
    request["object"]["metadata"]["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": true}]);
    request
}

fn replacing() -> Value {
    json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true, "coverage": "Off"}, "recordChanges": false})
}

#[test]
fn where_no_init_container_would_remain_the_first_check_carries() {
    let inits: Vec<Value> = (0..100)
        .map(|number| {
            container(
                &format!("imagecheck-{number}"),
                &format!("a:{number}"),
                "Always",
            )
        })
        .collect();
    let spec =
        json!({"initContainers": inits, "containers": [container("a", "a:99", "IfNotPresent")]});
    let spec = repaired(&of_a_controller(&spec), &replacing());
    let mounts: Vec<Value> = (1..100)
        .map(|number| mount(&format!("imagecheck-{number}")))
        .collect();
    assert_eq!(
        spec["initContainers"],
        json!([with(inits[0].clone(), json!(mounts))])
    );
    assert_eq!(spec["volumes"].as_array().map(Vec::len), Some(99));
}

#[test]
fn what_can_not_become_a_volume_stays() {
    let long = format!("imagecheck-{}", "x".repeat(60));
    let mut sidecar = container("imagecheck-9", "s:1", "Always");
    sidecar["restartPolicy"] = json!("Always");
    let carrier = with(
        container("init", "i:1", "IfNotPresent"),
        json!([{"name": "x", "mountPath": "/.imagecheck/imagecheck-1"}]),
    );
    let spec = json!({
        "initContainers": [
            carrier,
            container("imagecheck-0", "a:0", "Always"),
            container("imagecheck-1", "a:1", "Always"),
            container("imagecheck-2", "a:2", "Always"),
            container(&long, "a:3", "Always"),
            sidecar,
        ],
        "containers": [container("a", "a:2", "IfNotPresent")],
        "volumes": [{"name": "x", "emptyDir": {}}, {"name": "imagecheck-0", "emptyDir": {}}],
    });
    let after = repaired(&of_a_controller(&spec), &replacing());
    let names: Vec<&str> = after["initContainers"]
        .as_array()
        .expect("init containers")
        .iter()
        .map(|init| init["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(
        names,
        [
            "init",
            "imagecheck-0",
            "imagecheck-1",
            &long,
            "imagecheck-9"
        ]
    );
    assert_eq!(after["volumes"][2], volume("imagecheck-2", "a:2", "Always"));

    // Nobody's Pod, and a Windows Pod, keep what they have.
    assert_eq!(validate(&pod_create(&spec), &replacing()).mutated(), None);
    let mut windows = spec.clone();
    windows["os"] = json!({"name": "windows"});
    assert_eq!(
        validate(&of_a_controller(&windows), &replacing()).mutated(),
        None
    );
}

/// An image volume that only containers mount is guarded; one that it mounted was none.
#[test]
fn a_check_that_mounts_an_image_volume_stays() {
    let data = json!([{"name": "data", "mountPath": "/data"}]);
    let spec = json!({
        "initContainers": [
            container("init", "i:1", "IfNotPresent"),
            with(container("imagecheck-0", "a:1", "IfNotPresent"), data.clone()),
            container("imagecheck-1", "b:1", "IfNotPresent"),
        ],
        "containers": [with(container("a", "a:1", "IfNotPresent"), data)],
        "volumes": [volume("data", "d:1", "Always")],
    });
    let after = repaired(&of_a_controller(&spec), &replacing());
    assert_eq!(after["initContainers"][1], spec["initContainers"][1]);
    assert_eq!(after["initContainers"].as_array().map(Vec::len), Some(2));
}

/// Else another one would be the first of them, which is the one that is raised.
#[test]
fn checks_of_one_image_become_volumes_together_or_not_at_all() {
    let data = json!([{"name": "data", "mountPath": "/data"}]);
    let spec = json!({
        "initContainers": [
            container("init", "i:1", "IfNotPresent"),
            container("imagecheck-0", "app", "Always"),
            with(container("imagecheck-1", "app", "Always"), data),
            container("imagecheck-2", "b:1", "IfNotPresent"),
        ],
        "containers": [container("a", "app", "Always")],
        "volumes": [volume("data", "d:1", "IfNotPresent")],
    });
    let mut settings = replacing();
    settings["pullOnce"] = json!(false);
    settings["defaults"] = json!({"imageCheckPullPolicy": "IfNotPresent"});
    let after = repaired(&of_a_controller(&spec), &settings);
    assert_eq!(after["initContainers"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_replaced_check_is_recorded_as_it_came_in() {
    let spec = json!({
        "initContainers": [container("init", "i:1", "Always"), container("imagecheck-0", "a:1", "Never")],
        "containers": [container("a", "a:1", "IfNotPresent")],
    });
    let mut settings = replacing();
    settings["recordChanges"] = json!(true);
    let answer = validate(&of_a_controller(&spec), &settings);
    assert_eq!(
        answer.audited("changes"),
        [
            json!({
                "path": "spec.initContainers[1]",
                "container": "imagecheck-0",
                "from": {"name": "imagecheck-0", "image": "a:1", "imagePullPolicy": "Never"},
                "to": null,
                "rule": "replace-check",
            }),
            json!({
                "path": "spec.volumes[0]",
                "container": "imagecheck-0",
                "from": null,
                "to": volume("imagecheck-0", "a:1", "IfNotPresent"),
                "rule": "replace-check",
            }),
        ]
    );
    assert_eq!(answer.audited("findings")[0]["rule"], "weak-check");
}

/// By its image or by its name; the other init containers carry the volumes.
#[test]
fn an_exempt_init_container_carries_no_volume() {
    for exempt in [
        json!({"images": ["skip"]}),
        json!({"containers": ["first"]}),
    ] {
        let pod = pod_create(&json!({
            "initContainers": [
                {"name": "first", "image": "skip:1", "imagePullPolicy": "Always"},
                {"name": "second", "image": "b:1", "imagePullPolicy": "Always"},
            ],
            "containers": [{"name": "a", "image": "a:1", "imagePullPolicy": "Always"}],
        }));
        let checks = json!({"coverage": "Fix", "everyPod": true, "as": "ImageVolume"});
        let answer = validate(&pod, &json!({"imageChecks": checks, "exempt": exempt}));
        let containers = &answer.mutated().expect("a change")["spec"]["initContainers"];
        assert_eq!(containers[0]["volumeMounts"], Value::Null, "{exempt}");
        assert_eq!(
            containers[1]["volumeMounts"][0]["name"], "imagecheck-0",
            "{exempt}"
        );
    }
}

/// What else a replaced check carried moves to who carries it now, unless that one has it already,
/// in the order of names.
#[test]
fn the_volumes_of_a_replaced_check_move_to_the_carrier() {
    let (first, second, new) = (
        mount("imagecheck-v"),
        mount("imagecheck-w"),
        mount("imagecheck-0"),
    );
    for (had, has) in [
        (json!([]), json!([new, first, second])),
        (json!([first]), json!([first, new, second])),
    ] {
        let init = container("init", "i:1", "IfNotPresent");
        let check = container("imagecheck-0", "a:1", "Always");
        let spec = json!({
            "initContainers": [with(init.clone(), had), with(check, json!([second, first]))],
            "containers": [
                container("a", "a:1", "IfNotPresent"),
                container("b", "b:1", "IfNotPresent"),
            ],
            "volumes": [
                volume("imagecheck-v", "b:1", "Always"),
                volume("imagecheck-w", "b:1", "Always"),
            ],
        });
        let after = repaired(&of_a_controller(&spec), &replacing());
        assert_eq!(after["initContainers"], json!([with(init, has)]));
    }
}
