//! The settings: every problem is reported, with its path and what is allowed there.

mod common;

use common::{pod_create, settings_problems, validate};
use serde_json::{Value, json};

#[test]
fn what_is_not_set_is_valid() {
    for settings in [
        json!(null),
        json!({}),
        json!([]),
        json!({"mode": null, "imageChecks": [], "registry": {}, "images": {"requireAlways": []}}),
        json!({"imageChecks": {"namePrefixes": [], "template": {}, "after": null, "everyPod": []}}),
        json!({"defaults": {"imagePullPolicy": null}, "exempt": {"images": {}}, "pullOnce": {}}),
    ] {
        assert_eq!(settings_problems(&settings), None, "{settings}");
    }
}

#[test]
fn every_setting_takes_its_values() {
    let settings = json!({
        "mode": "Warn",
        "imageChecks": {
            "namePrefixes": ["check-"],
            "coverage": "Fix",
            "everyPod": true,
            "template": {
                "command": ["/checks/true"],
                "resources": {"limits": {"cpu": "100m", "memory": 1000}},
                "securityContext": {"runAsUser": 65534, "capabilities": {"drop": ["ALL"]}},
                "volumeMounts": [{"name": "checks", "mountPath": "/checks", "readOnly": true}],
            },
            "after": ["copy-*", "fill-?"],
        },
        "pullOnce": false,
        "defaults": {
            "imagePullPolicy": "AlwaysUnlessDigest",
            "imageCheckPullPolicy": "Always",
            "replaceServerDefaults": false,
        },
        "images": {"requireAlways": ["ghcr.io/secret/*"], "forbidAlways": ["docker.io/*"]},
        "registry": {
            "lookup": "Pin",
            "images": ["*"],
            "skipImages": ["localhost:5000/*"],
            "onNotFound": "KeepTag",
            "onDenied": "Reject",
            "onRateLimited": "UseCached",
            "onUnreachable": "UseCached",
            "onUnknown": "Reject",
            "maxLookups": 100,
        },
        "templates": "Fix",
        "exempt": {"containers": ["istio-*"], "images": ["gcr.io/istio-release/*"]},
        "recordChanges": false,
    });
    assert_eq!(settings_problems(&settings), None);
}

#[test]
#[allow(clippy::too_many_lines)] // A table.
fn each_problem_names_path_value_and_what_is_allowed() {
    let long_prefix = "a".repeat(59);
    let cases: Vec<(Value, String)> =
        vec![
        (json!("Fix"), "the settings must be an object, not a string".into()),
        (json!([1]), "the settings must be an object, not a list".into()),
        (json!({"mode": "fix"}), "mode must be one of Fix, Reject, Warn, not \"fix\"".into()),
        (json!({"mode": 3}), "mode must be one of Fix, Reject, Warn, not 3".into()),
        (json!({"mode": false}), "mode must be one of Fix, Reject, Warn, not false".into()),
        (json!({"mode": ["Fix"]}), "mode must be one of Fix, Reject, Warn, not a list".into()),
        (
            json!({"Mode": "Fix"}),
            "Mode is not a setting: the settings have mode, imageChecks, pullOnce, defaults, \
             images, registry, templates, exempt, recordChanges"
                .into(),
        ),
        (
            json!({"imageChecks": {"prefixes": []}}),
            "imageChecks.prefixes is not a setting: it holds namePrefixes, coverage, everyPod, \
             template, after"
                .into(),
        ),
        (json!({"imageChecks": "Fix"}), "imageChecks must be an object, not a string".into()),
        (
            json!({"imageChecks": {"coverage": "On"}}),
            "imageChecks.coverage must be one of Off, Warn, Reject, Fix, not \"On\"".into(),
        ),
        (
            json!({"imageChecks": {"everyPod": "true"}}),
            "imageChecks.everyPod must be true or false, not \"true\"".into(),
        ),
        (
            json!({"imageChecks": {"namePrefixes": ["ImageCheck-"]}}),
            "imageChecks.namePrefixes[0] \"ImageCheck-\" can't start a container's name: it takes \
             lower-case letters, digits and -"
                .into(),
        ),
        (
            json!({"imageChecks": {"namePrefixes": ["-check"]}}),
            "imageChecks.namePrefixes[0] \"-check\" can't start a container's name: it takes \
             lower-case letters, digits and -"
                .into(),
        ),
        (
            json!({"imageChecks": {"namePrefixes": [long_prefix]}}),
            format!(
                "imageChecks.namePrefixes[0] \"{long_prefix}\" leaves no room for a number: it \
                 takes at most 58 characters"
            ),
        ),
        (
            json!({"imageChecks": {"after": "copy-agent"}}),
            "imageChecks.after must be a list of strings, not \"copy-agent\"".into(),
        ),
        (
            json!({"imageChecks": {"after": ["a", 7, ""]}}),
            "imageChecks.after[1] must be a string, not 7; imageChecks.after[2] \"\" matches no \
             container's name: it takes lower-case letters, digits, -, * and ?"
                .into(),
        ),
        (
            json!({"imageChecks": {"template": ["/check"]}}),
            "imageChecks.template must be a container, not a list".into(),
        ),
        (
            json!({"imageChecks": {"coverage": "Fix", "everyPod": true}}),
            "imageChecks.template is missing: with coverage Fix and everyPod true, a Pod without \
             image checks has none to copy"
                .into(),
        ),
        (
            json!({"imageChecks": {"coverage": "Fix"}, "exempt": {"containers": ["image*"]}}),
            "exempt.containers \"image*\" matches the checks that imageChecks.coverage Fix adds: \
             name containers that it does not"
                .into(),
        ),
        (json!({"pullOnce": 1}), "pullOnce must be true or false, not 1".into()),
        (
            json!({"defaults": {"imagePullPolicy": "always"}}),
            "defaults.imagePullPolicy must be one of Always, IfNotPresent, Never, \
             AlwaysUnlessDigest, not \"always\""
                .into(),
        ),
        (
            json!({"images": {"requireAlways": ["nginx@sha256:abc"]}}),
            "images.requireAlways[0] \"nginx@sha256:abc\" has a digest, but patterns match \
             registry/repository[:tag]"
                .into(),
        ),
        (
            json!({"images": {"forbidAlways": ["", "a b", "https://ghcr.io/x"]}}),
            "images.forbidAlways[0] \"\" is empty, which matches nothing; images.forbidAlways[1] \
             \"a b\" has white space, but image names have none; images.forbidAlways[2] \
             \"https://ghcr.io/x\" has a URL scheme, but image names have none"
                .into(),
        ),
        (
            json!({"registry": {"lookup": "pin"}}),
            "registry.lookup must be one of Off, Verify, Pin, not \"pin\"".into(),
        ),
        (
            json!({"registry": {"onDenied": "Ignore"}}),
            "registry.onDenied must be one of Reject, KeepTag, UseCached, not \"Ignore\"".into(),
        ),
        (
            json!({"registry": {"maxLookups": 0}}),
            "registry.maxLookups must be a whole number from 1 to 100, not 0".into(),
        ),
        (
            json!({"registry": {"maxLookups": 101}}),
            "registry.maxLookups must be a whole number from 1 to 100, not 101".into(),
        ),
        (
            json!({"registry": {"maxLookups": 2.5}}),
            "registry.maxLookups must be a whole number from 1 to 100, not 2.5".into(),
        ),
        (
            json!({"registry": {"maxLookups": "10"}}),
            "registry.maxLookups must be a whole number from 1 to 100, not \"10\"".into(),
        ),
        (
            json!({"templates": "Reject"}),
            "templates must be one of Off, Warn, Fix, not \"Reject\"".into(),
        ),
        (
            json!({"exempt": {"containers": ["Istio"]}}),
            "exempt.containers[0] \"Istio\" matches no container's name: it takes lower-case \
             letters, digits, -, * and ?"
                .into(),
        ),
        (json!({"recordChanges": "no"}), "recordChanges must be true or false, not \"no\"".into()),
    ];
    for (settings, expected) in cases {
        assert_eq!(settings_problems(&settings), Some(expected), "{settings}");
    }
}

#[test]
fn all_problems_are_reported_together() {
    let settings = json!({
        "mode": "fix",
        "registry": {"lookup": "On", "maxLookups": 0},
        "imageChecks": {"coverage": "Fix", "everyPod": true, "after": [1]},
        "unknown": {},
    });
    let problems = settings_problems(&settings).expect("problems");
    for part in [
        "mode must be",
        "registry.lookup must be",
        "registry.maxLookups must be",
        "imageChecks.after[0] must be",
        "imageChecks.template is missing",
        "unknown is not a setting",
    ] {
        assert!(problems.contains(part), "{part}: {problems}");
    }
}

/// kubectl reads a bare `Off` as YAML 1.1 does.
#[test]
fn off_may_come_as_false() {
    let settings = json!({
        "imageChecks": {"coverage": false},
        "registry": {"lookup": false},
        "templates": false,
    });
    assert_eq!(settings_problems(&settings), None);
    let pod = pod_create(&json!({
        "initContainers": [{"name": "imagecheck-0", "image": "a:1", "imagePullPolicy": "Always"}],
        "containers": [{"name": "b", "image": "b:1", "imagePullPolicy": "Always"}],
    }));
    assert!(!validate(&pod, &json!({})).warnings().is_empty());
    assert!(validate(&pod, &settings).warnings().is_empty());
}

#[test]
fn an_error_cuts_what_it_repeats() {
    let settings = json!({"mode": "x".repeat(5000), "y".repeat(5000): 1});
    let problems = settings_problems(&settings).expect("problems");
    assert!(problems.len() < 400, "{problems}");
}

#[test]
fn text_that_is_no_json_is_an_error() {
    use consistent_pull_policy::settings::Settings;
    for text in [
        "",
        "{",
        "{\"mode\"}",
        "{\"mode\":\"Fix\"",
        "nonsense",
        "{\"registry\":{]}",
    ] {
        assert!(Settings::check(text.as_bytes()).is_err(), "{text}");
        assert!(Settings::read(text.as_bytes()).is_err(), "{text}");
    }
}
