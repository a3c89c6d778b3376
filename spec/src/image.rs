//! Image references: the parser, the normalised name and the spelling.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

/// A valid image reference, split into parts and normalised. Only `spelling` is not normalised.
///
/// Different texts can be the same reference after normalisation: `nginx` =
/// `docker.io/library/nginx:latest` = `index.docker.io/library/nginx:latest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The registry's host, with its port.
    pub registry: String,
    /// The repository inside the registry.
    pub repository: String,
    /// The tag. If the reference has neither tag nor digest, the tag is `latest`.
    pub tag: Option<String>,
    /// The digest with its algorithm.
    pub digest: Option<String>,
    /// Registry and repository as they were written, without tag and digest. A kubelet remembers under
    /// this name which pull credentials were proved for the image.
    pub spelling: String,
    /// Whether the text is the ID of an image on the node: `sha256:<hex>`. The hash may be truncated. A
    /// node reads this text as a tag of `docker.io/library/sha256`, but no registry has this image.
    pub is_image_id: bool,
}

// The grammar of `distribution/reference`, which the API server and the kubelet use. The group
// `host` is optional: if the part before the first slash is not a valid host, it may still be a part
// of a repository (`a.b_c` in `a.b_c/d`).
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let host = format!(r"(?:{label}(?:\.{label})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?");
    let part = "[a-z0-9]+(?:(?:[_.]|__|-+)[a-z0-9]+)*";
    let tag = "[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}";
    let digest = "sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}";
    Regex::new(&format!(
        r"\A((?P<host>{host})|{part})/({part}(?:/{part})*)(?::({tag}))?(?:@({digest}))?\z"
    ))
    .expect("the grammar is a regular expression")
});

static IDENTIFIER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\A[a-f0-9]{64}\z").expect("a regular expression"));

static IMAGE_ID: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\Asha256:[a-f0-9]+\z").expect("a regular expression"));

thread_local! {
    // The references that were parsed before. The tests parse the same few texts again and again.
    static PARSED: RefCell<HashMap<String, Option<Reference>>> = RefCell::new(HashMap::new());
}

impl Reference {
    /// Parses a reference by the kubelet's rules. `None` means that the kubelet reports
    /// `InvalidImageName`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        PARSED.with_borrow_mut(|parsed| {
            if parsed.len() > 1_000 {
                parsed.clear();
            }
            let read = || Self::read(text);
            parsed.entry(text.to_owned()).or_insert_with(read).clone()
        })
    }

    fn read(text: &str) -> Option<Self> {
        if IDENTIFIER.is_match(text) {
            return None;
        }
        let (registry, rest) = match text.split_once('/') {
            Some((first, rest)) if is_registry(first) => (first, rest),
            _ => ("docker.io", text),
        };
        let registry = match registry {
            "index.docker.io" => "docker.io",
            other => other,
        };
        let whole = if registry == "docker.io" && !rest.contains('/') {
            format!("{registry}/library/{rest}")
        } else {
            format!("{registry}/{rest}")
        };
        let parts = REFERENCE.captures(&whole)?;
        let text_of = |group: usize| parts.get(group).map(|part| part.as_str().to_owned());
        let (registry, repository) = (text_of(1)?, text_of(3)?);
        let (tag, digest) = (text_of(4), text_of(5));
        // In the grammar of `distribution/reference`, a part with `_` before the first slash is not a
        // host. So its characters count for the limit of 255 characters in a repository.
        let is_host = parts.name("host").is_some();
        let counted = repository.len() + if is_host { 0 } else { registry.len() + 1 };
        if counted > 255 {
            return None;
        }
        let untagged = text.split('@').next().unwrap_or(text);
        let spelling = match &tag {
            Some(tag) => untagged
                .strip_suffix(&format!(":{tag}"))
                .unwrap_or(untagged),
            None => untagged,
        };
        Some(Self {
            registry,
            repository,
            // With neither tag nor digest, the tag is `latest`.
            tag: tag.or_else(|| digest.is_none().then(|| "latest".to_owned())),
            digest,
            spelling: spelling.to_owned(),
            is_image_id: IMAGE_ID.is_match(text),
        })
    }

    /// Returns `registry/repository`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// Returns the names that image patterns are compared with: [`Self::name`], and the same name
    /// with the tag. Both names have the registry's host as [`compared_host`] returns it.
    #[must_use]
    pub fn names_for_patterns(&self) -> Vec<String> {
        let name = format!("{}/{}", compared_host(&self.registry), self.repository);
        let with_tag = self.tag.as_ref().map(|tag| format!("{name}:{tag}"));
        [Some(name), with_tag].into_iter().flatten().collect()
    }

    /// Returns `registry/repository:tag`, or `None` if there is no tag.
    #[must_use]
    pub fn name_and_tag(&self) -> Option<String> {
        self.tag
            .as_ref()
            .map(|tag| format!("{}:{tag}", self.name()))
    }

    /// Returns the normalised image. If there is a digest, the result has no tag.
    #[must_use]
    pub fn normalised(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => format!("{}@{digest}", self.name()),
            (None, Some(tag)) => format!("{}:{tag}", self.name()),
            (None, None) => self.name(),
        }
    }
}

/// Whether the text before the first slash is treated as a host, and not as a part of a repository.
#[must_use]
pub fn is_registry(first: &str) -> bool {
    first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first
}

static LEADING_ZEROS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r":0+([0-9]+)\z").expect("a regular expression"));

/// Returns a registry host in the form that is compared with image patterns: in lower case, without the
/// leading zeros of its port, and without the port 443. `registry-1.docker.io` becomes `docker.io`.
///
/// **Decided**: `index.docker.io` becomes `docker.io` too, also in upper case or with port 443. The
/// repository is not changed. `library/` is added only after `docker.io` and `index.docker.io` in
/// exactly these spellings.
#[must_use]
pub fn compared_host(host: &str) -> String {
    let host = host.to_lowercase();
    let host = LEADING_ZEROS.replace(&host, ":$1");
    match host.strip_suffix(":443").unwrap_or(&host) {
        "registry-1.docker.io" | "index.docker.io" => "docker.io".to_owned(),
        other => other.to_owned(),
    }
}
