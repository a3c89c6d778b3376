//! The copy: a second installation with `mode: Reject` and `registry.maxLookups: 0`. It accepts
//! every object that the first installation returns.

mod common;

use common::{
    FakeRegistry, container, copy_settings, digest, image_update, pod_create,
    registry_with_answers, settings_problems, validate, validate_with,
};
use serde_json::json;

#[test]
fn the_copy_accepts_the_object_after_every_answer_of_a_registry() {
    let answers = [
        Ok(digest(1)),
        Err("error sending request for url (http://x/)"),
        Err("OCI API errors: [manifest unknown]"),
    ];
    let spec = json!({
        "initContainers": [container("imagecheck-0", "a:1", "IfNotPresent")],
        "containers": [container("a", "a:1", "Always"), container("b", &format!("a:1@{}", digest(1)), "Always")],
    });
    for answer in answers {
        for lookup in ["Pin", "Verify"] {
            for default in ["Always", "IfNotPresent", "AlwaysUnlessDigest"] {
                let settings = json!({
                    "defaults": {"imagePullPolicy": default},
                    "imageChecks": {"coverage": "Fix"},
                    "registry": {"lookup": lookup, "onUnreachable": "UseCached", "onNotFound": "KeepTag"},
                });
                let mut registry =
                    registry_with_answers(&[("docker.io/library/a:1", answer.clone())]);
                let request = pod_create(&spec);
                let first = validate_with(&request, &settings, &mut registry);
                assert!(first.accepted(), "{}", first.message());
                let mut again = request.clone();
                again["object"] = first.mutated().unwrap_or(&request["object"]).clone();
                let mut never_asked = FakeRegistry::default();
                let copy = validate_with(&again, &copy_settings(&settings), &mut never_asked);
                assert!(copy.accepted(), "{lookup} {default}: {}", copy.message());
                assert!(never_asked.asked.is_empty());
                assert!(copy.warnings().is_empty(), "{:?}", copy.warnings());
            }
        }
    }
}

#[test]
fn max_lookups_zero_is_a_settings_error_in_mode_fix() {
    let in_fix = settings_problems(&json!({"registry": {"lookup": "Pin", "maxLookups": 0}}));
    assert!(
        in_fix
            .is_some_and(|problem| problem.contains("registry.lookup") && problem.contains("Off"))
    );
}

/// A registry may have told the first installation that `app:v1` and `app` are the same image. Then
/// the second check, which is written differently, pulls the image of the container strongly
/// enough.
#[test]
fn the_copy_asks_for_no_check_if_a_lookup_may_have_shown_one() {
    let settings = json!({"registry": {"lookup": "Verify"}});
    let spec = json!({
        "initContainers": [
            container("imagecheck-0", "app:v1", "Never"),
            container("imagecheck-2", "app", "Always"),
        ],
        "containers": [container("a", "docker.io/library/app:v1", "Always")],
    });
    let mut registry = registry_with_answers(&[
        ("docker.io/library/app:v1", Ok(digest(1))),
        ("docker.io/library/app:latest", Ok(digest(1))),
    ]);
    let request = pod_create(&spec);
    let first = validate_with(&request, &settings, &mut registry);
    assert!(first.accepted() && first.mutated().is_none());
    assert!(validate(&request, &copy_settings(&settings)).accepted());
}

#[test]
fn the_copy_accepts_a_tag_whose_digest_is_stored() {
    let request = image_update(&format!("a:1@{}", digest(1)), "a:1");
    for (lookups, accepted) in [(0, true), (10, false)] {
        let registry = json!({"lookup": "Pin", "maxLookups": lookups});
        let answer = validate(&request, &json!({"mode": "Reject", "registry": registry}));
        assert_eq!(answer.accepted(), accepted, "maxLookups {lookups}");
    }
}

/// The first check has `Always`, because *weak-check* raises it. The second has a pull policy that
/// `UseCached` may have written.
#[test]
fn the_copy_accepts_a_check_that_its_own_default_would_lower() {
    let request = pod_create(&json!({
        "initContainers": [
            {"name": "imagecheck-0", "image": "app", "imagePullPolicy": "Always"},
            {"name": "imagecheck-1", "image": "app", "imagePullPolicy": "IfNotPresent"},
        ],
        "containers": [{"name": "a", "image": "app", "imagePullPolicy": "Always"}],
    }));
    let settings = json!({
        "pullOnce": false,
        "defaults": {"imageCheckPullPolicy": "IfNotPresent"},
        "registry": {"lookup": "Verify", "onUnknown": "UseCached"},
    });
    let mut registry = registry_with_answers(&[("docker.io/library/app:latest", Ok(digest(1)))]);
    let first = validate_with(&request, &settings, &mut registry);
    assert!(first.accepted() && first.mutated().is_none());
    let copy = validate(&request, &copy_settings(&settings));
    assert!(copy.accepted(), "{}", copy.message());
}

/// A registry told the first installation which tags are the same image. The copy does not know it,
/// and accepts a check that was raised for another tag.
#[test]
fn the_copy_accepts_check_volumes_of_images_that_it_cannot_tell_apart() {
    let request = pod_create(&json!({
        "containers": [
            container("a", "a", "Always"),
            container("b", "b", "Always"),
            container("c", "b:1", "Always"),
        ],
    }));
    let checks = json!({"as": "ImageVolume", "coverage": "Fix", "everyPod": true});
    let settings = json!({
        "imageChecks": checks,
        "defaults": {"imageCheckPullPolicy": "IfNotPresent"},
        "registry": {"lookup": "Verify"},
        "recordChanges": false,
    });
    let mut registry = registry_with_answers(&[
        ("docker.io/library/a:latest", Ok(digest(1))),
        ("docker.io/library/b:latest", Ok(digest(1))),
        ("docker.io/library/b:1", Ok(digest(1))),
    ]);
    let answer = validate_with(&request, &settings, &mut registry);
    let mut again = request;
    again["object"] = answer.mutated().expect("a repair").clone();
    let copy = validate(&again, &copy_settings(&settings));
    assert!(copy.accepted(), "{}", copy.message());
}

/// Without init containers, an image volume is a check only if every app container of its image
/// mounts it. With lookups, all tags and digests of one repository count as one image here. The
/// answer of a registry must not decide whether a volume is a check, because the copy doesn't get
/// this answer.
#[test]
fn with_lookups_every_app_container_of_the_repository_has_to_mount_a_check_volume() {
    let mut carrier = container("a", "a:1", "IfNotPresent");
    carrier["volumeMounts"] = json!([
        {"name": "imagecheck-0", "mountPath": "/.imagecheck/imagecheck-0", "readOnly": true},
    ]);
    let request = pod_create(&json!({
        "containers": [carrier, container("b", &format!("a@{}", digest(1)), "IfNotPresent")],
        "volumes": [
            {"name": "imagecheck-0", "image": {"reference": "a:1", "pullPolicy": "IfNotPresent"}},
        ],
    }));
    // lookup, the digest that the registry gives, the number of volumes after the repair
    for (lookup, number, volumes) in [("Off", 1, 2), ("Pin", 1, 2), ("Pin", 2, 3)] {
        let settings = json!({
            "imageChecks": {"as": "ImageVolume", "coverage": "Fix", "everyPod": true},
            "registry": {"lookup": lookup},
        });
        let mut registry = registry_with_answers(&[("docker.io/library/a:1", Ok(digest(number)))]);
        let answer = validate_with(&request, &settings, &mut registry);
        let mut again = request.clone();
        again["object"] = answer.mutated().expect("a repair").clone();
        let after = again["object"]["spec"]["volumes"].as_array().map(Vec::len);
        assert_eq!(after, Some(volumes), "{lookup} {number}");
        assert_eq!(validate(&again, &settings).mutated(), None);
        let copy = validate(&again, &copy_settings(&settings));
        assert!(copy.accepted(), "{}", copy.message());
    }
}
