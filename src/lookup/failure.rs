//! Failed lookups: their classes, and the sentences about them.

use serde::Serialize;

use super::words::read;
use crate::image::Reference;

/// Why a lookup gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(super) cause: Cause,
    /// The HTTP status of the registry's answer, if the host tells it.
    status: Option<u16>,
    /// Whether the image has a digest.
    has_digest: bool,
    /// Whether the tag of the image looks like a digest without `sha256:`.
    has_digest_as_tag: bool,
}

/// The classes of failed lookups. Each has a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Class {
    /// The tag, digest or repository does not exist.
    NotFound,
    /// The registry or the host refuses, in whatever words.
    Denied,
    /// Nobody answered, or the registry can't answer now.
    Unavailable,
}

/// The causes of failed lookups. Each has a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    NotFound,
    Denied,
    /// The registry refuses because of a quota, or of a bill.
    Quota,
    /// The registry wants somebody to accept its terms.
    Terms,
    /// The registry refuses because of a scanner's report, a quarantine or a missing signature.
    Scan,
    /// The registry limits the rate of requests.
    RateLimited,
    /// There is no connection, no DNS, a TLS error, a time-out, or a 5xx.
    Unreachable,
    /// The registry says that it can't answer now.
    Unavailable,
    /// The host can't read the name of the image. Hosts read no IPv6 addresses.
    NoName,
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
    /// The class of the cause. A registry that answers is not down, whatever it says.
    pub(super) const fn class(self) -> Class {
        match self {
            Self::NotFound => Class::NotFound,
            Self::RateLimited
            | Self::Unreachable
            | Self::Unavailable
            | Self::NoName
            | Self::AmbiguousHost
            | Self::Limit => Class::Unavailable,
            Self::Denied
            | Self::Quota
            | Self::Terms
            | Self::Scan
            | Self::NotGranted
            | Self::Unknown => Class::Denied,
        }
    }
}

impl Failure {
    /// A lookup of this image that was not made.
    pub(super) fn new(cause: Cause, image: Reference<'_>) -> Self {
        let is_hex =
            |tag: &str| tag.len() == 64 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
        Self {
            cause,
            status: None,
            has_digest: image.digest().is_some(),
            has_digest_as_tag: image.tag().is_some_and(is_hex),
        }
    }

    /// A lookup of this image that failed, with the host's error text.
    pub(super) fn read(text: &str, image: Reference<'_>) -> Self {
        let (cause, status) = read(text);
        Self {
            status,
            ..Self::new(cause, image)
        }
    }

    /// The class of the failure.
    pub(crate) const fn class(self) -> Class {
        self.cause.class()
    }

    /// Whether no registry is at fault, but the name of the image or the number of images.
    const fn is_of_request(self) -> bool {
        matches!(
            self.cause,
            Cause::NoName | Cause::AmbiguousHost | Cause::Limit
        )
    }

    /// Whether the same lookup may succeed later.
    pub(crate) const fn is_retryable(self) -> bool {
        !self.is_of_request() && !matches!(self.cause, Cause::NotFound)
    }

    /// Whether `UseCached` differs from `Allow`. A digest names the same image wherever it comes
    /// from.
    pub(crate) const fn can_use_cached(self) -> bool {
        !self.is_of_request() && !self.has_digest
    }

    /// What is wrong, as a clause that follows the image.
    pub(crate) fn problem(self) -> String {
        let problem = match self.cause {
            Cause::NotFound => "does not exist in its registry",
            // The host writes the same text if the server failed that gives out tokens.
            Cause::Denied if self.status == Some(401) => {
                "does not exist, or can't be read with the policy server's credentials, or the token \
                 server of its registry failed"
            }
            Cause::Denied => {
                "does not exist, or can't be read with the policy server's credentials"
            }
            Cause::Quota => "is refused by its registry because of a quota or a bill",
            Cause::Terms => "is refused by its registry until somebody accepts its terms",
            Cause::Scan => {
                "is refused by its registry because of a scan, a signature or a quarantine"
            }
            Cause::RateLimited => {
                "can't be looked up, because its registry limits the rate of requests"
            }
            Cause::Unreachable | Cause::Unavailable => {
                "can't be looked up, because the policy server gets no usable answer from its registry"
            }
            Cause::NoName => "can't be looked up, because the policy server can't read its name",
            Cause::AmbiguousHost => {
                "was not looked up, because a node takes the text before its first slash for a \
                 registry, and the policy server for a part of a Docker Hub repository"
            }
            Cause::NotGranted => {
                "can't be looked up, because the policy server doesn't grant oci/v1/manifest_digest"
            }
            Cause::Limit => "was not looked up, because a request makes at most 20 lookups",
            Cause::Unknown => "can't be looked up for a reason that this policy doesn't know",
        };
        let status = self.status.map(|status| format!(" (HTTP {status})"));
        [problem, status.as_deref().unwrap_or_default()].concat()
    }

    /// What a person can do about it.
    pub(crate) const fn help(self) -> &'static str {
        match self.cause {
            Cause::NotFound if self.has_digest => "correct its digest or repository",
            Cause::NotFound if self.has_digest_as_tag => "write @sha256: before a digest",
            Cause::NotFound => "correct its tag or repository",
            Cause::Denied => "correct its name, or give the PolicyServer a pull secret",
            Cause::Quota | Cause::Terms => "look at the account with the registry",
            Cause::Scan => "look at the registry's report about it",
            Cause::RateLimited => "try again later, or skip it with registry.skipImages",
            // The PolicyServer has to name a registry with its own certificate authority, and a
            // registry without TLS.
            Cause::Unreachable if self.status.is_none() => {
                "try again later, or look for the cause in the policy server's log (TLS: \
                 sourceAuthorities, HTTP: insecureSources)"
            }
            Cause::Unreachable | Cause::Unavailable => {
                "try again later, or look for the cause in the policy server's log"
            }
            Cause::NoName => "skip it with registry.skipImages",
            Cause::AmbiguousHost => "write its registry in lower case",
            Cause::NotGranted => "add it to hostCapabilities of the PolicyServer",
            Cause::Limit => "name fewer images in registry.images",
            Cause::Unknown => "look at the policy server's log",
        }
    }
}
