//! Image references, read as the kubelet reads them.

use oci_spec::image::{Digest, DigestAlgorithm};

use super::host::{DOCKER_HUB, comparable, is_host, split_registry};

/// The largest length of a repository's path, in bytes: `RepositoryNameTotalLengthMax`.
const PATH_MAX: usize = 255;
/// The largest length of a tag, in bytes.
const TAG_MAX: usize = 128;
/// The tag of a reference that has neither a tag nor a digest.
pub const LATEST: &str = "latest";

/// A parsed image reference. Its parts are borrowed from the text.
///
/// The grammar is that of `ParseNormalizedNamed` in <https://github.com/distribution/reference>. The
/// kubelet and containerd call this function, and the API server calls it for the server default.
/// DESIGN.md says what the parsers on crates.io lack.
///
/// # Examples
///
/// ```
/// use consistent_pull_policy::image::Reference;
///
/// let image = Reference::parse("nginx:1.25").expect("a valid reference");
/// assert_eq!(image.repository(), "docker.io/library/nginx");
/// assert_eq!(image.tag, Some("1.25"));
/// assert!(Reference::parse("NGINX").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    text: &'a str,
    registry: &'a str,
    path: &'a str,
    /// The tag, if one is written.
    pub tag: Option<&'a str>,
    /// The digest, if one is written.
    pub digest: Option<&'a str>,
}

/// Why a text is no image reference. The kubelet reports `InvalidImageName` for such a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// What is wrong, as a clause that follows the image in a sentence.
    pub problem: &'static str,
    /// What to write.
    pub help: &'static str,
}

impl Invalid {
    /// The text is empty, or only white space.
    pub const EMPTY: Self = Self::new("it is empty");

    const fn new(problem: &'static str) -> Self {
        let help = "write registry/repository:tag";
        Self { problem, help }
    }

    const fn without_name(problem: &'static str) -> Self {
        let help = "write registry/repository@sha256:digest";
        Self { problem, help }
    }

    /// A mistake of the whole text. Where the parser stops is only a consequence of it.
    fn whole(text: &str) -> Option<Self> {
        if text.trim().is_empty() {
            return Some(Self::EMPTY);
        }
        // A placeholder is for example `$TAG`, `{{image}}`, `<repository>` or Helm's `<no value>`.
        let problem = if text.contains(['$', '{', '}', '<', '>']) {
            "a placeholder in it was not replaced"
        } else if text.contains(char::is_whitespace) {
            "it has white space"
        } else if text.contains("://") {
            "a reference has no URL scheme"
        } else {
            return None;
        };
        Some(Self::new(problem))
    }
}

impl<'a> Reference<'a> {
    /// Parses a reference.
    ///
    /// # Errors
    /// The text is no image reference. The error is the mistake that a person probably made.
    pub fn parse(text: &'a str) -> Result<Self, Invalid> {
        Self::parse_parts(text).map_err(|invalid| Invalid::whole(text).unwrap_or(invalid))
    }

    fn parse_parts(text: &'a str) -> Result<Self, Invalid> {
        if text.len() == 64 && text.bytes().all(is_lower_hex) {
            let problem = "it is a digest or an image ID without a name";
            return Err(Invalid::without_name(problem));
        }
        let (registry, rest) = split_registry(text);
        let (name, digest) = split_optional(rest, '@');
        let (path, tag) = split_optional(name, ':');
        let image = Self {
            text,
            registry,
            path,
            tag,
            digest,
        };
        image.check_name()?;
        if let Some(tag) = tag {
            check_tag(tag, text)?;
        }
        if let Some(digest) = digest {
            check_digest(digest, text)?;
        }
        Ok(image)
    }

    /// Checks the registry and the repository.
    fn check_name(&self) -> Result<(), Invalid> {
        let has_host = self.registry == DOCKER_HUB || is_host(self.registry);
        // By the grammar, a first part such as `a.b_c` is no host, but a part of the path.
        let before_path = if has_host {
            self.namespace().len()
        } else {
            self.registry.len().saturating_add(1)
        };
        let problem = if !has_host && !is_path_component(self.registry) {
            if self.registry.contains('_') {
                "its registry has an underscore, which no host name may have"
            } else {
                "its registry is not host[:port]"
            }
        } else if !self.path.split('/').all(is_path_component) {
            if self.path.contains(|c: char| c.is_ascii_uppercase()) {
                "its repository has upper-case letters"
            } else {
                "its repository is not lower-case letters and digits parted by . _ - or /"
            }
        } else if before_path.saturating_add(self.path.len()) > PATH_MAX {
            "its repository is longer than 255 characters"
        } else {
            return Ok(());
        };
        Err(Invalid::new(problem))
    }

    /// The tag that a node pulls: `latest` if neither a tag nor a digest is written. None if there
    /// is only a digest.
    pub fn effective_tag(&self) -> Option<&'a str> {
        self.tag.or(self.digest.is_none().then_some(LATEST))
    }

    /// Whether this is an image ID: `sha256:` and hexadecimal digits. The kubelet reads it as a
    /// repository of Docker Hub with a tag. containerd serves the node's image of this ID, and
    /// no registry has such an image.
    pub fn is_image_id(&self) -> bool {
        let id = self.text.strip_prefix("sha256:");
        id.is_some_and(|id| id.bytes().all(is_lower_hex))
    }

    /// The host of the registry, in the form in which hosts are compared.
    pub fn registry(&self) -> String {
        comparable(self.registry)
    }

    /// Whether a node and the policy server read the host in different ways. For a node, upper case
    /// makes the first part a host, and `oci-spec` takes such a part for a part of a Docker Hub
    /// repository.
    pub fn has_ambiguous_host(&self) -> bool {
        !self.registry.contains(['.', ':']) && self.registry != "localhost"
    }

    /// The normalised repository, e.g. `docker.io/library/nginx` for `nginx`. Its host is in the form
    /// in which hosts are compared.
    pub fn repository(&self) -> String {
        [&self.registry(), "/", self.namespace(), self.path].concat()
    }

    /// The namespace that `path` lacks: an official image of Docker Hub has none written.
    fn namespace(&self) -> &'static str {
        if self.registry == DOCKER_HUB && !self.path.contains('/') {
            "library/"
        } else {
            ""
        }
    }

    /// The names that patterns match: the normalised repository, without and with the tag that a
    /// node pulls. An official image of Docker Hub also has these names without `library/`.
    pub fn names(&self) -> Vec<String> {
        let repository = self.repository();
        let official = repository
            .strip_prefix("docker.io/library/")
            .filter(|name| !name.contains('/'));
        let short = official.map(|name| [DOCKER_HUB, "/", name].concat());
        let mut names: Vec<String> = short.into_iter().chain([repository]).collect();
        if let Some(tag) = self.effective_tag() {
            let with_tag: Vec<_> = names.iter().map(|name| [name, ":", tag].concat()).collect();
            names.extend(with_tag);
        }
        names
    }

    /// A name that all spellings of this image share: the normalised repository, and the digest or
    /// else the tag.
    pub fn normalised(&self) -> String {
        self.name_at(&self.registry())
    }

    /// The name to ask for: the normalised name, but with the host as it is written.
    pub fn lookup_name(&self) -> String {
        self.name_at(self.registry)
    }

    fn name_at(&self, host: &str) -> String {
        let (mark, version) = match self.digest {
            Some(digest) => ("@", digest),
            None => (":", self.tag.unwrap_or(LATEST)),
        };
        [host, "/", self.namespace(), self.path, mark, version].concat()
    }
}

/// Splits a text at the first occurrence of a character. The second part is None if the text lacks
/// the character.
fn split_optional(text: &str, at: char) -> (&str, Option<&str>) {
    let mut parts = text.splitn(2, at);
    (parts.next().unwrap_or_default(), parts.next())
}

/// Whether a text is one path component: lower-case letters and digits. Between them may be `.`,
/// `_`, `__` or any number of `-`.
fn is_path_component(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator =
        |part: &str| matches!(part, "." | "_" | "__") || part.bytes().all(|byte| byte == b'-');
    text.starts_with(is_word) && text.ends_with(is_word) && text.split(is_word).all(is_separator)
}

fn check_tag(tag: &str, text: &str) -> Result<(), Invalid> {
    let is_of_tag = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    if !(1..=TAG_MAX).contains(&tag.len()) || !tag.bytes().all(is_of_tag) {
        return Err(if has_algorithm(text, ":") {
            Invalid::without_name("a digest has @ before it")
        } else {
            Invalid::new("its tag is not 1 to 128 letters, digits, _ . or -")
        });
    }
    if tag.starts_with(['.', '-']) {
        return Err(Invalid::new("its tag begins with - or ."));
    }
    Ok(())
}

fn check_digest(digest: &str, text: &str) -> Result<(), Invalid> {
    if is_digest(digest) {
        return Ok(());
    }
    Err(if has_algorithm(text, "@") {
        Invalid {
            problem: "its digest is not whole, or not in lower case",
            help: "write the digest as its registry names it",
        }
    } else {
        Invalid::new("its digest is not sha256:, sha384: or sha512: and its hex digits")
    })
}

/// Whether a text has the algorithm of a digest behind a mark.
fn has_algorithm(text: &str, mark: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let mut algorithms = ["sha256:", "sha384:", "sha512:"].into_iter();
    algorithms.any(|algorithm| text.contains(&[mark, algorithm].concat()))
}

/// Whether a text is a digest, `algorithm:hex`, of an algorithm that go-digest knows.
pub fn is_digest(text: &str) -> bool {
    Digest::try_from(text)
        .is_ok_and(|digest| !matches!(digest.algorithm(), DigestAlgorithm::Other(_)))
}

const fn is_lower_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}
