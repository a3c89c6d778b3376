//! Failed lookups. Fixed phrases in the host's error text decide their class.

/// Why a lookup gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The class of the failure.
    pub(crate) class: Class,
    /// Whether the host was called.
    pub(crate) was_asked: bool,
    /// The host capability of the call that failed or was not made.
    pub(crate) capability: &'static str,
}

impl Failure {
    /// A lookup that was not made.
    pub(super) const fn not_asked(class: Class, capability: &'static str) -> Self {
        Self { class, was_asked: false, capability }
    }

    /// Whether the same lookup may succeed later. It can't if the image doesn't exist, or if the request has too many images.
    pub(crate) const fn is_momentary(&self) -> bool {
        !matches!(self.class, Class::NotFound | Class::Limit)
    }

    /// What is wrong, as a clause that follows the image.
    pub(crate) fn problem(&self) -> String {
        let problem = match self.class {
            Class::NotGranted => {
                return format!(
                    "can't be looked up, because the policy server doesn't grant {}",
                    self.capability
                );
            }
            Class::Limit => "was not looked up, because a request makes at most 20 lookups",
            Class::NotFound => "does not exist in its registry",
            Class::Denied => "can't be looked up with the policy server's credentials",
            Class::RateLimited => {
                "can't be looked up, because its registry limits the rate of requests"
            }
            Class::Unreachable if self.was_asked => "has a registry that gives no answer",
            Class::Unreachable => "was not looked up, because its registry just gave no answer",
            Class::Unknown => "has a registry whose answer this policy doesn't understand",
        };
        problem.to_owned()
    }

    /// What a person can do about it.
    pub(crate) const fn help(&self) -> &'static str {
        match self.class {
            Class::NotGranted => "add it to hostCapabilities of the PolicyServer",
            Class::Limit => "name fewer images in registry.images",
            Class::NotFound => "correct its tag or repository",
            Class::Denied => "give the PolicyServer a pull secret",
            Class::RateLimited => "try again later, or skip it with registry.skipImages",
            Class::Unreachable => "try again later",
            Class::Unknown => "look at the policy server's log",
        }
    }
}

/// The classes of failed lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The tag, digest or repository does not exist.
    NotFound,
    /// The registry denies access: 401 or 403.
    Denied,
    /// The registry limits the number of requests: 429.
    RateLimited,
    /// The registry is not available: no connection, DNS, TLS, time-out, 5xx.
    Unreachable,
    /// Any other failure.
    Unknown,
    /// The host doesn't grant this policy a capability that the lookup needs. The registry did not fail.
    NotGranted,
    /// All lookups of the request were made already. The registry did not fail.
    Limit,
}

/// A phrase in an error text, and the class that the rest of the text has.
type Phrase = (&'static str, fn(&str) -> Class);

/// The phrases that decide the class. Source: the errors of `oci-client` 0.17 and of Kubewarden's policy-evaluator 0.32.
const PHRASES: [Phrase; 5] = [
    ("has not been granted access", |_| Class::NotGranted),
    ("Not authorized:", |_| Class::Denied),
    ("error sending request for url", |_| Class::Unreachable),
    ("Server error: url", Class::of_status),
    ("OCI API errors: [", Class::of_message),
];

/// Words in the message of a registry. The first that a message contains decides its class. They come from messages of
/// distribution, Docker Hub, ghcr.io, Quay, Harbor, Artifactory, ECR, ACR and Artifact Registry.
const WORDS: [(&str, Class); 21] = [
    ("rate limit", Class::RateLimited),
    ("too many requests", Class::RateLimited),
    ("toomanyrequests", Class::RateLimited),
    ("rate exceeded", Class::RateLimited),
    ("not authorized", Class::Denied),
    ("manifest unknown", Class::NotFound),
    ("not known to registry", Class::NotFound),
    ("not known to the registry", Class::NotFound),
    ("name unknown", Class::NotFound),
    ("not found", Class::NotFound),
    ("does not exist", Class::NotFound),
    ("was deleted", Class::NotFound),
    ("failed to fetch \"", Class::NotFound),
    ("access to the resource is denied", Class::Denied),
    ("unauthorized", Class::Denied),
    ("authentication required", Class::Denied),
    ("unauthenticated request", Class::Denied),
    ("authorization token has expired", Class::Denied),
    ("denied", Class::Denied),
    ("forbidden", Class::Denied),
    ("service unavailable", Class::Unreachable),
];

impl Class {
    /// The name of the class in the audit annotation `lookups`.
    pub(crate) const fn id(self) -> &'static str {
        match self {
            Self::NotFound => "notFound",
            Self::Denied => "denied",
            Self::RateLimited => "rateLimited",
            Self::Unreachable => "unreachable",
            Self::Unknown => "unknown",
            Self::NotGranted => "notGranted",
            Self::Limit => "limit",
        }
    }

    /// The class of a host's error text. The phrase that comes first decides, because the registry's own message comes
    /// later and can contain any other phrase.
    pub fn of(text: &str) -> Self {
        let found = PHRASES.into_iter().filter_map(|(phrase, class)| {
            let (before, after) = text.split_once(phrase)?;
            Some((before.len(), class, after))
        });
        let first = found.min_by_key(|(position, ..)| *position);
        first.map_or(Self::Unknown, |(_, class, after)| class(after))
    }

    /// The class of the HTTP status in a text such as ` …, code: 404, message: …`.
    fn of_status(text: &str) -> Self {
        let status = text.split_once(", code: ").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
        match status {
            Some(401 | 403) => Self::Denied,
            Some(404) => Self::NotFound,
            Some(429) => Self::RateLimited,
            Some(500..=599) => Self::Unreachable,
            _ => Self::Unknown,
        }
    }

    /// The class of the first line of a registry's message. `oci-client` doesn't print the registry's error code.
    fn of_message(text: &str) -> Self {
        let message = text.lines().next().unwrap_or_default().to_ascii_lowercase();
        let mut words = WORDS.into_iter();
        words.find(|(word, _)| message.contains(word)).map_or(Self::Unknown, |(_, class)| class)
    }
}
