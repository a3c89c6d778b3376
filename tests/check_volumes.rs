//! Check volumes: image volumes that are image checks. How they are recognised and added, and which
//! container mounts them.

mod common;

use common::image_volumes::{mount, repaired_spec, volume, with_mounts};
use common::{
    container, copy_settings, digest, pod_create, registry_with_answers, validate, validate_with,
};
use serde_json::{Value, json};

/// Settings under which every Pod gets its missing checks as check volumes.
fn add_check_volumes() -> Value {
    json!({"imageChecks": {"as": "ImageVolume", "coverage": "Fix", "everyPod": true}, "recordChanges": false})
}

#[test]
fn an_added_check_volume_is_mounted_on_the_first_init_container() {
    let app = container("a", "a:1", "Always");
    let lowered = container("a", "a:1", "IfNotPresent");
    let check = volume("imagecheck-0", "a:1", "Always");
    let sidecar = |name: &str| {
        let mut sidecar = container(name, "s:1", "IfNotPresent");
        sidecar["restartPolicy"] = json!("Always");
        sidecar
    };
    let init = container("init", "i:1", "IfNotPresent");
    let mounted = json!([mount("imagecheck-0")]);
    let cases = [
        (
            json!([init]),
            json!([with_mounts(init.clone(), mounted.clone())]),
        ),
        // A native sidecar mounts it only if there is no other init container.
        (
            json!([sidecar("s"), init]),
            json!([sidecar("s"), with_mounts(init.clone(), mounted.clone())]),
        ),
        (
            json!([sidecar("s"), sidecar("t")]),
            json!([with_mounts(sidecar("s"), mounted.clone()), sidecar("t")]),
        ),
        // Existing mounts stay. An empty list and null count as no mounts.
        (
            json!([with_mounts(
                init.clone(),
                json!([{"name": "x", "mountPath": "/x"}])
            )]),
            json!([with_mounts(
                init.clone(),
                json!([{"name": "x", "mountPath": "/x"}, mount("imagecheck-0")])
            )]),
        ),
        (
            json!([with_mounts(init.clone(), json!([]))]),
            json!([with_mounts(init.clone(), mounted.clone())]),
        ),
        (
            json!([with_mounts(init.clone(), Value::Null)]),
            json!([with_mounts(init.clone(), mounted.clone())]),
        ),
    ];
    for (before, after) in cases {
        let spec = repaired_spec(
            &pod_create(&json!({"initContainers": before, "containers": [app]})),
            &add_check_volumes(),
        );
        assert_eq!(spec["initContainers"], after);
        assert_eq!(spec["containers"], json!([lowered]));
        assert_eq!(spec["volumes"], json!([check]));
    }
}

/// An app container that mounts the volume pulls the image again, so *pull-once* does not act on
/// it.
#[test]
fn without_init_containers_every_app_container_mounts_the_check_volume() {
    let app = container("a", "a:1", "Always");
    let other = container("b", "a:1", "IfNotPresent");
    for volumes in [json!([]), Value::Null] {
        let spec = json!({"containers": [app, other], "volumes": volumes});
        let spec = repaired_spec(&pod_create(&spec), &add_check_volumes());
        let mounts = json!([mount("imagecheck-0")]);
        assert_eq!(
            spec["containers"],
            json!([
                with_mounts(app.clone(), mounts.clone()),
                with_mounts(other.clone(), mounts)
            ])
        );
        assert_eq!(
            spec["volumes"],
            json!([volume("imagecheck-0", "a:1", "Always")])
        );
    }
}

#[test]
fn an_added_check_volume_gets_a_free_name_and_mount_path() {
    let mut init = container("imagecheck-0", "i:1", "IfNotPresent");
    init["volumeMounts"] = json!([{"name": "x", "mountPath": "/.imagecheck/imagecheck-2"}]);
    let spec = json!({
        "initContainers": [init],
        "containers": [container("a", "a:1", "Never")],
        "volumes": [{"name": "imagecheck-1", "emptyDir": {}}, {"name": "x", "emptyDir": {}}],
    });
    let spec = repaired_spec(&pod_create(&spec), &add_check_volumes());
    assert_eq!(spec["volumes"][2], volume("imagecheck-3", "a:1", "Never"));
    assert_eq!(
        spec["initContainers"][0]["volumeMounts"][1],
        mount("imagecheck-3")
    );
}

#[test]
fn an_image_volume_that_only_app_containers_mount_gets_a_check() {
    let mounts = json!([{"name": "data", "mountPath": "/data"}]);
    let spec = json!({
        "initContainers": [container("init", "a:1", "Always")],
        "containers": [with_mounts(container("a", "a:1", "IfNotPresent"), mounts)],
        "volumes": [volume("data", "d:1", "Always")],
    });
    let spec = repaired_spec(&pod_create(&spec), &add_check_volumes());
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
fn a_check_volume_that_is_too_weak_is_raised() {
    let request = pod_create(&json!({
        "initContainers": [with_mounts(container("init", "i:1", "IfNotPresent"), json!([mount("imagecheck-0")]))],
        "containers": [container("a", "a:1", "Always")],
        "volumes": [volume("imagecheck-0", "a:1", "IfNotPresent")],
    }));
    let spec = repaired_spec(&request, &json!({"recordChanges": false}));
    assert_eq!(spec["volumes"][0], volume("imagecheck-0", "a:1", "Always"));
    assert_eq!(spec["containers"][0], container("a", "a:1", "IfNotPresent"));
    let rejected = validate(&request, &json!({"mode": "Reject"}));
    assert_eq!(
        rejected.message(),
        "imagecheck-0 pulls a:1 with IfNotPresent but a pulls it with Always: set imagecheck-0 to Always"
    );
}

/// Without init containers, an image volume is a check only if every app container of its image
/// mounts it. With lookups, all tags and digests of one repository count as one image here. The
/// answer of a registry must not decide whether a volume is a check, because the validating copy
/// does not get this answer.
#[test]
fn with_lookups_every_app_container_of_the_repository_has_to_mount_a_check_volume() {
    let by_digest = format!("a@{}", digest(1));
    let request = pod_create(&json!({
        "containers": [
            with_mounts(container("a", "a:1", "IfNotPresent"), json!([mount("imagecheck-0")])),
            container("b", &by_digest, "IfNotPresent"),
        ],
        "volumes": [volume("imagecheck-0", "a:1", "IfNotPresent")],
    }));
    // lookup, the digest that the registry gives, the volumes after the repair
    let cases = [
        ("Off", 1, ["imagecheck-0", "imagecheck-1"].as_slice()),
        ("Pin", 1, &["imagecheck-0", "imagecheck-1"]),
        ("Pin", 2, &["imagecheck-0", "imagecheck-1", "imagecheck-2"]),
    ];
    for (lookup, number, names) in cases {
        let mut settings = add_check_volumes();
        settings["registry"] = json!({"lookup": lookup});
        let mut registry = registry_with_answers(&[("docker.io/library/a:1", Ok(digest(number)))]);
        let answer = validate_with(&request, &settings, &mut registry);
        let mut again = request.clone();
        again["object"] = answer.mutated().expect("a repair").clone();
        let volumes = again["object"]["spec"]["volumes"]
            .as_array()
            .expect("a list");
        let volumes: Vec<_> = volumes.iter().map(|volume| &volume["name"]).collect();
        assert_eq!(volumes, names, "{lookup} {number}");
        assert_eq!(validate(&again, &settings).mutated(), None);
        let copy = validate(&again, &copy_settings(&settings));
        assert!(copy.accepted(), "{}", copy.message());
    }
}

#[test]
fn an_exempt_app_container_need_not_mount_a_check_volume() {
    let request = pod_create(&json!({
        "containers": [
            with_mounts(container("a", "a:1", "IfNotPresent"), json!([mount("imagecheck-0")])),
            container("istio-proxy", "a:1", "IfNotPresent"),
        ],
        "volumes": [volume("imagecheck-0", "a:1", "IfNotPresent")],
    }));
    let mut settings = add_check_volumes();
    assert_eq!(
        repaired_spec(&request, &settings)["volumes"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    settings["exempt"] = json!({"containers": ["istio-proxy"]});
    assert_eq!(validate(&request, &settings).mutated(), None);
}

/// It can be exempt by its image or by its name.
#[test]
fn an_exempt_init_container_is_not_chosen_to_mount_a_check_volume() {
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

/// A check volume that each app container mounts stays a check beside an init container. So the check
/// that the template makes disables no other one.
#[test]
fn a_check_from_the_template_leaves_the_check_volumes_on_app_containers() {
    let mount = json!([{"name": "imagecheck-0", "mountPath": "/c"}]);
    let mut containers = [
        container("a", "a:1", "Always"),
        container("b", "b:1", "Always"),
    ];
    for container in &mut containers {
        container["volumeMounts"] = mount.clone();
    }
    let pod = pod_create(&json!({
        "volumes": [{"name": "imagecheck-0", "image": {"reference": "a:1", "pullPolicy": "Always"}}],
        "containers": containers,
    }));
    let template = json!({"command": ["/bin/true"]});
    let mut settings = json!({"imageChecks": {"coverage": "Fix", "template": template}});
    let answer = validate(&pod, &settings);
    let object = answer.mutated().expect("a change");
    assert_eq!(
        object["spec"]["initContainers"],
        json!([{
            "name": "imagecheck-0",
            "image": "b:1",
            "imagePullPolicy": "Always",
            "command": ["/bin/true"],
        }])
    );
    assert_eq!(object["spec"]["volumes"].as_array().map(Vec::len), Some(1));
    let again = pod_create(&object["spec"]);
    assert!(validate(&again, &settings).mutated().is_none());
    settings["mode"] = "Reject".into();
    assert!(validate(&again, &settings).accepted());
}

/// Without init containers every app container mounts every check volume, so the number of mounts
/// is the square of the number of containers. 110 containers get 12,100 mounts of about 80 bytes.
#[test]
fn a_pod_that_would_get_more_than_a_mebibyte_of_mounts_is_rejected() {
    let settings =
        json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "as": "ImageVolume"}});
    for (count, accepted) in [(100, true), (130, false)] {
        let containers: Vec<Value> = (0..count)
            .map(|number| container(&format!("c{number}"), &format!("a{number}:1"), "Always"))
            .collect();
        let answer = validate(&pod_create(&json!({"containers": containers})), &settings);
        assert_eq!(answer.accepted(), accepted, "{count}");
        assert_eq!(answer.mutated().is_some(), accepted, "{count}");
        assert_eq!(answer.audited("findings").len(), count, "{count}");
    }
    // If an init container mounts the volumes, or if the checks are init containers, there are few
    // mounts.
    let containers: Vec<Value> = (0..130)
        .map(|number| container(&format!("c{number}"), &format!("a{number}:1"), "Always"))
        .collect();
    let template = json!({"command": ["/bin/true"]});
    let by_template =
        json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "template": template}});
    for (inits, settings) in [
        (json!([container("setup", "s:1", "Never")]), settings),
        (json!([]), by_template),
    ] {
        let pod = pod_create(&json!({"initContainers": inits, "containers": containers}));
        assert!(validate(&pod, &settings).accepted(), "{settings}");
    }
}
