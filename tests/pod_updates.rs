//! An UPDATE of a Pod: only its new containers and changed images are examined.

mod common;

use common::{pod_create, validate};
use serde_json::{Value, json};

/// An UPDATE of a Pod whose list `list` has the item `stored` before and the item `requested`
/// after.
fn pod_update(list: &str, stored: &Value, requested: &Value, sub_resource: &str) -> Value {
    let spec = |item: &Value| {
        let mut spec = json!({"containers": [{"name": "app", "image": "app:1"}]});
        spec[list] = json!([item]);
        pod_create(&spec)
    };
    let mut request = spec(requested);
    request["oldObject"] = spec(stored)["object"].take();
    request["operation"] = "UPDATE".into();
    request["subResource"] = sub_resource.into();
    request
}

#[test]
fn only_new_containers_and_changed_images_are_examined() {
    let container =
        |name: &str, image: &str| json!({"name": name, "image": image, "imagePullPolicy": "Never"});
    let stored = container("c", "a:1");
    let same = stored.clone();
    let (other_image, other_name) = (container("c", "a:2"), container("d", "a:2"));
    let no_image = container("d", "");
    let ephemeral = ("ephemeralContainers", "ephemeralcontainers");
    for ((list, sub_resource), requested, examined) in [
        (("containers", ""), &same, false),
        (("containers", ""), &other_image, true),
        (("containers", ""), &other_name, true),
        (("containers", ""), &no_image, true),
        (("initContainers", ""), &other_image, true),
        (("ephemeralContainers", ""), &other_image, false),
        (("containers", "ephemeralcontainers"), &other_image, false),
        (("containers", "resize"), &other_image, false),
        (ephemeral, &same, false),
        // The API server refuses a change of an ephemeral container that exists.
        (ephemeral, &other_image, false),
        (ephemeral, &other_name, true),
    ] {
        let request = pod_update(list, &stored, requested, sub_resource);
        let answer = validate(
            &request,
            &json!({"images": {"forbidNever": ["a"]}, "mode": "Reject"}),
        );
        assert_eq!(
            answer.accepted(),
            !examined,
            "{list} {sub_resource} {requested}"
        );
    }
}
