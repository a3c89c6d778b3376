//! Names for added checks: the first of `imageChecks.namePrefixes`, and the lowest unused number.

use std::borrow::Cow;

use super::added_check::AddedCheckSource;
use super::check_volumes::MOUNT_FOLDER;
use crate::examination::Examination;
use crate::pod::PodSpecList;
use crate::settings::CheckNamePrefix;

/// The names that added checks can have.
pub(super) struct FreeCheckNames<'p> {
    prefix: &'p str,
    /// Whether a name in use has the number that is the index. The list is as long as the number of
    /// names in use plus the largest possible number of added checks. No check needs a higher number.
    taken: Vec<bool>,
    next: usize,
}

impl<'p> FreeCheckNames<'p> {
    /// The free names for checks of this source. An init container needs a name that no container
    /// has. A volume also needs a name that no volume has, and a mount path that no container uses.
    ///
    /// No setting exempts these names: [`Settings::check`] refuses settings that would exempt them.
    ///
    /// [`Settings::check`]: crate::settings::Settings::check
    pub(super) fn of(examination: &Examination<'p>, source: AddedCheckSource<'_>) -> Self {
        let prefixes = &examination.settings.image_checks.name_prefixes;
        let pod = &examination.object.pod;
        let containers = pod.places.iter().filter(|p| p.list != PodSpecList::Volumes);
        let mut names: Vec<Cow<'_, str>> = containers.map(|place| place.name.clone()).collect();
        if source.is_image_volume() {
            names.extend(pod.volume_names.iter().cloned());
            let paths = pod.places.iter().flat_map(|place| {
                let mounts = place.mounts().into_iter().map(|mount| mount.path);
                mounts.chain(place.device_paths())
            });
            let name =
                |path: Cow<'_, str>| Some(path.strip_prefix(MOUNT_FOLDER)?.to_owned().into());
            names.extend(paths.filter_map(name));
        }
        let prefix = prefixes
            .first()
            .map_or("imagecheck-", CheckNamePrefix::as_str);
        // Each place leads to at most one added check.
        let mut taken = vec![false; names.len().saturating_add(examination.places.len())];
        for name in names {
            let number = name.strip_prefix(prefix).and_then(|number| {
                let canonical = number == "0" || !number.starts_with(['0', '+']);
                number.parse::<usize>().ok().filter(|_| canonical)
            });
            if let Some(taken) = number.and_then(|number| taken.get_mut(number)) {
                *taken = true;
            }
        }
        Self {
            prefix,
            taken,
            next: 0,
        }
    }

    pub(super) fn next(&mut self) -> String {
        let later = self.taken.iter().skip(self.next);
        let number = self
            .next
            .saturating_add(later.take_while(|taken| **taken).count());
        self.next = number.saturating_add(1);
        format!("{}{number}", self.prefix)
    }
}
