//! The ids of the rules.

use serde::Serialize;

/// The id of a rule, in annotations and in the documentation. The order is that of importance: the findings of the
/// first rule come first in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RuleId {
    /// `src/rules/invalid_image.rs`
    InvalidImage,
    /// `src/rules/stuck_pull.rs`
    StuckPull,
    /// `src/rules/disallowed_policy.rs`
    DisallowedPolicy,
    /// `src/rules/registry.rs`
    Registry,
    /// `src/rules/weak_check.rs`
    WeakCheck,
    /// `src/rules/missing_check.rs`
    MissingCheck,
    /// `src/rules/default.rs`
    Default,
    /// `src/rules/outdated_check.rs`
    OutdatedCheck,
    /// `src/rules/pull_once.rs`
    PullOnce,
}
