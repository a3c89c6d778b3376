//! *pull-once*: what an init container has just pulled with `Always` need not be pulled again.
//!
//! The pull proved the Pod's credentials, and a registry that fails a second later can't hang the
//! job any more. It is a saving and not a finding, so no mode reports it.

use super::same_image::SameImage;
use super::{Cause, Role, Work};
use crate::pull_policy::PullPolicy;

/// Takes `Always` from the containers of each image that an init container pulls with `Always`.
pub fn apply(work: &mut Work<'_>, images: &SameImage) {
    if !work.settings.pull_once {
        return;
    }
    let mut pulled: Vec<bool> = images
        .pulls(&work.entries)
        .iter()
        .map(|pulls| pulls.before_start == Some(PullPolicy::Always))
        .collect();
    // Checks that were just added count like those that were there.
    for check in &work.added {
        if let Some(pulled) = images.id(check.guarded).and_then(|id| pulled.get_mut(id)) {
            *pulled |= check.policy == PullPolicy::Always;
        }
    }
    for (entry, image) in work.entries.iter_mut().zip(images.ids()) {
        if entry.role == Role::Guarded
            && entry.policy == PullPolicy::Always
            && entry.require_always.is_none()
            && pulled.get(image).copied().unwrap_or_default()
        {
            entry.set_policy(PullPolicy::IfNotPresent, Cause::PullOnce);
        }
    }
}
