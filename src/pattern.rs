//! Patterns: globs that match image names and container names.
//!
//! A pattern that can match nothing protects nothing, so it is an error that says what to write.

mod grammar;

use std::fmt;

#[cfg(not(target_arch = "wasm32"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::image::{DEFAULT_REGISTRY, Reference, split_registry};

/// The longest name of a container or volume, a DNS label.
const LABEL_MAX: usize = 63;
/// Stands for any digit in the texts of [`ContainerPattern::matches_numbered`].
const ANY_DIGIT: u8 = b'#';
/// Stands there for any digit but zero.
const FIRST_DIGIT: u8 = b'$';

/// Whether a glob matches a text: `*` stands for any run of bytes, `?` for one, everything else
/// for itself.
#[must_use]
pub fn glob_matches(glob: &str, text: &str) -> bool {
    // Most globs don't match, and most of those can be told by their ends.
    let tail = glob.rsplit('*').next().unwrap_or_default();
    if !tail.contains('?') && !text.ends_with(tail) {
        return false;
    }
    aligns(glob.as_bytes(), text.as_bytes(), |wanted, byte| {
        wanted == b'?' || wanted == byte
    })
}

/// Whether a glob can be laid over a text: its `*` over any run of bytes, each other byte over
/// one that it fits.
///
/// Only the last `*` is ever widened: laying what stands before it over the text as early as
/// possible leaves the most for the rest, whatever `fits` says.
fn aligns(mut glob: &[u8], mut text: &[u8], fits: impl Fn(u8, u8) -> bool) -> bool {
    // What stands behind the last `*`, and what of the text that was laid over.
    let mut last_star: Option<(&[u8], &[u8])> = None;
    loop {
        match (glob, text) {
            ([b'*', rest @ ..], _) => {
                last_star = Some((rest, text));
                glob = rest;
            }
            ([], []) => return true,
            ([wanted, glob_rest @ ..], [byte, text_rest @ ..]) if fits(*wanted, *byte) => {
                glob = glob_rest;
                text = text_rest;
            }
            _ => {
                let Some((behind, [_, text_rest @ ..])) = last_star else {
                    return false;
                };
                last_star = Some((behind, text_rest));
                glob = behind;
                text = text_rest;
            }
        }
    }
}

/// Whether every text that `later` matches is matched by `earlier` too. Never wrongly true; wrongly
/// false only where a `?` of `earlier` would have to take a part of what a `*` of `later` took.
///
/// `earlier` is laid over `later` as over a text in which only its `*` takes a `*`, and its `?` a
/// `?`. What then lies under each wildcard of `earlier` is, in every text that `later` matches,
/// something that it may stand for. The other way round: put a letter that `earlier` doesn't have
/// in place of each `*` of `later`; only a wildcard of `earlier` can match it.
fn subsumes(earlier: &str, later: &str) -> bool {
    aligns(earlier.as_bytes(), later.as_bytes(), |wanted, other| {
        wanted == other || (wanted == b'?' && other != b'*')
    })
}

/// A glob for the names of containers and image volumes: `*` is any run of characters, `?` one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct ContainerPattern(String);

impl ContainerPattern {
    /// The pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it matches a container's whole name.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        glob_matches(&self.0, name)
    }

    /// Whether it matches any name that is this prefix and a number, which has no leading zero.
    ///
    /// Each digit can be chosen by itself, so a place that takes any digit stands for it. As many
    /// digits as the pattern has characters are enough: of more, a `*` takes at least one, and
    /// would match without it too.
    #[must_use]
    pub fn matches_numbered(&self, prefix: &str) -> bool {
        let glob = self.0.as_bytes();
        let mut name = prefix.as_bytes().to_vec();
        let mut digit = FIRST_DIGIT;
        let fits = |wanted: u8, byte: u8| {
            wanted == b'?'
                || match byte {
                    FIRST_DIGIT => matches!(wanted, b'1'..=b'9'),
                    ANY_DIGIT => wanted.is_ascii_digit(),
                    _ => wanted == byte,
                }
        };
        self.matches(&format!("{prefix}0"))
            || glob.iter().any(|_| {
                name.push(digit);
                digit = ANY_DIGIT;
                aligns(glob, &name, fits)
            })
    }
}

impl fmt::Display for ContainerPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ContainerPattern> for String {
    fn from(pattern: ContainerPattern) -> Self {
        pattern.0
    }
}

impl TryFrom<String> for ContainerPattern {
    type Error = String;

    /// Says why no name of a container could ever match it.
    fn try_from(glob: String) -> Result<Self, Self::Error> {
        let wild = |byte| byte == b'*' || byte == b'?';
        if glob.is_empty() || !glob.bytes().all(|byte| is_label_byte(byte) || wild(byte)) {
            return Err(
                "matches no container's name: it takes lower-case letters, digits, -, * and ?"
                    .to_owned(),
            );
        }
        if glob.starts_with('-') {
            return Err(format!(
                "matches no container's name, as none begins with -: write *{glob}"
            ));
        }
        if glob.ends_with('-') {
            return Err(format!(
                "matches no container's name, as none ends with -: write {glob}*"
            ));
        }
        if glob.bytes().filter(|byte| *byte != b'*').count() > LABEL_MAX {
            return Err(
                "matches no container's name, as none is longer than 63 characters".to_owned(),
            );
        }
        Ok(Self(glob))
    }
}

/// Whether a DNS label, which names of containers and volumes are, can have this byte.
pub(crate) const fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// A glob for normalised image names, `registry/repository` or `registry/repository:tag`: `*` is
/// any run of characters, slashes included, `?` one. Without a registry it is completed as an
/// image would be: `nginx` is `docker.io/library/nginx`, `buildkite/*` is `docker.io/buildkite/*`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[cfg_attr(not(target_arch = "wasm32"), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct ImagePattern {
    written: String,
    /// In full, where that differs.
    completed: Option<String>,
}

impl ImagePattern {
    /// The pattern as it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    fn glob(&self) -> &str {
        self.completed.as_deref().unwrap_or(&self.written)
    }

    /// Whether it matches an image, by its name with the tag or without.
    #[must_use]
    pub fn matches(&self, name: &ImageName) -> bool {
        let matches = |name: &str| glob_matches(self.glob(), name);
        matches(&name.repository) || name.with_tag.as_deref().is_some_and(matches)
    }

    /// Whether it matches every image that `later` can match. Never wrongly true.
    #[must_use]
    pub fn hides(&self, later: &Self) -> bool {
        let (own, other) = (self.glob(), later.glob());
        if subsumes(own, other) {
            return true;
        }
        // `nginx` matches an nginx with any tag, so it hides `nginx:1.*`. A colon after a slash
        // stands before a tag, never before a port.
        other
            .rsplit_once(':')
            .is_some_and(|(repository, _)| repository.contains('/') && subsumes(own, repository))
    }
}

impl fmt::Display for ImagePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl From<ImagePattern> for String {
    fn from(pattern: ImagePattern) -> Self {
        pattern.written
    }
}

impl TryFrom<String> for ImagePattern {
    type Error = String;

    /// Reads a pattern. One that begins with `*` is matched as it stands, so that `*` is every
    /// image and `*/nginx` an nginx anywhere. The error says why no image could ever match it.
    fn try_from(written: String) -> Result<Self, Self::Error> {
        let problem = if written.is_empty() {
            "is empty, which matches nothing"
        } else if written.contains('@') {
            "has a digest, but patterns match registry/repository[:tag]"
        } else if written.contains("://") {
            "has a URL scheme, but image names have none"
        } else if written.chars().any(char::is_whitespace) {
            "has white space, but image names have none"
        } else {
            if let Some(instead) = instead_of_registry(&written) {
                return Err(format!(
                    "names a registry, but no image in it: write {instead}"
                ));
            }
            let completed = complete(&written);
            let glob = completed.as_deref().unwrap_or(&written);
            return if grammar::can_match(glob) {
                Ok(Self { written, completed })
            } else {
                Err(why_nothing(&written, glob))
            };
        };
        Err(problem.to_owned())
    }
}

/// The pattern in full, where it leaves out what an image may leave out.
fn complete(written: &str) -> Option<String> {
    if written.starts_with('*') {
        return None;
    }
    let (registry, rest) = split_registry(written);
    if registry != DEFAULT_REGISTRY {
        return None;
    }
    let named = rest.len() != written.len();
    // `docker.io/*` is all of Docker Hub; only `docker.io/nginx` leaves out `library/`.
    let official = !(rest.contains('/') || (named && rest.contains(['*', '?'])));
    let namespace = if official { "library/" } else { "" };
    Some([DEFAULT_REGISTRY, "/", namespace, rest].concat())
}

/// What to write in place of a pattern that is a registry with nothing behind it. Strictly,
/// `registry.example.com` is a repository of Docker Hub's; nobody means that.
fn instead_of_registry(written: &str) -> Option<String> {
    let (first, slash) = match written.split_once('/') {
        Some((first, "")) => (first, true),
        Some(_) => return None,
        None => (written, false),
    };
    let (host, behind) = match first.rsplit_once(':') {
        Some((host, behind)) if !first.ends_with(']') => (host, Some(behind)),
        _ => (first, None),
    };
    let looks_like_host = host.contains('.') || host == "localhost" || host.starts_with('[');
    let has_port = slash && behind.is_some();
    if !(looks_like_host || has_port) {
        return None;
    }
    let is_port = |text: &str| {
        !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'*' || byte == b'?')
    };
    Some(match behind {
        Some(tag) if !is_port(tag) && !tag.is_empty() && !slash => {
            let anywhere = if host.starts_with('*') {
                "*/"
            } else {
                "docker.io/library/"
            };
            format!("{anywhere}{written} for an image of this name")
        }
        Some("") => format!("{host}/* for all its images"),
        _ => format!("{first}/* for all its images"),
    })
}

/// Why a glob matches no image name, and what to write.
fn why_nothing(written: &str, glob: &str) -> String {
    let lowered = || {
        let (registry, rest) = split_registry(written);
        let registry = written
            .strip_suffix(rest)
            .filter(|registry| !registry.is_empty())
            .map_or_else(String::new, |_| format!("{registry}/"));
        let (path, tag) = rest.split_once(':').unwrap_or((rest, ""));
        let colon = if tag.is_empty() { "" } else { ":" };
        format!("{registry}{}{colon}{tag}", path.to_ascii_lowercase())
    };
    let in_library = glob.strip_prefix("docker.io/").filter(|r| !r.contains('/'));
    let (problem, instead) = if written.starts_with('/') {
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
    } else {
        ("has upper case in a repository", lowered())
    };
    if instead != written && ImagePattern::try_from(instead.clone()).is_ok() {
        return format!("{problem}, so no image can match it: write {instead}");
    }
    "can match no image: names are registry/repository[:tag], with lower-case letters and digits \
     parted by . _ - or / in the repository, and letters, digits, _ . - in the tag"
        .to_owned()
}

/// The normalised names of an image that patterns are matched against.
#[derive(Clone, Debug)]
pub struct ImageName {
    repository: String,
    with_tag: Option<String>,
}

impl ImageName {
    /// The names of an image. One without a tag is matched as `:latest`, unless it has a digest.
    #[must_use]
    pub fn of(reference: &Reference<'_>) -> Self {
        Self {
            repository: reference.repository(),
            with_tag: reference.repository_and_tag(),
        }
    }
}

/// The first pattern that matches the image.
#[must_use]
pub fn first_match<'p>(
    patterns: &'p [ImagePattern],
    reference: &Reference<'_>,
) -> Option<&'p ImagePattern> {
    if patterns.is_empty() {
        return None;
    }
    let name = ImageName::of(reference);
    patterns.iter().find(|pattern| pattern.matches(&name))
}

#[cfg(test)]
mod tests;
