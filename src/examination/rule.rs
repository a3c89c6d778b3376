//! The ids of the rules.

use serde::Serialize;

/// The id of a rule, in annotations and in the documentation. The order is that of importance: the
/// findings of the first rule come first in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Rule {
    InvalidImage,
    DisallowedPolicy,
    Registry,
    WeakCheck,
    MissingCheck,
    StaleCheck,
    PullOnce,
}
