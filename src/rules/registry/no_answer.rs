//! Lookups that gave no answer, and what the settings demand.

use crate::examination::{Place, Reason};
use crate::lookup::{Class, Failure};
use crate::settings::{Action, ImageLookup};

/// What the settings demand after a failure of this class.
pub(super) fn action(lookup: ImageLookup<'_>, class: Class) -> Action {
    let (registry, own) = (lookup.registry, lookup.own);
    let (of_image, of_all) = match class {
        Class::NotFound => (own.and_then(|own| own.on_not_found), registry.on_not_found),
        Class::Denied => (own.and_then(|own| own.on_denied), registry.on_denied),
        Class::RateLimited => (
            own.and_then(|own| own.on_rate_limited),
            registry.on_rate_limited,
        ),
        Class::Unreachable => (
            own.and_then(|own| own.on_unreachable),
            registry.on_unreachable,
        ),
        Class::NoName | Class::Unknown | Class::NotGranted | Class::Limit => {
            (own.and_then(|own| own.on_unknown), registry.on_unknown)
        }
    };
    of_image.unwrap_or(of_all)
}

/// There is no answer, and the setting for this failure is `Reject`.
#[derive(Debug)]
pub(super) struct NoAnswer(pub(super) Failure);

impl Reason for NoAnswer {
    fn problem(&self, place: &Place<'_>) -> String {
        format!(
            "{}'s image {} {}",
            place.shown_name(),
            place.shown_image(),
            self.0.problem()
        )
    }

    fn help(&self, _: &Place<'_>) -> String {
        self.0.help().to_owned()
    }

    fn is_momentary(&self) -> bool {
        self.0.is_momentary()
    }
}
