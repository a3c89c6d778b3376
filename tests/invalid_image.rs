//! The rule *invalid-image*. `tests/image.rs` has the syntax of references.

mod common;

use common::{container, pod_create, validate};
use serde_json::json;

#[test]
fn an_image_id_is_an_invalid_image() {
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
    // Without hexadecimal digits it is a repository and a tag.
    let spec = json!({"containers": [container("a", "sha256:latest", "Always")]});
    assert!(validate(&pod_create(&spec), &json!({})).accepted());
}
