//! Lookups that gave no answer, and what the settings demand.

use crate::examination::{Place, Reason, Rule};
use crate::lookup::{Class, Failure};
use crate::settings::{Action, ImageLookup};

/// What the settings demand after a failure of this class.
pub(super) const fn action(lookup: ImageLookup, class: Class) -> Action {
    match class {
        Class::NotFound => lookup.on_not_found,
        Class::Denied => lookup.on_denied,
        Class::RateLimited => lookup.on_rate_limited,
        Class::Unreachable => lookup.on_unreachable,
        Class::NoName | Class::Unknown | Class::NotGranted | Class::Limit => lookup.on_unknown,
    }
}

/// There is no answer, and the setting for this failure is `Reject`.
#[derive(Debug)]
pub(super) struct NoAnswer(pub(super) Failure);

impl Reason for NoAnswer {
    fn rule(&self) -> Rule {
        Rule::Registry
    }

    fn problem(&self, place: &Place<'_>) -> String {
        format!("{}'s image {} {}", place.shown_name(), place.shown_image(), self.0.problem())
    }

    fn help(&self, _: &Place<'_>) -> String {
        self.0.help().to_owned()
    }

    fn is_momentary(&self) -> bool {
        self.0.is_momentary()
    }
}
