//! Which entries pull the same image, and which of them write it the same way.
//!
//! Two references are the same image if they are equal once they are written in full. To a node
//! that is not enough: it keeps credentials by the repository as it is written
//! (`KubeletEnsureSecretPulledImages`), and asks the registry again for another spelling.

use std::collections::BTreeMap;

use super::{Entry, Role};
use crate::image::ImageIdentity;
use crate::pull_policy::PullPolicy;

/// Numbers the images of a list of entries, and their spellings, in the order in which they first
/// appear.
#[derive(Clone, Debug)]
pub struct SameImage {
    /// For each entry, its spelling.
    spellings: Vec<usize>,
    /// For each spelling, its image.
    images: Vec<usize>,
    count: usize,
}

impl SameImage {
    /// Compares all images, as they are now.
    #[must_use]
    pub fn of(entries: &[Entry<'_>]) -> Self {
        let mut numbers: BTreeMap<ImageIdentity<'_>, usize> = BTreeMap::new();
        let mut spelled: BTreeMap<(usize, &str), usize> = BTreeMap::new();
        let mut images = Vec::new();
        let spellings = entries
            .iter()
            .map(|entry| {
                let next = numbers.len();
                let image = *numbers.entry(entry.identity()).or_insert(next);
                let next = spelled.len();
                *spelled
                    .entry((image, entry.reference.written()))
                    .or_insert_with(|| {
                        images.push(image);
                        next
                    })
            })
            .collect();
        Self {
            spellings,
            images,
            count: numbers.len(),
        }
    }

    /// How many images there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count
    }

    /// The number of each entry's spelling, in the order of the entries.
    pub fn spellings(&self) -> impl Iterator<Item = usize> + '_ {
        self.spellings.iter().copied()
    }

    /// The number of each entry's image, in the order of the entries.
    pub fn ids(&self) -> impl Iterator<Item = usize> + '_ {
        self.spellings()
            .map(|spelling| self.images.get(spelling).copied().unwrap_or_default())
    }

    /// The number of one entry's spelling.
    #[must_use]
    pub fn spelling(&self, entry: usize) -> Option<usize> {
        self.spellings.get(entry).copied()
    }

    /// What is done with each spelling.
    #[must_use]
    pub fn pulls(&self, entries: &[Entry<'_>]) -> Vec<Pulls> {
        let mut pulls: Vec<Pulls> = self
            .images
            .iter()
            .map(|image| Pulls {
                image: *image,
                ..Pulls::default()
            })
            .collect();
        for (index, (entry, spelling)) in entries.iter().zip(self.spellings()).enumerate() {
            if let Some(pulls) = pulls.get_mut(spelling) {
                pulls.add(index, entry);
            }
        }
        pulls
    }

    /// The checks of each image, however they write it.
    #[must_use]
    pub fn checks(&self, pulls: &[Pulls]) -> Vec<Checks> {
        let mut checks = vec![Checks::default(); self.count];
        for pulls in pulls {
            if let Some(checks) = checks.get_mut(pulls.image) {
                checks.join(pulls.checks);
            }
        }
        checks
    }
}

/// The image checks of one image.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checks {
    /// The first of them.
    pub first: Option<usize>,
    /// The first that may pull with `Always`. Checks of one image can differ in that where a
    /// digest makes them the same, and a pattern names a tag.
    pub first_for_always: Option<usize>,
    /// The strongest policy of them.
    pub strongest: Option<PullPolicy>,
    /// The strongest policy that one of them came in with.
    pub came_in: Option<PullPolicy>,
    /// One of them takes what the node has, as its registry gave no digest.
    pub use_cached: bool,
}

impl Checks {
    fn join(&mut self, other: Self) {
        let first = |a: Option<usize>, b: Option<usize>| a.into_iter().chain(b).min();
        self.first = first(self.first, other.first);
        self.first_for_always = first(self.first_for_always, other.first_for_always);
        self.strongest = self.strongest.max(other.strongest);
        self.came_in = self.came_in.max(other.came_in);
        self.use_cached |= other.use_cached;
    }
}

/// How the entries of one spelling pull their image.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pulls {
    /// The image's number.
    pub image: usize,
    /// Its checks.
    pub checks: Checks,
    /// The strongest policy of the other init containers that end before the containers start.
    pub by_init_containers: Option<PullPolicy>,
    /// The first of those it guards that pull it with the strongest policy.
    pub guarded: Option<(usize, PullPolicy)>,
}

impl Pulls {
    fn add(&mut self, index: usize, entry: &Entry<'_>) {
        match entry.role {
            Role::Check => self.checks.join(Checks {
                first: Some(index),
                first_for_always: entry.forbid_always.is_none().then_some(index),
                strongest: Some(entry.policy),
                came_in: Some(entry.policy_before()),
                // `UseCached` leaves `Never`, which is as weak as it was.
                use_cached: entry.use_cached && entry.policy != PullPolicy::Never,
            }),
            Role::Init => {
                self.by_init_containers = self.by_init_containers.max(Some(entry.policy));
            }
            Role::Guarded => match &mut self.guarded {
                Some((_, policy)) if *policy >= entry.policy => {}
                guarded => *guarded = Some((index, entry.policy)),
            },
            Role::Other => {}
        }
    }

    /// Whether something pulls the image before those that it guards, strongly enough. A check
    /// that is too weak is the concern of *weak-check*.
    #[must_use]
    pub fn is_covered(&self) -> bool {
        let by_init = |needed| {
            self.by_init_containers
                .is_some_and(|policy| policy >= needed)
        };
        self.checks.first.is_some() || self.guarded.is_none_or(|(_, needed)| by_init(needed))
    }
}
