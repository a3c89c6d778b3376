//! Image references, and the pull policies that belong to them.

use std::cell::RefCell;
use std::collections::HashMap;

/// A valid image reference, split into parts and normalised: `nginx` is `docker.io/library/nginx:latest`.
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
        let is_identifier = text.len() == 64 && is_hex(text);
        // This parser knows no IPv6 address, so another host takes its place.
        let address = text.split_once(']').map_or("", |(address, _)| address);
        let is_address = text.contains('/')
            && address.len() > 1
            && address.starts_with('[')
            && address[1..].chars().all(|c| c == ':' || c.is_ascii_hexdigit());
        let parsed =
            if is_address { &format!("ip.v6{}", &text[address.len() + 1..]) } else { text };
        let image: oci_spec::distribution::Reference =
            parsed.parse().ok().filter(|_| !is_identifier)?;
        let registry = image.registry();
        // It takes upper-case digits, and SHA-512 with too few of them.
        let is_digest = |digest: &str| match digest.split_once(':') {
            Some(("sha256", digits)) => digits.len() == 64 && is_hex(digits),
            Some(("sha512", digits)) => digits.len() == 128 && is_hex(digits),
            _ => true,
        };
        image.digest().is_none_or(is_digest).then_some(())?;
        Some(Self {
            registry: if is_address {
                registry.replacen("ip.v6", &format!("{address}]"), 1)
            } else {
                registry.to_owned()
            },
            repository: image.repository().to_owned(),
            tag: image.tag().map(str::to_owned),
            digest: image.digest().map(str::to_owned),
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

/// The registry host in the form that is compared: in lower case, without the leading zeros of its port
/// and without the port 443. The aliases of Docker Hub count as `docker.io`.
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

/// The image as a node names it: as it is written, with `:latest` if there is neither a tag nor a digest.
/// Two references name the same image if these texts are equal.
pub(crate) fn on_node(image: &str) -> String {
    let last = image.rsplit('/').next().unwrap_or_default();
    if last.contains([':', '@']) { image.to_owned() } else { format!("{image}:latest") }
}

/// A pull policy. The values are ordered by strength: `Always` > `IfNotPresent` > `Never`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PullPolicy {
    Never,
    IfNotPresent,
    Always,
}

impl PullPolicy {
    /// Reads the pull policy of a place with this image. A pull policy that isn't set is the server default.
    pub(crate) fn read(text: &str, image: &str) -> Self {
        match text {
            "Always" => Self::Always,
            "IfNotPresent" => Self::IfNotPresent,
            "Never" => Self::Never,
            _ => Self::server_default(image),
        }
    }

    /// The pull policy that the API server writes if none is set. The tag `latest` gets `Always`, even if
    /// the image has a digest too. A text that can't be parsed gets `IfNotPresent`.
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
