//! What a live cluster asked for: templates, the second copy, written names, lookups that count.

mod common;

use common::{
    Table, container, deployment, digest, pod_create, settings_problems, validate, validate_with,
};
use serde_json::{Value, json};

fn weak() -> Value {
    json!({
        "initContainers": [container("imagecheck-0", "a:1", "IfNotPresent")],
        "containers": [container("a", "a:1", "Always")],
    })
}

#[test]
fn templates_speaks_for_every_mode() {
    // mode, templates: accepted, changed, warned
    let cases = [
        ("Fix", "Off", (true, false, false)),
        ("Fix", "Warn", (true, false, true)),
        ("Fix", "Enforce", (true, true, true)),
        ("Reject", "Off", (true, false, false)),
        ("Reject", "Warn", (true, false, true)),
        ("Reject", "Enforce", (false, false, false)),
        ("Warn", "Off", (true, false, false)),
        ("Warn", "Warn", (true, false, true)),
        ("Warn", "Enforce", (true, false, true)),
    ];
    for (mode, templates, expected) in cases {
        let settings = json!({"mode": mode, "templates": templates});
        let answer = validate(&deployment(&weak()), &settings);
        let found = (
            answer.accepted(),
            answer.mutated().is_some(),
            !answer.warnings().is_empty(),
        );
        assert_eq!(found, expected, "{mode} {templates}");
    }
}

#[test]
fn a_broken_template_passes_only_where_templates_are_off() {
    let request = deployment(&json!({"containers": 7}));
    for (templates, passes) in [("Off", true), ("Warn", false), ("Enforce", false)] {
        for mode in ["Fix", "Reject", "Warn"] {
            let answer = validate(&request, &json!({"mode": mode, "templates": templates}));
            assert_eq!(answer.accepted(), passes, "{mode} {templates}");
        }
    }
    let pod = validate(
        &pod_create(&json!({"containers": 7})),
        &json!({"templates": "Off"}),
    );
    assert_eq!(
        pod.message(),
        "spec.containers must be a list, not a number"
    );
}

#[test]
fn a_template_never_gets_a_check_added() {
    let spec = json!({
        "initContainers": [container("imagecheck-0", "a:1", "Always")],
        "containers": [container("a", "a:2", "Always")],
    });
    for mode in ["Fix", "Reject", "Warn"] {
        let settings =
            json!({"mode": mode, "templates": "Enforce", "imageChecks": {"coverage": "Fix"}});
        let answer = validate(&deployment(&spec), &settings);
        assert!(answer.accepted() && answer.mutated().is_none(), "{mode}");
        assert_eq!(
            answer.warnings(),
            ["a pulls a:2 but no image check pulls it first: add one with Always"],
            "{mode}"
        );
    }
}

#[test]
fn an_image_id_is_no_image() {
    let id = "0123456789abcdef".repeat(4);
    for image in [
        id.clone(),
        format!("sha256:{id}"),
        "sha256:0123abc".to_owned(),
    ] {
        let spec = json!({"containers": [container("a", &image, "Never")]});
        let answer = validate(
            &pod_create(&spec),
            &json!({"images": {"requireAlways": ["*"]}}),
        );
        assert!(!answer.accepted(), "{image}");
        assert!(
            answer
                .message()
                .ends_with("it is an image ID, which no registry is asked for")
        );
    }
    let spec = json!({"containers": [container("a", "sha256:latest", "Always")]});
    assert!(validate(&pod_create(&spec), &json!({})).accepted());
}

/// The settings of the second, validating copy.
fn copy_of(settings: &Value) -> Value {
    let mut copy = settings.clone();
    copy["mode"] = json!("Reject");
    copy["registry"]["maxLookups"] = json!(0);
    copy
}

#[test]
fn the_copy_accepts_whatever_a_lookup_may_have_left() {
    let down = || Err("error sending request for url (http://x/)".to_owned());
    let registries = [
        Ok(digest(1)),
        down(),
        Err("OCI API errors: [manifest unknown]".to_owned()),
    ];
    let spec = json!({
        "initContainers": [container("imagecheck-0", "a:1", "IfNotPresent")],
        "containers": [container("a", "a:1", "Always"), container("b", &format!("a:1@{}", digest(1)), "Always")],
    });
    for answer in registries {
        for lookup in ["Pin", "Verify"] {
            for default in ["Always", "IfNotPresent", "AlwaysUnlessDigest"] {
                let settings = json!({
                    "defaults": {"imagePullPolicy": default},
                    "imageChecks": {"coverage": "Fix"},
                    "registry": {"lookup": lookup, "onUnreachable": "UseCached", "onNotFound": "KeepTag"},
                });
                let table = Table {
                    answers: [("docker.io/library/a:1".to_owned(), answer.clone())].into(),
                    ..Table::default()
                };
                let request = pod_create(&spec);
                let first = validate_with(&request, &settings, &mut table.clone());
                assert!(first.accepted(), "{}", first.message());
                let mut again = request.clone();
                again["object"] = first.mutated().unwrap_or(&request["object"]).clone();
                let mut nobody = Table::default();
                let copy = validate_with(&again, &copy_of(&settings), &mut nobody);
                assert!(copy.accepted(), "{lookup} {default}: {}", copy.message());
                assert!(nobody.asked.is_empty());
                assert!(copy.warnings().is_empty(), "{:?}", copy.warnings());
            }
        }
    }
    let in_fix = settings_problems(&json!({"registry": {"lookup": "Pin", "maxLookups": 0}}));
    assert!(
        in_fix
            .is_some_and(|problem| problem.contains("registry.lookup") && problem.contains("Off"))
    );
}

/// A registry may have said to the first copy that two tags are one image, which a check of another
/// spelling pulls strongly enough.
#[test]
fn the_copy_asks_for_no_check_that_another_spelling_may_have() {
    let settings = json!({"registry": {"lookup": "Verify"}});
    let spec = json!({
        "initContainers": [
            container("imagecheck-0", "app:v1", "Never"),
            container("imagecheck-2", "app", "Always"),
        ],
        "containers": [container("a", "docker.io/library/app:v1", "Always")],
    });
    let image = |tag: &str| (format!("docker.io/library/app:{tag}"), Ok(digest(1)));
    let table = Table {
        answers: [image("v1"), image("latest")].into(),
        ..Table::default()
    };
    let request = pod_create(&spec);
    let first = validate_with(&request, &settings, &mut table.clone());
    assert!(first.accepted() && first.mutated().is_none());
    assert!(validate(&request, &copy_of(&settings)).accepted());
}

/// Seen on kubelet 1.36.2: the image is there under another spelling, and is pulled again.
#[test]
fn a_node_knows_an_image_by_its_written_name() {
    let spec = |check: &str, checked: &str, app: &str| {
        pod_create(&json!({
            "initContainers": [container("imagecheck-0", check, checked)],
            "containers": [container("a", app, "Always")],
        }))
    };
    let policies = |answer: &common::Answer| -> Vec<Value> {
        let object = answer.mutated().expect("a repair");
        let places = common::places(&object["spec"]).into_iter();
        places
            .map(|(.., place)| place["imagePullPolicy"].clone())
            .collect()
    };
    // The same spelling: the check is raised, the container is spared.
    let answer = validate(&spec("a:1", "IfNotPresent", "a:1"), &json!({}));
    assert_eq!(policies(&answer), ["Always", "IfNotPresent"]);
    // Another one: it is raised, too, and tells a missing image early, but spares nothing.
    let other = spec("docker.io/library/a:1", "IfNotPresent", "a:1");
    let answer = validate(&other, &json!({}));
    assert_eq!(policies(&answer), ["Always", "Always"]);
    assert_eq!(
        answer.warnings(),
        [
            "imagecheck-0 now pulls docker.io/library/a:1 with Always instead of IfNotPresent, as a needs",
            "a:1 is checked as docker.io/library/a:1: a node asks the registry again for another spelling",
        ]
    );
    // With a check of its own, the other one stays as it is.
    let answer = validate(&other, &json!({"imageChecks": {"coverage": "Fix"}}));
    assert_eq!(
        policies(&answer),
        ["IfNotPresent", "Always", "IfNotPresent"]
    );
    assert_eq!(answer.audited("changes")[1]["to"]["image"], "a:1");
    assert_eq!(
        answer.warnings(),
        [
            "a:1 is checked as docker.io/library/a:1: a node asks the registry again for another spelling"
        ]
    );
}

#[test]
fn only_lookups_that_are_made_count() {
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
    let mut table = Table {
        answers: [("docker.io/library/b:1".to_owned(), Ok(digest(1)))].into(),
        ..Table::default()
    };
    assert!(validate_with(&request, &settings, &mut table).accepted());
    assert_eq!(table.asked, ["docker.io/library/b:1"]);
}

#[test]
fn names_end_whatever_is_exempt() {
    for exempt in [
        json!(["imagecheck-??*", "imagecheck-1"]),
        json!(["imagecheck-1", "imagecheck-2"]),
        json!(["*7"]),
    ] {
        let settings =
            json!({"imageChecks": {"coverage": "Fix"}, "exempt": {"containers": exempt}});
        assert!(settings_problems(&settings).is_some(), "{exempt}");
    }
    let spec = json!({
        "initContainers": [
            container("imagecheck-0", "a:0", "Always"),
            container("imagecheck-2", "a:2", "Always"),
        ],
        "containers": (3..6).map(|number| container(&format!("c{number}"), &format!("a:{number}"), "Always")).collect::<Vec<_>>(),
    });
    let answer = validate(
        &pod_create(&spec),
        &json!({"imageChecks": {"coverage": "Fix"}}),
    );
    let names: Vec<Value> = answer.mutated().expect("checks")["spec"]["initContainers"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|init| init["name"].clone())
        .collect();
    assert_eq!(
        names,
        [
            "imagecheck-0",
            "imagecheck-2",
            "imagecheck-1",
            "imagecheck-3",
            "imagecheck-4"
        ]
    );
}

/// More of them than there were names.
#[test]
fn no_name_is_given_that_a_later_number_has() {
    let spec = json!({
        "initContainers": [container("imagecheck-0", "a:0", "Always")],
        "containers": [
            container("imagecheck-1", "a:1", "Always"),
            container("imagecheck-3", "a:2", "Always"),
        ],
    });
    let settings = json!({"imageChecks": {"coverage": "Fix"}});
    let answer = validate(&pod_create(&spec), &settings);
    let inits = &answer.mutated().expect("checks")["spec"]["initContainers"];
    let names = [1, 2].map(|index| inits[index]["name"].clone());
    assert_eq!(names, ["imagecheck-2", "imagecheck-4"]);
}

#[test]
fn a_setting_that_requires_always_is_no_saving() {
    let settings = json!({
        "defaults": {"imagePullPolicy": "AlwaysUnlessDigest"},
        "images": {"requireAlways": ["app:v*"]},
    });
    let image = |tag: &str| format!("app:{tag}@{}", digest(1));
    let request = pod_create(&json!({
        "initContainers": [
            container("setup", &image("latest"), "Always"),
            container("imagecheck-0", "other:1", "IfNotPresent"),
        ],
        "containers": [container("app", &image("v2"), "IfNotPresent")],
    }));
    let fixed = validate(&request, &settings);
    let mut again = request.clone();
    again["object"] = fixed.mutated().expect("a repair").clone();
    let mut reject = settings.clone();
    reject["mode"] = json!("Reject");
    let answer = validate(&again, &reject);
    assert!(answer.accepted(), "{}", answer.message());
}

const RECORD: &str = "consistent-pull-policy/changes";

#[test]
fn the_record_leaves_room_for_the_other_annotations() {
    let limit = 256 * 1024;
    for (free, note) in [
        (20_000, None),
        (2_000, None),
        (
            250,
            Some("shortened: the annotations would be larger than 262144 bytes"),
        ),
        (
            50,
            Some("left out: the annotations would be larger than 262144 bytes"),
        ),
    ] {
        let mut request = pod_create(&weak());
        let size = limit - free - "other".len();
        request["object"]["metadata"]["annotations"] = json!({"other": "\"".repeat(size)});
        let answer = validate(&request, &json!({}));
        let annotations = answer.mutated().expect("a repair")["metadata"]["annotations"].clone();
        let total: usize = annotations
            .as_object()
            .expect("annotations")
            .iter()
            .map(|(key, value)| key.len() + value.as_str().expect("a text").len())
            .sum();
        assert!(total <= limit, "{free}: {total}");
        assert_eq!(annotations.get(RECORD).is_some(), free > 50);
        assert_eq!(
            answer.0["audit_annotations"]["record"].as_str(),
            note,
            "{free}"
        );
    }
}

#[test]
fn a_forged_record_does_not_push_the_true_one_out() {
    let mut request = pod_create(&weak());
    let forged = json!({"path": "x".repeat(500), "from": null, "to": "y", "rule": "z"});
    let forged = Value::from(vec![forged; 40]).to_string();
    request["object"]["metadata"]["annotations"] = json!({RECORD: forged});
    let answer = validate(&request, &json!({}));
    let record = answer.mutated().expect("a repair")["metadata"]["annotations"][RECORD].clone();
    let record = record.as_str().expect("a text");
    assert!(record.len() <= 16 * 1024);
    let record: Vec<Value> = serde_json::from_str(record).expect("JSON");
    assert_eq!(record[..2], answer.audited("changes")[..]);
    assert!(record.last().expect("a count")["more"].as_u64() > Some(0));
}

#[test]
fn ecr_denies_in_words_of_its_own() {
    use consistent_pull_policy::lookup::FailureClass as Failure;
    let text = "Host error: Callback evaluation failure: Fail to interact with OCI registry: \
                Registry error: url https://x, envelope: OCI API errors: [OCI API error: User: \
                arn:aws:sts::1:assumed-role/x is not authorized to perform: ecr:BatchGetImage on \
                resource: arn:aws:ecr:x because no identity-based policy allows it]";
    assert_eq!(Failure::classify(text), Failure::Denied);
}

#[test]
fn lookups_are_told_in_the_order_of_their_images() {
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

#[test]
fn who_changes_nothing_says_so() {
    let spec = json!({"containers": [container("a", "a:1", "Always")]});
    let warned = |mode: &str| {
        let settings = json!({
            "mode": mode,
            "registry": {"lookup": "Verify", "onUnknown": "UseCached"},
        });
        let answer = validate(&pod_create(&spec), &settings);
        answer.warnings().join("\n")
    };
    assert!(warned("Fix").contains("(cached copy allowed)"));
    assert!(
        !warned("Warn").contains("cached copy allowed"),
        "{}",
        warned("Warn")
    );
}

/// As long as it has to be: without lookups these take 0.05 s.
#[test]
fn many_digests_of_one_repository_are_read_once() {
    let containers: Vec<Value> = (0..9000)
        .map(|number| {
            let image = format!("a:{}{number}@{}", "x".repeat(100), digest(1));
            container(&format!("c{number}"), &image, "IfNotPresent")
        })
        .collect();
    let settings = json!({"registry": {"lookup": "Pin"}});
    let mut table = Table::default();
    let answer = validate_with(
        &pod_create(&json!({"containers": containers})),
        &settings,
        &mut table,
    );
    assert!(answer.accepted() && table.asked.is_empty());
}
