//! Image references, and the pull policies that belong to them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

/// A valid image reference, split into parts and normalised: `nginx` is
/// `docker.io/library/nginx:latest`.
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
}

/// The grammar of `distribution/reference`, which the API server and the kubelet use, after the
/// registry and `library/` are filled in. If the part before the first slash is not a valid host,
/// it may still be a part of a repository (`a.b_c` in `a.b_c/d`).
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let label = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
    let host = format!(r"(?:{label}(?:\.{label})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?");
    let part = "[a-z0-9]+(?:(?:[_.]|__|-+)[a-z0-9]+)*";
    let tag = "[0-9A-Za-z_][0-9A-Za-z_.-]{0,127}";
    let digest = "sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128}";
    Regex::new(&format!(
        r"\A(?<registry>(?<host>{host})|{part})/(?<repository>{part}(?:/{part})*)(?::(?<tag>{tag}))?(?:@(?<digest>{digest}))?\z"
    ))
    .expect("the grammar is a regular expression")
});

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
        // 64 hex digits alone are the identifier of an image, and no reference.
        if text.len() == 64 && is_hex(text) {
            return None;
        }
        let (registry, rest) = match text.split_once('/') {
            Some((first, rest)) if is_registry(first) => (first, rest),
            _ => ("docker.io", text),
        };
        let whole = match registry {
            "docker.io" | "index.docker.io" if !rest.contains('/') => {
                format!("docker.io/library/{rest}")
            }
            "index.docker.io" => format!("docker.io/{rest}"),
            _ => format!("{registry}/{rest}"),
        };
        let parts = REFERENCE.captures(&whole)?;
        let part = |name| parts.name(name).map(|part| part.as_str().to_owned());
        let (registry, repository) = (part("registry")?, part("repository")?);
        // A first part with `_` is no host. So it counts for the limit of a repository.
        let is_host = parts.name("host").is_some();
        let counted = repository.len() + if is_host { 0 } else { registry.len() + 1 };
        let (tag, digest) = (part("tag"), part("digest"));
        (counted <= 255).then(|| Self {
            registry,
            repository,
            tag: tag.or_else(|| digest.is_none().then(|| "latest".to_owned())),
            digest,
        })
    }

    /// Returns `registry/repository`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
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

/// The name that all spellings of an image share. `None` if the reference is invalid.
#[must_use]
pub fn shared_name(image: &str) -> Option<String> {
    let image = Reference::parse(image)?;
    let registry = compared_host(&image.registry);
    Some(Reference { registry, ..image }.normalised())
}

/// Whether the text before the first slash is treated as a host, and not as a part of a repository.
pub(crate) fn is_registry(first: &str) -> bool {
    first.contains(['.', ':']) || first == "localhost" || first.to_lowercase() != first
}

/// The registry host in the form that is compared: in lower case, without the leading zeros of its
/// port and without the port 443. The aliases of Docker Hub count as `docker.io`.
pub(crate) fn compared_host(host: &str) -> String {
    let host = host.to_lowercase();
    let host = match host.rsplit_once(':') {
        Some((name, port)) if port.chars().all(|c| c.is_ascii_digit()) => {
            match port.trim_start_matches('0') {
                "443" => name.to_owned(),
                "" => format!("{name}:0"),
                port => format!("{name}:{port}"),
            }
        }
        _ => host,
    };
    match host.as_str() {
        "registry-1.docker.io" | "index.docker.io" => "docker.io".to_owned(),
        _ => host,
    }
}

/// The ID of an image on a node: `sha256:` and hex digits.
pub(crate) fn is_image_id(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(is_hex)
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
}

/// The image as a node names it: as it is written, with `:latest` if there is neither a tag nor a
/// digest. Two references name the same image if these texts are equal.
pub(crate) fn on_node(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or_default();
    if last.contains([':', '@']) {
        image.to_owned()
    } else {
        format!("{image}:latest")
    }
}

/// A pull policy. The values are ordered by strength: `Always` > `IfNotPresent` > `Never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PullPolicy {
    Never,
    IfNotPresent,
    Always,
}

impl PullPolicy {
    /// Reads the pull policy of a place with this image. A pull policy that isn't set is the server
    /// default.
    pub(crate) fn read(text: &str, image: &str) -> Self {
        match text {
            "Always" => Self::Always,
            "IfNotPresent" => Self::IfNotPresent,
            "Never" => Self::Never,
            _ => Self::server_default(image),
        }
    }

    /// The pull policy that the API server writes if none is set. The tag `latest` gets `Always`,
    /// even if the image has a digest too. A text that can't be parsed gets `IfNotPresent`.
    pub(crate) fn server_default(image: &str) -> Self {
        match Reference::parse(image) {
            Some(image) if image.tag.as_deref() == Some("latest") => Self::Always,
            _ => Self::IfNotPresent,
        }
    }

    /// The name of the pull policy in the Kubernetes API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Always => "Always",
            Self::IfNotPresent => "IfNotPresent",
            Self::Never => "Never",
        }
    }
}
