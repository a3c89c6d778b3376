//! Failed lookups. Fixed phrases in the host's error text decide their causes.

use serde::Serialize;

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
    /// The registry denies access: 401 or 403.
    Denied,
    /// Everything else.
    Unavailable,
}

/// The causes of failed lookups. Each has a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    NotFound,
    Denied,
    /// The registry limits the number of requests.
    RateLimited,
    /// There is no connection, no DNS, a TLS error, a time-out, or a 5xx.
    Unreachable,
    /// The host can't read the name of the image. Hosts read no IPv6 addresses.
    NoName,
    /// A node and the policy server read the host of the image in different ways.
    AmbiguousHost,
    /// The host doesn't grant lookups to this policy.
    NotGranted,
    /// All lookups of the request were made already.
    Limit,
    Unknown,
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
        let (cause, status) = read(text, image);
        Self {
            status,
            ..Self::new(cause, image)
        }
    }

    /// The class of the failure.
    pub(crate) const fn class(self) -> Class {
        match self.cause {
            Cause::NotFound => Class::NotFound,
            Cause::Denied => Class::Denied,
            _ => Class::Unavailable,
        }
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
            Cause::RateLimited => {
                "can't be looked up, because its registry limits the rate of requests"
            }
            Cause::Unreachable => {
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
            Cause::RateLimited => "try again later, or skip it with registry.skipImages",
            Cause::Unreachable if self.status.is_some() => {
                "try again later, or look for the cause in the policy server's log"
            }
            // The PolicyServer has to name a registry with its own certificate authority, and a
            // registry without TLS.
            Cause::Unreachable => {
                "try again later, or look for the cause in the policy server's log (TLS: \
                 sourceAuthorities, HTTP: insecureSources)"
            }
            Cause::NoName => "skip it with registry.skipImages",
            Cause::AmbiguousHost => "write its registry in lower case",
            Cause::NotGranted => "add it to hostCapabilities of the PolicyServer",
            Cause::Limit => "name fewer images in registry.images",
            Cause::Unknown => "look at the policy server's log",
        }
    }
}

/// Reads the text after a phrase: the cause, and the HTTP status.
type Reader = fn(&str, Reference<'_>) -> (Cause, Option<u16>);

/// The phrases that decide the cause. Source: the errors of `oci-client` 0.17 and 0.18, and of
/// Kubewarden's policy-evaluator. Up to Kubewarden 1.37 the text repeats itself on lines of its
/// own. From 1.38 on it repeats itself in the same line (`cache_return.rs` prints the error with
/// `{e:#}`). Both repeat the URL with the name of the image, which has no spaces, so it holds no
/// phrase.
const PHRASES: [(&str, Reader); 7] = [
    ("has not been granted access", |_, _| {
        (Cause::NotGranted, None)
    }),
    // The answer 401, whatever it says.
    ("Not authorized:", |_, _| (Cause::Denied, Some(401))),
    ("error sending request for url", |_, _| {
        (Cause::Unreachable, None)
    }),
    ("Server error: url", |text, _| read_status(text)),
    ("OCI API errors: [OCI API error: ", |text, image| {
        (read_message(text, image), None)
    }),
    ("invalid reference format", |_, _| (Cause::NoName, None)),
    ("repository name must", |_, _| (Cause::NoName, None)),
];

/// The end of a registry's message, where the host repeats the text in the same line.
const REPETITION: &str = "]: Registry error: url";

/// Phrases of several words in the message of a registry. The first of the list that a message
/// contains decides its cause. They come from messages of distribution, Docker Hub, ghcr.io, Quay,
/// Harbor, Artifactory, ECR, ACR and Artifact Registry.
const MESSAGES: [(Cause, &[&str]); 3] = [
    (
        Cause::RateLimited,
        &[
            "rate limit",
            "too many requests",
            "rate exceeded",
            "quota exceeded",
            "limit exceeded",
        ],
    ),
    (
        Cause::Denied,
        &[
            "not authorized",
            "not have permission",
            "may require 'docker login'",
            "authentication required",
            "unauthenticated request",
            "authorization token has expired",
            "unauthorized to access",
            "access denied",
            "access forbidden",
            "permission denied",
            "is denied",
            "is forbidden",
        ],
    ),
    (
        Cause::NotFound,
        &[
            "manifest unknown",
            "not known to registry",
            "not known to the registry",
            "name unknown",
            "not found",
            "does not exist",
            "was deleted",
            "failed to fetch \"",
        ],
    ),
];

/// Single words by which registries say *denied*, where their message has no phrase.
const DENIED: [&str; 3] = ["unauthorized", "denied", "forbidden"];

/// Single words by which registries say that they limit the rate of requests.
const RATES: [&str; 2] = ["toomanyrequests", "retry-after"];

/// The cause in a host's error text, and the HTTP status. The phrase that comes first decides,
/// because the registry's own message comes later and can contain any other phrase.
fn read(text: &str, image: Reference<'_>) -> (Cause, Option<u16>) {
    let found = PHRASES.into_iter().filter_map(|(phrase, read)| {
        let (before, after) = text.split_once(phrase)?;
        Some((before.len(), read, after))
    });
    let first = found.min_by_key(|(position, ..)| *position);
    first.map_or((Cause::Unknown, None), |(_, read, after)| {
        read(after, image)
    })
}

/// Reads a text such as ` …, code: 404, message: …`.
fn read_status(text: &str) -> (Cause, Option<u16>) {
    let code = text
        .split_once(", code: ")
        .and_then(|(_, rest)| rest.get(..3));
    let status = code.and_then(|code| code.parse().ok());
    let cause = match status {
        Some(401 | 403) => Cause::Denied,
        Some(404) => Cause::NotFound,
        Some(429) => Cause::RateLimited,
        Some(500..=599) => Cause::Unreachable,
        _ => Cause::Unknown,
    };
    (cause, status)
}

/// Reads a registry's message: the first line, up to the host's repetition. Hosts don't print the
/// registry's error code, so an error without a message could have any code. Nearly always it is the
/// code of something that doesn't exist.
fn read_message(text: &str, image: Reference<'_>) -> Cause {
    let line = text.lines().next().unwrap_or_default();
    let message = line.split(REPETITION).next().unwrap_or_default();
    let message = message.strip_suffix(']').unwrap_or(message);
    if message.is_empty() {
        return Cause::NotFound;
    }
    let message = message.to_ascii_lowercase();
    let words = || message.split_inclusive(|letter| !is_of_word(letter));
    let name = image.as_written().to_ascii_lowercase();
    // A message that has nothing but words of the name is the registry's own.
    let is_own = |word: &str| !is_quoted(word, &name) && word.contains(char::is_alphabetic);
    let has_more = words().map(trimmed).any(is_own);
    let name = if has_more { &*name } else { "" };
    let own = words().map(|piece| match trimmed(piece) {
        word if is_quoted(word, name) && !DENIED.contains(&word) => piece.replace(word, ""),
        _ => piece.replace('_', " "),
    });
    let own = own.collect::<String>();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| own.contains(phrase));
    let mut messages = MESSAGES.into_iter();
    let is_denied = |word: &str| DENIED.contains(&word) && !is_quoted(word, name);
    if let Some((cause, _)) = messages.find(|(_, phrases)| says(phrases)) {
        cause
    } else if words().map(trimmed).any(is_denied) {
        Cause::Denied
    } else if says(&RATES) {
        Cause::RateLimited
    } else {
        Cause::Unknown
    }
}

/// Whether a word of a message quotes the image: it has the form of a reference, or it is a part of
/// the name and could be taken for words of the registry. Other words of the name can stay, because
/// a phrase has several words.
fn is_quoted(word: &str, name: &str) -> bool {
    let is_risky = word.contains('_') || DENIED.contains(&word);
    word.contains(['/', ':', '@', '%', '=']) || is_risky && name.contains(word)
}

/// Whether a character can stand inside a word, so that names stay whole.
const fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '/' | ':' | '@' | '%' | '=')
}

/// A word without the punctuation around it.
fn trimmed(piece: &str) -> &str {
    piece.trim_matches(|letter: char| !letter.is_ascii_alphanumeric())
}
