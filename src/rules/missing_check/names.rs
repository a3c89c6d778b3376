//! Names for new checks: the first prefix and the first number that is free.

use super::{MOUNTED_IN, MadeOf};
use crate::pod::Slot;
use crate::rules::Work;
use crate::settings::NamePrefix;

/// Names that nothing in the Pod has yet.
pub(super) struct FreeNames<'p> {
    prefix: &'p str,
    /// For each number, whether it is taken; as many as there are names, those to be given
    /// included: no other can matter.
    taken: Vec<bool>,
    next: usize,
}

impl<'p> FreeNames<'p> {
    /// The names that are free for checks of that make: a volume has to differ from containers
    /// and volumes, and its mount path from all that are in use.
    ///
    /// No setting can exempt a name that is given here, see [`Settings::check`].
    ///
    /// [`Settings::check`]: crate::settings::Settings::check
    pub(super) fn of(work: &Work<'p>, made_of: MadeOf<'_>) -> Self {
        let prefixes = &work.settings.image_checks.name_prefixes;
        let pod = &work.review.pod;
        let containers = pod.places.iter().filter(|p| p.slot != Slot::ImageVolume);
        let mut names: Vec<&str> = containers.map(|place| &*place.name.value).collect();
        if made_of == MadeOf::Volume {
            names.extend(pod.volume_names.iter().map(|name| &**name));
            let mounts = pod.places.iter().flat_map(|place| &place.mounts);
            names.extend(mounts.filter_map(|mount| mount.path.strip_prefix(MOUNTED_IN)));
        }
        let prefix = prefixes.first().map_or("imagecheck-", NamePrefix::as_str);
        // Each entry gets one check at most.
        let mut taken = vec![false; names.len().saturating_add(work.entries.len())];
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
