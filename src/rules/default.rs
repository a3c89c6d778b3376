//! *default*: a container or image volume whose author chose no pull policy gets the configured default.
//!
//! A webhook never sees an unset pull policy, because the API server fills it in first. So a pull policy that equals
//! the server default counts as not chosen.

use crate::examination::Examination;
use crate::examination::examined_place::{ExaminedPlace, server_default};
use crate::finding::{Finding, Reason};
use crate::pull_policy::PullPolicy;
use crate::rule_id::RuleId;
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength};
use crate::settings::{DefaultPullPolicy, LookupMode, Settings};

/// Replaces the pull policies that equal the server default.
pub(crate) fn replace_server_defaults(examination: &mut Examination<'_>) {
    let default = examination.settings.defaults.image_pull_policy;
    if !examination.object.request_type.may_change_pull_policy() {
        return;
    }
    for examined in &mut examination.places {
        if examined.policy == server_default(&examined.reference)
            && let Some(policy) = default.and_then(|default| resolve(default, examined))
        {
            examined.correct_policy(policy, NotChosen);
        }
    }
}

/// The pull policy that a default sets. None if the place keeps its own.
fn resolve(default: DefaultPullPolicy, examined: &ExaminedPlace<'_>) -> Option<PullPolicy> {
    let has_digest = examined.has_digest();
    let (policy, applies) = match default {
        DefaultPullPolicy::AlwaysUnlessDigest if has_digest => return None,
        // Under `Pin`, an image with a digest has `IfNotPresent`, also in the next run.
        DefaultPullPolicy::Always | DefaultPullPolicy::AlwaysUnlessDigest => {
            let is_pinned = has_digest && examined.lookup.mode == LookupMode::Pin;
            (
                PullPolicy::Always,
                examined.patterns.forbid_always.is_none() && !is_pinned,
            )
        }
        // An image that is looked up keeps its `Always`: an answer may show that it is the same as another image.
        DefaultPullPolicy::IfNotPresent => {
            let is_free = examined.patterns.require_always.is_none() && !has_digest;
            (
                PullPolicy::IfNotPresent,
                is_free && !examined.is_selected_for_lookup(),
            )
        }
    };
    applies.then_some(policy)
}

/// Nobody chose the pull policy, and `defaults.imagePullPolicy` has a default.
#[derive(Debug)]
struct NotChosen;

impl Reason for NotChosen {
    fn rule(&self) -> RuleId {
        RuleId::Default
    }

    fn sentence<'s>(&'s self, finding: &'s Finding<'_>, _: SentenceLength) -> Sentence<'s> {
        let (pulls, way_out) = (finding.pulls(), finding.set_policy());
        sentence!(
            "{}, which nobody chose: {} (defaults.imagePullPolicy)",
            pulls,
            way_out
        )
    }

    fn is_expected_in_template(&self, _: &Settings) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::answers_for_tests::message;

    #[test]
    fn sentence() {
        let settings = json!({"mode": "Reject", "defaults": {"imagePullPolicy": "Always"}});
        assert_eq!(
            message("app a app:1 IfNotPresent", &settings),
            "a pulls app:1 with IfNotPresent, which nobody chose: set a to Always (defaults.imagePullPolicy)"
        );
    }
}
