//! The copy: a second, validating installation with `registry.maxLookups: 0`, here with `mode: Reject`.
//! The copy accepts every object that the first installation accepts, in the form after the repair.

use crate::common::{
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
    // In a Pod with a single image, the copy knows that no lookup has shown two images to be the same.
    let single = json!({"containers": [container("a", "a:1", "IfNotPresent")]});
    for (answer, spec) in answers
        .iter()
        .flat_map(|answer| [(answer, &spec), (answer, &single)])
    {
        for lookup in ["Pin", "Verify"] {
            for default in ["Always", "IfNotPresent", "AlwaysUnlessDigest"] {
                let settings = json!({
                    "defaults": {"imagePullPolicy": default},
                    "imageChecks": {"coverage": "Fix"},
                    "registry": {"images": ["*"], "lookup": lookup, "onUnreachable": "UseCached", "onNotFound": "KeepTag"},
                });
                let mut registry =
                    registry_with_answers(&[("docker.io/library/a:1", answer.clone())]);
                let request = pod_create(spec);
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
    let in_fix = settings_problems(
        &json!({"registry": {"images": ["*"], "lookup": "Pin", "maxLookups": 0}}),
    );
    assert!(
        in_fix
            .is_some_and(|problem| problem.contains("registry.lookup") && problem.contains("Off"))
    );
}

/// A lookup of the first installation may have shown that `app:v1` and `app` are the same image.
/// Then the second check pulls the container's image in another spelling, and is strong enough. The
/// copy doesn't know the answer of the lookup, so it must not reject the Pod.
#[test]
fn the_copy_asks_for_no_check_if_a_lookup_may_have_shown_one() {
    let settings = json!({"registry": {"images": ["*"], "lookup": "Verify"}});
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
        let registry = json!({"images": ["*"], "lookup": "Pin", "maxLookups": lookups});
        let answer = validate(&request, &json!({"mode": "Reject", "registry": registry}));
        assert_eq!(answer.accepted(), accepted, "maxLookups {lookups}");
    }
}

/// `imageCheckPullPolicy` lowers the first check to `IfNotPresent`, and *weak-check* raises it back to
/// `Always`. In the copy, `UseCached` may have written the `IfNotPresent` of the second check.
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
        "registry": {"images": ["*"], "lookup": "Verify", "onUnknown": "UseCached"},
    });
    let mut registry = registry_with_answers(&[("docker.io/library/app:latest", Ok(digest(1)))]);
    let first = validate_with(&request, &settings, &mut registry);
    assert!(first.accepted() && first.mutated().is_none());
    let copy = validate(&request, &copy_settings(&settings));
    assert!(copy.accepted(), "{}", copy.message());
}

/// The first installation knows from lookups that `b` and `b:1` are the same image. The copy can't know
/// this. It must still accept the Pod, so where a lookup may have decided, it demands no further check
/// and no other pull policy.
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
        "registry": {"images": ["*"], "lookup": "Verify"},
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

/// If no init container mounts an image volume, the volume is a check only if every app container of
/// its image mounts the volume. With lookups, all tags and digests of one repository count as one
/// image here. The answer of a registry must not decide whether a volume is a check, because the copy
/// doesn't get this answer.
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
    // Each case has the value of `lookup`, the parameter of `digest` for the registry's answer, and the
    // number of volumes after the repair.
    for (lookup, number, volumes) in [("Off", 1, 2), ("Pin", 1, 2), ("Pin", 2, 3)] {
        let settings = json!({
            "imageChecks": {"as": "ImageVolume", "coverage": "Fix", "everyPod": true},
            "registry": {"images": ["*"], "lookup": lookup},
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
