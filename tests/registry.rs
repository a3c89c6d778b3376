//! The rule *registry*: which images are looked up, how often, and which of them are pinned.

mod common;

use common::{
    FakeRegistry, captured, container, digest, image_update, of_user, pod_create,
    registry_with_answers, unreachable_registry, validate, validate_with,
};
use serde_json::{Value, json};

#[test]
fn each_image_is_looked_up_once_and_those_of_app_containers_first() {
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
    let mut registry = registry_with_answers(&[
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
fn lookups_stop_at_max_lookups_and_the_message_says_so() {
    let containers: Vec<Value> = (0..4)
        .map(|n| container(&format!("c{n}"), &format!("r{n}.example.com/a:1"), "Always"))
        .collect();
    let mut registry = registry_with_answers(&[
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
fn an_image_that_needs_no_lookup_does_not_count_against_max_lookups() {
    let containers: Vec<Value> = (0..10)
        .map(|number| {
            let image = format!("a:{number}@{}", digest(number));
            container(&format!("a-{number}"), &image, "IfNotPresent")
        })
        .collect();
    let init = container("init", "b:1", "IfNotPresent");
    let request = pod_create(&json!({"initContainers": [init], "containers": containers}));
    let settings =
        json!({"registry": {"lookup": "Pin", "onUnreachable": "Reject", "maxLookups": 1}});
    let mut registry = registry_with_answers(&[("docker.io/library/b:1", Ok(digest(1)))]);
    assert!(validate_with(&request, &settings, &mut registry).accepted());
    assert_eq!(registry.asked, ["docker.io/library/b:1"]);
}

#[test]
fn a_pod_with_an_invalid_image_gets_no_lookup() {
    let pod = pod_create(&json!({"containers": [
        container("good", "a:1", "Always"),
        container("bad", "NGINX", "Always"),
    ]}));
    let mut registry = registry_with_answers(&[("docker.io/library/a:1", Ok(digest(1)))]);
    let settings = json!({"registry": {"lookup": "Pin"}});
    assert!(!validate_with(&pod, &settings, &mut registry).accepted());
    assert!(registry.asked.is_empty());
}

#[test]
fn a_pod_gets_no_lookup_if_no_answer_can_prevent_its_rejection() {
    let with_digest = format!("b:latest@{}", digest(1));
    let two = pod_create(&json!({"containers": [
        {"name": "a", "image": "a:1", "imagePullPolicy": "IfNotPresent"},
        {"name": "b", "image": with_digest, "imagePullPolicy": "Always"},
    ]}));
    for (pod, default, lookup) in [
        // `Verify` changes no pull policy.
        (
            pod_create(&json!({"containers": [container("a", "a:1", "IfNotPresent")]})),
            "Always",
            "Verify",
        ),
        // `Pin` changes pull policies, but not the pull policy of an image with a digest.
        (two, "IfNotPresent", "Pin"),
    ] {
        let settings = json!({
            "mode": "Reject",
            "defaults": {"imagePullPolicy": default},
            "registry": {"lookup": lookup, "onUnreachable": "KeepTag"},
        });
        let mut registry = FakeRegistry::default();
        assert!(!validate_with(&of_user(pod.clone()), &settings, &mut registry).accepted());
        assert!(registry.asked.is_empty(), "{:?}", registry.asked);
        // An audit tells everything, so it asks.
        assert!(!validate_with(&pod, &settings, &mut registry).accepted());
        assert_eq!(registry.asked, ["docker.io/library/a:1"]);
    }
}

#[test]
fn a_pod_gets_no_lookup_if_a_tag_in_place_of_its_stored_digest_rejects_it() {
    let mut request = image_update(&format!("a:1@{}", digest(1)), "a:1");
    let other = container("b", "b:1", "IfNotPresent");
    for (key, image) in [("object", "b:1"), ("oldObject", "b:0")] {
        let mut other = other.clone();
        other["image"] = image.into();
        let containers = request[key]["spec"]["containers"].as_array_mut();
        containers.expect("a list").push(other);
    }
    let mut registry = unreachable_registry();
    let settings = json!({"mode": "Reject", "registry": {"lookup": "Pin"}});
    assert!(!validate_with(&of_user(request), &settings, &mut registry).accepted());
    assert_eq!(registry.asked, [""; 0]);
}

#[test]
fn a_digest_is_looked_up_if_registry_images_names_one_of_its_tags() {
    let images = [format!("a:1@{}", digest(1)), format!("a:2@{}", digest(1))];
    let settings = json!({
        "registry": {"lookup": "Verify", "platform": "Reject", "images": ["a:2"]},
    });
    for order in [[0, 1], [1, 0]] {
        let containers = order.map(|index| {
            let image = &images[index];
            container(&format!("c{index}"), image, "Always")
        });
        let pod = pod_create(&json!({
            "nodeSelector": {"kubernetes.io/arch": "arm64"},
            "containers": containers,
        }));
        let mut registry = FakeRegistry::default();
        validate_with(&pod, &settings, &mut registry);
        let asked = format!("docker.io/library/a@{}", digest(1));
        assert_eq!(registry.asked, [asked], "{order:?}");
    }
}

#[test]
fn an_update_pins_only_changed_images_and_changes_no_pull_policy() {
    let mut request = captured("pod-update-image");
    let settings = json!({"registry": {"lookup": "Pin"}});
    let mut registry = registry_with_answers(&[("docker.io/library/nginx:1.27", Ok(digest(1)))]);
    let answer = validate_with(&request, &settings, &mut registry);
    assert_eq!(registry.asked, ["docker.io/library/nginx:1.27"]);
    let mut expected = request["object"].clone();
    expected["spec"]["containers"][0]["image"] = json!(format!("nginx:1.27@{}", digest(1)));
    assert_eq!(answer.mutated(), Some(&expected));

    // The manifest is applied again after the tag has moved. The stored digest stays, because
    // another one would restart the container.
    request["oldObject"]["spec"]["containers"][0]["image"] =
        json!(format!("nginx:1.27@{}", digest(1)));
    let mut registry = registry_with_answers(&[("docker.io/library/nginx:1.27", Ok(digest(2)))]);
    let answer = validate_with(&request, &settings, &mut registry);
    assert!(registry.asked.is_empty());
    assert_eq!(answer.mutated(), Some(&expected));
}

#[test]
fn an_image_of_a_pod_template_is_looked_up_and_never_pinned() {
    let request = captured("deployment-create");
    let mut registry = registry_with_answers(&[
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

/// Each reference with a digest is parsed only once. If each reference were parsed again for every
/// other one, this test would take much longer.
#[test]
fn a_pod_with_thousands_of_tags_of_one_digest_gets_no_lookup() {
    let containers: Vec<Value> = (0..9000)
        .map(|number| {
            let image = format!("a:{}{number}@{}", "x".repeat(100), digest(1));
            container(&format!("c{number}"), &image, "IfNotPresent")
        })
        .collect();
    let settings = json!({"registry": {"lookup": "Pin"}});
    let mut registry = FakeRegistry::default();
    let answer = validate_with(
        &pod_create(&json!({"containers": containers})),
        &settings,
        &mut registry,
    );
    assert!(answer.accepted() && registry.asked.is_empty());
}

#[test]
fn the_annotation_lookups_is_sorted_by_image() {
    let spec =
        json!({"containers": [container("z", "z:1", "Always"), container("a", "a:1", "Always")]});
    let settings = json!({"registry": {"lookup": "Verify", "onUnknown": "KeepTag"}});
    let answer = validate(&pod_create(&spec), &settings);
    let images: Vec<Value> = answer
        .audited("lookups")
        .iter()
        .map(|l| l["image"].clone())
        .collect();
    assert_eq!(images, ["docker.io/library/a:1", "docker.io/library/z:1"]);
}
