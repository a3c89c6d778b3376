//! Why a field should be another, or can't stay: each rule has its own reasons, and its own words.

use std::fmt::Debug;

use crate::sentence::Names;

/// The rules by their ids, the most important finding first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// [`invalid_image`](super::invalid_image)
    InvalidImage,
    /// [`stuck_pull`](super::stuck_pull)
    StuckPull,
    /// [`disallowed_policy`](super::disallowed_policy)
    DisallowedPolicy,
    /// [`registry`](super::registry)
    Registry,
    /// [`weak_check`](super::weak_check)
    WeakCheck,
    /// [`missing_check`](super::missing_check)
    MissingCheck,
    /// [`default`](mod@super::default)
    Default,
    /// [`pull_once`](super::pull_once)
    PullOnce,
    /// [`replace_check`](super::replace_check)
    ReplaceCheck,
}

impl Rule {
    /// All rules, the most important first.
    pub const ALL: [Self; 9] = [
        Self::InvalidImage,
        Self::StuckPull,
        Self::DisallowedPolicy,
        Self::Registry,
        Self::WeakCheck,
        Self::MissingCheck,
        Self::Default,
        Self::PullOnce,
        Self::ReplaceCheck,
    ];

    /// The id that stands in messages, annotations and the documentation.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::InvalidImage => "invalid-image",
            Self::StuckPull => "stuck-pull",
            Self::DisallowedPolicy => "disallowed-policy",
            Self::Registry => "registry",
            Self::WeakCheck => "weak-check",
            Self::MissingCheck => "missing-check",
            Self::Default => "default",
            Self::PullOnce => "pull-once",
            Self::ReplaceCheck => "replace-check",
        }
    }
}

/// A reason of a rule.
pub trait Cause: Debug {
    /// The rule.
    fn rule(&self) -> Rule;

    /// What is wrong, and the way out.
    fn sentence(&self, told: &Told<'_>, names: Names) -> String;

    /// The repair, where it is worth a warning: what a person set was changed. Defaults and pins
    /// are what the operator asked for everywhere, and are recorded only.
    fn repaired(&self, _told: &Told<'_>, _names: Names) -> Option<String> {
        None
    }

    /// Whether a field that changes for this reason was wrong. A saving is not, nor is what only
    /// goes along with another change.
    fn is_finding(&self) -> bool {
        true
    }
}

/// Who it is about, what it pulls, with what.
#[derive(Clone, Debug)]
pub struct Told<'f> {
    /// The field, as Kubernetes writes its path.
    pub path: &'f str,
    /// The container or volume.
    pub name: &'f str,
    /// Its image as it came in.
    pub image: &'f str,
    /// Its policy as it came in, or what the API server makes of none.
    pub found: &'f str,
    /// What its policy should be.
    pub expected: &'f str,
}

impl Told<'_> {
    /// `container-0 pulls nginx with Always`
    #[must_use]
    pub fn pulls(&self, names: Names) -> String {
        let (name, image) = (names.show(self.name), names.show(self.image));
        format!("{name} pulls {image} with {}", self.found)
    }

    /// `set container-0 to Always`
    #[must_use]
    pub fn way_out(&self, names: Names) -> String {
        format!("set {} to {}", names.show(self.name), self.expected)
    }

    /// `container-0 now pulls nginx with IfNotPresent instead of Always`
    #[must_use]
    pub fn now_pulls(&self, names: Names) -> String {
        let (name, image) = (names.show(self.name), names.show(self.image));
        let (found, expected) = (self.found, self.expected);
        format!("{name} now pulls {image} with {expected} instead of {found}")
    }
}
