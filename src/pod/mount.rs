//! The volumes that a container mounts.

use serde_json::Value;

use crate::json::{self, Wrong};

/// A volume that a container mounts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mount<'o> {
    /// The name of the volume.
    pub(crate) volume: &'o str,
    /// The path at which the container sees the volume.
    pub(crate) path: &'o str,
}

/// The mounts of a container.
///
/// # Errors
/// A value has a wrong shape.
pub(crate) fn mounts(container: &Value) -> Result<Vec<Mount<'_>>, Wrong<'_>> {
    let entries = json::list(container, "volumeMounts")?;
    let mut mounts = Vec::with_capacity(entries.len());
    for mount in entries {
        mounts.push(Mount {
            volume: json::string(mount, "name")?.unwrap_or_default(),
            path: json::string(mount, "mountPath")?.unwrap_or_default(),
        });
    }
    Ok(mounts)
}
