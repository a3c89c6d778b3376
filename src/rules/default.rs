//! *default*: a container or image volume whose author chose no pull policy gets the configured default.
//!
//! A webhook never sees an unset pull policy, because the API server fills it in first. So a pull policy that equals
//! the server default counts as not chosen.

use crate::examination::Examination;
use crate::finding::{Finding, FindingReason};
use crate::rule_id::RuleId;
use crate::settings::Settings;
use crate::shown_text::TextLimit;

/// Replaces the pull policies that equal the server default.
pub(crate) fn replace_server_defaults(examination: &mut Examination<'_>) {
    if !examination.object.request_type.may_change_pull_policy() {
        return;
    }
    for examined in &mut examination.places {
        let policy = examined.policy;
        if let Some(default) = examined.replacement_of_server_default(policy, examination.settings)
        {
            examined.correct_policy(default, DefaultReason);
        }
    }
}

/// Nobody chose the pull policy, and `defaults.imagePullPolicy` has a default.
#[derive(Debug)]
struct DefaultReason;

impl FindingReason for DefaultReason {
    fn rule(&self) -> RuleId {
        RuleId::Default
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let (pulls, way_out) = (finding.pulls(limit), finding.set_policy(limit));
        format!("{pulls}, which nobody chose: {way_out} (defaults.imagePullPolicy)")
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
