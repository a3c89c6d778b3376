//! The mounts of the image volumes that this policy adds.

use k8s_openapi::api::core::v1::VolumeMount;
use serde_json::Value;

/// The folder in which this policy mounts check volumes.
pub(crate) const MOUNT_FOLDER: &str = "/.imagecheck/";

/// The mount of an added check volume.
pub(crate) fn mount(name: &str) -> Value {
    let mount = VolumeMount {
        name: name.to_owned(),
        mount_path: [MOUNT_FOLDER, name].concat(),
        read_only: Some(true),
        ..VolumeMount::default()
    };
    // serde can write each mount.
    serde_json::to_value(mount).unwrap_or_default()
}
