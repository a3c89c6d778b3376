//! Names for added checks: the first of `imageChecks.namePrefixes`, and the lowest unused numbers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::json::{lenient_list, lenient_string};
use crate::pod::{MOUNT_FOLDER, Pod};
use crate::settings::Form;

/// The free names: no container and no volume has them. If added checks are volumes, no container
/// mounts anything at their path in `MOUNT_FOLDER`.
pub(super) fn free_names<'p>(pod: &'p Pod<'_>) -> impl Iterator<Item = String> + use<'p> {
    let settings = &pod.settings.image_checks;
    let prefix = settings.first_prefix();
    let mut taken = BTreeSet::new();
    let mut take = |name: &str| taken.extend(name.strip_prefix(prefix).and_then(number));
    for pull in &pod.pulls {
        take(&pull.name);
        if settings.form == Form::ImageVolume {
            for path in paths(pull.value) {
                take(path.strip_prefix(MOUNT_FOLDER).unwrap_or_default());
            }
        }
    }
    pod.spec.volume_names().for_each(take);
    let free = (0_usize..).filter(move |number| !taken.contains(number));
    free.map(move |number| format!("{prefix}{number}"))
}

/// The paths at which a container sees volumes: its mounts, and its devices.
fn paths(container: &Value) -> impl Iterator<Item = &str> {
    let path = |list, key| {
        let entries = lenient_list(container, list).iter();
        entries.filter_map(move |entry| lenient_string(entry, key))
    };
    path("volumeMounts", "mountPath").chain(path("volumeDevices", "devicePath"))
}

/// A number as this policy writes it. `imagecheck-007` doesn't take the number 7.
fn number(text: &str) -> Option<usize> {
    let number: usize = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}
