//! Failed lookups: their classes, their causes with the sentences about them, and what follows.

use serde::Serialize;

use crate::image::Reference;

/// The classes of failed lookups. Each has a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// The tag, digest or repository does not exist.
    NotFound,
    /// The registry or the host refuses, in whatever words.
    Denied,
    /// Nobody answered, or the registry can't answer now.
    Unavailable,
}

/// A cause of failed lookups: its class, what is wrong, as a clause that follows the image, and what
/// a person can do about it. A registry that answers is not down, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause(pub Class, &'static str, &'static str);

impl Cause {
    pub const NOT_FOUND: Self = Self(
        Class::NotFound,
        "does not exist in its registry",
        "correct its tag or repository",
    );
    pub const DENIED: Self = Self(
        Class::Denied,
        "does not exist, or can't be read with the policy server's credentials",
        "correct its name, or give the PolicyServer a pull secret",
    );
    /// HTTP 401. The host writes the same text if the server failed that gives out tokens.
    pub const UNAUTHORIZED: Self = Self(
        Class::Denied,
        "does not exist, or can't be read with the policy server's credentials, or the token server of \
         its registry failed",
        "correct its name, or give the PolicyServer a pull secret",
    );
    pub const QUOTA: Self = Self(
        Class::Denied,
        "is refused by its registry because of a quota or a bill",
        "look at the account with the registry",
    );
    pub const TERMS: Self = Self(
        Class::Denied,
        "is refused by its registry until somebody accepts its terms",
        "look at the account with the registry",
    );
    pub const SCAN: Self = Self(
        Class::Denied,
        "is refused by its registry because of a scan, a signature or a quarantine",
        "look at the registry's report about it",
    );
    pub const RATE_LIMITED: Self = Self(
        Class::Unavailable,
        "can't be looked up, because its registry limits the rate of requests",
        "try again later, or skip it with registry.skipImages",
    );
    /// There is no connection, no DNS, a TLS error or a time-out. The `PolicyServer` has to name a
    /// registry with its own certificate authority, and a registry without TLS.
    pub const UNREACHABLE: Self = Self(
        Class::Unavailable,
        "can't be looked up, because the policy server gets no usable answer from its registry",
        "try again later, or look for the cause in the policy server's log (TLS: sourceAuthorities, \
         HTTP: insecureSources)",
    );
    /// The registry says that it can't answer now, in words or with its HTTP status.
    pub const UNAVAILABLE: Self = Self(
        Class::Unavailable,
        "can't be looked up, because the policy server gets no usable answer from its registry",
        "try again later, or look for the cause in the policy server's log",
    );
    /// Hosts read no IPv6 addresses.
    pub const NO_NAME: Self = Self(
        Class::Unavailable,
        "can't be looked up, because the policy server can't read its name",
        "skip it with registry.skipImages",
    );
    pub const AMBIGUOUS_HOST: Self = Self(
        Class::Unavailable,
        "was not looked up, because a node takes the text before its first slash for a registry, and the \
         policy server for a part of a Docker Hub repository",
        "write its registry in lower case",
    );
    pub const NOT_GRANTED: Self = Self(
        Class::Denied,
        "can't be looked up, because the policy server doesn't grant oci/v1/manifest_digest",
        "add it to hostCapabilities of the PolicyServer",
    );
    /// All lookups of the request were made already.
    pub const LIMIT: Self = Self(
        Class::Unavailable,
        "was not looked up, because a request makes at most 20 lookups",
        "name fewer images in registry.images",
    );
    pub const UNKNOWN: Self = Self(
        Class::Denied,
        "can't be looked up for a reason that this policy doesn't know",
        "look at the policy server's log",
    );
}

/// Why a lookup gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    pub class: Class,
    problem: &'static str,
    /// The HTTP status of the registry's answer, if the host tells it.
    status: Option<u16>,
    /// What a person can do about it.
    pub help: &'static str,
    /// Whether the same lookup may succeed later.
    pub is_retryable: bool,
    /// Whether `UseCached` differs from `Allow`. A digest names the same image wherever it comes
    /// from.
    pub can_use_cached: bool,
}

impl Failure {
    /// The failure of a lookup of this image.
    pub fn new(cause: Cause, status: Option<u16>, image: Reference<'_>) -> Self {
        let Cause(class, problem, help) = cause;
        let is_hex =
            |tag: &str| tag.len() == 64 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
        let has_digest = image.digest().is_some();
        // No registry is at fault, but the name of the image or the number of images.
        let is_of_request = [Cause::NO_NAME, Cause::AMBIGUOUS_HOST, Cause::LIMIT].contains(&cause);
        Self {
            class,
            problem,
            status,
            help: match class {
                Class::NotFound if has_digest => "correct its digest or repository",
                Class::NotFound if image.tag().is_some_and(is_hex) => {
                    "write @sha256: before a digest"
                }
                _ => help,
            },
            is_retryable: !is_of_request && class != Class::NotFound,
            can_use_cached: !is_of_request && !has_digest,
        }
    }

    /// What is wrong, as a clause that follows the image.
    pub fn problem(self) -> String {
        let status = self.status.map(|status| format!(" (HTTP {status})"));
        [self.problem, status.as_deref().unwrap_or_default()].concat()
    }
}
