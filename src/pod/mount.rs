//! The volumes that a container mounts.

use serde_json::Value;

use crate::json::{self, Wrong};

/// A volume that a container mounts, or uses as a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mount<'o> {
    /// The name of the volume.
    pub(crate) volume: &'o str,
    /// The path at which the container sees the volume.
    pub(crate) path: &'o str,
    /// Whether it is used as a device.
    pub(crate) is_device: bool,
}

/// The mounts and the devices of a container.
///
/// # Errors
/// A value has a wrong shape.
pub(crate) fn mounts(container: &Value) -> Result<Vec<Mount<'_>>, Wrong<'_>> {
    let mut mounts = Vec::new();
    for (list, path, is_device) in [
        ("volumeMounts", "mountPath", false),
        ("volumeDevices", "devicePath", true),
    ] {
        for mount in json::list(container, list)? {
            mounts.push(Mount {
                volume: json::string(mount, "name")?.unwrap_or_default(),
                path: json::string(mount, path)?.unwrap_or_default(),
                is_device,
            });
        }
    }
    Ok(mounts)
}
