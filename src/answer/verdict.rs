//! What each mode and a pod template do with each kind of entry.

use crate::entry::{Entry, What};
use crate::lookup::Class;
use crate::request::Operation;
use crate::settings::{Action, Mode, PodTemplates, Settings};

/// What happens with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The request is rejected.
    Rejects,
    /// There is a warning.
    Warns,
    /// The change is made, or would be made in the Pods of a pod template.
    Repairs,
    /// Nothing is said: it is no finding, or another entry says it.
    Silent,
}

/// The verdict about an entry, and the beginning of its sentence in a pod template: what would
/// become of the Pods.
pub(super) fn verdict(
    entry: &Entry<'_>,
    settings: &Settings,
    operation: Operation,
) -> (Verdict, &'static str) {
    use Verdict::{Rejects, Repairs, Silent, Warns};
    let is_template = operation == Operation::Template;
    let of_pods = match (&entry.what, settings.mode) {
        (What::Lookup(_, Action::Reject, _), _) => return (Silent, ""),
        (What::Lookup(_, _, failure), _) if is_template && failure.class() == Class::NotFound => {
            return (Silent, "");
        }
        (What::Image(_) | What::Policy(_) | What::Check(_), Mode::Fix) => Repairs,
        (What::Image(_) | What::Policy(_) | What::Check(_), _) if entry.sentence.is_none() => {
            Silent
        }
        (_, Mode::Warn) => Warns,
        (What::Image(_) | What::Policy(_) | What::Check(_) | What::Refusal(_), _) => Rejects,
        (What::NoCheck { rejects_pods } | What::NotFound { rejects_pods }, _) if *rejects_pods => {
            Rejects
        }
        _ => Warns,
    };
    let prefix = match (of_pods, &entry.what) {
        _ if !is_template => return (of_pods, ""),
        (Rejects, _) => "its Pods would be rejected: ",
        (Warns, What::NotFound { .. }) => "its Pods would wait: ",
        _ => return (of_pods, ""),
    };
    match (settings.mode, settings.pod_templates) {
        (Mode::Fix | Mode::Reject, PodTemplates::Reject) => (Rejects, prefix),
        _ => (Warns, prefix),
    }
}
