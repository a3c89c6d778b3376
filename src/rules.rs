//! The rules, in their order: places and settings in, findings and changes out.
//!
//! All rules work on one [`Work`], each on what the one before left. They say what every field
//! should be in the end and why; what differs then from what came in is a finding. Whether it is
//! repaired, rejected or a warning is decided afterwards, by [`Decision`], so that the modes
//! can't disagree about what is right.

pub mod default;
pub mod disallowed_policy;
pub mod invalid_image;
pub mod missing_check;
pub mod pull_once;
pub mod registry;
pub mod same_image;
pub mod weak_check;

use std::rc::Rc;

use self::same_image::SameImage;
use crate::image::{Identity, Reference};
use crate::pattern::{ImagePattern, first_match, glob_matches};
use crate::pod::{Place, Slot};
use crate::pull_policy::PullPolicy;
use crate::request::Review;
use crate::sentence::{Names, fill};
use crate::settings::{LookupMode, Mode, Settings, Templates};

/// The rules by their ids, the most important finding first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// [`invalid_image`]
    InvalidImage,
    /// [`disallowed_policy`]
    DisallowedPolicy,
    /// [`registry`]
    Registry,
    /// [`weak_check`]
    WeakCheck,
    /// [`missing_check`]
    MissingCheck,
    /// [`default`](mod@default)
    Default,
    /// [`pull_once`]
    PullOnce,
}

impl Rule {
    /// The id that stands in messages, annotations and the documentation.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::InvalidImage => "invalid-image",
            Self::DisallowedPolicy => "disallowed-policy",
            Self::Registry => "registry",
            Self::WeakCheck => "weak-check",
            Self::MissingCheck => "missing-check",
            Self::Default => "default",
            Self::PullOnce => "pull-once",
        }
    }
}

/// Why a field should be another, or can't stay: one case for each kind of finding.
#[derive(Clone, Debug)]
pub enum Cause<'p> {
    /// See [`invalid_image`].
    InvalidImage(crate::image::Invalid),
    /// See [`default`](mod@default).
    Default(default::Setting),
    /// See [`disallowed_policy`].
    DisallowedPolicy(disallowed_policy::Disallowed<'p>),
    /// See [`registry`].
    Registry(registry::Outcome),
    /// See [`weak_check`].
    WeakCheck(weak_check::Stronger<'p>),
    /// See [`missing_check`].
    MissingCheck(missing_check::Uncovered),
    /// See [`pull_once`].
    PullOnce,
}

impl Cause<'_> {
    /// The rule that it belongs to.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        match self {
            Self::InvalidImage(_) => Rule::InvalidImage,
            Self::Default(_) => Rule::Default,
            Self::DisallowedPolicy(_) => Rule::DisallowedPolicy,
            Self::Registry(_) => Rule::Registry,
            Self::WeakCheck(_) => Rule::WeakCheck,
            Self::MissingCheck(_) => Rule::MissingCheck,
            Self::PullOnce => Rule::PullOnce,
        }
    }
}

/// What a container is to the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An init container that exists to prove that its image can be pulled.
    Check,
    /// Any other init container that ends before the containers start.
    Init,
    /// A container that image checks guard.
    Guarded,
    /// Native sidecars, ephemeral containers and image volumes: no check can prove them.
    Other,
}

/// A place with an image that could be read, and what it should be.
#[derive(Clone, Debug)]
pub struct Entry<'p> {
    /// Where it stands, and what came in.
    pub place: &'p Place<'p>,
    /// What it is to the rules.
    pub role: Role,
    /// Its image as it came in.
    pub reference: Reference<'p>,
    /// `images.requireAlways`, where it names the image.
    pub require_always: Option<&'p ImagePattern<'p>>,
    /// `images.forbidAlways`, where it names the image.
    pub forbid_always: Option<&'p ImagePattern<'p>>,
    /// The policy that it should have; before any rule, the one it came with or that the API
    /// server would fill in.
    pub policy: PullPolicy,
    /// Why, once a rule has changed it.
    pub policy_cause: Option<Cause<'p>>,
    /// The digest that its image is pinned to.
    pub pinned: Option<Rc<str>>,
    /// Its registry gave no digest, and what the node has is to serve.
    pub use_cached: bool,
}

impl<'p> Entry<'p> {
    /// The policy that came in, or that the API server fills in.
    #[must_use]
    pub fn policy_before(&self) -> PullPolicy {
        self.place
            .policy
            .unwrap_or_else(|| self.reference.server_default())
    }

    /// Sets the policy, and says why; setting what is there changes nothing.
    pub fn set_policy(&mut self, policy: PullPolicy, cause: Cause<'p>) {
        if policy != self.policy {
            self.policy = policy;
            self.policy_cause = Some(cause);
        }
    }

    /// Whether the policy ends up different from what came in.
    #[must_use]
    pub fn policy_changed(&self) -> bool {
        self.policy != self.policy_before()
    }

    /// Whether it ends up different from what came in. What *pull-once* saves is no finding.
    #[must_use]
    pub fn is_finding(&self) -> bool {
        self.pinned.is_some()
            || (self.policy_changed() && !matches!(self.policy_cause, Some(Cause::PullOnce)))
    }

    /// The image as it came in.
    #[must_use]
    pub fn image(&self) -> &'p str {
        self.place.image_text()
    }

    /// The image as it should be. A pinned one keeps its tag, the implied one written out: people
    /// read it, and patterns go on matching it.
    #[must_use]
    pub fn image_after(&self) -> String {
        match (&self.pinned, self.reference.tag()) {
            (Some(digest), Some(_)) => [self.image(), "@", digest].concat(),
            (Some(digest), None) => [self.image(), ":latest@", digest].concat(),
            (None, _) => self.image().to_owned(),
        }
    }

    /// What makes it the same image as another, once it is pinned.
    #[must_use]
    pub fn identity(&self) -> Identity<'_> {
        match &self.pinned {
            Some(digest) => self.reference.identity_at(Some(digest)),
            None => self.reference.identity(),
        }
    }

    /// Whether its image names a digest, its own or the one that it is pinned to.
    #[must_use]
    pub fn has_digest(&self) -> bool {
        self.pinned.is_some() || self.reference.digest().is_some()
    }
}

/// A finding without a repair.
#[derive(Clone, Debug)]
pub struct Problem<'p> {
    /// Where it is.
    pub place: &'p Place<'p>,
    /// What it is.
    pub cause: Cause<'p>,
    /// It is worth a warning, and never a reason to reject.
    pub advice: bool,
}

/// What the rules work on, and what they found.
#[derive(Clone, Debug)]
pub struct Work<'p> {
    /// What came in.
    pub review: &'p Review<'p>,
    /// The settings.
    pub settings: &'p Settings<'p>,
    /// The places that are examined and whose image could be read.
    pub entries: Vec<Entry<'p>>,
    /// The findings without a repair.
    pub problems: Vec<Problem<'p>>,
    /// The image checks that should be added.
    pub added: Vec<missing_check::NewCheck<'p>>,
    /// The lookups that failed or were not made.
    pub lookups: Vec<registry::FailedLookup>,
}

impl<'p> Work<'p> {
    /// The examined places of a review, and the findings of [`invalid_image`].
    fn new(review: &'p Review<'p>, settings: &'p Settings<'p>) -> Self {
        let mut work = Self {
            review,
            settings,
            entries: Vec::with_capacity(review.pod.places.len()),
            problems: Vec::new(),
            added: Vec::new(),
            lookups: Vec::new(),
        };
        for place in &review.pod.places {
            if is_exempt(&place.name, settings) {
                continue;
            }
            match Reference::parse(place.image_text()) {
                Ok(reference) => {
                    if first_match(&settings.exempt.images, &reference).is_none() {
                        work.entries.push(entry(place, reference, settings));
                    }
                }
                Err(invalid) => {
                    work.problems
                        .extend(invalid_image::finding(review.event, place, invalid));
                }
            }
        }
        work
    }

    /// A finding without a repair at an entry's place.
    fn reject(&mut self, index: usize, cause: Cause<'p>) {
        if let Some(entry) = self.entries.get(index) {
            self.problems.push(Problem {
                place: entry.place,
                cause,
                advice: false,
            });
        }
    }
}

/// Whether a container is never examined, by its name.
fn is_exempt(name: &str, settings: &Settings<'_>) -> bool {
    settings
        .exempt
        .containers
        .iter()
        .any(|glob| glob_matches(glob, name))
}

fn entry<'p>(
    place: &'p Place<'p>,
    reference: Reference<'p>,
    settings: &'p Settings<'p>,
) -> Entry<'p> {
    let prefixes = &settings.image_checks.name_prefixes;
    let role = match place.slot {
        Slot::InitContainer if place.native_sidecar => Role::Other,
        Slot::InitContainer if prefixes.iter().any(|p| place.name.starts_with(&**p)) => Role::Check,
        Slot::InitContainer => Role::Init,
        Slot::Container => Role::Guarded,
        Slot::EphemeralContainer | Slot::ImageVolume => Role::Other,
    };
    Entry {
        place,
        role,
        reference,
        require_always: first_match(&settings.images.require_always, &reference),
        forbid_always: first_match(&settings.images.forbid_always, &reference),
        policy: place.policy.unwrap_or_else(|| reference.server_default()),
        policy_cause: None,
        pinned: None,
        use_cached: false,
    }
}

/// What becomes of the findings of a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// What can be repaired is repaired, the rest rejects the request.
    Repair,
    /// Each one rejects the request.
    Reject,
    /// Each one is a warning.
    Warn,
}

impl Decision {
    /// What the settings say for this event; none where they turn it off.
    #[must_use]
    pub fn of(review: &Review<'_>, settings: &Settings<'_>) -> Option<Self> {
        match (
            settings.mode,
            review.event.is_template(),
            settings.templates,
        ) {
            (Mode::Reject, ..) => Some(Self::Reject),
            (Mode::Warn, ..) | (Mode::Fix, true, Templates::Warn) => Some(Self::Warn),
            (Mode::Fix, true, Templates::Off) => None,
            (Mode::Fix, ..) => Some(Self::Repair),
        }
    }

    /// Whether the request is rejected for what was found.
    #[must_use]
    pub fn rejects(self, work: &Work<'_>) -> bool {
        let unrepairable = || work.problems.iter().any(|problem| !problem.advice);
        match self {
            Self::Warn => false,
            Self::Repair => unrepairable(),
            Self::Reject => unrepairable() || work.has_repairs(),
        }
    }
}

impl Decision {
    /// Whether the request is rejected whatever a registry says. Pins and `UseCached` can take a
    /// finding back, such as a default of `Always`, so one that they may touch doesn't count yet.
    fn rejects_anyway(self, without_registry: &Work<'_>) -> bool {
        let registry = &without_registry.settings.registry;
        let settled = |entry: &Entry<'_>| entry.has_digest() || !registry.names(&entry.reference);
        if self != Self::Reject || !registry.may_change_policies() {
            return self.rejects(without_registry);
        }
        Self::Repair.rejects(without_registry)
            || without_registry
                .entries
                .iter()
                .any(|entry| entry.is_finding() && settled(entry))
    }
}

impl Work<'_> {
    /// Whether nothing was found and nothing changes.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let unchanged = |entry: &Entry<'_>| entry.pinned.is_none() && !entry.policy_changed();
        self.problems.is_empty()
            && self.added.is_empty()
            && self.lookups.is_empty()
            && self.entries.iter().all(unchanged)
    }

    /// Whether there is a finding with a repair. What *pull-once* saves is none.
    #[must_use]
    pub fn has_repairs(&self) -> bool {
        !self.added.is_empty() || self.entries.iter().any(Entry::is_finding)
    }
}

/// Runs the rules in their order.
#[must_use]
pub fn run<'p>(
    review: &'p Review<'p>,
    settings: &'p Settings<'p>,
    decision: Decision,
    registry: &mut dyn registry::ManifestDigests,
) -> Work<'p> {
    let mut work = Work::new(review, settings);
    default::apply(&mut work);
    disallowed_policy::apply(&mut work);
    if settings.registry.lookup != LookupMode::Off {
        // A registry is asked only for what would otherwise be accepted.
        let mut without = work.clone();
        checks(&mut without);
        if decision.rejects_anyway(&without) {
            return without;
        }
        registry::apply(&mut work, registry);
    }
    checks(&mut work);
    work
}

/// The rules about image checks and the containers that they guard.
fn checks(work: &mut Work<'_>) {
    let checks = work.entries.iter().any(|entry| entry.role == Role::Check);
    if !work.review.event.has_checks() || !(checks || work.settings.image_checks.every_pod) {
        return;
    }
    let images = SameImage::of(&work.entries);
    if checks {
        weak_check::apply(work, &images);
        pull_once::apply(work, &images);
    }
    missing_check::apply(work, &images);
}

/// How a finding is told: who, what it pulls, with what.
pub struct Told<'f> {
    /// The container or volume.
    pub name: &'f str,
    /// Its image as it came in.
    pub image: &'f str,
    /// Its policy as it came in.
    pub found: &'static str,
    /// What its policy should be.
    pub expected: &'static str,
}

impl Told<'_> {
    /// `container-0 pulls nginx with Always`
    #[must_use]
    pub fn pulls(&self, names: Names) -> String {
        fill(
            "{} pulls {} with {}",
            &[&names.show(self.name), &names.show(self.image), self.found],
        )
    }

    /// `set container-0 to Always`
    #[must_use]
    pub fn way_out(&self, names: Names) -> String {
        fill("set {} to {}", &[&names.show(self.name), self.expected])
    }

    /// `container-0 now pulls nginx with IfNotPresent instead of Always`
    #[must_use]
    pub fn now_pulls(&self, names: Names) -> String {
        fill(
            "{} now pulls {} with {} instead of {}",
            &[
                &names.show(self.name),
                &names.show(self.image),
                self.expected,
                self.found,
            ],
        )
    }
}
