//! *pull-once*: if an init container pulls an image with `Always`, the app containers with this image
//! don't have to ask the registry again.
//!
//! A check volume proves nothing here. Another webhook that writes the Pod with older types drops the
//! volume's `image`, and the volume becomes an `emptyDir`. A lowered container would then run an old
//! image that is on the node.
//!
//! The first pull has proved the Pod's credentials. With `IfNotPresent`, a registry that fails a
//! second later can't block the containers. The change corrects no mistake. So it is not a finding,
//! and the modes `Reject` and `Warn` don't report it.

use std::collections::BTreeSet;

use crate::examination::Examination;
use crate::examination::place::Spelling;
use crate::findings::Reason;
use crate::pod::PodSpecList;
use crate::pull_policy::PullPolicy;

/// Replaces `Always` with `IfNotPresent` in app containers whose image an init container has already
/// pulled with `Always`, in the same spelling.
pub(crate) fn spare_second_pulls(examination: &mut Examination<'_>) {
    if !examination.settings.pull_once {
        return;
    }
    // The spellings that init containers pull with `Always`.
    let mut pulled: BTreeSet<Spelling> = BTreeSet::new();
    for examined in &examination.places {
        if examined.is_init_container() && examined.policy == PullPolicy::Always {
            pulled.insert(examined.spelling);
        }
    }
    for check in &examination.added.checks {
        if check.policy == PullPolicy::Always && !check.is_image_volume() {
            pulled.insert(examination[check.guarded].spelling);
        }
    }
    for examined in &mut examination.places {
        if examined.place.list == PodSpecList::Containers
            && examined.policy == PullPolicy::Always
            && examined.limits.require_always.is_none()
            && pulled.contains(&examined.spelling)
        {
            // If the request has `Never`, this `Always` is a default that has replaced a forbidden
            // `Never`. The reason is kept, so that the change stays a finding about `Never`.
            if examined.policy_before() == PullPolicy::Never {
                examined.policy = PullPolicy::IfNotPresent;
            } else {
                examined.set_policy(PullPolicy::IfNotPresent, Reason::PulledBefore);
            }
        }
    }
}
