//! What a registry's answer means, in words.

use super::{Asked, FailedLookup, Failure, NoAnswer};
use crate::rules::{Cause, Rule, Told};
use crate::sentence::Names;
use crate::settings::LookupFailureAction;

/// A tag is pinned to its digest.
#[derive(Clone, Debug)]
pub struct Pin<'e> {
    /// The image as it should be.
    pub image: &'e str,
    /// The digest in it.
    pub digest: &'e str,
}

impl Cause for Pin<'_> {
    fn rule(&self) -> Rule {
        Rule::Registry
    }

    /// The digest to write, in place of a tag alone. A line that is short of room keeps the
    /// digest whole.
    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let (name, image) = (names.show(told.name), names.show(told.image));
        if names.are_whole() {
            let (pinned, policy) = (names.show(self.image), told.expected);
            format!("{name} pulls {image} by its tag: set its image to {pinned} with {policy}")
        } else {
            format!("{name}: pin {image} to @{}", self.digest)
        }
    }
}

/// The policy that goes with a pinned tag; it is no finding of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pinned;

impl Cause for Pinned {
    fn rule(&self) -> Rule {
        Rule::Registry
    }

    fn is_finding(&self) -> bool {
        false
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        told.now_pulls(names)
    }
}

/// Its registry gave no digest, so it takes what the node has.
#[derive(Clone, Copy, Debug)]
pub(super) struct UseCached;

impl Cause for UseCached {
    fn rule(&self) -> Rule {
        Rule::Registry
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let (pulls, way_out) = (told.pulls(names), told.way_out(names));
        format!("{pulls} but its registry gives no digest: {way_out}")
    }
}

/// Its registry gave no digest, and the settings say to reject that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed(pub(super) NoAnswer);

impl Cause for Failed {
    fn rule(&self) -> Rule {
        Rule::Registry
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let (name, image) = (names.show(told.name), names.show(told.image));
        format!("{name}'s image {image} {}", why(self.0))
    }
}

/// The image does not exist for a platform that the Pod asks for.
#[derive(Clone, Debug)]
pub(super) struct WrongPlatform {
    /// The platforms that it has.
    pub(super) has: String,
    /// The one that it lacks.
    pub(super) lacks: String,
    /// Where the Pod asks for it.
    pub(super) field: String,
}

impl Cause for WrongPlatform {
    fn rule(&self) -> Rule {
        Rule::Registry
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let (name, image) = (names.show(told.name), names.show(told.image));
        let (has, lacks, field) = (names.show(&self.has), &self.lacks, &self.field);
        format!(
            "{name}'s image {image} has {has} only, but the Pod asks for {lacks}: \
             build it for {lacks} or change {field}"
        )
    }
}

/// Why there is no answer, and the way out.
fn why(answer: NoAnswer) -> String {
    let (why, way_out) = match (answer.failure, answer.asked) {
        (Failure::NotGranted, _) => {
            let capability = answer.capability.id();
            return format!(
                "can't be looked up: grant {capability} in hostCapabilities of its policy server"
            );
        }
        (_, Asked::RegistryIsDown) => ("was not looked up", "its registry just gave no answer"),
        (_, Asked::LimitReached) => ("was not looked up", "registry.maxLookups is reached"),
        (Failure::NotFound, _) => (
            "does not exist in its registry",
            "correct its tag or repository",
        ),
        (Failure::Denied, _) => (
            "is not for the policy to see",
            "give the PolicyServer a pull secret",
        ),
        (Failure::RateLimited, _) => (
            "hit its registry's rate limit",
            "try later, or skip it with registry.skipImages",
        ),
        (Failure::Unreachable, _) => ("has a registry that gives no answer", "try again later"),
        (Failure::Unknown, _) => (
            "has a registry whose answer is not understood",
            "look at the host's log",
        ),
    };
    format!("{why}: {way_out}")
}

impl FailedLookup {
    /// The warning of a lookup that failed; whether the object is changed decides what can be
    /// said of it.
    #[must_use]
    pub fn warning(&self, image: &str, is_repaired: bool, names: Names) -> String {
        let done = match self.action {
            LookupFailureAction::Reject => "",
            LookupFailureAction::UseCached if self.kept_always => {
                " (Always kept: images.requireAlways)"
            }
            LookupFailureAction::UseCached if is_repaired && self.lowered => {
                " (cached copy allowed)"
            }
            LookupFailureAction::UseCached if self.lowered => "",
            LookupFailureAction::UseCached | LookupFailureAction::KeepTag => " (kept as it is)",
        };
        format!("{} {}{done}", names.show(image), why(self.answer))
    }
}
