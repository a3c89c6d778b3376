//! Failed lookups: their classes, and their causes with the sentences about them.

use serde::Serialize;

use crate::image::Reference;

/// The classes of failed lookups. Three settings say what happens in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Class {
    /// The tag, digest or repository does not exist.
    NotFound,
    /// The registry or the host refuses, in whatever words.
    Denied,
    /// Nobody answered, or the registry can't answer now.
    Unavailable,
    /// The name of the image or the number of images is at fault, and no registry. It has the
    /// setting of `Unavailable`.
    #[serde(rename = "unavailable")]
    NotAsked,
}

/// The causes of failed lookups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    NotFound,
    /// The registry refuses, in words or with HTTP 403.
    Denied,
    /// HTTP 401. The host writes the same text if the server failed that gives out tokens.
    Unauthorized,
    /// The registry refuses because of a quota, or of a bill.
    Quota,
    /// The registry wants somebody to accept its terms.
    Terms,
    /// The registry refuses because of a scanner's report, a quarantine or a missing signature.
    Scan,
    RateLimited,
    /// There is no connection, no DNS, a TLS error or a time-out.
    Unreachable,
    /// HTTP 408 or 5xx.
    ServerError,
    /// The registry says in words that it can't answer now.
    Unavailable,
    /// The host can't read the name of the image. Hosts read no IPv6 addresses.
    UnreadableName,
    /// A node and the policy server read the host of the image in different ways.
    AmbiguousHost,
    /// The host doesn't grant lookups to this policy.
    NotGranted,
    /// All lookups of the request were made already.
    Limit,
    /// Words that nobody knows.
    Unknown,
}

impl Cause {
    /// What is wrong, as a clause that follows the image.
    const fn problem(self) -> &'static str {
        match self {
            Self::NotFound => "does not exist in its registry",
            Self::Denied => "does not exist, or can't be read with the policy server's credentials",
            Self::Unauthorized => {
                "does not exist, or can't be read with the policy server's credentials, or the token \
                 server of its registry failed"
            }
            Self::Quota => "is refused by its registry because of a quota or a bill",
            Self::Terms => "is refused by its registry until somebody accepts its terms",
            Self::Scan => {
                "is refused by its registry because of a scan, a signature or a quarantine"
            }
            Self::RateLimited => {
                "can't be looked up, because its registry limits the rate of requests"
            }
            Self::Unreachable | Self::ServerError | Self::Unavailable => {
                "can't be looked up, because the policy server gets no usable answer from its registry"
            }
            Self::UnreadableName => {
                "can't be looked up, because the policy server can't read its name"
            }
            Self::AmbiguousHost => {
                "was not looked up, because a node takes the text before its first slash for a \
                 registry, and the policy server for a part of a Docker Hub repository"
            }
            Self::NotGranted => {
                "can't be looked up, because the policy server doesn't grant oci/v1/manifest_digest"
            }
            Self::Limit => "was not looked up, because a request makes at most 20 lookups",
            Self::Unknown => "can't be looked up for a reason that this policy doesn't know",
        }
    }
}

/// A lookup that gave no answer.
#[derive(Clone, Copy)]
pub struct Failure {
    pub cause: Cause,
    /// The HTTP status of the registry's answer, if the host tells it.
    pub status: Option<u16>,
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Self {
        // The host writes no number for it.
        let status = (cause == Cause::Unauthorized).then_some(401);
        Self { cause, status }
    }
}

impl Failure {
    /// The class. A registry that answers is not down, whatever it says.
    pub const fn class(self) -> Class {
        match self.cause {
            Cause::NotFound => Class::NotFound,
            Cause::RateLimited | Cause::Unreachable | Cause::ServerError | Cause::Unavailable => {
                Class::Unavailable
            }
            Cause::UnreadableName | Cause::AmbiguousHost | Cause::Limit => Class::NotAsked,
            Cause::Denied
            | Cause::Unauthorized
            | Cause::Quota
            | Cause::Terms
            | Cause::Scan
            | Cause::NotGranted
            | Cause::Unknown => Class::Denied,
        }
    }

    /// Whether the same lookup may succeed later.
    pub const fn is_retryable(self) -> bool {
        matches!(self.class(), Class::Denied | Class::Unavailable)
    }

    /// What is wrong, as a clause that follows the image.
    pub fn problem(self) -> String {
        let status = self.status.map(|status| format!(" (HTTP {status})"));
        [self.cause.problem(), status.as_deref().unwrap_or_default()].concat()
    }

    /// What a person can do about it. `image` was looked up.
    pub fn help(self, image: Reference) -> &'static str {
        let is_hex =
            |tag: &str| tag.len() == 64 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
        match self.cause {
            Cause::NotFound if image.digest.is_some() => "correct its digest or repository",
            Cause::NotFound if image.tag.is_some_and(is_hex) => "write @sha256: before a digest",
            Cause::NotFound => "correct its tag or repository",
            Cause::Denied | Cause::Unauthorized => {
                "correct its name, or give the PolicyServer a pull secret"
            }
            Cause::Quota | Cause::Terms => "look at the account with the registry",
            Cause::Scan => "look at the registry's report about it",
            Cause::RateLimited => "try again later, or skip it with registry.skipImages",
            // The PolicyServer has to name a registry with its own certificate authority, and a
            // registry without TLS.
            Cause::Unreachable => {
                "try again later, or look for the cause in the policy server's log (TLS: \
                 sourceAuthorities, HTTP: insecureSources)"
            }
            Cause::ServerError | Cause::Unavailable => {
                "try again later, or look for the cause in the policy server's log"
            }
            Cause::UnreadableName => "skip it with registry.skipImages",
            Cause::AmbiguousHost => "write its registry in lower case",
            Cause::NotGranted => "add it to hostCapabilities of the PolicyServer",
            Cause::Limit => "name fewer images in registry.images",
            Cause::Unknown => "look at the policy server's log",
        }
    }
}
