//! Which entries pull the same image, found once for all of them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::{Entry, Role};
use crate::image::Identity;
use crate::pull_policy::PullPolicy;

/// Numbers the images of a list of entries, in the order in which they first appear.
#[derive(Clone, Debug)]
pub struct SameImage {
    ids: Vec<usize>,
    count: usize,
}

impl SameImage {
    /// Compares all images, as they are now.
    #[must_use]
    pub fn of(entries: &[Entry<'_>]) -> Self {
        let mut numbers: HashMap<Identity<'_>, usize, BuildHasherDefault<Fnv>> =
            HashMap::with_capacity_and_hasher(entries.len(), BuildHasherDefault::default());
        let ids = entries
            .iter()
            .map(|entry| {
                let next = numbers.len();
                *numbers.entry(entry.identity()).or_insert(next)
            })
            .collect();
        Self {
            ids,
            count: numbers.len(),
        }
    }

    /// How many images there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The number of one entry's image.
    #[must_use]
    pub fn id(&self, entry: usize) -> Option<usize> {
        self.ids.get(entry).copied()
    }

    /// The number of each entry's image, in the order of the entries.
    pub fn ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.ids.iter().copied()
    }

    /// What the init containers and containers of each image do.
    #[must_use]
    pub fn pulls(&self, entries: &[Entry<'_>]) -> Vec<Pulls> {
        let mut pulls = vec![Pulls::default(); self.count];
        for (index, (entry, image)) in entries.iter().zip(self.ids()).enumerate() {
            let Some(pulls) = pulls.get_mut(image) else {
                continue;
            };
            match entry.role {
                Role::Check => {
                    pulls.first_check.get_or_insert(index);
                    if entry.forbid_always.is_none() {
                        pulls.first_check_for_always.get_or_insert(index);
                    }
                    pulls.by_checks = pulls.by_checks.max(Some(entry.policy));
                    pulls.before_start = pulls.before_start.max(Some(entry.policy));
                }
                Role::Init => pulls.before_start = pulls.before_start.max(Some(entry.policy)),
                Role::Guarded => match &mut pulls.guarded {
                    Some((_, policy)) if *policy >= entry.policy => {}
                    guarded => *guarded = Some((index, entry.policy)),
                },
                Role::Other => {}
            }
        }
        pulls
    }
}

/// FNV-1a, <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>: for names as short as these
/// it costs a quarter of the standard library's hash, which has no secret key in the module either.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

/// How the entries of one image pull it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pulls {
    /// The first image check.
    pub first_check: Option<usize>,
    /// The first image check that may pull with `Always`. Checks of one image can differ in that
    /// where a digest makes them the same, and a pattern names a tag.
    pub first_check_for_always: Option<usize>,
    /// The strongest policy of its image checks.
    pub by_checks: Option<PullPolicy>,
    /// The strongest policy of all init containers that end before the containers start.
    pub before_start: Option<PullPolicy>,
    /// The first of the guarded containers that pull it with the strongest policy.
    pub guarded: Option<(usize, PullPolicy)>,
}
