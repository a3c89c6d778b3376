//! The mode of one request. It follows from the settings `mode` and `templates`, and from whether the
//! object has a pod template.

use crate::findings::{Finding, Repairability};
use crate::request::ExaminedObject;
use crate::settings::{Mode, PodTemplateAction, Settings};

/// The mode of one request. The mode decides what happens to the findings of this request. A finding
/// that is only advice never rejects the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectiveMode {
    /// Findings are repaired. A finding without a repair rejects the request.
    Fix,
    /// Each finding rejects the request.
    Reject,
    /// Each finding is a warning.
    Warn,
}

impl EffectiveMode {
    /// The mode for an object. None if the object has a pod template and `templates` is `Off`.
    pub(crate) fn of(object: &ExaminedObject<'_>, settings: &Settings) -> Option<Self> {
        match (object.request_type.is_template(), settings.templates) {
            (true, PodTemplateAction::Off) => return None,
            (true, PodTemplateAction::Warn) => return Some(Self::Warn),
            (true, PodTemplateAction::Enforce) | (false, _) => {}
        }
        Some(match settings.mode {
            Mode::Fix => Self::Fix,
            Mode::Reject => Self::Reject,
            Mode::Warn => Self::Warn,
        })
    }

    /// Whether a finding rejects the request.
    pub(crate) fn rejects(self, finding: &Finding<'_>) -> bool {
        match finding.repairability {
            Repairability::Advice => false,
            Repairability::Repairable => self == Self::Reject,
            Repairability::Unrepairable => self != Self::Warn,
        }
    }
}
