//! The class of a failed lookup is the same whatever the image is called: for names made of the
//! words that classes are known by, and of single letters.

use std::sync::Arc;

use consistent_pull_policy_promises::answers::repeated;
use consistent_pull_policy_promises::policy::{HostCall, Native, Policy, payload};
use serde_json::{Value, json};

/// Parts of names.
const PARTS: &str = "a e 1 not found unknown manifest denied forbidden unauthorized login docker \
    rate_limit not_found too_many_requests toomanyrequests retry-after access_denied exist \
    manifest_unknown is_denied quota_exceeded name does_not_exist not_authorized known";

/// The words of registries, a class on each line. `NAME` is the repository with its tag, `PATH` the
/// repository, and `TAG` the tag.
const TEXTS: [(&str, &[&str]); 3] = [
    (
        "notFound",
        &[
            "manifest unknown",
            "MANIFEST_UNKNOWN",
            "repository name not known to registry",
            "artifact NAME not found",
            "NAME: not found",
            "Tag TAG was deleted or has expired.",
            "Failed to fetch \"TAG\" from request \"/v2/PATH/manifests/TAG\".",
            "The repository with name 'PATH' does not exist in the registry with id '1'",
        ],
    ),
    (
        "denied",
        &[
            "denied",
            "UNAUTHORIZED",
            "requested access to the resource is denied",
            "authentication required",
            "unauthorized to access repository: PATH, action: pull",
            "pull access denied for PATH, repository does not exist or may require 'docker login'",
            "access to \"TAG\" is forbidden",
        ],
    ),
    (
        "unavailable",
        &[
            "something else",
            "NAME is quarantined",
            "\"PATH\" is quarantined",
            "Rate exceeded for PATH",
            "too many requests: NAME",
        ],
    ),
];

/// The class of a failure that a registry describes in this way.
fn class(image: &str, message: &str) -> String {
    let error = format!(
        "Registry error: url https://r.io/v2/{image}, envelope: OCI API errors: [OCI API error: {message}]"
    );
    let text = format!(
        "Fail to interact with OCI registry: {}",
        repeated(&error, image)
    );
    let host: Arc<HostCall> = Arc::new(move |_, _, _| Err(text.clone()));
    let request = json!({
        "uid": "1", "operation": "CREATE", "name": "p", "namespace": "n", "userInfo": {"username": "u"},
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "object": {"metadata": {}, "spec": {"containers": [{"name": "a", "image": image}]}},
    });
    let settings =
        json!({"registry": {"lookup": "Verify", "images": ["*"], "onNotFound": "Allow"}});
    let answer = Native
        .validate(&payload(&request, &settings), host)
        .expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    let lookups = &answer["audit_annotations"]["lookups"];
    let lookups: Value =
        serde_json::from_str(lookups.as_str().expect("a failed lookup")).expect("JSON");
    lookups[0]["failure"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

#[test]
fn the_name_of_an_image_never_decides_the_class_of_its_failed_lookup() {
    let encoded = |text: &str| text.replace('/', "%2F").replace(':', "%3A");
    for part in PARTS.split_whitespace() {
        for (first, tag) in [(part, "1"), ("app", part), (part, part)] {
            let path = format!("acme/{first}");
            let name = format!("{path}:{tag}");
            let image = format!("r.io/{name}");
            for (expected, texts) in TEXTS {
                for text in texts {
                    let quoted = |name: &str, path: &str| {
                        let text = text.replace("NAME", name).replace("PATH", path);
                        text.replace("TAG", tag)
                    };
                    let messages = [
                        quoted(&name, &path),
                        quoted(&name.to_uppercase(), &path.to_uppercase()),
                        quoted(&encoded(&name), &encoded(&path)),
                    ];
                    for message in messages {
                        assert_eq!(class(&image, &message), expected, "{image}: {message}");
                    }
                }
            }
        }
    }
}
