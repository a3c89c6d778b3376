//! Image references, read as the kubelet reads them.

use oci_spec::image::{Digest, DigestAlgorithm};

use super::registry_host::{DOCKER_HUB, comparable, is_host, split_registry};

/// The namespace of a Docker Hub repository whose reference has no namespace.
const OFFICIAL_NAMESPACE: &str = "library/";
/// The largest length of a repository's path, in bytes: `RepositoryNameTotalLengthMax`.
const PATH_MAX: usize = 255;
/// The largest length of a tag, in bytes.
const TAG_MAX: usize = 128;

/// A parsed image reference. Its parts are borrowed from the text.
///
/// The grammar is that of `ParseNormalizedNamed` in <https://github.com/distribution/reference>. The
/// kubelet and containerd call this function, and the API server calls it for the server default.
/// DESIGN.md says what the parsers on crates.io lack.
///
/// # Examples
///
/// ```
/// use consistent_pull_policy::image::{Invalid, Reference};
///
/// let image = Reference::parse("nginx:1.25")?;
/// assert_eq!(image.repository(), "docker.io/library/nginx");
/// assert_eq!(image.tag(), Some("1.25"));
/// assert_eq!(Reference::parse("NGINX"), Err(Invalid::UpperCase));
/// # Ok::<(), Invalid>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    registry: &'a str,
    /// Whether `path` leaves out Docker Hub's namespace `library/`.
    is_official: bool,
    path: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
    is_image_id: bool,
}

/// Why a text is no image reference. The kubelet reports `InvalidImageName` for such a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// The text is empty, or only white space.
    Empty,
    /// The text has white space.
    Space,
    /// The text has `://`, the mark of a URL scheme.
    Scheme,
    /// The text has a placeholder that was not replaced, such as `$TAG`, `{{image}}`, `<repository>`
    /// or Helm's `<no value>`.
    Placeholder,
    /// The text is the 64 hexadecimal digits of an image ID.
    BareImageId,
    /// The registry is not `host[:port]`.
    Registry,
    /// The registry has an underscore.
    Underscore,
    /// The repository has upper-case letters.
    UpperCase,
    /// The repository is empty, has an empty part or a forbidden character, or a separator is in a
    /// wrong position.
    Repository,
    /// The path of the repository is longer than 255 bytes.
    Long,
    /// The tag is empty, longer than 128 bytes, or has a forbidden character.
    Tag,
    /// The tag begins with `-` or `.`.
    TagStart,
    /// A digest follows `:` in place of `@`.
    DigestAsTag,
    /// The digest is not `sha256:`, `sha384:` or `sha512:` and hexadecimal digits.
    Digest,
    /// The digest has not the right number of lower-case hexadecimal digits.
    BrokenDigest,
}

impl Invalid {
    /// What is wrong, as a clause that follows the image in a sentence.
    pub const fn problem(self) -> &'static str {
        match self {
            Self::Empty => "it is empty",
            Self::Space => "it has white space",
            Self::Scheme => "a reference has no URL scheme",
            Self::Placeholder => "a placeholder in it was not replaced",
            Self::BareImageId => "it is a digest or an image ID without a name",
            Self::Registry => "its registry is not host[:port]",
            Self::Underscore => "its registry has an underscore, which no host name may have",
            Self::UpperCase => "its repository has upper-case letters",
            Self::Repository => {
                "its repository is not lower-case letters and digits parted by . _ - or /"
            }
            Self::Long => "its repository is longer than 255 characters",
            Self::Tag => "its tag is not 1 to 128 letters, digits, _ . or -",
            Self::TagStart => "its tag begins with - or .",
            Self::DigestAsTag => "a digest has @ before it",
            Self::Digest => "its digest is not sha256:, sha384: or sha512: and its hex digits",
            Self::BrokenDigest => "its digest is not whole, or not in lower case",
        }
    }

    /// What to write.
    pub const fn help(self) -> &'static str {
        match self {
            Self::BareImageId | Self::DigestAsTag => "write registry/repository@sha256:digest",
            Self::BrokenDigest => "write the digest as its registry names it",
            _ => "write registry/repository:tag",
        }
    }

    /// The mistake that a person probably made. `self` is the problem at which the parser stopped.
    /// That problem is often only a consequence of the mistake.
    fn most_telling(self, text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let has_algorithm_after = |mark: &str| {
            let mut algorithms = ["sha256:", "sha384:", "sha512:"].into_iter();
            algorithms.any(|algorithm| lower.contains(&[mark, algorithm].concat()))
        };
        if text.trim().is_empty() {
            return Self::Empty;
        }
        if text.contains(['$', '{', '}', '<', '>']) {
            return Self::Placeholder;
        }
        if text.chars().any(char::is_whitespace) {
            return Self::Space;
        }
        if text.contains("://") {
            return Self::Scheme;
        }
        match self {
            Self::Registry
                if text
                    .split('/')
                    .next()
                    .is_some_and(|host| host.contains('_')) =>
            {
                Self::Underscore
            }
            Self::Tag if has_algorithm_after(":") => Self::DigestAsTag,
            Self::Digest if has_algorithm_after("@") => Self::BrokenDigest,
            other => other,
        }
    }
}

impl<'a> Reference<'a> {
    /// Parses a reference.
    ///
    /// # Errors
    /// The text is no image reference.
    pub fn parse(text: &'a str) -> Result<Self, Invalid> {
        Self::parse_parts(text).map_err(|invalid| invalid.most_telling(text))
    }

    fn parse_parts(text: &'a str) -> Result<Self, Invalid> {
        if text.len() == 64 && text.bytes().all(is_lower_hex) {
            return Err(Invalid::BareImageId);
        }
        let (registry, rest) = split_registry(text);
        let has_host = registry == DOCKER_HUB || is_host(registry);
        if !has_host && !is_path_component(registry) {
            return Err(Invalid::Registry);
        }
        let (name, digest) = split_optional(rest, '@');
        let (path, tag) = split_optional(name, ':');
        let is_official = registry == DOCKER_HUB && !path.contains('/');
        // By the grammar, a first part such as `a.b_c` is no host. It is the first component of the
        // path, so its length counts, with its slash.
        let before_path = match (has_host, is_official) {
            (true, true) => OFFICIAL_NAMESPACE.len(),
            (true, false) => 0,
            (false, _) => registry.len().saturating_add(1),
        };
        check_path(path, before_path)?;
        tag.map_or(Ok(()), check_tag)?;
        if !digest.is_none_or(is_digest) {
            return Err(Invalid::Digest);
        }
        let id = text.strip_prefix("sha256:");
        let is_image_id = id.is_some_and(|id| id.bytes().all(is_lower_hex));
        Ok(Self {
            registry,
            is_official,
            path,
            tag,
            digest,
            is_image_id,
        })
    }

    /// The tag, if one is written.
    pub const fn tag(&self) -> Option<&'a str> {
        self.tag
    }

    /// The digest, if one is written.
    pub const fn digest(&self) -> Option<&'a str> {
        self.digest
    }

    /// The tag that a node pulls: `latest` if neither a tag nor a digest is written. None if there
    /// is only a digest.
    pub fn effective_tag(&self) -> Option<&'a str> {
        self.tag.or(self.digest.is_none().then_some("latest"))
    }

    /// Whether this is an image ID: `sha256:` and hexadecimal digits. The kubelet reads it as a
    /// repository of Docker Hub with a tag. containerd serves the node's image of this ID, and
    /// no registry has such an image.
    pub const fn is_image_id(&self) -> bool {
        self.is_image_id
    }

    /// The host of the registry, in the form in which hosts are compared.
    pub fn registry(&self) -> String {
        comparable(self.registry)
    }

    /// Whether a node and the policy server read the host in different ways. For a node, upper case
    /// makes the first part a host, and `oci-spec` takes such a part for a part of a Docker Hub
    /// repository.
    pub(crate) fn has_ambiguous_host(&self) -> bool {
        !self.registry.contains(['.', ':']) && self.registry != "localhost"
    }

    /// The normalised repository, e.g. `docker.io/library/nginx` for `nginx`. Its host is in the form
    /// in which hosts are compared.
    pub fn repository(&self) -> String {
        self.repository_at(&self.registry())
    }

    fn repository_at(&self, host: &str) -> String {
        let namespace = if self.is_official {
            OFFICIAL_NAMESPACE
        } else {
            ""
        };
        [host, "/", namespace, self.path].concat()
    }

    /// A name that all spellings of this image share: the normalised repository, and the digest or
    /// else the tag.
    pub fn normalised(&self) -> String {
        self.with_version(&self.repository())
    }

    /// The normalised name, but with the host as it is written.
    pub fn as_written(&self) -> String {
        self.with_version(&self.repository_at(self.registry))
    }

    /// A repository with the digest of this reference, or else with its tag.
    fn with_version(&self, repository: &str) -> String {
        match (self.digest, self.effective_tag()) {
            (Some(digest), _) => [repository, "@", digest].concat(),
            (None, tag) => [repository, ":", tag.unwrap_or_default()].concat(),
        }
    }
}

/// Splits a text at the first occurrence of a character. The second part is None if the text lacks
/// the character.
fn split_optional(text: &str, at: char) -> (&str, Option<&str>) {
    match text.split_once(at) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

/// Whether a text is a repository path: path components with `/` between them.
fn is_path(text: &str) -> bool {
    text.split('/').all(is_path_component)
}

/// Whether a text is one path component: lower-case letters and digits. Between them may be `.`,
/// `_`, `__` or any number of `-`.
fn is_path_component(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator =
        |part: &str| matches!(part, "." | "_" | "__") || part.bytes().all(|byte| byte == b'-');
    text.starts_with(is_word) && text.ends_with(is_word) && text.split(is_word).all(is_separator)
}

/// Checks a path behind a namespace of this length.
fn check_path(text: &str, before: usize) -> Result<(), Invalid> {
    if is_path(text) {
        let is_long = text.len().saturating_add(before) > PATH_MAX;
        return if is_long { Err(Invalid::Long) } else { Ok(()) };
    }
    let has_upper_case = text.bytes().any(|byte| byte.is_ascii_uppercase());
    Err(if has_upper_case {
        Invalid::UpperCase
    } else {
        Invalid::Repository
    })
}

fn check_tag(text: &str) -> Result<(), Invalid> {
    let is_of_tag = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if !(1..=TAG_MAX).contains(&text.len()) || !text.bytes().all(is_of_tag) {
        return Err(Invalid::Tag);
    }
    let starts = !text.starts_with(['.', '-']);
    starts.then_some(()).ok_or(Invalid::TagStart)
}

/// Whether a text is a digest, `algorithm:hex`, of an algorithm that go-digest knows.
pub(crate) fn is_digest(text: &str) -> bool {
    let known = |digest: Digest| !matches!(digest.algorithm(), DigestAlgorithm::Other(_));
    Digest::try_from(text).is_ok_and(known)
}

const fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
