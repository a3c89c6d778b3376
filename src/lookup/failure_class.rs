//! The classes of failed lookups. Fixed phrases in the host's error text decide the class.

/// The classes of failed lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureClass {
    /// The tag, digest or repository does not exist.
    NotFound,
    /// The registry denies access: 401 or 403.
    Denied,
    /// The registry limits the number of requests: 429.
    RateLimited,
    /// The registry is not available: no connection, DNS, TLS, time-out, 5xx.
    Unreachable,
    /// `registry.maxLookups` lookups were already made in this request. The registry did not fail, but
    /// `registry.onUnreachable` decides about the image.
    LimitReached,
    /// Any other failure.
    Unknown,
    /// The host doesn't grant this policy a host capability that the lookup needs. The registry did
    /// not fail.
    NotGranted,
}

impl FailureClass {
    /// The name of the class in the audit annotation `lookups`.
    pub const fn id(self) -> &'static str {
        match self {
            Self::NotFound => "notFound",
            Self::Denied => "denied",
            Self::RateLimited => "rateLimited",
            Self::Unreachable | Self::LimitReached => "unreachable",
            Self::Unknown => "unknown",
            Self::NotGranted => "notGranted",
        }
    }

    /// Classifies a host's error text by the fixed phrases (`parts`) in it. The phrase that comes first
    /// decides, because the registry's own message comes later and can contain any other phrase.
    ///
    /// Source: the errors of `oci-client` 0.17 and of Kubewarden's policy-evaluator 0.32.
    pub fn classify(text: &str) -> Self {
        type Classify = fn(&str) -> FailureClass;
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

    /// Classifies by the HTTP status in a text such as ` …, code: 404, message: …`.
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

    /// Classifies by the first line of a registry's message. `oci-client` doesn't print the registry's
    /// error code, so the first entry of `WORDS` that this line contains decides. The entries come from
    /// messages of distribution, Docker Hub, ghcr.io, Quay, Harbor, Artifactory, ECR, ACR and Artifact Registry.
    fn of_message(text: &str) -> Self {
        const WORDS: [(&str, FailureClass); 21] = [
            ("rate limit", FailureClass::RateLimited),
            ("too many requests", FailureClass::RateLimited),
            ("toomanyrequests", FailureClass::RateLimited),
            ("rate exceeded", FailureClass::RateLimited),
            ("not authorized", FailureClass::Denied),
            ("manifest unknown", FailureClass::NotFound),
            ("not known to registry", FailureClass::NotFound),
            ("not known to the registry", FailureClass::NotFound),
            ("name unknown", FailureClass::NotFound),
            ("not found", FailureClass::NotFound),
            ("does not exist", FailureClass::NotFound),
            ("was deleted", FailureClass::NotFound),
            ("failed to fetch \"", FailureClass::NotFound),
            ("access to the resource is denied", FailureClass::Denied),
            ("unauthorized", FailureClass::Denied),
            ("authentication required", FailureClass::Denied),
            ("unauthenticated request", FailureClass::Denied),
            ("authorization token has expired", FailureClass::Denied),
            ("denied", FailureClass::Denied),
            ("forbidden", FailureClass::Denied),
            ("service unavailable", FailureClass::Unreachable),
        ];
        let message = text.lines().next().unwrap_or_default().to_ascii_lowercase();
        WORDS
            .into_iter()
            .find(|(word, _)| message.contains(word))
            .map_or(Self::Unknown, |(_, failure)| failure)
    }
}
