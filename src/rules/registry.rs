//! *registry*: asks the registry for the digest behind each tag, and has a rule for each way in
//! which that can fail.
//!
//! `Verify` needs an answer; `Pin` also writes the digest down, so that a node pulls exactly when
//! the digest changed, and a check and its containers can't get different contents. This is what
//! KEP-5497 asks of the kubelet, at admission.

use std::rc::Rc;

use super::same_image::SameImage;
use super::{Cause, Told, Work};
use crate::image::{Reference, is_digest};
use crate::pod::Slot;
use crate::pull_policy::PullPolicy;
use crate::request::Event;
use crate::sentence::{Names, fill, has, part_at};
use crate::settings::{LookupMode, OnFailure, Registry};

/// Where digests come from: the host capability `oci/v1/manifest_digest`.
pub trait ManifestDigests {
    /// The digest of the manifest, or of the index, that an image's tag points to.
    ///
    /// # Errors
    /// The host's own text, which is classified and never shown.
    fn manifest_digest(&mut self, image: &str) -> Result<String, String>;
}

/// The ways in which a lookup fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The tag or repository does not exist.
    NotFound,
    /// 401 or 403.
    Denied,
    /// 429.
    RateLimited,
    /// No connection, DNS, TLS, time-out, 5xx.
    Unreachable,
    /// Any other answer.
    Unknown,
    /// The host did not let the policy ask; no failure of a registry.
    NotGranted,
}

impl Failure {
    /// The class as it stands in the audit annotation.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::NotFound => "notFound",
            Self::Denied => "denied",
            Self::RateLimited => "rateLimited",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
            Self::NotGranted => "notGranted",
        }
    }

    /// Classifies a host's text by its stable parts: the first of them decides, because what a
    /// registry wrote itself comes after it and can say anything.
    ///
    /// Source: the errors of `oci-client` 0.17 and of Kubewarden's policy-evaluator 0.32.
    #[must_use]
    pub fn classify(text: &str) -> Self {
        type Classify = fn(&str) -> Failure;
        let parts: [(&str, Classify); 5] = [
            ("has not been granted access", |_| Self::NotGranted),
            ("Not authorized:", |_| Self::Denied),
            ("error sending request for url", |_| Self::Unreachable),
            ("Server error: url", Self::of_status),
            ("OCI API errors: [", Self::of_message),
        ];
        parts
            .into_iter()
            .filter_map(|(part, classify)| {
                let (before, after) = part_at(text, part)?;
                Some((before.len(), classify, after))
            })
            .min_by_key(|(position, ..)| *position)
            .map_or(Self::Unknown, |(_, classify, after)| classify(after))
    }

    /// By an HTTP status: ` …, code: 404, message: …`.
    fn of_status(text: &str) -> Self {
        let status: Option<u16> = part_at(text, ", code: ")
            .and_then(|(_, rest)| rest.get(..3))
            .and_then(|digits| digits.parse().ok());
        match status {
            Some(401 | 403) => Self::Denied,
            Some(404) => Self::NotFound,
            Some(429) => Self::RateLimited,
            Some(500..=599) => Self::Unreachable,
            _ => Self::Unknown,
        }
    }

    /// By the message that a registry wrote: the client does not print the error's code, so
    /// these are the words of distribution, Docker Hub, ghcr.io, Quay, Harbor, ECR, ACR and
    /// Artifact Registry.
    fn of_message(text: &str) -> Self {
        const WORDS: [(&str, Failure); 15] = [
            ("rate limit", Failure::RateLimited),
            ("too many requests", Failure::RateLimited),
            ("toomanyrequests", Failure::RateLimited),
            ("manifest unknown", Failure::NotFound),
            ("not known to registry", Failure::NotFound),
            ("name unknown", Failure::NotFound),
            ("not found", Failure::NotFound),
            ("does not exist", Failure::NotFound),
            ("was deleted", Failure::NotFound),
            ("access to the resource is denied", Failure::Denied),
            ("unauthorized", Failure::Denied),
            ("authentication required", Failure::Denied),
            ("denied", Failure::Denied),
            ("forbidden", Failure::Denied),
            ("service unavailable", Failure::Unreachable),
        ];
        let message = text.lines().next().unwrap_or_default().to_ascii_lowercase();
        WORDS
            .into_iter()
            .find(|(word, _)| has(&message, word))
            .map_or(Self::Unknown, |(_, failure)| failure)
    }

    /// What the settings say to do.
    fn action(self, settings: &Registry<'_>) -> OnFailure {
        match self {
            Self::NotFound => settings.on_not_found,
            Self::Denied => settings.on_denied,
            Self::RateLimited => settings.on_rate_limited,
            Self::Unreachable => settings.on_unreachable,
            Self::Unknown | Self::NotGranted => settings.on_unknown,
        }
    }
}

/// Why an image was not looked up, if it wasn't.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// The registry was asked.
    Yes,
    /// Another image of that registry got no answer in this request.
    RegistryIsDown,
    /// `registry.maxLookups` were made in this request.
    LimitReached,
    /// The host refused an earlier lookup of this request, and would refuse them all.
    HostRefuses,
}

/// A lookup that failed, or that was not made.
#[derive(Clone, Debug)]
pub struct FailedLookup {
    /// The image, normalised.
    pub image: String,
    /// How it failed.
    pub failure: Failure,
    /// Whether the registry was asked at all.
    pub asked: Asked,
    /// What was done.
    pub action: OnFailure,
    /// `UseCached`, but `images.requireAlways` keeps a container at `Always`.
    pub kept_always: bool,
}

/// What the rule has to say of a place.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Its tag is pinned.
    Pinned,
    /// Its registry gave no digest, so it takes what the node has.
    UseCached(Failure),
    /// Its registry gave no digest, and the settings say to reject that.
    Failed(Failure, Asked),
}

/// Looks up the images that the settings name, each once, in the order of [`groups`].
pub fn apply(work: &mut Work<'_>, registry: &mut dyn ManifestDigests) {
    let settings = work.settings;
    let pins = settings.registry.lookup == LookupMode::Pin && !work.review.event.is_template();
    if pins && work.review.event == Event::PodUpdate {
        keep_earlier_pins(work);
    }
    let groups = groups(work);
    let mut desk = Desk {
        registry,
        left: settings.registry.max_lookups,
        down: Vec::new(),
        granted: true,
    };
    for members in groups {
        let Some(first) = members.first().and_then(|first| work.entries.get(*first)) else {
            continue;
        };
        let reference = first.reference;
        // Who pulls with Never never asks a registry.
        let pulled = members
            .iter()
            .filter_map(|index| work.entries.get(*index))
            .any(|entry| entry.policy != PullPolicy::Never);
        if !pulled || !settings.registry.names(&reference) {
            continue;
        }
        if first.has_digest() {
            // What looks as Pin leaves it has had its lookup: else each look at the same Pod
            // would pin some more.
            if pins {
                desk.left = desk.left.saturating_sub(tags(work, &members));
            }
            continue;
        }
        let image = reference.repository_and_tag().unwrap_or_default();
        match desk.ask(&reference, &image) {
            Ok(digest) if pins => pin(work, &members, &Rc::from(digest)),
            Ok(_) => {}
            Err((failure, asked)) => fail(work, &members, image, failure, asked),
        }
    }
}

/// The entries of each image, the images of containers first: a check that is added later must not
/// change the order, which decides what `registry.maxLookups` leaves out.
fn groups(work: &Work<'_>) -> Vec<Vec<usize>> {
    let images = SameImage::of(&work.entries);
    let mut numbers: Vec<Option<usize>> = vec![None; images.count()];
    let mut groups: Vec<Vec<usize>> = Vec::with_capacity(images.count());
    for containers in [true, false] {
        for (index, (entry, image)) in work.entries.iter().zip(images.ids()).enumerate() {
            if (entry.place.slot == Slot::Container) != containers {
                continue;
            }
            let Some(number) = numbers.get_mut(image) else {
                continue;
            };
            let number = *number.get_or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            if let Some(group) = groups.get_mut(number) {
                group.push(index);
            }
        }
    }
    groups
}

/// How many tags the entries of one image have.
fn tags(work: &Work<'_>, members: &[usize]) -> usize {
    let mut tags: Vec<&str> = Vec::new();
    for entry in members.iter().filter_map(|index| work.entries.get(*index)) {
        match entry.reference.tag() {
            Some(tag) if !tags.contains(&tag) => tags.push(tag),
            _ => {}
        }
    }
    tags.len()
}

/// Who asks the registries, within the bounds of one request.
struct Desk<'r> {
    registry: &'r mut dyn ManifestDigests,
    left: usize,
    /// Registries that gave no answer: at most as many as lookups.
    down: Vec<String>,
    granted: bool,
}

impl Desk<'_> {
    fn ask(&mut self, reference: &Reference<'_>, image: &str) -> Result<String, (Failure, Asked)> {
        if !self.granted {
            return Err((Failure::NotGranted, Asked::HostRefuses));
        }
        if self.down.iter().any(|down| down == reference.registry()) {
            return Err((Failure::Unreachable, Asked::RegistryIsDown));
        }
        let Some(left) = self.left.checked_sub(1) else {
            return Err((Failure::Unreachable, Asked::LimitReached));
        };
        self.left = left;
        let failure = match self.registry.manifest_digest(image) {
            Ok(digest) if is_digest(&digest) => return Ok(digest),
            Ok(_) => Failure::Unknown,
            Err(text) => Failure::classify(&text),
        };
        match failure {
            Failure::Unreachable => {
                self.down.push(reference.registry().to_owned());
            }
            Failure::NotGranted => self.granted = false,
            _ => {}
        }
        Err((failure, Asked::Yes))
    }
}

/// A tag that was pinned before stays at its digest: an object that is applied again must not
/// restart its containers because the tag moved in between.
fn keep_earlier_pins(work: &mut Work<'_>) {
    for entry in &mut work.entries {
        let Some(previous) = entry.place.previous_image.as_deref() else {
            continue;
        };
        if let Ok(previous) = Reference::parse(previous)
            && entry.reference.is_pinned_as(previous)
            && work.settings.registry.names(&entry.reference)
        {
            entry.pinned = previous.digest().map(Rc::from);
        }
    }
}

fn pin(work: &mut Work<'_>, members: &[usize], digest: &Rc<str>) {
    let may_change_policy = work.review.event.may_change_policy();
    for index in members {
        let Some(entry) = work.entries.get_mut(*index) else {
            continue;
        };
        entry.pinned = Some(Rc::clone(digest));
        if may_change_policy && entry.policy != PullPolicy::Never {
            let policy = if entry.require_always.is_some() {
                PullPolicy::Always
            } else {
                PullPolicy::IfNotPresent
            };
            entry.set_policy(policy, Cause::Registry(Outcome::Pinned));
        }
    }
}

fn fail(work: &mut Work<'_>, members: &[usize], image: String, failure: Failure, asked: Asked) {
    let mut action = failure.action(&work.settings.registry);
    if action == OnFailure::UseCached && !work.review.event.may_change_policy() {
        action = OnFailure::KeepTag;
    }
    let mut kept_always = false;
    match action {
        OnFailure::Reject => {
            if let Some(first) = members.first() {
                work.reject(*first, Cause::Registry(Outcome::Failed(failure, asked)));
            }
        }
        OnFailure::UseCached => {
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
                    let cause = Cause::Registry(Outcome::UseCached(failure));
                    entry.set_policy(PullPolicy::IfNotPresent, cause);
                }
            }
        }
        OnFailure::KeepTag => {}
    }
    work.lookups.push(FailedLookup {
        image,
        failure,
        asked,
        action,
        kept_always,
    });
}

/// Why there is no digest, and the way out.
fn explanation(failure: Failure, asked: Asked) -> (&'static str, &'static str) {
    match (failure, asked) {
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
        (Failure::NotGranted, _) => (
            "can't be looked up",
            "grant oci/v1/manifest_digest in hostCapabilities of its policy server",
        ),
    }
}

/// The digest to write, in place of a tag alone. A line that is short of room keeps the digest
/// whole.
#[must_use]
pub fn sentence_of_pin(told: &Told<'_>, image_after: &str, digest: &str, names: Names) -> String {
    if !names.are_whole() {
        return fill(
            "{}: pin {} to @{}",
            &[&names.show(told.name), &names.show(told.image), digest],
        );
    }
    fill(
        "{} pulls {} by its tag: set its image to {} with {}",
        &[
            &names.show(told.name),
            &names.show(told.image),
            &names.show(image_after),
            told.expected,
        ],
    )
}

/// What is wrong, and the way out.
#[must_use]
pub fn sentence(told: &Told<'_>, outcome: &Outcome, names: Names) -> String {
    match outcome {
        Outcome::Pinned => String::new(),
        Outcome::UseCached(_) => fill(
            "{} but its registry gives no digest: {}",
            &[&told.pulls(names), &told.way_out(names)],
        ),
        Outcome::Failed(failure, asked) => {
            let (why, way_out) = explanation(*failure, *asked);
            fill(
                "{}'s image {} {}: {}",
                &[
                    &names.show(told.name),
                    &names.show(told.image),
                    why,
                    way_out,
                ],
            )
        }
    }
}

/// The warning of a lookup that failed.
#[must_use]
pub fn warning(lookup: &FailedLookup, names: Names) -> String {
    let (why, way_out) = explanation(lookup.failure, lookup.asked);
    let done = match (lookup.action, lookup.kept_always) {
        (OnFailure::Reject, _) => "",
        (OnFailure::KeepTag, _) => " (kept as it is)",
        (OnFailure::UseCached, false) => " (cached copy allowed)",
        (OnFailure::UseCached, true) => " (Always kept: images.requireAlways)",
    };
    fill(
        "{} {}: {}{}",
        &[&names.show(&lookup.image), why, way_out, done],
    )
}
