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

use crate::examination::Examination;
use crate::examination::coverage::Coverage;
use crate::examination::examined_place::PullPolicyChangeCause;
use crate::pod_spec::PodSpecList;
use crate::pull_policy::PullPolicy;
use crate::rule_id::RuleId;

/// Replaces `Always` with `IfNotPresent` in app containers whose image an init container has already
/// pulled with `Always`, in the same spelling. This acts in a Pod that has or gets image checks.
pub(crate) fn spare_second_pulls(examination: &mut Examination<'_>, coverage: &mut Coverage) {
    let has_checks = examination.has_image_checks() || !examination.added.checks.is_empty();
    if !examination.settings.pull_once || !has_checks {
        return;
    }
    for (index, examined) in examination.places.iter().enumerate() {
        if examined.is_init_container() && examined.policy == PullPolicy::Always {
            coverage.mark_pulled(index);
        }
    }
    for check in &examination.added.checks {
        if check.own_fields.policy == PullPolicy::Always && !check.form.is_image_volume() {
            coverage.mark_pulled(check.guarded);
        }
    }
    for index in coverage.places_of_pulled_images() {
        let Some(examined) = examination.places.get_mut(index) else {
            continue;
        };
        if examined.place.list == PodSpecList::Containers
            && examined.policy == PullPolicy::Always
            && examined.patterns.require_always.is_none()
        {
            let cause = PullPolicyChangeCause::NotWrong(RuleId::PullOnce);
            examined.change_policy(PullPolicy::IfNotPresent, cause);
        }
    }
}
