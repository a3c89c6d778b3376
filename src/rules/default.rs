//! *default*: the policy of a container whose author chose none becomes the configured default.
//!
//! A webhook never sees an unset policy, because the API server fills it in first; so a policy
//! that equals the server default counts as not chosen, unless `replaceServerDefaults` is off.

use super::disallowed_policy::Disallowed;
use super::same_image::SameImage;
use super::{Cause, Entry, Role, Told, Work};
use crate::image::Reference;
use crate::pull_policy::PullPolicy;
use crate::sentence::{Names, fill};
use crate::settings::{DefaultPolicy, LookupMode, Settings};

/// The setting that a default comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `defaults.imagePullPolicy`
    ImagePullPolicy,
    /// `defaults.imageCheckPullPolicy`
    ImageCheckPullPolicy,
}

impl Setting {
    const fn path(self) -> &'static str {
        match self {
            Self::ImagePullPolicy => "defaults.imagePullPolicy",
            Self::ImageCheckPullPolicy => "defaults.imageCheckPullPolicy",
        }
    }
}

/// Applies the defaults to every entry.
pub fn apply(work: &mut Work<'_>) {
    let settings = work.settings;
    let defaults = &settings.defaults;
    if !work.review.event.may_change_policy()
        || (defaults.image_pull_policy.is_none() && defaults.image_check_pull_policy.is_none())
    {
        return;
    }
    let mut left_by_pull_once: Option<Vec<bool>> = None;
    for index in 0..work.entries.len() {
        let Some(entry) = work.entries.get(index) else {
            return;
        };
        if is_chosen(entry, settings) {
            continue;
        }
        let Some((policy, setting)) = default_of(entry, entry.role == Role::Check, settings) else {
            continue;
        };
        if policy < entry.policy && settings.pull_once {
            let left = left_by_pull_once.get_or_insert_with(|| what_pull_once_leaves(work));
            if left.get(index).copied().unwrap_or_default() {
                continue;
            }
        }
        if let Some(entry) = work.entries.get_mut(index) {
            let cause = match entry.forbid_always {
                Some(pattern) if entry.policy == PullPolicy::Always => {
                    Cause::DisallowedPolicy(Disallowed::Forbid(pattern))
                }
                _ => Cause::Default(setting),
            };
            entry.set_policy(policy, cause);
        }
    }
}

/// Whether the author chose the policy. What `images.forbidAlways` takes away is no choice that
/// stands, so the default has its place before.
fn is_chosen(entry: &Entry<'_>, settings: &Settings<'_>) -> bool {
    entry.place.policy.is_some_and(|policy| {
        let server_default =
            settings.defaults.replace_server_defaults && policy == entry.reference.server_default();
        let forbidden = entry.forbid_always.is_some() && policy == PullPolicy::Always;
        !server_default && !forbidden
    })
}

/// The default of an entry, where one is configured.
#[must_use]
pub fn default_of(
    entry: &Entry<'_>,
    is_check: bool,
    settings: &Settings<'_>,
) -> Option<(PullPolicy, Setting)> {
    let defaults = &settings.defaults;
    let check = defaults
        .image_check_pull_policy
        .filter(|_| is_check)
        .map(|policy| (policy, Setting::ImageCheckPullPolicy));
    let (policy, setting) = check.or(defaults
        .image_pull_policy
        .map(|policy| (policy, Setting::ImagePullPolicy)))?;
    let by_digest = entry.has_digest();
    let lookup = settings.registry.lookup;
    let looked_up = || lookup != LookupMode::Off && settings.registry.names(&entry.reference);
    let policy = match policy {
        DefaultPolicy::AlwaysUnlessDigest if by_digest => PullPolicy::IfNotPresent,
        DefaultPolicy::AlwaysUnlessDigest => PullPolicy::Always,
        // What Pin wrote must stay as Pin wrote it: a digest needs no second pull.
        DefaultPolicy::Policy(PullPolicy::Always)
            if by_digest && lookup == LookupMode::Pin && looked_up() =>
        {
            PullPolicy::IfNotPresent
        }
        // Who asks the registry for an image means to pull it.
        DefaultPolicy::Policy(PullPolicy::Never) if looked_up() => return None,
        DefaultPolicy::Policy(policy) => policy,
    };
    Some((policy, setting))
}

/// The policy of a check that is raised or added for the strength that its containers need: what
/// the other rules would leave it with, had it come in so. Else the next look at the repaired Pod
/// would change it again.
#[must_use]
pub fn settled_check(entry: &Entry<'_>, needed: PullPolicy, settings: &Settings<'_>) -> PullPolicy {
    let image = entry.image_after();
    let unchosen = settings.defaults.replace_server_defaults
        && Reference::parse(&image).is_ok_and(|image| image.server_default() == needed);
    let default = default_of(entry, true, settings).filter(|_| unchosen);
    let mut policy = default.map_or(needed, |(policy, _)| policy.max(needed));
    if entry.require_always.is_some() {
        policy = PullPolicy::Always;
    } else if entry.forbid_always.is_some() || entry.use_cached {
        policy = policy.min(PullPolicy::IfNotPresent);
    }
    policy.max(needed)
}

/// For each entry, whether it came in as *pull-once* leaves it: the check with `Always`, the
/// container that need not pull again with `IfNotPresent`.
///
/// A default that weakened either would undo the repair when the Pod is seen again: the one is
/// what makes the other sound.
fn what_pull_once_leaves(work: &Work<'_>) -> Vec<bool> {
    let images = SameImage::of(&work.entries);
    // For each image: an init container came in with Always, a container with IfNotPresent.
    let mut came_in = vec![(false, false); images.count()];
    for (entry, image) in work.entries.iter().zip(images.ids()) {
        if let Some((pulled, spared)) = came_in.get_mut(image) {
            match (entry.role, entry.policy_before()) {
                (Role::Check | Role::Init, PullPolicy::Always) => {
                    *pulled |= entry.forbid_always.is_none();
                }
                (Role::Guarded, PullPolicy::IfNotPresent) => *spared = true,
                _ => {}
            }
        }
    }
    work.entries
        .iter()
        .zip(images.ids())
        .map(|(entry, image)| match (entry.role, entry.policy_before()) {
            (Role::Check | Role::Init, PullPolicy::Always)
            | (Role::Guarded, PullPolicy::IfNotPresent) => {
                came_in.get(image) == Some(&(true, true))
            }
            _ => false,
        })
        .collect()
}

/// What is wrong, and the way out.
#[must_use]
pub fn sentence(told: &Told<'_>, setting: Setting, names: Names) -> String {
    fill(
        "{}, which nobody chose: {} ({})",
        &[&told.pulls(names), &told.way_out(names), setting.path()],
    )
}
