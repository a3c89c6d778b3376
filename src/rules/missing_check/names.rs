//! Names for added checks: the first of `imageChecks.namePrefixes`, and the lowest unused numbers.

use std::collections::BTreeSet;

use super::made::MOUNT_FOLDER;
use crate::examination::Examination;
use crate::settings::Form;

/// The free names: no container and no volume has them. If added checks are volumes, no container mounts anything at their
/// path in `MOUNT_FOLDER`.
///
/// No setting exempts these names, because such settings contradict each other.
pub(super) fn free_names<'e>(
    examination: &'e Examination<'_>,
) -> impl Iterator<Item = String> + use<'e> {
    let prefix = examination.settings.image_checks.first_prefix();
    let places = examination.places.iter();
    let names = places.clone().map(|place| &*place.name);
    let mounts_volumes = examination.settings.image_checks.form == Form::ImageVolume;
    let mounts = places
        .filter(|_| mounts_volumes)
        .flat_map(|place| &place.mounts);
    let mounted = mounts.filter_map(|mount| mount.path.strip_prefix(MOUNT_FOLDER));
    let numbers = names
        .chain(examination.spec.volume_names())
        .chain(mounted)
        .filter_map(|name| number(name.strip_prefix(prefix)?));
    let mut taken = BTreeSet::new();
    taken.extend(numbers);
    (0_usize..)
        .filter(move |number| !taken.contains(number))
        .map(move |number| format!("{prefix}{number}"))
}

/// A number as this policy writes it. `imagecheck-007` doesn't take the number 7.
fn number(text: &str) -> Option<usize> {
    text.parse()
        .ok()
        .filter(|number: &usize| number.to_string() == text)
}
