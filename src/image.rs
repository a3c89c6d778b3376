//! Image references, read as the kubelet reads them.
//!
//! The grammar is that of `ParseNormalizedNamed` in <https://github.com/distribution/reference>.
//! The kubelet and containerd call this function, and the API server calls it for the server
//! default.
//!
//! The parsers on crates.io compile regular expressions. Each request gets a new instance of the
//! WebAssembly module, which would compile the expressions again. Therefore this file has its own
//! parser. The tests compare it with the parser of `oci-spec`, and list where the two differ.

use std::borrow::Cow;

use oci_spec::image::{Digest, DigestAlgorithm};

/// The registry of a reference that names no registry.
pub const DEFAULT_REGISTRY: &str = "docker.io";
/// An older name of [`DEFAULT_REGISTRY`], which references may still use.
const LEGACY_DEFAULT_REGISTRY: &str = "index.docker.io";
/// The host that serves the images of [`DEFAULT_REGISTRY`].
const DEFAULT_REGISTRY_SERVER: &str = "registry-1.docker.io";
/// The port of HTTPS. A registry whose name has no port is normally asked at this port.
const HTTPS_PORT: &str = "443";
/// The namespace of a Docker Hub repository whose reference has no namespace.
const OFFICIAL_NAMESPACE: &str = "library/";
/// The largest length of a repository's path, in bytes: `RepositoryNameTotalLengthMax`.
const PATH_MAX: usize = 255;
/// The largest length of a tag, in bytes.
const TAG_MAX: usize = 128;

/// A parsed image reference. Its parts are borrowed from the text, except a registry that the text
/// doesn't name.
///
/// # Examples
///
/// ```
/// use consistent_pull_policy::image::{InvalidReference, Reference};
///
/// let image = Reference::parse("nginx:1.25")?;
/// assert_eq!(image.registry(), "docker.io");
/// assert_eq!(image.repository(), "docker.io/library/nginx");
/// assert_eq!(image.tag(), Some("1.25"));
///
/// // Another spelling of the same image. A node keeps credentials by the written repository.
/// let other = Reference::parse("docker.io/library/nginx:1.25")?;
/// assert_eq!(image.identity(), other.identity());
/// assert_ne!(image.written(), other.written());
///
/// assert_eq!(Reference::parse("NGINX"), Err(InvalidReference::UpperCase));
/// # Ok::<(), InvalidReference>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The written repository.
    written: &'a str,
    registry: &'a str,
    /// Whether the repository is in Docker Hub's namespace `library/`. If so, `path` is without
    /// the namespace.
    official: bool,
    path: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

/// The identity of an image: two references name the same image if their identities are equal.
///
/// An identity consists of the registry, the repository and the digest. If there is no digest, it
/// has the tag instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageIdentity<'a> {
    // The parts that differ most often come first: a comparison then ends early.
    path: &'a str,
    /// The digest or the tag. A digest has a colon and a tag has none, so a digest never equals a
    /// tag. The text is empty in the identity of a repository.
    version: &'a str,
    registry: &'a str,
    official: bool,
}

/// Why a text is no image reference. The kubelet reports `InvalidImageName` for such a text, except
/// for an image ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidReference {
    /// The text is empty, or only white space.
    Empty,
    /// The text has white space.
    Space,
    /// The text has `://`, the mark of a URL scheme.
    Scheme,
    /// The text has a variable that was not replaced: `$(IMAGE)`, `${IMAGE}` or `{{image}}`.
    Variable,
    /// The text is the 64 hexadecimal digits of an image ID.
    BareImageId,
    /// The registry is not `host[:port]`.
    Registry,
    /// The repository has upper-case letters.
    UpperCase,
    /// The repository is empty, has an empty part or a forbidden character, or a separator is in a
    /// wrong position.
    Repository,
    /// The path of the repository is longer than 255 bytes.
    Long,
    /// The tag is empty, longer than 128 bytes, has a forbidden character, or begins with `.` or `-`.
    Tag,
    /// The digest is not `sha256:`, `sha384:` or `sha512:` and the right number of lower-case
    /// hexadecimal digits.
    Digest,
}

impl InvalidReference {
    /// The problem as a clause, for a sentence that names the image before this clause.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Empty => "it is empty",
            Self::Space => "it has white space",
            Self::Scheme => "a reference has no URL scheme",
            Self::Variable => "a variable in it was not replaced",
            Self::BareImageId => "it is an image ID without sha256:",
            Self::Registry => "its registry is not host[:port]",
            Self::UpperCase => "its repository has upper-case letters",
            Self::Repository => {
                "its repository is not lower-case letters and digits parted by . _ - or /"
            }
            Self::Long => "its repository is longer than 255 characters",
            Self::Tag => "its tag is not 1 to 128 letters, digits, _ . or -",
            Self::Digest => "its digest is not sha256:, sha384: or sha512: and its hex digits",
        }
    }

    /// The mistake that a person probably made. `self` is the problem at which the parser stopped,
    /// and this problem is often only a consequence of the mistake.
    fn most_telling(self, text: &str) -> Self {
        if text.trim().is_empty() {
            Self::Empty
        } else if ["$(", "${", "{{"].iter().any(|part| text.contains(part)) {
            Self::Variable
        } else if text.chars().any(char::is_whitespace) {
            Self::Space
        } else if text.contains("://") {
            Self::Scheme
        } else {
            self
        }
    }
}

impl<'a> Reference<'a> {
    /// Parses a reference.
    ///
    /// # Errors
    /// The text is no image reference.
    pub fn parse(text: &'a str) -> Result<Self, InvalidReference> {
        Self::parse_parts(text).map_err(|invalid| invalid.most_telling(text))
    }

    fn parse_parts(text: &'a str) -> Result<Self, InvalidReference> {
        if text.len() == 64 && text.bytes().all(is_lower_hex) {
            return Err(InvalidReference::BareImageId);
        }
        let (registry, remainder) = split_registry(text);
        let is_host = registry == DEFAULT_REGISTRY || is_registry(registry);
        if !is_host && !is_path_component(registry) {
            return Err(InvalidReference::Registry);
        }
        let (name, digest) = split_at_first(remainder, '@');
        let (path, tag) = split_at_first(name, ':');
        let version = remainder.len().saturating_sub(path.len());
        let written = text
            .get(..text.len().saturating_sub(version))
            .unwrap_or(text);
        let (official, path) = official(registry, path);
        if !is_path(path) {
            return Err(if path.bytes().any(|byte| byte.is_ascii_uppercase()) {
                InvalidReference::UpperCase
            } else {
                InvalidReference::Repository
            });
        }
        // By the grammar, a first part such as `a.b_c` is no host. It is the first component of the
        // path, so its length counts, with its slash.
        let path_start = match (is_host, official) {
            (true, true) => OFFICIAL_NAMESPACE.len(),
            (true, false) => 0,
            (false, _) => registry.len().saturating_add(1),
        };
        if path.len().saturating_add(path_start) > PATH_MAX {
            return Err(InvalidReference::Long);
        }
        if !tag.is_none_or(is_tag) {
            return Err(InvalidReference::Tag);
        }
        if !digest.is_none_or(is_digest) {
            return Err(InvalidReference::Digest);
        }
        Ok(Self {
            written,
            registry,
            official,
            path,
            tag,
            digest,
        })
    }

    /// The written repository: the repository as it is written, without tag and digest.
    ///
    /// A node remembers by this name which credentials have pulled an image (feature gate
    /// `KubeletEnsureSecretPulledImages`). So the node asks the registry again for another spelling
    /// of the same repository.
    pub const fn written(&self) -> &'a str {
        self.written
    }

    /// The host and port of the registry. The result is `docker.io` if the reference has no registry
    /// or has `index.docker.io`.
    pub const fn registry(&self) -> &'a str {
        self.registry
    }

    /// The tag, if one is written.
    pub const fn tag(&self) -> Option<&'a str> {
        self.tag
    }

    /// The digest, if one is written.
    pub const fn digest(&self) -> Option<&'a str> {
        self.digest
    }

    /// Whether this is an image ID: `sha256:` and hexadecimal digits. Its parts are those of a repository of Docker
    /// Hub with a tag, but containerd serves the node's image of this ID, also for the first digits of an ID. No
    /// registry has such an image.
    pub fn is_image_id(&self) -> bool {
        let is_hex = |tag: &str| tag.bytes().all(is_lower_hex);
        self.written == "sha256" && self.digest.is_none() && self.tag.is_some_and(is_hex)
    }

    /// The identity of this image.
    pub fn identity(self) -> ImageIdentity<'a> {
        self.identity_at(self.digest)
    }

    /// An identity that all images of the repository share, in every spelling.
    pub fn repository_identity(self) -> ImageIdentity<'a> {
        self.identity_at(Some(""))
    }

    /// The identity that this image would have with another digest, or with no digest.
    pub fn identity_at<'b>(self, digest: Option<&'b str>) -> ImageIdentity<'b>
    where
        'a: 'b,
    {
        ImageIdentity {
            registry: self.registry,
            official: self.official,
            path: self.path,
            version: digest.unwrap_or_else(|| self.effective_tag()),
        }
    }

    /// Whether `pinned` is this reference with a digest added: the same repository and tag. A
    /// missing tag counts as `latest`.
    pub fn is_pinned_as(self, pinned: Reference<'_>) -> bool {
        self.digest.is_none()
            && pinned.digest.is_some()
            && self.identity() == pinned.identity_at(Some(pinned.effective_tag()))
    }

    /// The tag that a node pulls if there is no digest: `latest` if none is written.
    pub fn effective_tag(&self) -> &'a str {
        self.tag.unwrap_or("latest")
    }

    /// The normalised repository, e.g. `docker.io/library/nginx` for `nginx`.
    pub fn repository(&self) -> String {
        let namespace = if self.official {
            OFFICIAL_NAMESPACE
        } else {
            ""
        };
        [self.registry, "/", namespace, self.path].concat()
    }

    /// The normalised repository with its tag. The tag is `latest` if the reference has neither a
    /// tag nor a digest. The result is `None` if the reference has a digest and no tag.
    pub fn repository_and_tag(&self) -> Option<String> {
        match (self.tag, self.digest) {
            (None, Some(_)) => None,
            _ => Some([&self.repository(), ":", self.effective_tag()].concat()),
        }
    }
}

/// Splits a text at the first occurrence of the character `at`. This character is in neither part.
fn split_at_first(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Splits a reference into its registry and the rest, as `splitDockerDomain` does. The part before
/// the first slash is a registry if it looks like a host.
pub(crate) fn split_registry(text: &str) -> (&str, &str) {
    match split_at_first(text, '/') {
        (LEGACY_DEFAULT_REGISTRY, Some(rest)) => (DEFAULT_REGISTRY, rest),
        (first, Some(rest)) if looks_like_host(first) => (first, rest),
        _ => (DEFAULT_REGISTRY, text),
    }
}

/// The form of a registry host in which hosts are compared: lower case, a port without leading zeros, no port
/// 443, and `docker.io` for the names of Docker Hub. If another registry has several names, these
/// names count as different hosts. Nodes don't use this form: they use the host as it is written.
pub(crate) fn comparable_host(host: &str) -> Cow<'_, str> {
    let (name, port) = comparable_port(host);
    let name = if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(name.to_ascii_lowercase())
    } else {
        Cow::Borrowed(name)
    };
    match (port, &*name) {
        (None, LEGACY_DEFAULT_REGISTRY | DEFAULT_REGISTRY_SERVER) => {
            Cow::Borrowed(DEFAULT_REGISTRY)
        }
        (None, _) => name,
        (Some(port), name) => Cow::Owned([name, ":", port].concat()),
    }
}

/// A host without its port, and the port without leading zeros. None for the port 443.
pub(crate) fn comparable_port(host: &str) -> (&str, Option<&str>) {
    match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) => {
            let number = port.trim_start_matches('0');
            let number = if number.is_empty() { "0" } else { number };
            (name, (number != HTTPS_PORT).then_some(number))
        }
        _ => (host, None),
    }
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

pub(crate) fn looks_like_host(first: &str) -> bool {
    first == "localhost"
        || first
            .bytes()
            .any(|byte| byte == b'.' || byte == b':' || byte.is_ascii_uppercase())
}

/// Whether a path is in Docker Hub's namespace `library/`, and the path without this namespace.
fn official<'a>(registry: &str, path: &'a str) -> (bool, &'a str) {
    if registry != DEFAULT_REGISTRY {
        return (false, path);
    }
    match path.strip_prefix(OFFICIAL_NAMESPACE) {
        Some(short) => (true, short),
        None => (split_at_first(path, '/').1.is_none(), path),
    }
}

/// Whether a text is `host[:port]`. A host is a domain name, an IPv4 address, or an IPv6 address in
/// brackets.
fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        // The colons of an address in brackets begin no port.
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let is_host = match host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        Some(address) => {
            let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
            !address.is_empty() && address.bytes().all(is_part)
        }
        None => is_domain(host),
    };
    is_host && port.is_none_or(is_port)
}

/// Whether a text is a domain name or an IPv4 address: parts with dots between them. Each part has
/// letters, digits and inner hyphens.
fn is_domain(text: &str) -> bool {
    let mut last = b'.';
    for byte in text.bytes() {
        let fits = match byte {
            b'.' => last != b'.' && last != b'-',
            b'-' => last != b'.',
            _ => byte.is_ascii_alphanumeric(),
        };
        if !fits {
            return false;
        }
        last = byte;
    }
    last != b'.' && last != b'-'
}

/// Whether a text is a repository path: path components with `/` between them.
fn is_path(text: &str) -> bool {
    // `last` is the last byte, with a number that distinguishes `_` from `__`. `WORD` stands for any
    // letter or digit. `START` is the beginning of a component.
    const WORD: (u8, u8) = (b'a', 0);
    const START: (u8, u8) = (b'/', 0);
    let mut last = START;
    for byte in text.bytes() {
        last = match (byte, last) {
            (b'a'..=b'z' | b'0'..=b'9', _) => WORD,
            (b'/', WORD) => START,
            (b'.' | b'_' | b'-', WORD) => (byte, 1),
            (b'-', (b'-', _)) => (b'-', 1),
            (b'_', (b'_', 1)) => (b'_', 2),
            _ => return false,
        };
    }
    last == WORD
}

/// Whether a text is one path component: lower-case letters and digits. Between them may be `.`,
/// `_`, `__` or any number of `-`.
fn is_path_component(text: &str) -> bool {
    is_path(text) && split_at_first(text, '/').1.is_none()
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let later = |byte: u8| word(byte) || byte == b'.' || byte == b'-';
    text.len() <= TAG_MAX && text.bytes().next().is_some_and(word) && text.bytes().all(later)
}

/// Whether a text is a digest, `algorithm:hex`, of an algorithm that go-digest knows.
pub(crate) fn is_digest(text: &str) -> bool {
    Digest::try_from(text)
        .is_ok_and(|digest| !matches!(digest.algorithm(), DigestAlgorithm::Other(_)))
}

const fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
