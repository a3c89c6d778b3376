//! Why a pattern is refused, and which pattern to write instead.

use std::fmt;

use super::glob::has_wildcard;
use crate::image::{looks_like_host, split_registry, without_https_port};

/// The reason why no container name can match a pattern. Its `Display` is the end of a sentence that
/// begins with the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidContainerPattern {
    /// The pattern is empty, or it has a character that no container name has.
    Character,
    /// The pattern begins with a hyphen.
    BeginsWithHyphen {
        /// The pattern that was probably meant.
        instead: String,
    },
    /// The pattern ends with a hyphen.
    EndsWithHyphen {
        /// The pattern that was probably meant.
        instead: String,
    },
    /// Every name that the pattern matches is longer than 63 bytes.
    TooLong,
}

impl fmt::Display for InvalidContainerPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("matches no container's name")?;
        match self {
            Self::Character => f.write_str(": it takes lower-case letters, digits, -, * and ?"),
            Self::BeginsWithHyphen { instead } => {
                write!(f, ", as none begins with -: write {instead}")
            }
            Self::EndsWithHyphen { instead } => {
                write!(f, ", as none ends with -: write {instead}")
            }
            Self::TooLong => f.write_str(", as none is longer than 63 characters"),
        }
    }
}

impl std::error::Error for InvalidContainerPattern {}

/// The reason why no image can match a pattern. Its `Display` is the end of a sentence that begins
/// with the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InvalidImagePattern {
    /// The pattern is empty.
    Empty,
    /// The pattern has a digest.
    Digest,
    /// The pattern has a URL scheme.
    Scheme,
    /// The pattern has white space.
    Space,
    /// The pattern is only a registry, without any image in it.
    OnlyRegistry {
        /// The pattern that was probably meant, and a few words about the images that it matches.
        instead: String,
    },
    /// The pattern has a mistake with an obvious correction.
    Mistake {
        /// The mistake, e.g. `ends with a colon`.
        mistake: &'static str,
        /// The pattern that was probably meant.
        instead: String,
    },
    /// No image name has this shape.
    Shape,
}

impl fmt::Display for InvalidImagePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("is empty, which matches nothing"),
            Self::Digest => {
                f.write_str("has a digest, but patterns match registry/repository[:tag]")
            }
            Self::Scheme => f.write_str("has a URL scheme, but image names have none"),
            Self::Space => f.write_str("has white space, but image names have none"),
            Self::OnlyRegistry { instead } => {
                write!(f, "names a registry, but no image in it: write {instead}")
            }
            Self::Mistake { mistake, instead } => {
                write!(f, "{mistake}, so no image can match it: write {instead}")
            }
            Self::Shape => f.write_str(
                "can match no image: names are registry/repository[:tag], with lower-case letters \
                 and digits parted by . _ - or / in the repository, and letters, digits, _ . - in \
                 the tag",
            ),
        }
    }
}

impl std::error::Error for InvalidImagePattern {}

/// The text to write instead of a pattern that is only a registry. `None` for any other pattern.
///
/// `registry.example.com` could also be the name of a repository on Docker Hub, but it is nearly
/// always meant as the name of a registry.
pub(super) fn instead_of_registry(written: &str) -> Option<String> {
    let (first, slash) = match written.split_once('/') {
        Some((first, "")) => (first, true),
        Some(_) => return None,
        None => (written, false),
    };
    let (host, port_or_tag) = match first.rsplit_once(':') {
        Some((host, rest)) if !first.ends_with(']') => (host, Some(rest)),
        _ => (first, None),
    };
    let looks_like_host = host.contains('.') || host == "localhost" || host.starts_with('[');
    let has_port = slash && port_or_tag.is_some();
    if !(looks_like_host || has_port) {
        return None;
    }
    let is_port = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'*' || byte == b'?')
    };
    Some(match port_or_tag {
        Some(tag) if !is_port(tag) && !tag.is_empty() && !host.starts_with('[') && !slash => {
            let anywhere = if host.starts_with('*') {
                "*/"
            } else {
                "docker.io/library/"
            };
            format!("{anywhere}{written} for an image of this name")
        }
        Some(text) if text.is_empty() || (host.starts_with('[') && !is_port(text)) => {
            format!("{}/* for all its images", possible_host(host))
        }
        _ => format!("{}/* for all its images", possible_host(first)),
    })
}

/// The host to propose in a pattern. A host with a wildcard becomes lower case, and loses the
/// port 443. A host without a wildcard stays as it is, because it is normalised later, when the pattern
/// is read.
fn possible_host(host: &str) -> String {
    if !has_wildcard(host) {
        return host.to_owned();
    }
    let possible = without_https_port(host)
        .unwrap_or(host)
        .to_ascii_lowercase();
    if looks_like_host(&possible) || possible.starts_with('*') {
        return possible;
    }
    // A text with a wildcard but without `.` or `:` would be read as a namespace of Docker Hub. With
    // `:*` at its end, the text is read as a host with any port or without a port.
    [&possible, ":*"].concat()
}

/// The reason why no image name matches the pattern `written`. `completed` is the normalised
/// pattern. `is_valid` says whether a proposal is a valid pattern. Only valid patterns are proposed.
pub(super) fn why_no_image(
    written: &str,
    completed: &str,
    is_valid: impl Fn(String) -> bool,
) -> InvalidImagePattern {
    let (registry, rest) = split_registry(written);
    let host = written
        .strip_suffix(rest)
        .and_then(|host| host.strip_suffix('/'));
    let lower_case = || {
        let registry = host.map_or_else(String::new, |_| format!("{}/", possible_host(registry)));
        let (path, tag) = rest.split_once(':').unwrap_or((rest, ""));
        let colon = if tag.is_empty() { "" } else { ":" };
        format!("{registry}{}{colon}{tag}", path.to_ascii_lowercase())
    };
    let host_glob = host.filter(|host| has_wildcard(host));
    let has_upper_case = |text: &str| text.bytes().any(|byte| byte.is_ascii_uppercase());
    let in_library = completed
        .strip_prefix("docker.io/")
        .filter(|rest| !rest.contains('/'));
    let (mistake, instead) = if written.starts_with('/') {
        ("begins with a slash", format!("*{written}"))
    } else if written.contains("//") {
        (
            "has nothing between two slashes",
            written.replace("//", "/"),
        )
    } else if written.ends_with('/') {
        ("ends with a slash", format!("{written}*"))
    } else if let Some(name) = written.strip_suffix(':') {
        ("ends with a colon", name.to_owned())
    } else if written.starts_with(':') {
        ("begins with a colon", format!("*{written}"))
    } else if let Some(name) = in_library {
        (
            "leaves out the namespace",
            format!("docker.io/library/{name}"),
        )
    } else if let Some(host) = host_glob.filter(|host| without_https_port(host).is_some()) {
        (
            "has the port 443, which is dropped before an image is matched",
            format!("{}/{rest}", possible_host(host)),
        )
    } else if host_glob.is_some_and(has_upper_case) {
        ("has upper case in a host with a wildcard", lower_case())
    } else {
        ("has upper case in a repository", lower_case())
    };
    if instead != written && is_valid(instead.clone()) {
        return InvalidImagePattern::Mistake { mistake, instead };
    }
    InvalidImagePattern::Shape
}
