//! *default*: the policy of a container whose author chose none becomes the configured default.
//!
//! A webhook never sees an unset policy, because the API server fills it in first; so a policy
//! that equals the server default counts as not chosen, unless `replaceServerDefaults` is off.

use super::disallowed_policy::Disallowed;
use super::{Cause, Role, Rule, Told, Work, settled};
use crate::pull_policy::PullPolicy;
use crate::sentence::Names;

/// The setting that a default comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `defaults.imagePullPolicy`
    ImagePullPolicy,
    /// `defaults.imageCheckPullPolicy`
    ImageCheckPullPolicy,
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
    let left_by_pull_once = if settings.pull_once {
        settled::left_by_pull_once(work)
    } else {
        Vec::new()
    };
    let cannot_tell = work.cannot_tell_images_apart();
    let mut left_by_pull_once = left_by_pull_once.into_iter();
    for entry in &mut work.entries {
        let is_left_by_pull_once = left_by_pull_once.next().unwrap_or_default();
        if entry.use_cached || settled::is_chosen(entry, settings) {
            continue;
        }
        let is_check = entry.role == Role::Check;
        let Some((policy, setting)) = settled::default_of(entry, is_check, settings) else {
            continue;
        };
        // The checks may take it back again, as soon as somebody knows what is the same image.
        if (is_left_by_pull_once && policy < entry.policy) || cannot_tell.may_join(&entry.reference)
        {
            continue;
        }
        let forbidden = match entry.policy {
            PullPolicy::Always => entry.forbid_always.map(Disallowed::ForbidAlways),
            PullPolicy::Never => entry.forbid_never.map(Disallowed::ForbidNever),
            PullPolicy::IfNotPresent => None,
        };
        match forbidden {
            Some(disallowed) => entry.set_policy(policy, disallowed),
            None => entry.set_policy(policy, setting),
        }
    }
}

impl Cause for Setting {
    fn rule(&self) -> Rule {
        Rule::Default
    }

    fn sentence(&self, told: &Told<'_>, names: Names) -> String {
        let setting = match self {
            Self::ImagePullPolicy => "defaults.imagePullPolicy",
            Self::ImageCheckPullPolicy => "defaults.imageCheckPullPolicy",
        };
        let (pulls, way_out) = (told.pulls(names), told.way_out(names));
        format!("{pulls}, which nobody chose: {way_out} ({setting})")
    }
}
