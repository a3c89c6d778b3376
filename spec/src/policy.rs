//! Pull policies: their strength, and the defaults of the API server.

use crate::image::Reference;

/// A pull policy. The values are ordered by strength: `Always` > `IfNotPresent` > `Never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PullPolicy {
    /// The kubelet uses the image on the node and never asks the registry.
    Never,
    /// The kubelet asks the registry if the image is not on the node.
    IfNotPresent,
    /// The kubelet asks the registry each time a container starts.
    Always,
}

impl PullPolicy {
    /// Returns the pull policy whose name is `text`, or `None` if there is no such pull policy.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        match text {
            "Always" => Some(Self::Always),
            "IfNotPresent" => Some(Self::IfNotPresent),
            "Never" => Some(Self::Never),
            _ => None,
        }
    }

    /// The name of the pull policy in the Kubernetes API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}

/// Returns the pull policy that the API server writes if a container sets none. An image with the tag
/// `latest` gets `Always`, even if it has a digest too. An image with neither tag nor digest counts
/// as `latest`. Any other image, and a text that can't be parsed, gets `IfNotPresent`.
#[must_use]
pub fn server_default(image: &str) -> PullPolicy {
    match Reference::parse(image) {
        Some(image) if image.tag.as_deref() == Some("latest") => PullPolicy::Always,
        _ => PullPolicy::IfNotPresent,
    }
}
