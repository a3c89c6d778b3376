//! *disallowed-policy*: `images.requireAlways` and `images.forbidAlways` replace pull policies.

use crate::image::{Pattern, PullPolicy};
use crate::pod::{Entry, Pod, Pull, Sentence, What};

const RULE: &str = "disallowed-policy";

/// Replaces or reports the pull policies that the settings disallow. In an existing Pod, pull
/// policies are immutable, so there is no repair.
pub fn replace(pod: &mut Pod) {
    let may_set = pod.request.operation.may_set_policies();
    for pull in pod.pulls.iter_mut().filter(|pull| pull.is_examined()) {
        let Some((setting, pattern, allowed)) = disallowed(pull) else {
            continue;
        };
        let what = if may_set {
            pull.policy = allowed;
            What::Policy
        } else {
            What::FixedPolicy(allowed)
        };
        let sentence = move |pull: &Pull, image: &str| {
            let why = format!("images.{setting} has {}", pattern.as_str());
            let reason = format!(" (images.{setting})");
            let mut sentence = Sentence::of_policy(pull, image, &why, Some(&reason));
            if !may_set {
                sentence.help =
                    format!("a Pod's pull policies can't change, so create it anew with {allowed}");
            }
            sentence
        };
        pod.entries
            .push(Entry::new(RULE, pull.position, what, sentence));
    }
}

/// The setting that disallows the pull policy of a pull, its first pattern that matches the image,
/// and the pull policy to set instead. `requireAlways` takes precedence over `forbidAlways`, so the
/// one list can hold the exceptions of the other.
fn disallowed<'o>(pull: &Pull<'o>) -> Option<(&'static str, &'o Pattern, PullPolicy)> {
    let (require, forbid) = (pull.settings.require_always, pull.settings.forbid_always);
    match (pull.policy, require, forbid) {
        (PullPolicy::Always, None, Some(pattern)) => {
            Some(("forbidAlways", pattern, PullPolicy::IfNotPresent))
        }
        (PullPolicy::IfNotPresent | PullPolicy::Never, Some(pattern), _) => {
            Some(("requireAlways", pattern, PullPolicy::Always))
        }
        _ => None,
    }
}
