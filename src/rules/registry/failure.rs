//! The ways in which a lookup fails, told by the stable parts of the host's text.

use crate::settings::{ImageLookupSettings, LookupFailureAction};

/// The ways in which a lookup fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Failure {
    /// The tag or repository does not exist.
    NotFound,
    /// 401 or 403.
    Denied,
    /// 429.
    RateLimited,
    /// No connection, DNS, TLS, time-out, 5xx.
    Unreachable,
    /// Any other answer.
    Unknown,
    /// The host did not let the policy ask; no failure of a registry.
    NotGranted,
}

impl Failure {
    /// The class as it stands in the audit annotation.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::NotFound => "notFound",
            Self::Denied => "denied",
            Self::RateLimited => "rateLimited",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
            Self::NotGranted => "notGranted",
        }
    }

    /// Classifies a host's text by its stable parts: the first of them decides, because what a
    /// registry wrote itself comes after it and can say anything.
    ///
    /// Source: the errors of `oci-client` 0.17 and of Kubewarden's policy-evaluator 0.32.
    #[must_use]
    pub fn classify(text: &str) -> Self {
        type Classify = fn(&str) -> Failure;
        let parts: [(&str, Classify); 5] = [
            ("has not been granted access", |_| Self::NotGranted),
            ("Not authorized:", |_| Self::Denied),
            ("error sending request for url", |_| Self::Unreachable),
            ("Server error: url", Self::of_status),
            ("OCI API errors: [", Self::of_message),
        ];
        parts
            .into_iter()
            .filter_map(|(part, classify)| {
                let (before, after) = text.split_once(part)?;
                Some((before.len(), classify, after))
            })
            .min_by_key(|(position, ..)| *position)
            .map_or(Self::Unknown, |(_, classify, after)| classify(after))
    }

    /// By an HTTP status: ` …, code: 404, message: …`.
    fn of_status(text: &str) -> Self {
        let status: Option<u16> = text
            .split_once(", code: ")
            .and_then(|(_, rest)| rest.get(..3))
            .and_then(|digits| digits.parse().ok());
        match status {
            Some(401 | 403) => Self::Denied,
            Some(404) => Self::NotFound,
            Some(429) => Self::RateLimited,
            Some(500..=599) => Self::Unreachable,
            _ => Self::Unknown,
        }
    }

    /// By the message that a registry wrote: the client does not print the error's code, so
    /// these are the words of distribution, Docker Hub, ghcr.io, Quay, Harbor, ECR, ACR and
    /// Artifact Registry.
    fn of_message(text: &str) -> Self {
        const WORDS: [(&str, Failure); 16] = [
            ("rate limit", Failure::RateLimited),
            ("too many requests", Failure::RateLimited),
            ("toomanyrequests", Failure::RateLimited),
            ("not authorized", Failure::Denied),
            ("manifest unknown", Failure::NotFound),
            ("not known to registry", Failure::NotFound),
            ("name unknown", Failure::NotFound),
            ("not found", Failure::NotFound),
            ("does not exist", Failure::NotFound),
            ("was deleted", Failure::NotFound),
            ("access to the resource is denied", Failure::Denied),
            ("unauthorized", Failure::Denied),
            ("authentication required", Failure::Denied),
            ("denied", Failure::Denied),
            ("forbidden", Failure::Denied),
            ("service unavailable", Failure::Unreachable),
        ];
        let message = text.lines().next().unwrap_or_default().to_ascii_lowercase();
        WORDS
            .into_iter()
            .find(|(word, _)| message.contains(word))
            .map_or(Self::Unknown, |(_, failure)| failure)
    }

    /// What the settings say to do.
    #[must_use]
    pub const fn action(self, lookup: &ImageLookupSettings) -> LookupFailureAction {
        match self {
            Self::NotFound => lookup.on_not_found,
            Self::Denied => lookup.on_denied,
            Self::RateLimited => lookup.on_rate_limited,
            Self::Unreachable => lookup.on_unreachable,
            Self::Unknown | Self::NotGranted => lookup.on_unknown,
        }
    }
}
