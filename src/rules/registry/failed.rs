//! What *registry* does after a failed lookup, as the settings demand.

use super::images::{Image, RULE};
use crate::lookup::{Class, Failure};
use crate::pod::{Entry, Pod, Pull, Sentence, What};
use crate::request::Operation;
use crate::sanitize::sanitize;
use crate::settings::Action;

/// Does what the settings demand after the lookup of this image failed. Returns the report of the
/// lookup. It has no sentence if a report of the image has it.
pub fn use_failure<'o>(pod: &mut Pod<'o>, image: &Image<'o>, failure: Failure) -> Entry<'o> {
    let (class, reference) = (failure.class(), image.reference);
    let action = action(pod, image, class);
    let done = match action {
        Action::UseCached if !use_cached(pod, image, failure) => Action::Allow,
        done => done,
    };
    let rejects = action == Action::Reject;
    let report = match class {
        // `podTemplates` decides, because a person is there to read it.
        Class::NotFound if pod.request.operation == Operation::Template => Some(What::NotFound),
        _ => rejects.then_some(What::WrongImage),
    };
    let is_of_pull = report.is_some();
    let sentence = move |pull: &Pull, image: &str| {
        let (name, problem) = (reference.lookup_name(), failure.problem());
        Sentence {
            problem: if is_of_pull {
                format!("{}'s image {image} {problem}", pull.label())
            } else {
                format!("{} {problem}", sanitize(&name))
            },
            help: failure.help(reference).to_owned(),
            repaired: None,
        }
    };
    let first = image.pulls.first().copied().unwrap_or_default();
    let lookup = What::Lookup(reference.lookup_name(), done, class);
    let Some(report) = report else {
        return Entry::new(RULE, first, lookup, sentence);
    };
    pod.entries.push(Entry {
        is_retryable: failure.is_retryable(),
        is_warning: !rejects,
        ..Entry::new(RULE, first, report, sentence)
    });
    Entry::silent(RULE, first, lookup)
}

/// What the settings demand.
fn action(pod: &Pod, image: &Image, class: Class) -> Action {
    let registry = &pod.settings.registry;
    match class {
        // Only the pod template asks for the image, so the failure rejects no Pod.
        _ if !image.is_of_pods => Action::Allow,
        Class::NotFound => registry.on_not_found,
        Class::Denied => registry.on_denied,
        Class::Unavailable | Class::NotAsked => registry.on_unavailable,
    }
}

/// Lets the pulls use the image that the node has. A digest names the same image wherever it comes
/// from. Returns whether a pull policy was lowered.
fn use_cached(pod: &mut Pod, image: &Image, failure: Failure) -> bool {
    let may_set = pod.request.operation.may_set_policies();
    if !may_set || failure.class() == Class::NotAsked || image.reference.digest.is_some() {
        return false;
    }
    let before = pod.entries.len();
    for index in &image.pulls {
        if pod.pulls.get_mut(*index).is_some_and(Pull::lower) {
            pod.entries.push(Entry {
                is_retryable: failure.is_retryable(),
                ..Entry::new(RULE, *index, What::Policy, no_digest)
            });
        }
    }
    pod.entries.len() > before
}

fn no_digest(pull: &Pull, image: &str) -> Sentence {
    Sentence::of_policy(pull, image, "its registry gives no digest", None)
}
