//! Names for added checks: the first of `imageChecks.namePrefixes`, and the lowest unused numbers.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::examination::Examination;
use crate::examination::added_check::{AddedCheckForm, MOUNT_FOLDER};
use crate::pod_spec::PodSpecList;
use crate::settings::CheckNamePrefix;

/// The free names for checks of this form. An init container needs a name that no container has. A volume
/// also needs a name that no volume has, and a mount path that no container uses.
///
/// No setting exempts these names: [`Settings::check`] refuses settings that would exempt them.
///
/// [`Settings::check`]: crate::settings::Settings::check
pub(super) fn free_names<'p>(
    examination: &Examination<'p>,
    form: &AddedCheckForm,
) -> impl Iterator<Item = String> + use<'p> {
    let prefixes = &examination.settings.image_checks.name_prefixes;
    let pod = &examination.object.pod;
    let containers = pod.places.iter().filter(|p| p.list != PodSpecList::Volumes);
    let mut names: Vec<Cow<'_, str>> = containers.map(|place| place.name.clone()).collect();
    if form.is_image_volume() {
        names.extend(pod.volume_names.iter().cloned());
        let paths = pod.places.iter().flat_map(|place| {
            let mounts = place.mounts().into_iter().chain(place.devices());
            mounts.map(|mount| mount.path)
        });
        let name = |path: Cow<'_, str>| Some(path.strip_prefix(MOUNT_FOLDER)?.to_owned().into());
        names.extend(paths.filter_map(name));
    }
    let prefix = prefixes
        .first()
        .map_or("imagecheck-", CheckNamePrefix::as_str);
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    for name in names {
        let number = name.strip_prefix(prefix).unwrap_or_default();
        // `imagecheck-007` doesn't take the number 7.
        if number == "0" || !number.starts_with(['0', '+']) {
            taken.extend(number.parse::<usize>());
        }
    }
    (0_usize..)
        .filter(move |number| !taken.contains(number))
        .map(move |number| format!("{prefix}{number}"))
}
