//! Pull policies: their strength, and what the API server writes where none is set.

use crate::image::Reference;

/// A pull policy; "Strength: Always > `IfNotPresent` > Never".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PullPolicy {
    /// Takes what lies on the node.
    Never,
    /// Asks the registry where the node has nothing.
    IfNotPresent,
    /// Asks the registry each time.
    Always,
}

impl PullPolicy {
    /// The policy of that name.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "Always" => Some(Self::Always),
            "IfNotPresent" => Some(Self::IfNotPresent),
            "Never" => Some(Self::Never),
            _ => None,
        }
    }

    /// Its name in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// What the API server writes when no policy is set: "a parse error gives `IfNotPresent`; with
/// neither tag nor digest the tag is `latest`; tag exactly `latest` gives Always, with a digest
/// too" (facts).
#[must_use]
pub fn server_default(image: &str) -> PullPolicy {
    match Reference::parse(image) {
        Some(image) if image.tag.as_deref() == Some("latest") => PullPolicy::Always,
        _ => PullPolicy::IfNotPresent,
    }
}
