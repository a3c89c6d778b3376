//! The size of annotations and of the whole object.

use serde_json::Value;

use super::Faults;

/// The limit for the keys and values of all annotations together, in bytes.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The size limit of etcd for an object, in bytes. The function `check` measures the object as JSON.
/// etcd gets the object as protobuf, which is usually smaller. So `check` is a little too strict.
const OBJECT_MAX: usize = 1536 * 1024;

pub(super) fn check(pod: &Value, faults: &mut Faults) {
    let annotations = pod.pointer("/metadata/annotations");
    let size: usize = annotations
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > ANNOTATIONS_MAX {
        faults.add(
            "metadata.annotations",
            format!("{size} bytes are too many"),
            "staging/src/k8s.io/apimachinery/pkg/api/validation/objectmeta.go ValidateAnnotationsSize",
        );
    }
    let size = pod.to_string().len();
    if size > OBJECT_MAX {
        faults.add(
            "",
            format!("{size} bytes are too many"),
            "etcd's --max-request-bytes, embed.DefaultMaxRequestBytes",
        );
    }
}
