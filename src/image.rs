//! Image references, as the kubelet reads them.
//!
//! The authority is `ParseNormalizedNamed` of <https://github.com/distribution/reference>, which
//! the API server (for its default), the kubelet and containerd all call. The parser is the
//! project's own because those on crates.io compile regular expressions, which a fresh instance
//! of the module would do at every request; `oci-spec`'s is the oracle of the tests, which list
//! where the two authorities differ.

use oci_spec::image::{Digest, DigestAlgorithm};

/// The registry of a reference that names none.
pub const DEFAULT_REGISTRY: &str = "docker.io";
/// Another name of [`DEFAULT_REGISTRY`], kept for old references.
const LEGACY_DEFAULT_REGISTRY: &str = "index.docker.io";
/// The namespace of a Docker Hub repository that names none.
const OFFICIAL_NAMESPACE: &str = "library/";
/// The longest repository path, `RepositoryNameTotalLengthMax`, in bytes.
const PATH_MAX: usize = 255;
/// The longest tag, in bytes.
const TAG_MAX: usize = 128;

/// A parsed image reference, borrowed from its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// The repository as it is written.
    written: &'a str,
    registry: &'a str,
    /// The path stands in Docker Hub's `library/`, which `path` then leaves out.
    official: bool,
    path: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

/// What makes two references the same image: registry and repository, and the digest, or the tag
/// where there is no digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageIdentity<'a> {
    // The parts that differ most come first.
    path: &'a str,
    /// A digest has a colon, a tag can't.
    version: &'a str,
    registry: &'a str,
    official: bool,
}

/// Why a text is no image reference. The kubelet says `InvalidImageName` to all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidReference {
    /// Nothing there.
    Empty,
    /// White space anywhere.
    Space,
    /// A URL scheme in front.
    Scheme,
    /// A variable such as `$(IMAGE)` or `${IMAGE}` that nobody replaced.
    Variable,
    /// An image ID, which containerd takes for an image on the node, past every registry: 64
    /// hexadecimal digits, or `sha256:` and any number of them.
    ImageId,
    /// The registry is not `host[:port]`.
    Registry,
    /// The repository has upper-case letters.
    UpperCase,
    /// The repository is empty, has an empty part, or a character that can't stand there.
    Repository,
    /// The repository is longer than 255 bytes.
    Long,
    /// The tag is empty, longer than 128 bytes, or has a character that can't stand there.
    Tag,
    /// The digest is not `sha256:`, `sha384:` or `sha512:` with as many lower-case hexadecimal
    /// digits as it takes.
    Digest,
}

impl InvalidReference {
    /// What is wrong, to follow the image in a sentence.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Empty => "it is empty",
            Self::Space => "it has white space",
            Self::Scheme => "a reference has no URL scheme",
            Self::Variable => "a variable in it was not replaced",
            Self::ImageId => "it is an image ID, which no registry is asked for",
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
}

impl<'a> Reference<'a> {
    /// Parses a reference.
    ///
    /// # Errors
    /// Says what is wrong with it.
    pub fn parse(text: &'a str) -> Result<Self, InvalidReference> {
        Self::parse_parts(text).map_err(|invalid| InvalidReference::most_telling(text, invalid))
    }

    fn parse_parts(text: &'a str) -> Result<Self, InvalidReference> {
        if is_image_id(text) {
            return Err(InvalidReference::ImageId);
        }
        let (registry, remainder) = split_registry(text);
        if registry != DEFAULT_REGISTRY && !is_registry(registry) && !is_path_component(registry) {
            return Err(InvalidReference::Registry);
        }
        let (name, digest) = part_at(remainder, '@');
        let (path, tag) = part_at(name, ':');
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
        let namespace = if official {
            OFFICIAL_NAMESPACE.len()
        } else {
            0
        };
        if path.len().saturating_add(namespace) > PATH_MAX {
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

    /// The repository as it is written, without tag and digest. A node keeps the credentials that
    /// pulled an image by this name (`KubeletEnsureSecretPulledImages`), so for another spelling
    /// of the same repository it asks the registry again.
    #[must_use]
    pub const fn written(&self) -> &'a str {
        self.written
    }

    /// The registry's host and port, `docker.io` where the reference names none.
    #[must_use]
    pub const fn registry(&self) -> &'a str {
        self.registry
    }

    /// The tag as it is written.
    #[must_use]
    pub const fn tag(&self) -> Option<&'a str> {
        self.tag
    }

    /// The digest as it is written.
    #[must_use]
    pub const fn digest(&self) -> Option<&'a str> {
        self.digest
    }

    /// What makes this image the same as another.
    #[must_use]
    pub fn identity(self) -> ImageIdentity<'a> {
        self.identity_at(self.digest)
    }

    /// What this image has in common with all others of its repository, however they are written.
    #[must_use]
    pub fn repository_identity(self) -> ImageIdentity<'a> {
        self.identity_at(Some(""))
    }

    /// The identity that this image has once it is pinned to a digest.
    #[must_use]
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

    /// Whether `pinned` is this image, tag for tag, with a digest added.
    #[must_use]
    pub fn is_pinned_as(self, pinned: Reference<'_>) -> bool {
        self.digest.is_none()
            && pinned.digest.is_some()
            && self.identity() == pinned.identity_at(Some(pinned.effective_tag()))
    }

    /// The tag that is pulled when there is no digest.
    fn effective_tag(&self) -> &'a str {
        self.tag.unwrap_or("latest")
    }

    /// The normalised repository: `docker.io/library/nginx` for `nginx`.
    #[must_use]
    pub fn repository(&self) -> String {
        let namespace = if self.official {
            OFFICIAL_NAMESPACE
        } else {
            ""
        };
        [self.registry, "/", namespace, self.path].concat()
    }

    /// The normalised repository with its tag, the implied one included; none where there is
    /// only a digest.
    #[must_use]
    pub fn repository_and_tag(&self) -> Option<String> {
        match (self.tag, self.digest) {
            (None, Some(_)) => None,
            _ => Some([&self.repository(), ":", self.effective_tag()].concat()),
        }
    }
}

impl InvalidReference {
    /// A person looks for the mistake that they made, not for the part that the parser was in.
    fn most_telling(text: &str, invalid: Self) -> Self {
        if text.trim().is_empty() {
            Self::Empty
        } else if ["$(", "${", "{{"].iter().any(|part| text.contains(part)) {
            Self::Variable
        } else if text.chars().any(char::is_whitespace) {
            Self::Space
        } else if text.contains("://") {
            Self::Scheme
        } else {
            invalid
        }
    }
}

/// Parts a text at the first such character.
fn part_at(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Parts the registry from the rest, as `splitDockerDomain` does: the first part is a registry
/// when it looks like a host.
pub(crate) fn split_registry(text: &str) -> (&str, &str) {
    match part_at(text, '/') {
        (first, Some(rest)) if looks_like_host(first) => {
            if first == LEGACY_DEFAULT_REGISTRY {
                (DEFAULT_REGISTRY, rest)
            } else {
                (first, rest)
            }
        }
        _ => (DEFAULT_REGISTRY, text),
    }
}

fn looks_like_host(first: &str) -> bool {
    first == "localhost"
        || first
            .bytes()
            .any(|byte| byte == b'.' || byte == b':' || byte.is_ascii_uppercase())
}

/// Whether the path stands in Docker Hub's `library/`, and the path without it.
fn official<'a>(registry: &str, path: &'a str) -> (bool, &'a str) {
    if registry != DEFAULT_REGISTRY {
        return (false, path);
    }
    match path.strip_prefix(OFFICIAL_NAMESPACE) {
        Some(short) => (true, short),
        None => (part_at(path, '/').1.is_none(), path),
    }
}

/// `host[:port]`; a host is a domain name, an IPv4 address, or an IPv6 address in brackets.
fn is_registry(text: &str) -> bool {
    let (host, port) = if let Some(rest) = text.strip_prefix('[') {
        let Some((address, after)) = rest.split_once(']') else {
            return false;
        };
        let address_is_ipv6 = !address.is_empty()
            && address
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b':');
        if !address_is_ipv6 {
            return false;
        }
        (
            "v6",
            after
                .strip_prefix(':')
                .or((!after.is_empty()).then_some("")),
        )
    } else {
        part_at(text, ':')
    };
    let port_is_number =
        port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    port_is_number && is_domain(host)
}

/// Letters, digits and, between them, hyphens, in parts that dots part.
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

/// Path components, parted by `/`.
fn is_path(text: &str) -> bool {
    // What came last: a letter or digit, nothing or a slash, or a separator and how many of it.
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

/// Lower-case letters and digits, parted by one of `.`, `_`, `__`, or any number of `-`.
fn is_path_component(text: &str) -> bool {
    is_path(text) && part_at(text, '/').1.is_none()
}

fn is_tag(text: &str) -> bool {
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.len() <= TAG_MAX
        && text.bytes().next().is_some_and(word)
        && text
            .bytes()
            .all(|byte| word(byte) || byte == b'.' || byte == b'-')
}

/// A digest of an algorithm that go-digest knows, `algorithm:hex`.
pub(crate) fn is_digest(text: &str) -> bool {
    Digest::try_from(text)
        .is_ok_and(|digest| !matches!(digest.algorithm(), DigestAlgorithm::Other(_)))
}

/// A whole reference that a node resolves without any registry; containerd takes truncated image
/// IDs, too.
fn is_image_id(text: &str) -> bool {
    let is_hex = |hex: &str| !hex.is_empty() && hex.bytes().all(is_lower_hex);
    match text.strip_prefix("sha256:") {
        Some(hex) => is_hex(hex),
        None => text.len() == 64 && is_hex(text),
    }
}

const fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
