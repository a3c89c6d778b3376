//! The rules, in their order: places and settings in, findings and changes out.
//!
//! All rules work on one [`Work`], each on what the one before left. They say what every field
//! should be in the end and why; what differs then from what came in is a finding. Whether it is
//! repaired, rejected or a warning is decided afterwards, by [`Decision`], so that the modes
//! can't disagree about what is right.

mod cause;
mod decision;
pub mod default;
pub mod disallowed_policy;
mod entry;
pub mod invalid_image;
pub mod missing_check;
pub mod pull_once;
pub mod registry;
pub mod replace_check;
pub mod same_image;
pub mod settled;
pub mod stuck_pull;
pub mod weak_check;

use std::collections::BTreeMap;
use std::rc::Rc;

pub use self::cause::{Cause, Rule, Told};
pub use self::decision::Decision;
use self::entry::Roles;
pub use self::entry::{Entry, Role};
use self::same_image::SameImage;
use self::settled::RegistryAsked;
use crate::image::Reference;
use crate::pattern::first_match;
use crate::pod::Place;
use crate::request::Review;
use crate::settings::Settings;

/// The field that a finding without a repair is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Field {
    /// The image.
    Image,
    /// The image, which nothing checks.
    Coverage,
    /// The pull policy.
    Policy,
    /// A field of the status, and what stands there.
    Status {
        /// Its path.
        path: String,
        /// Its value, one that the policy knows.
        found: &'static str,
    },
}

/// A finding without a repair.
#[derive(Clone, Debug)]
pub struct Problem<'p> {
    /// Where it is.
    pub place: &'p Place<'p>,
    /// The field.
    pub field: Field,
    /// What should be there, where that can be known.
    pub expected: Option<&'static str>,
    /// What it is.
    pub cause: Rc<dyn Cause + 'p>,
    /// It is worth a warning, and never a reason to reject.
    pub advice: bool,
}

impl<'p> Problem<'p> {
    fn new(
        place: &'p Place<'p>,
        field: Field,
        expected: Option<&'static str>,
        cause: impl Cause + 'p,
    ) -> Self {
        Self {
            place,
            field,
            expected,
            cause: Rc::new(cause),
            advice: false,
        }
    }
}

impl<'p> Entry<'p> {
    /// A finding without a repair at this place.
    fn problem(
        &self,
        field: Field,
        expected: Option<&'static str>,
        cause: impl Cause + 'p,
    ) -> Problem<'p> {
        Problem::new(self.place, field, expected, cause)
    }
}

/// What the rules work on, and what they found.
#[derive(Clone, Debug)]
pub struct Work<'p> {
    /// What came in.
    pub review: &'p Review<'p>,
    /// The settings.
    pub settings: &'p Settings,
    /// The places that are examined and whose image could be read.
    pub entries: Vec<Entry<'p>>,
    /// The findings without a repair.
    pub problems: Vec<Problem<'p>>,
    /// The image checks that should be added.
    pub added: Vec<missing_check::NewCheck<'p>>,
    /// The entries whose init containers become image volumes, in their order.
    pub replaced: Vec<usize>,
    /// The volumes of checks that such an init container mounts, and who stays doesn't.
    pub moved_mounts: Vec<&'p str>,
    /// The lookups that failed or were not made, by the image's name in full.
    pub lookups: BTreeMap<String, registry::FailedLookup>,
}

impl<'p> Work<'p> {
    /// The examined places of a review, and the findings of [`invalid_image`].
    fn new(review: &'p Review<'p>, settings: &'p Settings) -> Self {
        let mut work = Self {
            review,
            settings,
            entries: Vec::with_capacity(review.pod.places.len()),
            problems: Vec::new(),
            added: Vec::new(),
            replaced: Vec::new(),
            moved_mounts: Vec::new(),
            lookups: BTreeMap::new(),
        };
        for place in &review.pod.places {
            if settings.exempt.container(&place.name.value) {
                continue;
            }
            match Reference::parse(place.image_text()) {
                Ok(reference) => {
                    if first_match(&settings.exempt.images, &reference).is_none() {
                        let mut entry = Entry::new(place, reference, settings);
                        entry.use_cached =
                            settled::left_by_use_cached(&entry, review.event, settings);
                        work.entries.push(entry);
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

    /// Says what each entry is.
    fn assign_roles(&mut self) {
        let roles = Roles::of(&self.review.pod, self.settings, &self.entries);
        for entry in &mut self.entries {
            entry.role = roles.role(entry.place);
        }
    }

    /// Whether nothing was found and nothing changes.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let unchanged = |entry: &Entry<'_>| !entry.pinned && !entry.policy_changed();
        self.problems.is_empty()
            && self.added.is_empty()
            && self.replaced.is_empty()
            && self.lookups.is_empty()
            && self.review.restored.is_empty()
            && self.entries.iter().all(unchanged)
    }

    /// Whether there is a finding with a repair. What a saving changes is none.
    #[must_use]
    pub fn has_repairs(&self) -> bool {
        !self.added.is_empty() || self.entries.iter().any(Entry::is_finding)
    }

    /// Images that can't be told apart because no registry is asked: with `registry.maxLookups: 0`.
    fn cannot_tell_images_apart(&self) -> RegistryAsked<'p> {
        if self.settings.registry.max_lookups == 0 {
            RegistryAsked::of(&self.entries)
        } else {
            RegistryAsked::default()
        }
    }
}

/// Runs the rules in their order.
#[must_use]
pub fn run<'p>(
    review: &'p Review<'p>,
    settings: &'p Settings,
    decision: Decision,
    registries: &mut dyn registry::Registries,
) -> Work<'p> {
    let mut work = before_lookups(review, settings, &[]);
    if settings.registry.max_lookups > 0 && settings.registry.looks_up() {
        // A registry is asked only for what would otherwise be accepted.
        let mut without = work.clone();
        checks(&mut without);
        if decision.rejects_anyway(&without) {
            return without;
        }
        let looked_up = registry::ask(&work, registries);
        if !looked_up.is_empty() {
            work = before_lookups(review, settings, &looked_up);
            registry::apply(&mut work, &looked_up);
        }
    }
    checks(&mut work);
    replace_check::apply(&mut work);
    work
}

/// What comes before *registry*; where registries were asked, with what they said of tags and
/// digests that are one image.
fn before_lookups<'p>(
    review: &'p Review<'p>,
    settings: &'p Settings,
    looked_up: &[registry::LookedUp],
) -> Work<'p> {
    let mut work = Work::new(review, settings);
    registry::keep_earlier_pins(&mut work);
    registry::learn(&mut work, looked_up);
    work.assign_roles();
    policies(&mut work);
    work
}

/// The rules about single places.
fn policies(work: &mut Work<'_>) {
    default::apply(work);
    disallowed_policy::apply(work);
    stuck_pull::apply(work);
}

/// The rules about image checks and what they guard.
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
