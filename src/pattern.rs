//! Patterns: globs for image names and container names.
//!
//! A pattern that can match no name would have no effect, and its author might not notice. So such a
//! pattern is an error. If possible, the error names the pattern to write instead.

mod glob;
mod problem;

#[cfg(not(target_arch = "wasm32"))]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::glob::{ANY_BYTE, ANY_RUN, glob_matches, has_wildcard, subsumes};
use crate::image::{DEFAULT_REGISTRY, Reference, comparable_host, split_registry};

/// The largest length of the name of a container or volume, in bytes. These names are DNS labels.
const LABEL_MAX: usize = 63;
/// More numbers than the image checks of one Pod can have.
const CHECK_NUMBERS: u32 = 10_000;

/// A glob for the names of containers and image volumes. `*` is any run of characters, `?` is any
/// one character.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[serde(try_from = "String")]
pub struct ContainerOrVolumeNamePattern(String);

impl ContainerOrVolumeNamePattern {
    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern matches the whole name of a container or image volume.
    pub fn matches(&self, name: &str) -> bool {
        glob_matches(&self.0, name)
    }

    /// Whether the pattern matches the name of an added check: `prefix` and a number.
    pub fn matches_numbered(&self, prefix: &str) -> bool {
        (0..CHECK_NUMBERS).any(|number| self.matches(&format!("{prefix}{number}")))
    }
}

impl TryFrom<String> for ContainerOrVolumeNamePattern {
    type Error = String;

    /// Reads a pattern. The error says why no container name can match the pattern. It is the end of a
    /// sentence that begins with the pattern.
    fn try_from(glob: String) -> Result<Self, String> {
        let is_allowed = |byte| is_label_byte(byte) || byte == ANY_RUN || byte == ANY_BYTE;
        let why = if glob.is_empty() || !glob.bytes().all(is_allowed) {
            ": it takes lower-case letters, digits, -, * and ?".to_owned()
        } else if glob.starts_with('-') {
            format!(", as none begins with -: write *{glob}")
        } else if glob.ends_with('-') {
            format!(", as none ends with -: write {glob}*")
        } else if glob.bytes().filter(|byte| *byte != ANY_RUN).count() > LABEL_MAX {
            ", as none is longer than 63 characters".to_owned()
        } else {
            return Ok(Self(glob));
        };
        Err(["matches no container's name", &why].concat())
    }
}

/// Whether a DNS label can have this byte. The names of containers and volumes are DNS labels.
pub(crate) const fn is_label_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

/// A glob for normalised image names, `registry/repository` or `registry/repository:tag`. `*` is
/// any run of characters, `?` is any one character. A pattern without a registry is completed like an
/// image: `nginx` is `docker.io/library/nginx`, and `buildkite/*` is `docker.io/buildkite/*`. A
/// pattern that begins with `*` is not completed.
///
/// There are two kinds of wildcards. If the text before the first slash has a wildcard and also a
/// `.` or `:`, this text names registry hosts. No wildcard in this text matches a slash. All other
/// wildcards match slashes too.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(not(target_arch = "wasm32"), derive(JsonSchema))]
#[cfg_attr(not(target_arch = "wasm32"), schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct ImagePattern {
    written: String,
    /// The pattern with the registry and the namespace that it leaves out. A registry host without
    /// wildcards is in the form of [`comparable_host`].
    glob: String,
}

impl ImagePattern {
    /// The pattern, even if no image can match it.
    fn unchecked(written: String) -> Self {
        let glob = normalise(&written).unwrap_or_else(|| written.clone());
        Self { written, glob }
    }

    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The glob for registry hosts, and the glob for the rest of the name from the first slash on.
    /// `None` if all wildcards match slashes too.
    fn host_and_path(&self) -> Option<(HostGlob<'_>, &str)> {
        let (host, path) = split_host(&self.glob)?;
        let names_hosts = has_wildcard(host) && host.contains(['.', ':']);
        names_hosts.then_some((HostGlob(host), path))
    }

    /// Whether the pattern matches an image: the image's name with or without the tag.
    ///
    /// # Examples
    ///
    /// ```
    /// use consistent_pull_policy::image::Reference;
    /// use consistent_pull_policy::pattern::{ImagePattern, ImageNamesForPatterns};
    ///
    /// let matches = |pattern: &str, image: &str| {
    ///     let pattern = ImagePattern::try_from(pattern.to_owned()).expect("a valid pattern");
    ///     let image = Reference::parse(image).expect("a valid reference");
    ///     pattern.matches(&ImageNamesForPatterns::of(&image))
    /// };
    /// assert!(matches("nginx", "docker.io/library/nginx:1.25"));
    /// assert!(matches("*/nginx", "ghcr.io/team/nginx:1.25"));
    /// assert!(!matches("nginx", "ghcr.io/team/nginx:1.25"));
    ///
    /// ```
    pub fn matches(&self, name: &ImageNamesForPatterns) -> bool {
        let host_and_path = self.host_and_path();
        let matches = |name: &str| match host_and_path {
            None => glob_matches(&self.glob, name),
            Some((host, path)) => split_host(name).is_some_and(|(host_of_name, path_of_name)| {
                host.matches(host_of_name) && glob_matches(path, path_of_name)
            }),
        };
        matches(&name.repository) || name.with_tag.as_deref().is_some_and(matches)
    }

    /// Whether this pattern matches every image that `later` matches. The answer is never wrongly
    /// true. The answer may be wrongly false if this pattern has a `?`, or has `*:*` as its host.
    pub fn hides(&self, later: &Self) -> bool {
        let Some((host, path)) = later.host_and_path() else {
            return self.hides_glob(&later.glob);
        };
        match self.host_and_path() {
            Some((own_host, own_path)) => {
                own_host.subsumes(host) && subsumes_with_tags(own_path, path)
            }
            // The wildcards of this pattern match slashes too. So they match at least as much as the
            // wildcards in a host, and this pattern is compared with the whole text of `later`.
            None => host
                .alternatives()
                .all(|host| subsumes_with_tags(&self.glob, &[host, path].concat())),
        }
    }

    /// Whether this pattern matches every image that the glob `other` matches. All wildcards of
    /// `other` match slashes too.
    fn hides_glob(&self, other: &str) -> bool {
        let Some((own_host, own_path)) = self.host_and_path() else {
            return subsumes_with_tags(&self.glob, other);
        };
        // A wildcard before the first slash of `other` can match a slash. Then the host ends inside
        // the text that this wildcard matches. So the host and the path are not known, and the answer
        // is false.
        split_host(other).is_some_and(|(host, path)| {
            !has_wildcard(host) && own_host.matches(host) && subsumes_with_tags(own_path, path)
        })
    }
}

/// Whether the glob `earlier` matches every image that the glob `later` matches. Both are globs for
/// whole names, or both are globs for names from their first slash on.
fn subsumes_with_tags(earlier: &str, later: &str) -> bool {
    // `nginx` matches an nginx with any tag, so it hides `nginx:1.*`. The text after a colon is a
    // tag and no port if there is a slash before the colon.
    let repository = later.rsplit_once(':').map(|(repository, _)| repository);
    let repository = repository.filter(|repository| repository.contains('/'));
    subsumes(earlier, later) || repository.is_some_and(|repository| subsumes(earlier, repository))
}

/// Splits a name or a glob before its first slash.
fn split_host(name: &str) -> Option<(&str, &str)> {
    name.split_at_checked(name.find('/')?)
}

/// A glob for registry hosts. Neither the glob nor a host has a slash, so no wildcard can match a
/// slash.
#[derive(Clone, Copy, Debug)]
struct HostGlob<'p>(&'p str);

impl<'p> HostGlob<'p> {
    /// This glob, and for `host:*` also the glob `host`: `host:*` also matches a host without a port.
    fn alternatives(self) -> impl Iterator<Item = &'p str> {
        [Some(self.0), self.0.strip_suffix(":*")]
            .into_iter()
            .flatten()
    }

    fn matches(self, host: &str) -> bool {
        self.alternatives().any(|glob| glob_matches(glob, host))
    }

    /// Whether this glob matches every host that `later` matches.
    fn subsumes(self, later: HostGlob<'_>) -> bool {
        later
            .alternatives()
            .all(|later| self.alternatives().any(|own| subsumes(own, later)))
    }
}

impl From<ImagePattern> for String {
    fn from(pattern: ImagePattern) -> Self {
        pattern.written
    }
}

impl TryFrom<String> for ImagePattern {
    type Error = String;

    /// The error has the end of a sentence that begins with the pattern: why no image can match it.
    fn try_from(written: String) -> Result<Self, String> {
        let pattern = Self::unchecked(written);
        pattern.problem().map_or(Ok(pattern), Err)
    }
}

/// Adds the registry and the namespace that a pattern leaves out, and writes its host in the form
/// of [`comparable_host`]. Returns `None` if the pattern begins with `*`, if its host has a wildcard,
/// or if its host is not Docker Hub's and already has this form.
fn normalise(written: &str) -> Option<String> {
    if written.starts_with('*') {
        return None;
    }
    let (registry, rest) = split_registry(written);
    if registry != DEFAULT_REGISTRY {
        if has_wildcard(registry) {
            return None;
        }
        let host = comparable_host(registry);
        return (host != registry).then(|| [&host, "/", rest].concat());
    }
    let named = rest.len() != written.len();
    // `docker.io/*` means all of Docker Hub. `docker.io/nginx` leaves out the namespace.
    let official = !(rest.contains('/') || (named && rest.contains(['*', '?'])));
    let namespace = if official { "library/" } else { "" };
    Some([DEFAULT_REGISTRY, "/", namespace, rest].concat())
}

/// The normalised names of an image. Patterns are matched with these names. The registry host is in
/// the form of [`comparable_host`].
#[derive(Clone, Debug)]
pub struct ImageNamesForPatterns {
    repository: String,
    with_tag: Option<String>,
}

impl ImageNamesForPatterns {
    /// The names of an image. An image with neither a tag nor a digest has the tag `latest`.
    pub fn of(reference: &Reference<'_>) -> Self {
        let registry = reference.registry();
        let host = comparable_host(registry);
        let with_host = |name: String| match name.strip_prefix(registry) {
            Some(path) if host != registry => [&host, path].concat(),
            _ => name,
        };
        Self {
            repository: with_host(reference.repository()),
            with_tag: reference.repository_and_tag().map(with_host),
        }
    }
}

#[cfg(test)]
mod tests;
