//! Failed lookups. Fixed phrases in the host's error text decide their class.

/// Why a lookup gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The class of the failure.
    pub(crate) class: Class,
    /// The HTTP status of the registry's answer, if the host tells it.
    status: Option<u16>,
    /// Whether the registry was asked.
    pub(crate) was_asked: bool,
    /// The host capability of the call that failed or was not made.
    pub(crate) capability: &'static str,
}

impl Failure {
    /// A lookup that was not made.
    pub(super) const fn not_asked(class: Class, capability: &'static str) -> Self {
        Self {
            class,
            status: None,
            was_asked: false,
            capability,
        }
    }

    /// A lookup that failed, with the host's error text.
    pub(super) fn of(text: &str, capability: &'static str) -> Self {
        let (class, status) = classify(text);
        let was_asked = !matches!(class, Class::NotGranted | Class::NoName);
        Self {
            class,
            status,
            was_asked,
            capability,
        }
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
            Class::Denied => {
                "does not exist, or can't be read with the policy server's credentials"
            }
            Class::RateLimited => {
                "can't be looked up, because its registry limits the rate of requests"
            }
            Class::Unreachable if self.was_asked => {
                "can't be looked up, because the policy server gets no usable answer from its registry"
            }
            Class::Unreachable => {
                "was not looked up, because the policy server just got no usable answer from its registry"
            }
            Class::NoName => "can't be looked up, because the policy server can't read its name",
            Class::Unknown => "can't be looked up for a reason that this policy doesn't know",
        };
        let status = self
            .status
            .map(|status| format!(" (HTTP {status})"))
            .unwrap_or_default();
        [problem, &status].concat()
    }

    /// What a person can do about it.
    pub(crate) const fn help(&self) -> &'static str {
        match self.class {
            Class::NotGranted => "add it to hostCapabilities of the PolicyServer",
            Class::Limit => "name fewer images in registry.images",
            Class::NotFound => "correct its tag or repository",
            Class::Denied => "correct its name, or give the PolicyServer a pull secret",
            Class::RateLimited => "try again later, or skip it with registry.skipImages",
            Class::Unreachable if self.status.is_some() => {
                "try again later, or look for the cause in the policy server's log"
            }
            // The PolicyServer has to name a registry with its own certificate authority, and a registry without TLS.
            Class::Unreachable => {
                "try again later, or look for the cause in the policy server's log (TLS: sourceAuthorities, HTTP: \
                 insecureSources)"
            }
            Class::NoName => "skip it with registry.skipImages",
            Class::Unknown => "look at the policy server's log",
        }
    }
}

/// The classes of failed lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// The tag, digest or repository does not exist.
    NotFound,
    /// The registry denies access: 401 or 403.
    Denied,
    /// The registry limits the number of requests: 429.
    RateLimited,
    /// The registry is not available: no connection, DNS, TLS, time-out, 5xx.
    Unreachable,
    /// The host can't read the name of the image, so no registry was asked. Hosts read no IPv6 addresses.
    NoName,
    /// Any other failure.
    Unknown,
    /// The host doesn't grant this policy a capability that the lookup needs. The registry did not fail.
    NotGranted,
    /// All lookups of the request were made already. The registry did not fail.
    Limit,
}

/// Reads the text after a phrase: the class, and the HTTP status.
type Reader = fn(&str) -> (Class, Option<u16>);

/// The phrases that decide the class. Source: the errors of `oci-client` 0.17 and of Kubewarden's policy-evaluator 0.32.
const PHRASES: [(&str, Reader); 7] = [
    ("has not been granted access", |_| (Class::NotGranted, None)),
    // The answer 401, whatever it says.
    ("Not authorized:", |_| (Class::Denied, Some(401))),
    ("error sending request for url", |_| {
        (Class::Unreachable, None)
    }),
    ("Server error: url", of_status),
    ("OCI API errors: [", |text| (of_message(text), None)),
    ("invalid reference format", |_| (Class::NoName, None)),
    ("repository name must", |_| (Class::NoName, None)),
];

/// The rest of an error that has a code and no message.
const NO_MESSAGE: &str = "OCI API error: ]";

/// Words in the message of a registry. The first that a message contains decides its class. They come from messages of
/// distribution, Docker Hub, ghcr.io, Quay, Harbor, Artifactory, ECR, ACR and Artifact Registry.
const WORDS: [(&str, Class); 23] = [
    ("rate limit", Class::RateLimited),
    ("too many requests", Class::RateLimited),
    ("toomanyrequests", Class::RateLimited),
    ("rate exceeded", Class::RateLimited),
    ("not authorized", Class::Denied),
    ("not have permission", Class::Denied),
    ("may require 'docker login'", Class::Denied),
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
            Self::NoName | Self::Unknown => "unknown",
            Self::NotGranted => "notGranted",
            Self::Limit => "limit",
        }
    }
}

/// The class of a host's error text, and the HTTP status in it. The phrase that comes first decides, because the registry's
/// own message comes later and can contain any other phrase.
fn classify(text: &str) -> (Class, Option<u16>) {
    let found = PHRASES.into_iter().filter_map(|(phrase, read)| {
        let (before, after) = text.split_once(phrase)?;
        Some((before.len(), read, after))
    });
    let first = found.min_by_key(|(position, ..)| *position);
    first.map_or((Class::Unknown, None), |(_, read, after)| read(after))
}

/// Reads a text such as ` …, code: 404, message: …`.
fn of_status(text: &str) -> (Class, Option<u16>) {
    let status = text
        .split_once(", code: ")
        .and_then(|(_, rest)| rest.get(..3)?.parse().ok());
    let class = match status {
        Some(401 | 403) => Class::Denied,
        Some(404) => Class::NotFound,
        Some(429) => Class::RateLimited,
        Some(500..=599) => Class::Unreachable,
        _ => Class::Unknown,
    };
    (class, status)
}

/// Reads the first line of a registry's message. `oci-client` doesn't print the registry's error code, so an error without a
/// message could have any code. Nearly always it is the code of something that doesn't exist.
fn of_message(text: &str) -> Class {
    if text.starts_with(NO_MESSAGE) {
        return Class::NotFound;
    }
    let message = text
        .lines()
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase()
        .replace('_', " ");
    let mut words = WORDS.into_iter();
    words
        .find(|(word, _)| message.contains(word))
        .map_or(Class::Unknown, |(_, class)| class)
}
