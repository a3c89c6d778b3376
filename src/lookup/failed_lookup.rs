//! Failed lookups, and the warnings about them.

use super::{FailureClass, NoLookupAnswerReason};
use crate::settings::LookupFailureAction;
use crate::shown_text::TextLimit;

/// A lookup that failed, or that was not made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedLookup {
    /// Why there is no answer.
    pub(crate) error: NoLookupAnswerReason,
    /// The action that was taken.
    pub(crate) action: LookupFailureAction,
}

impl FailedLookup {
    /// The warning about this lookup. If `UseCached` lowered a pull policy, the warning says so only
    /// if this policy repairs the object.
    pub(crate) fn warning(self, image: &str, is_repaired: bool, limit: TextLimit) -> String {
        let done = match self.action {
            LookupFailureAction::KeepTag => " (kept as it is)",
            LookupFailureAction::UseCached if is_repaired => " (cached copy allowed)",
            LookupFailureAction::UseCached | LookupFailureAction::Reject => "",
        };
        let (image, why) = (limit.show(image), why_no_answer(self.error));
        format!("{image} {why}{done}")
    }
}

/// The end of a sentence that begins with an image. It says why there is no answer from the registry
/// and, for most errors, what the user can do.
pub(crate) fn why_no_answer(error: NoLookupAnswerReason) -> String {
    let why = match error.class {
        FailureClass::NotGranted => {
            let capability = error.capability;
            return format!(
                "can't be looked up: grant {capability} in hostCapabilities of its policy server"
            );
        }
        FailureClass::LimitReached => "was not looked up: registry.maxLookups is reached",
        FailureClass::NotFound => "does not exist in its registry: correct its tag or repository",
        FailureClass::Denied => "is not for the policy to see: give the PolicyServer a pull secret",
        FailureClass::RateLimited => {
            "hit its registry's rate limit: try later, or skip it with registry.skipImages"
        }
        FailureClass::Unreachable if error.was_asked => {
            "has a registry that gives no answer: try again later"
        }
        FailureClass::Unreachable => "was not looked up: its registry just gave no answer",
        FailureClass::Unknown => {
            "has a registry whose answer is not understood: look at the host's log"
        }
    };
    why.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences() {
        let error = |class, was_asked| NoLookupAnswerReason {
            class,
            was_asked,
            capability: "oci/v1/manifest_digest",
        };
        let (keep, used_cached) = (LookupFailureAction::KeepTag, LookupFailureAction::UseCached);
        for (class, was_asked, action, sentence) in [
            (
                FailureClass::NotGranted,
                true,
                keep,
                "can't be looked up: grant oci/v1/manifest_digest in hostCapabilities of its policy server \
                 (kept as it is)",
            ),
            (
                FailureClass::LimitReached,
                false,
                keep,
                "was not looked up: registry.maxLookups is reached (kept as it is)",
            ),
            (
                FailureClass::NotFound,
                true,
                keep,
                "does not exist in its registry: correct its tag or repository (kept as it is)",
            ),
            (
                FailureClass::Denied,
                true,
                keep,
                "is not for the policy to see: give the PolicyServer a pull secret (kept as it is)",
            ),
            (
                FailureClass::RateLimited,
                true,
                keep,
                "hit its registry's rate limit: try later, or skip it with registry.skipImages (kept as it is)",
            ),
            (
                FailureClass::Unreachable,
                true,
                used_cached,
                "has a registry that gives no answer: try again later (cached copy allowed)",
            ),
            (
                FailureClass::Unreachable,
                false,
                keep,
                "was not looked up: its registry just gave no answer (kept as it is)",
            ),
            (
                FailureClass::Unknown,
                true,
                keep,
                "has a registry whose answer is not understood: look at the host's log (kept as it is)",
            ),
        ] {
            let error = error(class, was_asked);
            let warning = FailedLookup { error, action }.warning("app:1", true, TextLimit::LONGEST);
            assert_eq!(warning, format!("app:1 {sentence}"));
        }
    }
}
