//! What each mode and a pod template do with each kind of entry.

use crate::pod::{Entry, Pod, What};
use crate::request::Operation;
use crate::settings::{Mode, PodTemplates};

/// What happens with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The request is rejected.
    Rejects,
    /// There is a warning.
    Warns,
    /// The change is made, or would be made in the Pods of a pod template.
    Repairs,
    /// Nothing is said.
    Silent,
}

/// The verdict about an entry, and how its sentence begins in a pod template: with what would
/// become of the Pods.
pub fn verdict(pod: &Pod, entry: &Entry) -> (Verdict, &'static str) {
    let settings = pod.settings;
    let of_pods = match (settings.mode, &entry.what) {
        _ if entry.sentence.is_none() => Verdict::Silent,
        (Mode::Fix, What::Image | What::Policy | What::Check(_)) => Verdict::Repairs,
        (Mode::Warn, _) | (_, What::Lookup(..)) => Verdict::Warns,
        _ if entry.is_warning => Verdict::Warns,
        _ => Verdict::Rejects,
    };
    let prefix = match (of_pods, &entry.what) {
        _ if pod.request.operation != Operation::Template => "",
        (Verdict::Rejects, _) => "its Pods would be rejected: ",
        (Verdict::Warns, What::NotFound) => "its Pods would wait: ",
        _ => "",
    };
    let verdict = match (settings.mode, settings.pod_templates) {
        _ if prefix.is_empty() => of_pods,
        (Mode::Fix | Mode::Reject, PodTemplates::Reject) => Verdict::Rejects,
        _ => Verdict::Warns,
    };
    (verdict, prefix)
}
