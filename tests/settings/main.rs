//! Tests of the settings: their values, and the messages for their problems.

#[path = "../common/mod.rs"]
mod common;
mod schema;
mod template;

use common::{pod_create, settings_problems, validate};
use consistent_pull_policy::settings::Settings;
use kubewarden_policy_sdk::settings::Validatable;
use serde_json::{Value, json};

#[test]
fn empty_values_count_as_not_set() {
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
fn every_setting_accepts_its_values() {
    let settings = json!({
        "mode": "Warn",
        "imageChecks": {
            "namePrefixes": ["check-"],
            "coverage": "Fix",
            "everyPod": true,
            "as": "ImageVolume",
            "replaceExisting": true,
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
        "images": {
            "requireAlways": ["ghcr.io/secret/*"],
            "forbidAlways": ["docker.io/*"],
            "forbidNever": ["*"],
        },
        "registry": {
            "lookup": "Pin",
            "images": ["*"],
            "skipImages": ["localhost:5000/*"],
            "onNotFound": "KeepTag",
            "onDenied": "Reject",
            "onRateLimited": "UseCached",
            "onUnreachable": "UseCached",
            "onUnknown": "Reject",
            "maxLookups": 0,
            "overrides": [
                {"images": ["docker.io/*"], "lookup": "Off", "onNotFound": "UseCached"},
                {
                    "images": ["quay.io/*", "*:edge"],
                    "onDenied": "KeepTag",
                    "onRateLimited": "Reject",
                    "onUnreachable": "Reject",
                    "onUnknown": "Reject",
                },
            ],
            "platform": "Reject",
        },
        "templates": "Enforce",
        "exempt": {"containers": ["istio-*"], "images": ["gcr.io/istio-release/*"]},
        "recordChanges": false,
    });
    assert_eq!(settings_problems(&settings), None);
}

#[test]
#[allow(clippy::too_many_lines)] // A table.
fn each_problem_names_the_path_the_wrong_value_and_the_allowed_values() {
    let long_prefix = "a".repeat(59);
    let cases: Vec<(Value, String)> = vec![
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
            "imageChecks.prefixes is not a setting: it holds namePrefixes, coverage, everyPod, as, \
             replaceExisting, template, after"
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
            "imageChecks.after must be a list, not \"copy-agent\"".into(),
        ),
        (
            json!({"imageChecks": {"after": ["a", 7, "", "A"]}}),
            "imageChecks.after[1] must be a string, not 7; imageChecks.after[3] \"A\" matches no \
             container's name: it takes lower-case letters, digits, -, * and ?"
                .into(),
        ),
        (
            json!({"imageChecks": {"template": ["/check"]}}),
            "imageChecks.template must be an object, not a list".into(),
        ),
        (
            json!({"imageChecks": {"coverage": "Fix", "everyPod": true}}),
            "imageChecks.template is missing: with coverage Fix and everyPod true, a Pod without \
             image checks has none to copy, unless imageChecks.as is ImageVolume"
                .into(),
        ),
        (
            json!({"imageChecks": {"replaceExisting": true}}),
            "imageChecks.replaceExisting needs imageChecks.as ImageVolume: it makes image volumes \
             of the checks that are init containers"
                .into(),
        ),
        (
            json!({"imageChecks": {"as": "Volume"}}),
            "imageChecks.as must be one of InitContainer, ImageVolume, not \"Volume\"".into(),
        ),
        (
            json!({
                "imageChecks": {"coverage": "Fix", "namePrefixes": ["check-", "b-"]},
                "exempt": {"containers": ["b-1", "check-?1", "checks", "check-7"]},
            }),
            "exempt.containers \"check-?1\" matches the checks that imageChecks.coverage Fix \
             adds, check- and a number: name containers that it does not; exempt.containers \
             \"check-7\" matches the checks that imageChecks.coverage Fix adds, check- and a \
             number: name containers that it does not"
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
            "images.forbidAlways[1] \"a b\" has white space, but image names have none; images.forbidAlways[2] \
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
            "registry.maxLookups 0 is for mode Reject or Warn, a copy that accepts what lookups \
             left: in mode Fix set registry.lookup to \"Off\", which asks nothing either"
                .into(),
        ),
        (
            json!({"registry": {"maxLookups": -1}}),
            "registry.maxLookups must be a whole number from 0 to 100, not -1".into(),
        ),
        (
            json!({"registry": {"maxLookups": 101}}),
            "registry.maxLookups must be a whole number from 0 to 100, not 101".into(),
        ),
        (
            json!({"registry": {"maxLookups": 2.5}}),
            "registry.maxLookups must be a whole number from 0 to 100, not 2.5".into(),
        ),
        (
            json!({"registry": {"maxLookups": "10"}}),
            "registry.maxLookups must be a whole number from 0 to 100, not \"10\"".into(),
        ),
        (
            json!({"registry": {"platform": "Warn"}}),
            "registry.platform needs lookups, and none is made: set registry.lookup, or that of \
             an entry of registry.overrides, to Verify or Pin"
                .into(),
        ),
        (
            json!({"registry": {"platform": "Fix", "lookup": "Pin"}}),
            "registry.platform must be one of Off, Warn, Reject, not \"Fix\"".into(),
        ),
        (
            json!({"registry": {"overrides": {"images": ["*"]}}}),
            "registry.overrides must be a list, not an object".into(),
        ),
        (
            json!({"registry": {"overrides": ["docker.io/*", null, ["a"]]}}),
            "registry.overrides[0] must be an object, not a string; registry.overrides[1] must be \
             an object, not null; registry.overrides[2] must be an object, not a list"
                .into(),
        ),
        (
            json!({"registry": {"overrides": [{"lookup": "Off"}, {}, {"images": []}, {"images": ["", ""]}]}}),
            ["[0]", "[1]", "[2]", "[3]"]
                .map(|index| format!("registry.overrides{index}.images is required"))
                .join("; "),
        ),
        (
            json!({"registry": {"overrides": [{"images": ["a"]}, ""]}}),
            "registry.overrides[1] must be an object, not a string".into(),
        ),
        (
            json!({"registry": {"overrides": [
                {"images": ["a"], "maxLookups": 3},
                {"images": ["b", "/b", "c", "C"], "lookup": "on"},
            ]}}),
            "registry.overrides[0].maxLookups is not a setting: it holds images, lookup, \
             onNotFound, onDenied, onRateLimited, onUnreachable, onUnknown; \
             registry.overrides[1].images[1] \"/b\" begins with a slash, so no image can match \
             it: write */b; registry.overrides[1].images[3] \"C\" has upper case in a repository, \
             so no image can match it: write c; registry.overrides[1].lookup must be one of Off, \
             Verify, Pin, not \"on\""
                .into(),
        ),
        (
            json!({"registry": {"overrides": [
                {"images": ["quay.io/*", "docker.io/*"]},
                {"images": ["ghcr.io/*", "nginx"], "lookup": "Off"},
            ]}}),
            "registry.overrides[1].images \"nginx\" never decides: \"docker.io/*\" of \
             registry.overrides[0] matches all that it does; put it before that entry or take it \
             out"
                .into(),
        ),
        (
            json!({"templates": "Fix"}),
            "templates must be one of Off, Warn, Enforce, not \"Fix\"".into(),
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
        "registry": {"lookup": "On", "maxLookups": 101},
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

/// A setting that can't be read has its default. A conflict with this default is no conflict of the
/// settings that the user wrote. Conflicts between other settings are still reported.
#[test]
fn a_conflict_with_a_setting_that_cannot_be_read_is_not_reported() {
    let cases = [
        (
            json!({"registry": {"lookup": "pin", "platform": "Warn"}}),
            "registry.lookup must be one of Off, Verify, Pin, not \"pin\"",
        ),
        (
            json!({"registry": {"platform": "Warn", "overrides": [{"images": ["*"], "lookup": 1}]}}),
            "registry.overrides[0].lookup must be one of Off, Verify, Pin, not 1",
        ),
        (
            json!({"imageChecks": {"replaceExisting": true, "as": 1}}),
            "imageChecks.as must be one of InitContainer, ImageVolume, not 1",
        ),
        (
            json!({"mode": "warn", "registry": {"maxLookups": 0}}),
            "mode must be one of Fix, Reject, Warn, not \"warn\"",
        ),
        (
            json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "template": 5}}),
            "imageChecks.template must be an object, not a number",
        ),
        (
            json!({"pullOnce": 5, "registry": {"platform": "Warn"}}),
            "pullOnce must be true or false, not 5; registry.platform needs lookups, and none is \
             made: set registry.lookup, or that of an entry of registry.overrides, to Verify or Pin",
        ),
    ];
    for (settings, expected) in cases {
        assert_eq!(
            settings_problems(&settings).as_deref(),
            Some(expected),
            "{settings}"
        );
    }
}

#[test]
fn settings_without_a_conflict_are_valid() {
    let template = json!({"command": ["/checks/true"]});
    for settings in [
        json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "as": "ImageVolume"}}),
        json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "template": template}}),
        json!({"imageChecks": {"coverage": "Reject", "everyPod": true}}),
        json!({"imageChecks": {"as": "ImageVolume", "replaceExisting": true}}),
        json!({"imageChecks": {"namePrefixes": ["a".repeat(58)]}}),
        json!({"exempt": {"containers": ["imagecheck-*"]}}),
        json!({"exempt": {"containers": ["a".repeat(63), format!("*{}*", "?".repeat(63))]}}),
        json!({"imageChecks": {"coverage": "Fix"}, "exempt": {"containers": ["imagecheck-*a"]}}),
        json!({"mode": "Reject", "registry": {"maxLookups": 0, "lookup": "Pin", "platform": "Warn"}}),
        json!({"mode": "Warn", "registry": {"maxLookups": 0}}),
        json!({"registry": {"platform": "Reject", "overrides": [{"images": ["a"], "lookup": "Pin"}]}}),
        json!({"registry": {"overrides": [
            {"images": ["nginx:1.*", "nginx", "nginx"]}, {"images": ["docker.io/*"]}, {"images": ["*"]},
        ]}}),
    ] {
        assert_eq!(settings_problems(&settings), None, "{settings}");
    }
}

/// `Validatable` is the SDK's trait. A program that uses this crate can call it.
#[test]
fn the_validate_function_of_the_sdk_reports_conflicts() {
    for (settings, expected) in [
        (json!({}), None),
        (
            json!({"registry": {"maxLookups": 0}}),
            Some(settings_problems(&json!({"registry": {"maxLookups": 0}}))),
        ),
    ] {
        let read = Settings::read(settings.to_string().as_bytes()).expect("valid one by one");
        assert_eq!(read.validate().err(), expected.flatten(), "{settings}");
    }
}

/// Each problem costs one more reading of the settings, so the number of problems is limited.
#[test]
fn at_most_a_hundred_problems_are_reported() {
    let settings = json!({"exempt": {"containers": vec![json!(1); 1000]}});
    let problems = settings_problems(&settings).expect("problems");
    let last = "exempt.containers[99] must be a string, not 1";
    assert!(problems.ends_with(last), "{problems}");
}

/// The JSON decoders of the API server and of policy-server do the same.
#[test]
fn the_last_of_two_equal_keys_counts() {
    use consistent_pull_policy::settings::{Mode, Settings};
    let settings = Settings::read(br#"{"mode":"fix","mode":"Reject","mode":"Warn"}"#);
    assert_eq!(settings.map(|settings| settings.mode), Ok(Mode::Warn));
}

/// Forms leave `""` behind in lists of strings. The check template is a container, and is kept as
/// it is written.
#[test]
fn an_empty_string_in_a_list_counts_as_absent() {
    use consistent_pull_policy::settings::Settings;
    let read = |settings: serde_json::Value| Settings::read(settings.to_string().as_bytes());
    assert_eq!(
        read(json!({
            "imageChecks": {"namePrefixes": ["", "check-"], "after": ["a", "", "b"]},
            "exempt": {"images": ["", "nginx"], "containers": [""]},
            "registry": {"overrides": [{"images": ["", "quay.io/*", ""]}]},
        })),
        read(json!({
            "imageChecks": {"namePrefixes": ["check-"], "after": ["a", "b"]},
            "exempt": {"images": ["nginx"]},
            "registry": {"overrides": [{"images": ["quay.io/*"]}]},
        })),
    );
    let fields = json!({"command": ["/bin/sh", "-c", ""], "args": [""]});
    let settings = read(json!({"imageChecks": {"template": fields}})).expect("valid settings");
    let template = settings.image_checks.template.expect("a check template");
    assert_eq!(serde_json::to_value(template).ok(), Some(fields));
}

#[test]
fn a_setting_that_is_not_set_has_its_default() {
    use consistent_pull_policy::settings::Settings;
    for text in [
        "null",
        "{}",
        "[]",
        r#"{"registry":{"overrides":[],"lookup":null}}"#,
        r#"{"imageChecks":{"namePrefixes":["",""],"after":[""]},"registry":{"images":[""]}}"#,
    ] {
        assert_eq!(
            Settings::read(text.as_bytes()),
            Ok(Settings::default()),
            "{text}"
        );
    }
    let written = serde_json::to_vec(&Settings::default()).expect("JSON");
    assert_eq!(Settings::read(&written), Ok(Settings::default()));
    assert_eq!(Settings::check(&written), Ok(()));
}

mod lookups {
    use consistent_pull_policy::image::Reference;
    use consistent_pull_policy::settings::{
        EffectiveLookupSettings, LookupFailureAction, LookupMode, Settings,
    };
    use serde_json::{Value, json};

    const DEFAULT: EffectiveLookupSettings = EffectiveLookupSettings {
        mode: LookupMode::Pin,
        on_not_found: LookupFailureAction::Reject,
        on_denied: LookupFailureAction::KeepTag,
        on_rate_limited: LookupFailureAction::KeepTag,
        on_unreachable: LookupFailureAction::KeepTag,
        on_unknown: LookupFailureAction::KeepTag,
    };
    const OFF: EffectiveLookupSettings = EffectiveLookupSettings {
        mode: LookupMode::Off,
        ..DEFAULT
    };

    fn lookup(registry: &Value, image: &str) -> EffectiveLookupSettings {
        let settings = json!({"registry": registry}).to_string();
        let settings = Settings::read(settings.as_bytes()).expect("settings");
        settings
            .registry
            .for_image(&Reference::parse(image).expect("an image"))
    }

    #[test]
    fn images_and_skip_images_decide_before_the_first_override_that_matches() {
        let registry = json!({
            "lookup": "Pin",
            "images": ["docker.io/*", "quay.io/*"],
            "skipImages": ["nginx"],
            "overrides": [
                {"images": ["quay.io/a/*", "nginx"], "lookup": "Verify", "onNotFound": "UseCached"},
                {"images": ["quay.io/*"], "onDenied": "Reject", "onUnknown": "UseCached"},
                {"images": ["docker.io/*"], "lookup": "Off", "onRateLimited": "Reject",
                 "onUnreachable": "UseCached"},
            ],
        });
        let cases = [
            ("ghcr.io/a:1", OFF),
            ("nginx:1", OFF),
            (
                "quay.io/a/b:1",
                EffectiveLookupSettings {
                    mode: LookupMode::Verify,
                    on_not_found: LookupFailureAction::UseCached,
                    ..DEFAULT
                },
            ),
            (
                "quay.io/b:1",
                EffectiveLookupSettings {
                    on_denied: LookupFailureAction::Reject,
                    on_unknown: LookupFailureAction::UseCached,
                    ..DEFAULT
                },
            ),
            (
                "redis",
                EffectiveLookupSettings {
                    on_rate_limited: LookupFailureAction::Reject,
                    on_unreachable: LookupFailureAction::UseCached,
                    ..OFF
                },
            ),
        ];
        for (image, expected) in cases {
            assert_eq!(lookup(&registry, image), expected, "{image}");
        }
    }

    #[test]
    fn an_override_can_turn_lookups_on_for_its_images() {
        let registry = json!({"overrides": [{"images": ["quay.io/*"], "lookup": "Pin"}]});
        assert_eq!(lookup(&registry, "quay.io/a"), DEFAULT);
        assert_eq!(lookup(&registry, "a"), OFF);
        assert_eq!(lookup(&json!({}), "a"), OFF);
        assert_eq!(lookup(&json!({"lookup": "Pin"}), "a"), DEFAULT);
    }
}

/// kubectl reads YAML 1.1, in which a bare `Off` means `false`.
#[test]
fn false_means_off() {
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
fn an_error_shortens_long_keys_and_values() {
    let settings = json!({"mode": "x".repeat(5000), "y".repeat(5000): 1});
    let problems = settings_problems(&settings).expect("problems");
    assert!(problems.len() < 400, "{problems}");
}

#[test]
fn a_text_that_is_not_json_is_an_error() {
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
