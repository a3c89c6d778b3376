//! Pods, settings and registries in which everything meets everything else.

use crate::common::{FakeRegistry, digest};
use consistent_pull_policy::image::Reference;
use consistent_pull_policy::pull_policy::PullPolicy;
use oci_spec::image::{Arch, Os, Platform, PlatformBuilder};
use proptest::prelude::*;
use serde_json::{Value, json};

/// A digest that no tag stands for.
const OTHER_DIGEST: usize = 0xaa;

/// Tags that registries are asked for.
const TAGS: [&str; 7] = [
    "docker.io/library/app:v1",
    "docker.io/library/app:v2",
    "docker.io/library/app:latest",
    "ghcr.io/team/db:16",
    "ghcr.io/team/db:latest",
    "quay.io/tools/agent:3",
    "quay.io/tools/agent:latest",
];

/// As many as there are names for the images below: beyond that each look may pin some more.
const ENOUGH_LOOKUPS: usize = 30;

/// A few images in several spellings, so that they meet each other and the patterns; one digest
/// under several tags, and with none.
fn image() -> impl Strategy<Value = String> {
    let tagged = prop::sample::select(
        &[
            "app:v1",
            "app:v2",
            "docker.io/library/app:v1",
            "app",
            "app:latest",
            "ghcr.io/team/db:16",
            "ghcr.io/team/db",
            "quay.io/tools/agent:3",
        ][..],
    );
    let with_digest = (
        prop::sample::select(
            &[
                "app",
                "app:v1",
                "app:v2",
                "app:latest",
                "ghcr.io/team/db:16",
            ][..],
        ),
        prop::sample::select(&[0, 1, OTHER_DIGEST][..]),
    );
    prop_oneof![
        3 => tagged.prop_map(str::to_owned),
        1 => with_digest.prop_map(|(image, number)| format!("{image}@{}", digest(number))),
    ]
}

/// What the API server sends: mostly a policy, now and then none (a request written by hand).
fn policy() -> impl Strategy<Value = Option<&'static str>> {
    prop_oneof![
        4 => Just(Some("Always")),
        4 => Just(Some("IfNotPresent")),
        1 => Just(Some("Never")),
        1 => Just(None),
        1 => Just(Some("")),
    ]
}

/// Image and policy, half of them as the API server fills them in.
fn pulled() -> impl Strategy<Value = (String, Option<&'static str>)> {
    (image(), policy(), any::<bool>()).prop_map(|(image, policy, server)| {
        let policy = if server {
            Reference::parse(&image)
                .ok()
                .map(|image| PullPolicy::server_default(image.tag(), image.digest()).as_str())
        } else {
            policy
        };
        (image, policy)
    })
}

/// A container without its name, and what it mounts: three bits for each volume.
fn container() -> impl Strategy<Value = (Value, u16)> {
    let mounts = prop_oneof![2 => Just(0), 1 => any::<u16>()];
    (pulled(), mounts, 0..4_u8).prop_map(|((image, policy), mounts, empty)| {
        let mut container =
            json!({"image": image, "args": ["--", "x"], "futureField": {"x": [1.5, null]}});
        if let Some(policy) = policy {
            container["imagePullPolicy"] = json!(policy);
        }
        match empty {
            0 => container["volumeMounts"] = Value::Null,
            1 => container["volumeMounts"] = json!([]),
            _ => {}
        }
        (container, mounts)
    })
}

fn named(container: (Value, u16), name: &str, volumes: &[Value]) -> Value {
    let (mut container, mounts) = container;
    container["name"] = json!(name);
    let mut mounted = Vec::new();
    for (index, volume) in volumes.iter().enumerate() {
        let name = volume["name"].as_str().expect("a name");
        let path = match (mounts >> (3 * index)) & 7 {
            0..3 => continue,
            3 | 4 => format!("/data/{index}"),
            5 | 6 => format!("/.imagecheck/{name}"),
            _ => format!("/.imagecheck/imagecheck-{index}"),
        };
        mounted.push(json!({"name": name, "mountPath": path, "futureField": null}));
    }
    if !mounted.is_empty() {
        container["volumeMounts"] = mounted.into();
    }
    container
}

fn volume() -> impl Strategy<Value = (&'static str, bool, (String, Option<&'static str>))> {
    let prefixes = [
        "volume-",
        "imagecheck-",
        "imagecheck-",
        "imagepullcheck-",
        "setup-",
    ];
    (
        prop::sample::select(prefixes.to_vec()),
        prop::bool::weighted(0.8),
        pulled(),
    )
}

fn init_container() -> impl Strategy<Value = (&'static str, (Value, u16), bool)> {
    let prefixes = [
        "imagecheck-",
        "imagecheck-",
        "imagepullcheck-",
        "setup-",
        "copy-agent-",
        "istio-proxy-",
    ];
    (
        prop::sample::select(prefixes.to_vec()),
        container(),
        prop::bool::weighted(0.15),
    )
}

/// A Pod spec. Some names of containers and volumes are those that checks would get.
pub(crate) fn pod_spec() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(
        &[
            "container-",
            "container-",
            "container-",
            "imagecheck-",
            "istio-proxy-",
        ][..],
    );
    (
        prop::collection::vec(init_container(), 0..5),
        prop::collection::vec((names, container()), 1..5),
        prop::collection::vec(volume(), 0..4),
        0..30_u8,
        0..10_u8,
    )
        .prop_map(|(inits, containers, volumes, shape, asked)| {
            let volumes: Vec<Value> = volumes
                .into_iter()
                .enumerate()
                .map(|(index, (prefix, is_image, (image, policy)))| {
                    let name = format!("{prefix}{index}");
                    if !is_image {
                        return json!({"name": name, "emptyDir": {}});
                    }
                    let mut source = json!({"reference": image, "futureField": 1});
                    if let Some(policy) = policy {
                        source["pullPolicy"] = json!(policy);
                    }
                    json!({"name": name, "image": source})
                })
                .collect();
            let inits: Vec<Value> = inits
                .into_iter()
                .enumerate()
                .map(|(index, (prefix, container, sidecar))| {
                    let mut container =
                        named(container, &format!("{prefix}{}", index * 2), &volumes);
                    if sidecar {
                        container["restartPolicy"] = json!("Always");
                    }
                    container
                })
                .collect();
            let containers: Vec<Value> = containers
                .into_iter()
                .enumerate()
                .map(|(index, (prefix, container))| {
                    named(container, &format!("{prefix}{}", index * 2 + 1), &volumes)
                })
                .collect();
            let mut spec = json!({
                "initContainers": inits,
                "containers": containers,
                "volumes": volumes,
                "futureField": {"deep": ["a", {"b": null}]},
            });
            if volumes.is_empty() && shape % 3 == 0 {
                spec["volumes"] = Value::Null;
            }
            if inits.is_empty() && shape % 3 == 1 {
                spec["initContainers"] = Value::Null;
            }
            if shape == 4 {
                spec["os"] = json!({"name": "windows"});
            }
            match asked {
                0 | 1 => spec["nodeSelector"] = json!({"kubernetes.io/arch": "arm64"}),
                2 => spec["nodeSelector"] = json!({"kubernetes.io/arch": "amd64", "a": "b"}),
                _ => {}
            }
            spec
        })
}

/// Metadata of a new object: a few of a controller, a few with a record that somebody forged, and
/// a few whose annotations leave little room.
pub(crate) fn metadata() -> impl Strategy<Value = Value> {
    let forged = prop::sample::select(
        &[
            "no JSON",
            "[]",
            r#"[{"path": 1}, 7]"#,
            r#"[{"path": "spec.containers[0].imagePullPolicy", "from": "Always", "to": "Never"}]"#,
        ][..],
    );
    (
        prop::bool::weighted(0.3),
        prop::option::weighted(0.1, forged),
        prop::option::weighted(0.004, prop::sample::select(&[30, 250, 600, 3000][..])),
    )
        .prop_map(|(controlled, forged, room)| {
            let mut metadata = json!({"generateName": "p-", "namespace": "default"});
            if controlled {
                metadata["ownerReferences"] = json!([
                    {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "1", "controller": true},
                ]);
            }
            if let Some(forged) = forged {
                metadata["annotations"][RECORD] = json!(forged);
            }
            if let Some(room) = room {
                let forged = forged.map_or(0, |forged| RECORD.len() + forged.len());
                let size = ANNOTATIONS_MAX - "other".len() - forged - room;
                metadata["annotations"]["other"] = json!("x".repeat(size));
            }
            metadata
        })
}

/// The annotation that records changes.
pub(crate) const RECORD: &str = "consistent-pull-policy/changes";

/// What the API server takes of keys and values together, in bytes.
pub(crate) const ANNOTATIONS_MAX: usize = 256 * 1024;

fn maybe<T: Clone + Into<Value> + std::fmt::Debug + 'static>(
    values: &'static [T],
) -> impl Strategy<Value = Value> {
    prop_oneof![
        2 => Just(Value::Null),
        3 => prop::sample::select(values).prop_map(Into::into),
    ]
}

fn patterns() -> impl Strategy<Value = Value> {
    prop_oneof![
        5 => Just(json!([])),
        1 => Just(json!(["app"])),
        1 => Just(json!(["app:v1"])),
        1 => Just(json!(["app:latest", "quay.io/*"])),
        1 => Just(json!(["ghcr.io/*/db:1?"])),
        1 => Just(json!(["*:v?"])),
    ]
}

const BOOLEANS: &[bool] = &[true, false];
const ACTIONS: &[&str] = &["Reject", "KeepTag", "UseCached"];
const LOOKUPS: &[&str] = &["Off", "Verify", "Pin", "Pin"];
/// The settings for the ways in which a lookup fails.
pub(crate) const ON: [&str; 5] = [
    "onNotFound",
    "onDenied",
    "onRateLimited",
    "onUnreachable",
    "onUnknown",
];

fn actions() -> impl Strategy<Value = [Value; 5]> {
    let one = || maybe(ACTIONS);
    [one(), one(), one(), one(), one()]
}

fn registry_settings() -> impl Strategy<Value = Value> {
    let named = prop::sample::select(
        &[
            r#"["app:v1"]"#,
            r#"["app"]"#,
            r#"["ghcr.io/*"]"#,
            r#"["*:v?", "quay.io/*"]"#,
        ][..],
    );
    let overriding = (named, maybe(LOOKUPS), actions());
    (
        maybe(LOOKUPS),
        actions(),
        (patterns(), patterns()),
        prop::collection::vec(overriding, 0..3),
        prop_oneof![
            3 => Just(Value::Null),
            1 => Just(json!("Warn")),
            1 => Just(json!("Reject")),
        ],
        ENOUGH_LOOKUPS..=100_usize,
    )
        .prop_map(|(lookup, on, (images, skip), overrides, platform, most)| {
            let overrides: Vec<Value> = overrides
                .into_iter()
                .map(|(named, lookup, on)| {
                    let images: Value = serde_json::from_str(named).expect("patterns");
                    let mut own = json!({"images": images, "lookup": lookup});
                    for (key, action) in ON.into_iter().zip(on) {
                        own[key] = action;
                    }
                    own
                })
                .collect();
            let mut registry = json!({
                "lookup": lookup,
                "images": images,
                "skipImages": skip,
                "overrides": overrides,
                "platform": platform,
                "maxLookups": most,
            });
            for (key, action) in ON.into_iter().zip(on) {
                registry[key] = action;
            }
            registry
        })
}

/// Settings, most of them valid.
pub(crate) fn settings() -> impl Strategy<Value = Value> {
    const DEFAULTS: &[&str] = &["Always", "IfNotPresent", "Never", "AlwaysUnlessDigest"];
    let prefixes = prop_oneof![
        6 => Just(Value::Null),
        1 => Just(json!(["setup-", "imagecheck-"])),
        1 => Just(json!(["check-", "imagepullcheck-"])),
        1 => Just(json!(["imagecheck-"])),
    ];
    let checks = (
        maybe(&["Off", "Warn", "Reject", "Fix", "Fix"]),
        maybe(BOOLEANS),
        prefixes,
        // Init containers, image volumes, image volumes in place of init containers.
        0..4_u8,
        any::<bool>(),
    );
    let defaults = (maybe(DEFAULTS), maybe(DEFAULTS), maybe(BOOLEANS));
    let exempt = prop_oneof![
        4 => Just(json!([])),
        1 => Just(json!(["container-1"])),
        1 => Just(json!(["istio-proxy*"])),
        1 => Just(json!(["imagecheck-2", "setup-*"])),
        1 => Just(json!(["imagecheck-0?", "volume-*"])),
    ];
    let exempt_images = prop_oneof![
        6 => Just(json!([])),
        1 => Just(json!(["quay.io/*"])),
        1 => Just(json!(["app:v2"])),
        1 => Just(json!(["app"])),
    ];
    (
        (checks, maybe(BOOLEANS), defaults, registry_settings()),
        (patterns(), patterns(), patterns()),
        (exempt, exempt_images),
        maybe(&["Off", "Warn", "Enforce"]),
        maybe(BOOLEANS),
    )
        .prop_map(
            |(
                (checks, once, defaults, registry),
                (require, forbid_always, forbid_never),
                (exempt, exempt_images),
                templates,
                record,
            )| {
                let (coverage, every, prefixes, made_of, with_template) = checks;
                let mut settings = json!({
                    "imageChecks": {
                        "coverage": coverage,
                        "everyPod": every,
                        "namePrefixes": prefixes,
                        "after": ["copy-agent-*"],
                    },
                    "pullOnce": once,
                    "defaults": {
                        "imagePullPolicy": defaults.0,
                        "imageCheckPullPolicy": defaults.1,
                        "replaceServerDefaults": defaults.2,
                    },
                    "images": {
                        "requireAlways": require,
                        "forbidAlways": forbid_always,
                        "forbidNever": forbid_never,
                    },
                    "registry": registry,
                    "templates": templates,
                    "exempt": {"containers": exempt, "images": exempt_images},
                    "recordChanges": record,
                });
                let checks = &mut settings["imageChecks"];
                if made_of >= 2 {
                    checks["as"] = json!("ImageVolume");
                    checks["replaceExisting"] = json!(made_of == 3);
                }
                if with_template {
                    let limits = json!({"limits": {"cpu": "100m"}});
                    checks["template"] = json!({"command": ["/check"], "resources": limits});
                }
                settings
            },
        )
}

/// What a host says of a lookup that failed, but for a registry that is down.
fn failure() -> impl Strategy<Value = String> {
    let texts = [
        "Server error: url http://x/, code: 404, message: gone",
        "Not authorized: url http://x/",
        "OCI API errors: [OCI API error: too many requests]",
        "something else",
    ];
    prop::sample::select(texts.to_vec()).prop_map(str::to_owned)
}

/// Registries that answer for some images and fail for others, or are down altogether. What a tag
/// stands for is there by its digest, too.
pub(crate) fn registries() -> impl Strategy<Value = FakeRegistry> {
    let answer = || {
        prop_oneof![
            6 => (0..3_usize).prop_map(|number| Ok(digest(number))),
            2 => failure().prop_map(Err),
            1 => Just(Ok("not a digest".to_owned())),
        ]
    };
    let platforms = || {
        prop_oneof![
            3 => Just(Ok(None)),
            2 => Just(Ok(Some(vec![platform("amd64"), platform("arm64")]))),
            2 => Just(Ok(Some(vec![platform("amd64")]))),
            1 => failure().prop_map(Err),
        ]
    };
    // Of a registry: all of it is down, or one manifest in the middle of the others is.
    let fate = || prop_oneof![8 => Just(0_u8), 1 => Just(1), 1 => Just(2)];
    let everywhere = prop_oneof![18 => Just(0_u8), 1 => Just(1), 1 => Just(2)];
    (
        prop::array::uniform7(answer()),
        prop::collection::vec(platforms(), 12),
        [fate(), fate(), fate()],
        everywhere,
    )
        .prop_map(|(answers, platforms, fates, everywhere)| {
            let down = || "error sending request for url (http://x/)".to_owned();
            let refuses = |capability: &str| {
                format!("Policy has not been granted access to the '{capability}' host capability.")
            };
            let mut table = FakeRegistry::default();
            for (tag, answer) in TAGS.into_iter().zip(answers) {
                table.answers.insert(tag.to_owned(), answer);
            }
            let repositories = [
                "docker.io/library/app",
                "ghcr.io/team/db",
                "quay.io/tools/agent",
            ];
            let digests = [0, 1, 2, OTHER_DIGEST].map(digest);
            let mut platforms = platforms.into_iter();
            for repository in repositories {
                for digest in &digests {
                    let image = format!("{repository}@{digest}");
                    let own = platforms.next().unwrap_or(Ok(None));
                    table.answers.insert(image.clone(), Ok(digest.clone()));
                    table.platforms.insert(image, own);
                }
            }
            for (repository, fate) in repositories.into_iter().zip(fates) {
                for (image, platforms) in &mut table.platforms {
                    let is_last = image.ends_with('1');
                    if image.starts_with(repository) && (fate == 1 || (fate == 2 && is_last)) {
                        *platforms = Err(down());
                    }
                }
                for (image, answer) in &mut table.answers {
                    if image.starts_with(repository) && fate == 1 {
                        *answer = Err(down());
                    }
                }
            }
            match everywhere {
                1 => {
                    for answer in table.answers.values_mut() {
                        *answer = Err(refuses("oci/v1/manifest_digest"));
                    }
                }
                2 => {
                    for platforms in table.platforms.values_mut() {
                        *platforms = Err(refuses("oci/v1/oci_manifest"));
                    }
                }
                _ => {}
            }
            table
        })
}

fn platform(architecture: &str) -> Platform {
    PlatformBuilder::default()
        .os(Os::from("linux"))
        .architecture(Arch::from(architecture))
        .build()
        .expect("a platform")
}

/// JSON that is made of the words that the policy reads, in any shape.
pub(crate) fn any_shape() -> impl Strategy<Value = Value> {
    const WORDS: &[&str] = &[
        "initContainers",
        "containers",
        "ephemeralContainers",
        "volumes",
        "volumeMounts",
        "mountPath",
        "image",
        "name",
        "imagePullPolicy",
        "pullPolicy",
        "reference",
        "restartPolicy",
        "Always",
        "imagecheck-0",
        "app:v1",
        "nodeSelector",
        "affinity",
        "os",
        "windows",
        "mode",
        "imageChecks",
        "as",
        "ImageVolume",
        "coverage",
        "template",
        "command",
        "namePrefixes",
        "registry",
        "overrides",
        "platform",
        "lookup",
        "Pin",
        "maxLookups",
        "exempt",
        "images",
        "requireAlways",
        "forbidNever",
        "Fix",
    ];
    let word = || prop::sample::select(WORDS).prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..200_i32).prop_map(Value::from),
        word().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}
