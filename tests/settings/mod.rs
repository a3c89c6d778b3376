//! Tests of the settings: their values, and the messages for their problems.

mod schema;

use crate::common::settings_problems;
use serde_json::json;

/// kwctl itself refuses settings that are no object, so no end-to-end test can send them.
#[test]
fn the_settings_have_to_be_an_object() {
    for (settings, kind) in [(json!("Fix"), "a string"), (json!([1]), "a list")] {
        let expected = format!("the settings must be an object, not {kind}");
        assert_eq!(settings_problems(&settings), Some(expected));
    }
}

/// A setting that can't be read counts as not set, so it has its default. A conflict with this default
/// is not reported, because the user didn't write the default. Other conflicts are still reported.
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
            json!({"mode": "warn", "registry": {"maxLookups": 0}}),
            "mode must be one of Fix, Reject, Warn, not \"warn\"",
        ),
        (
            json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "template": 5}}),
            "imageChecks.template must be an object, not a number",
        ),
        (
            json!({"pullOnce": 5, "registry": {"images": ["*"], "platform": "Warn"}}),
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
        json!({"imageChecks": {"namePrefixes": ["a".repeat(58)]}}),
        json!({"exempt": {"containers": ["imagecheck-*"]}}),
        json!({"exempt": {"containers": ["a".repeat(63), format!("*{}*", "?".repeat(63))]}}),
        json!({"imageChecks": {"coverage": "Fix"}, "exempt": {"containers": ["imagecheck-*a"]}}),
        json!({"mode": "Reject", "registry": {
            "images": ["*"], "maxLookups": 0, "lookup": "Pin", "platform": "Warn",
        }}),
        json!({"mode": "Warn", "registry": {"maxLookups": 0}}),
        json!({"registry": {
            "images": ["a"], "platform": "Reject", "overrides": [{"images": ["a"], "lookup": "Pin"}],
        }}),
        json!({"registry": {"overrides": [
            {"images": ["nginx:1.*", "nginx", "nginx"]}, {"images": ["docker.io/*"]}, {"images": ["*"]},
        ]}}),
    ] {
        assert_eq!(settings_problems(&settings), None, "{settings}");
    }
}

/// The settings are read once more for each problem, so the number of problems is limited.
#[test]
fn at_most_a_hundred_problems_are_reported() {
    let settings = json!({"exempt": {"containers": vec![json!(1); 1000]}});
    let problems = settings_problems(&settings).expect("problems");
    let last = "exempt.containers[99] must be a string, not 1";
    assert!(problems.ends_with(last), "{problems}");
}

/// If an object has a key twice, the JSON decoders of the API server and of policy-server use the last
/// value too.
#[test]
fn the_last_of_two_equal_keys_counts() {
    use consistent_pull_policy::settings::{Mode, Settings};
    let settings = Settings::read(br#"{"mode":"fix","mode":"Reject","mode":"Warn"}"#);
    assert_eq!(settings.map(|settings| settings.mode), Ok(Mode::Warn));
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
