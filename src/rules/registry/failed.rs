//! What *registry* does after a failed lookup, as the settings demand.

use super::images::{Image, RULE};
use crate::entry::{Entry, Sentence, What};
use crate::image::PullPolicy::{Always, IfNotPresent};
use crate::lookup::{Class, Failure};
use crate::pod::{Pod, Pull};
use crate::request::Operation;
use crate::sanitize::sanitize;
use crate::settings::Action;

/// Does what the settings demand after the lookup of this image failed. Returns the report of the
/// lookup. It has no sentence if a report of the image has it.
pub fn use_failure<'o>(
    pod: &mut Pod<'o>,
    entries: &mut Vec<Entry<'o>>,
    image: &Image<'_>,
    failure: Failure,
) -> Entry<'o> {
    let action = action(pod, image, failure);
    let can_lower = failure.can_use_cached() && pod.request.operation.may_set_policies();
    let done = match action {
        Action::UseCached if can_lower => use_cached(pod, entries, &image.pulls, failure),
        Action::UseCached => Action::Allow,
        Action::Allow | Action::Reject => action,
    };
    let rejects = action == Action::Reject;
    let what = match failure.class() {
        // `podTemplates` decides, because a person is there to read it.
        Class::NotFound if pod.request.operation == Operation::Template => Some(What::NotFound),
        _ => rejects.then_some(What::WrongImage),
    };
    let first = image.pulls.first().copied().unwrap_or_default();
    let asked = image.reference.lookup_name();
    let lookup = What::Lookup(asked.clone(), done, failure);
    let Some(what) = what else {
        let sentence = move |_: &Pull<'_>, _: &str| failed(&sanitize(&asked), failure);
        return Entry::new(RULE, first, lookup, sentence);
    };
    let sentence = move |pull: &Pull<'_>, image: &str| {
        let subject = format!("{}'s image {image}", pull.label());
        failed(&subject, failure)
    };
    entries.push(Entry {
        is_retryable: failure.is_retryable(),
        is_warning: !rejects,
        ..Entry::new(RULE, first, what, sentence)
    });
    Entry::silent(RULE, first, lookup)
}

/// What the settings demand.
fn action(pod: &Pod<'_>, image: &Image<'_>, failure: Failure) -> Action {
    let registry = &pod.settings.registry;
    match failure.class() {
        // Only the pod template asks for the image, so the failure rejects no Pod.
        _ if !image.is_of_pods(registry.lookup) => Action::Allow,
        Class::NotFound => registry.on_not_found,
        Class::Denied => registry.on_denied,
        Class::Unavailable => registry.on_unavailable,
    }
}

fn failed(image: &str, failure: Failure) -> Sentence {
    Sentence {
        problem: format!("{image} {}", failure.problem()),
        help: failure.help().to_owned(),
        repaired: None,
    }
}

/// Lets these pulls use the image that the node has: `Always` becomes `IfNotPresent`, except where
/// `images.requireAlways` matches. Returns `Allow` if nothing was lowered.
fn use_cached<'o>(
    pod: &mut Pod<'o>,
    entries: &mut Vec<Entry<'o>>,
    pulls: &[usize],
    failure: Failure,
) -> Action {
    let mut done = Action::Allow;
    for index in pulls {
        if let Some(pull) = pod.pulls.get_mut(*index)
            && pull.policy == Always
            && pull.settings.require_always.is_none()
        {
            pull.policy = IfNotPresent;
            done = Action::UseCached;
            entries.push(Entry {
                is_retryable: failure.is_retryable(),
                ..Entry::new(RULE, *index, What::Policy(IfNotPresent), no_digest)
            });
        }
    }
    done
}

fn no_digest(pull: &Pull<'_>, image: &str) -> Sentence {
    Sentence {
        problem: format!("{} but its registry gives no digest", pull.pulls(image)),
        help: pull.advice(),
        repaired: None,
    }
}
