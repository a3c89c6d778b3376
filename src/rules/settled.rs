//! What a repair may have left stands.
//!
//! The policy sees its own work again: in the second copy, in a Pod that a controller makes from a
//! repaired template, in an audit. It can't tell then what an author chose, what the API server
//! filled in, and what it wrote itself; and the annotation that says so may be forged. So there is
//! one principle: **where a rule could take back what another has decided, it takes what it sees
//! for decided.** All places where a rule bends for it are here:
//!
//! - a policy that differs from the server default was [chosen](is_chosen), as long as no setting
//!   forbids it;
//! - a [default](default_of) keeps away from what `Pin` and `UseCached` leave;
//! - a default weakens neither half of [what *pull-once* leaves](left_by_pull_once);
//! - a check that is raised or added gets at once [what the rules would leave it with](check);
//! - who [asks no registry](RegistryAsked) can't tell what one said to somebody else.

use std::collections::BTreeMap;

use super::default::Setting;
use super::same_image::SameImage;
use super::{Entry, Role, Work};
use crate::image::{ImageIdentity, Reference};
use crate::pod::Slot;
use crate::pull_policy::PullPolicy;
use crate::request::Event;
use crate::settings::{DefaultPullPolicy, LookupMode, Settings};

/// Whether the author chose the policy. What a setting forbids is no choice that stands, so the
/// default has its place before: else what replaces it would get the default the next time.
#[must_use]
pub fn is_chosen(entry: &Entry<'_>, settings: &Settings) -> bool {
    entry.place.policy.is_some_and(|policy| {
        let server_default = settings.defaults.replace_server_defaults
            && policy == super::entry::server_default(&entry.reference);
        let forbidden = match policy {
            PullPolicy::Always => entry.forbid_always.is_some(),
            PullPolicy::Never => entry.forbid_never.is_some(),
            PullPolicy::IfNotPresent => false,
        };
        !server_default && !forbidden
    })
}

/// The default of an entry, where one is configured.
#[must_use]
pub fn default_of(
    entry: &Entry<'_>,
    is_check: bool,
    settings: &Settings,
) -> Option<(PullPolicy, Setting)> {
    let defaults = &settings.defaults;
    let check = defaults.image_check_pull_policy.filter(|_| is_check);
    let (default, setting) = match check {
        Some(default) => (default, Setting::ImageCheckPullPolicy),
        None => (defaults.image_pull_policy?, Setting::ImagePullPolicy),
    };
    let has_digest = entry.has_digest();
    let lookup = entry.lookup.mode;
    let policy = match default {
        // `Pin` writes IfNotPresent with its digests. That is what the API server would fill in,
        // so it looks as if nobody had chosen it.
        DefaultPullPolicy::Always if has_digest && lookup == LookupMode::Pin => {
            PullPolicy::IfNotPresent
        }
        // `Pin` and `UseCached` leave IfNotPresent, and who asks the registry for an image means
        // to pull it.
        DefaultPullPolicy::Never if lookup != LookupMode::Off => return None,
        default => default.resolve(has_digest),
    };
    Some((policy, setting))
}

/// The policy of a check that is raised or added for the strength that its containers need: what
/// the other rules would leave it with, had it come in so.
#[must_use]
pub fn check(entry: &Entry<'_>, needed: PullPolicy, settings: &Settings) -> PullPolicy {
    let image = entry.image_after();
    let unchosen = settings.defaults.replace_server_defaults
        && Reference::parse(&image)
            .is_ok_and(|image| super::entry::server_default(&image) == needed);
    let default = default_of(entry, true, settings).filter(|_| unchosen);
    let mut policy = default.map_or(needed, |(policy, _)| policy.max(needed));
    if entry.require_always.is_some() {
        policy = PullPolicy::Always;
    } else if entry.forbid_always.is_some() || entry.use_cached {
        policy = policy.min(PullPolicy::IfNotPresent);
    }
    if entry.forbid_never.is_some() {
        policy = policy.max(PullPolicy::IfNotPresent);
    }
    policy.max(needed)
}

/// Whether `Pin` is going to write a digest, and `IfNotPresent` with it.
fn will_be_lowered(entry: &Entry<'_>, event: Event) -> bool {
    entry.digest.is_some()
        && !entry.has_digest()
        && entry.lookup.mode == LookupMode::Pin
        && entry.require_always.is_none()
        && !event.is_template()
}

/// Whether a default is going to raise it to `Always`, which only *pull-once* takes back, in a Pod
/// with image checks.
fn will_be_raised(entry: &Entry<'_>, settings: &Settings) -> bool {
    !is_chosen(entry, settings)
        && default_of(entry, false, settings)
            .is_some_and(|(policy, _)| policy == PullPolicy::Always)
}

/// Both halves of what *pull-once* leaves: an init container or check that came in with `Always`,
/// and a container that came in with `IfNotPresent`.
#[derive(Clone, Copy, Default)]
struct Halves {
    pulled: bool,
    spared: bool,
}

/// For each entry, whether it came in as *pull-once* leaves it: the check with `Always`, the
/// container that need not pull again with `IfNotPresent`.
///
/// A default that weakened either would undo the repair: nothing would need the check's `Always`
/// any more, both would trust what the node has, and nobody would ask the registry.
#[must_use]
pub fn left_by_pull_once(work: &Work<'_>) -> Vec<bool> {
    let images = SameImage::of(&work.entries);
    let has_init_containers = work.review.pod.list(Slot::InitContainer).next().is_some();
    let has_checks = work.entries.iter().any(|entry| entry.role == Role::Check);
    let halves = |entry: &Entry<'_>| {
        let policy = entry.policy_before();
        // Volumes that only containers mount are pulled again with each of them.
        let proves = matches!(entry.role, Role::Check | Role::Init)
            && (entry.place.slot != Slot::ImageVolume || has_init_containers);
        Halves {
            pulled: proves
                && policy == PullPolicy::Always
                && entry.forbid_always.is_none()
                && !will_be_lowered(entry, work.review.event),
            spared: entry.role == Role::Guarded
                && policy == PullPolicy::IfNotPresent
                && entry.require_always.is_none()
                && (has_checks || !will_be_raised(entry, work.settings)),
        }
    };
    let mut both: BTreeMap<usize, Halves> = BTreeMap::new();
    for (entry, spelling) in work.entries.iter().zip(images.spellings()) {
        let own = halves(entry);
        let both = both.entry(spelling).or_default();
        both.pulled |= own.pulled;
        both.spared |= own.spared;
    }
    let is_left = |(entry, spelling): (&Entry<'_>, usize)| {
        let own = halves(entry);
        let both = both.get(&spelling).copied().unwrap_or_default();
        (own.pulled && both.spared) || (own.spared && both.pulled)
    };
    let entries = work.entries.iter().zip(images.spellings());
    entries.map(is_left).collect()
}

/// Repositories, however they are written, of which a registry may be asked in this request, or was
/// asked in that of another copy: its answer can make several references to the repository one
/// image, pin a tag, or have `UseCached` take what the node has.
#[derive(Debug, Default)]
pub struct RegistryAsked<'e>(BTreeMap<ImageIdentity<'e>, Repository<'e>>);

#[derive(Debug, Default)]
struct Repository<'e> {
    /// One of its images.
    image: Option<ImageIdentity<'e>>,
    has_others: bool,
    is_asked: bool,
    /// The strongest policy that its checks came in with.
    by_checks: Option<PullPolicy>,
    /// The strongest policy that other init containers came in with.
    by_init_containers: Option<PullPolicy>,
}

impl<'e> RegistryAsked<'e> {
    /// The repositories of these entries.
    #[must_use]
    pub fn of(entries: &[Entry<'e>]) -> Self {
        let mut asked = Self::default();
        for entry in entries {
            let image = entry.reference.identity();
            let repository = asked
                .0
                .entry(entry.reference.repository_identity())
                .or_default();
            repository.has_others |= *repository.image.get_or_insert(image) != image;
            repository.is_asked |= entry.is_looked_up();
            let policy = Some(entry.policy_before());
            match entry.role {
                Role::Check => repository.by_checks = repository.by_checks.max(policy),
                Role::Init => {
                    repository.by_init_containers = repository.by_init_containers.max(policy);
                }
                Role::Guarded | Role::Other => {}
            }
        }
        asked
    }

    fn joined<'s>(&'s self, reference: &'s Reference<'_>) -> Option<&'s Repository<'s>> {
        let repository = self.0.get(&reference.repository_identity())?;
        (repository.is_asked && repository.has_others).then_some(repository)
    }

    /// Whether an answer can concern the image.
    #[must_use]
    pub fn concerns(&self, reference: &Reference<'_>) -> bool {
        let repository = self.0.get(&reference.repository_identity());
        repository.is_some_and(|repository| repository.is_asked)
    }

    /// Whether an answer could make the image one with another that is pulled first.
    #[must_use]
    pub fn may_join(&self, reference: &Reference<'_>) -> bool {
        self.joined(reference).is_some_and(|repository| {
            repository.by_checks.is_some() || repository.by_init_containers.is_some()
        })
    }

    /// Whether such an answer could show that a check of the image is strong enough.
    #[must_use]
    pub fn may_be_checked(&self, reference: &Reference<'_>, needed: PullPolicy) -> bool {
        self.joined(reference)
            .is_some_and(|repository| repository.by_checks >= Some(needed))
    }

    /// Whether such an answer could show that the image is covered.
    #[must_use]
    pub fn may_be_covered(&self, reference: &Reference<'_>, needed: PullPolicy) -> bool {
        self.joined(reference).is_some_and(|repository| {
            repository.by_checks.is_some() || repository.by_init_containers >= Some(needed)
        })
    }
}

/// With `registry.maxLookups: 0`: whether another copy may have left the entry as it is because
/// its registry gave no digest.
#[must_use]
pub fn left_by_use_cached(entry: &Entry<'_>, event: Event, settings: &Settings) -> bool {
    settings.registry.max_lookups == 0
        && matches!(event, Event::PodCreate | Event::EphemeralContainers)
        && entry.is_looked_up()
        && entry.lookup.may_use_cached()
        && entry.require_always.is_none()
        && entry.policy_before() == PullPolicy::IfNotPresent
}
