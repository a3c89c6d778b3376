//! Pull policies: their strength, and the defaults of the API server.

use crate::image::Reference;

/// A pull policy. The values are ordered by strength: `Always` > `IfNotPresent` > `Never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PullPolicy {
    /// The kubelet uses the image on the node and never asks the registry.
    Never,
    /// The kubelet asks the registry if the image is not on the node.
    IfNotPresent,
    /// The kubelet asks the registry each time.
    Always,
}

impl PullPolicy {
    /// Returns the pull policy with this name.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "Always" => Some(Self::Always),
            "IfNotPresent" => Some(Self::IfNotPresent),
            "Never" => Some(Self::Never),
            _ => None,
        }
    }

    /// The name of the pull policy in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// Returns the pull policy that the API server writes if none is set. An image with the tag
/// `latest` gets `Always`, even if it has a digest too. An image with neither tag nor digest counts
/// as `latest`. Any other image gets `IfNotPresent`, and so does a text that can't be parsed.
#[must_use]
pub fn server_default(image: &str) -> PullPolicy {
    match Reference::parse(image) {
        Some(image) if image.tag.as_deref() == Some("latest") => PullPolicy::Always,
        _ => PullPolicy::IfNotPresent,
    }
}
