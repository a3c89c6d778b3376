//! *registry*: asks the registry for the digest behind each tag, and has a rule for each way in
//! which that can fail.
//!
//! `Verify` needs an answer; `Pin` also writes the digest down, so that a node pulls exactly when
//! the digest changed, and a check and its containers can't get different contents. This is what
//! KEP-5497 asks of the kubelet, at admission.

mod desk;
mod failure;
mod platform;
mod told;

use std::rc::Rc;

use self::desk::Desk;
pub use self::desk::{Answer, Asked, Capability, NoAnswer, Registries};
pub use self::failure::Failure;
pub use self::told::Pin;
use self::told::{Failed, Pinned, UseCached, WrongPlatform};
use super::same_image::SameImage;
use super::{Entry, Field, Problem, Work};
use crate::image::Reference;
use crate::pod::{Slot, platform::AskedPlatforms};
use crate::pull_policy::PullPolicy;
use crate::request::Event;
use crate::settings::{LookupFailureAction, LookupMode, MissingPlatformAction};

/// A lookup that failed, or that was not made.
#[derive(Clone, Debug)]
pub struct FailedLookup {
    /// How it failed.
    pub answer: NoAnswer,
    /// What was done.
    pub action: LookupFailureAction,
    /// `UseCached`, but `images.requireAlways` keeps a container at `Always`.
    pub kept_always: bool,
    /// `UseCached`, and a container or check had `Always`.
    pub lowered: bool,
}

/// An image that was looked up.
#[derive(Debug)]
pub struct LookedUp {
    /// The entries that pull it.
    members: Vec<usize>,
    /// Its name in full.
    image: String,
    answer: Result<Answer, NoAnswer>,
}

/// Looks up the images that the settings name, each once, in the order of [`groups`].
pub fn ask(work: &Work<'_>, registries: &mut dyn Registries) -> Vec<LookedUp> {
    let asked = asked_platforms(work);
    let with_platforms = !asked.platforms.is_empty();
    let mut desk = Desk::new(registries, work.settings.registry.max_lookups);
    let mut looked_up = Vec::new();
    for members in groups(work) {
        let entries = || members.iter().filter_map(|index| work.entries.get(*index));
        let Some(first) = entries().next() else {
            continue;
        };
        // Who pulls with Never never asks a registry.
        let is_pulled = entries().any(|entry| entry.policy != PullPolicy::Never);
        if !is_pulled || (first.has_digest() && !with_platforms) {
            continue;
        }
        let image = name(first);
        let answer = desk.look_up(&first.reference, &image, with_platforms);
        looked_up.push(LookedUp {
            members,
            image,
            answer,
        });
    }
    looked_up
}

/// Tells the entries the digests behind their tags, by which they are the same image as others.
/// The policies are not concerned yet.
pub fn learn(work: &mut Work<'_>, looked_up: &[LookedUp]) {
    for LookedUp {
        members, answer, ..
    } in looked_up
    {
        let Ok(answer) = answer else {
            continue;
        };
        let digest: Rc<str> = Rc::from(&*answer.digest);
        for index in members {
            if let Some(entry) = work.entries.get_mut(*index)
                && !entry.has_digest()
            {
                entry.digest = Some(Rc::clone(&digest));
            }
        }
    }
}

/// Does what the settings say with each answer.
pub fn apply(work: &mut Work<'_>, looked_up: &[LookedUp]) {
    let asked = asked_platforms(work);
    for LookedUp {
        members,
        image,
        answer,
    } in looked_up
    {
        match answer {
            Ok(answer) => {
                if let Some(index) = &answer.platforms {
                    hold_against(work, members, &asked, index);
                }
                pin(work, members);
            }
            Err(answer) => fail(work, members, image, *answer),
        }
    }
}

fn asked_platforms(work: &Work<'_>) -> AskedPlatforms {
    match work.settings.registry.platform {
        MissingPlatformAction::Off => AskedPlatforms::default(),
        MissingPlatformAction::Warn | MissingPlatformAction::Reject => {
            AskedPlatforms::by(&work.review.pod)
        }
    }
}

/// What a registry is asked for: the name in full, so that all spellings share the host's cache.
fn name(entry: &Entry<'_>) -> String {
    let reference = &entry.reference;
    match (
        entry.digest.as_deref().filter(|_| entry.pinned),
        reference.digest(),
    ) {
        (Some(digest), _) | (None, Some(digest)) => {
            format!("{}@{digest}", reference.repository())
        }
        (None, None) => reference.repository_and_tag().unwrap_or_default(),
    }
}

/// The entries of each image that is looked up, the images of containers first: a check that is
/// added later must not change the order, which decides what `registry.maxLookups` leaves out.
fn groups(work: &Work<'_>) -> Vec<Vec<usize>> {
    let images = SameImage::of(&work.entries);
    let mut numbers: Vec<Option<usize>> = vec![None; images.count()];
    let mut groups: Vec<Vec<usize>> = Vec::with_capacity(images.count());
    for containers in [true, false] {
        for (index, (entry, image)) in work.entries.iter().zip(images.ids()).enumerate() {
            // One digest can stand behind several tags, and a setting name one of them.
            let is_off = entry.lookup.mode == LookupMode::Off;
            if is_off || (entry.place.slot == Slot::Container) != containers {
                continue;
            }
            let next = groups.len();
            let Some(number) = numbers.get_mut(image) else {
                continue;
            };
            let number = *number.get_or_insert(next);
            match groups.get_mut(number) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
    }
    groups
}

/// A tag that was pinned before stays at its digest: an object that is applied again must not
/// restart its containers because the tag moved in between.
pub(super) fn keep_earlier_pins(work: &mut Work<'_>) {
    // With `registry.maxLookups: 0` a tag without a digest is nobody's concern.
    if work.review.event != Event::PodUpdate || work.settings.registry.max_lookups == 0 {
        return;
    }
    for entry in &mut work.entries {
        if let Some(previous) = entry.place.previous_image.as_deref()
            && let Ok(previous) = Reference::parse(previous)
            && entry.reference.is_pinned_as(previous)
            && entry.lookup.mode == LookupMode::Pin
        {
            entry.digest = previous.digest().map(Rc::from);
            entry.pinned = true;
        }
    }
}

/// Pins the tags of these entries, whose digests are known. Those of a template stay: its Pods are
/// pinned when they are made.
fn pin(work: &mut Work<'_>, members: &[usize]) {
    let event = work.review.event;
    for index in members {
        let Some(entry) = work.entries.get_mut(*index) else {
            continue;
        };
        if entry.has_digest() || entry.lookup.mode != LookupMode::Pin || event.is_template() {
            continue;
        }
        entry.pinned = true;
        if event.may_change_policy() && entry.policy != PullPolicy::Never {
            let policy = match entry.require_always {
                Some(_) => PullPolicy::Always,
                None => PullPolicy::IfNotPresent,
            };
            entry.set_policy(policy, Pinned);
        }
    }
}

/// Holds the platforms of an image against those that the Pod asks for.
fn hold_against(
    work: &mut Work<'_>,
    members: &[usize],
    asked: &AskedPlatforms,
    index: &[oci_spec::image::Platform],
) {
    let Some((has, lacks)) = platform::missing_in(asked, index) else {
        return;
    };
    let field = format!("{}.{}", work.review.spec_path(), asked.field);
    let wrong = WrongPlatform { has, lacks, field };
    let Some(first) = members.first().and_then(|first| work.entries.get(*first)) else {
        return;
    };
    let problem = first.problem(Field::Image, None, wrong);
    work.problems.push(Problem {
        advice: work.settings.registry.platform == MissingPlatformAction::Warn,
        ..problem
    });
}

/// A registry gave no digest for the tag of these entries.
fn fail(work: &mut Work<'_>, members: &[usize], image: &str, answer: NoAnswer) {
    let event = work.review.event;
    let Some(first) = members.first().and_then(|first| work.entries.get(*first)) else {
        return;
    };
    let mut action = answer.failure.action(&first.lookup);
    // An outage doesn't belong into a template, and the policies of a Pod that exists can't change.
    // A digest was looked up for its platforms only: nothing of it is left open.
    let keeps_policy =
        !event.may_change_policy() || event.is_template() || first.reference.digest().is_some();
    if action == LookupFailureAction::UseCached && keeps_policy {
        action = LookupFailureAction::KeepTag;
    }
    // A warning never rejects.
    let for_a_warning = work.settings.registry.platform == MissingPlatformAction::Warn;
    if action == LookupFailureAction::Reject && first.has_digest() && for_a_warning {
        action = LookupFailureAction::KeepTag;
    }
    let mut kept_always = false;
    let mut lowered = false;
    match action {
        LookupFailureAction::Reject => {
            let problem = first.problem(Field::Image, None, Failed(answer));
            work.problems.push(problem);
        }
        LookupFailureAction::UseCached => {
            for index in members {
                let Some(entry) = work.entries.get_mut(*index) else {
                    continue;
                };
                if entry.require_always.is_some() {
                    kept_always = true;
                    continue;
                }
                entry.use_cached = true;
                if entry.policy == PullPolicy::Always {
                    lowered = true;
                    entry.set_policy(PullPolicy::IfNotPresent, UseCached);
                }
            }
        }
        LookupFailureAction::KeepTag => {}
    }
    let lookup = FailedLookup {
        answer,
        action,
        kept_always,
        lowered,
    };
    work.lookups.insert(image.to_owned(), lookup);
}
