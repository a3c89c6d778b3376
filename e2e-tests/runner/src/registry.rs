//! The registries of a row: what they and the host answer to lookups.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use consistent_pull_policy_promises::answers::{Answers, Failure, IndexEntry};
use consistent_pull_policy_promises::image::shared_name;
use consistent_pull_policy_promises::policy::HostCall;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::notation::whole_digests;

/// What a registry answers about an image.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Image {
    /// A digest, or the words of a failure.
    Answer(String),
    /// An image with an index.
    Index {
        digest: String,
        /// The entries of the index: a platform and, if the manifest can't be had, the words of the failure.
        platforms: Vec<String>,
        /// Why the index can't be had.
        index: Option<String>,
    },
    /// The registry's own words.
    Says { says: String },
}

/// A lookup of this policy: the operation of the host, and the image.
pub(crate) type Call = (String, String);

/// Registries that answer as a row says.
#[derive(Clone, Debug, Default)]
pub struct Registries {
    images: BTreeMap<String, Image>,
}

impl Registries {
    pub(crate) fn new(images: BTreeMap<String, Image>) -> Self {
        Self { images }
    }

    /// These answers, for the promises.
    pub(crate) fn promised(&self) -> Answers {
        let mut answers = Answers::default();
        let name = |image: &str| shared_name(image).unwrap_or_default();
        for (image, known) in &self.images {
            let digest = match known {
                Image::Answer(digest) if digest.starts_with("sha256:") => Ok(digest.clone()),
                Image::Answer(words) => Err(failure(words)),
                Image::Says { .. } => Err(Failure::Unknown),
                Image::Index { digest, index, .. } => {
                    let repository = repository(image);
                    for (child, words) in known.children() {
                        let answer = words.map_or(Ok(child.clone()), |words| Err(failure(&words)));
                        answers.digests.insert(name(&format!("{repository}@{child}")), answer);
                    }
                    let entries = index
                        .as_ref()
                        .map_or_else(|| Ok(Some(known.entries())), |words| Err(failure(words)));
                    answers.indexes.insert(name(&format!("{repository}@{digest}")), entries);
                    Ok(digest.clone())
                }
            };
            answers.digests.insert(name(image), digest);
        }
        answers
    }

    /// The images of which a row says something.
    pub(crate) fn images(&self) -> impl Iterator<Item = &str> {
        self.images.keys().map(String::as_str)
    }

    /// A host that lets these registries answer, and writes down the lookups.
    pub(crate) fn host(&self, calls: &Arc<Mutex<Vec<Call>>>) -> Arc<HostCall> {
        let (registries, calls) = (self.clone(), Arc::clone(calls));
        Arc::new(move |namespace, operation, payload| {
            if namespace != "oci" {
                return Ok(Vec::new());
            }
            let image: String =
                serde_json::from_slice(payload).map_err(|error| error.to_string())?;
            let answer = registries.answer(operation, &image);
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push((operation.to_owned(), image));
            answer.map(|answer| answer.to_string().into_bytes())
        })
    }

    /// The answer to a lookup, or the host's error.
    pub(crate) fn answer(&self, operation: &str, image: &str) -> Result<Value, String> {
        let found = self.find(image);
        if operation == "v1/manifest_digest" {
            return found.digest.map(|digest| json!({"digest": digest}));
        }
        found.digest.and(found.manifest)
    }

    /// Whether a row says something about this image.
    pub(crate) fn knows(&self, image: &str) -> bool {
        !self.find(image).digest.is_err_and(|error| error == NO_ANSWER)
    }

    fn find(&self, image: &str) -> Found {
        if let Some(known) = self.images.get(image) {
            return known.found(image);
        }
        // An index or one of its manifests, by its digest.
        for (name, known) in &self.images {
            let Some(digest) =
                image.strip_prefix(repository(name)).and_then(|rest| rest.strip_prefix('@'))
            else {
                continue;
            };
            let found = known.found(name);
            if found.digest.as_deref() == Ok(digest) {
                return found;
            }
            if let Some((_, failure)) =
                known.children().into_iter().find(|(child, _)| child == digest)
            {
                return Found::manifest(match failure {
                    Some(words) => Err(host_error(&words, image)),
                    None => Ok(digest.to_owned()),
                });
            }
        }
        Found::manifest(Err(NO_ANSWER.to_owned()))
    }
}

/// An image without its tag and its digest.
fn repository(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    match name.rsplit_once(':') {
        Some((repository, tag)) if !tag.contains('/') => repository,
        _ => name,
    }
}

/// The class of a failure in words.
fn failure(words: &str) -> Failure {
    match words {
        "not found" => Failure::NotFound,
        "denied" => Failure::Denied,
        "rate limited" => Failure::RateLimited,
        "unreachable" => Failure::Unreachable,
        "refused" => Failure::NotGranted,
        _ => Failure::Unknown,
    }
}

/// The host's error for an image of which the row says nothing.
const NO_ANSWER: &str = "the row has no answer for this image";

struct Found {
    digest: Result<String, String>,
    manifest: Result<Value, String>,
}

impl Found {
    fn manifest(digest: Result<String, String>) -> Self {
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": whole_digests("sha256:c…"), "size": 2},
            "layers": [],
        });
        Self { digest, manifest: Ok(manifest) }
    }
}

impl Image {
    fn found(&self, name: &str) -> Found {
        match self {
            Self::Answer(digest) if digest.starts_with("sha256:") => {
                Found::manifest(Ok(digest.clone()))
            }
            Self::Answer(words) => Found::manifest(Err(host_error(words, name))),
            Self::Says { says } => Found::manifest(Err(registry_error(says, name))),
            Self::Index { digest, index, .. } => Found {
                digest: Ok(digest.clone()),
                manifest: match index {
                    Some(words) => Err(host_error(words, name)),
                    None => Ok(self.index()),
                },
            },
        }
    }

    fn index(&self) -> Value {
        let entries = self.entries().into_iter().map(|entry| {
            json!({
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "digest": entry.digest,
                "size": 2,
                "platform": {"os": entry.os, "architecture": entry.architecture},
            })
        });
        json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": entries.collect::<Vec<_>>(),
        })
    }

    /// The entries of the index.
    fn entries(&self) -> Vec<IndexEntry> {
        let Self::Index { platforms, .. } = self else {
            return Vec::new();
        };
        let entries = platforms.iter().zip(self.children()).map(|(platform, (digest, _))| {
            let platform = platform.split(' ').next().unwrap_or_default();
            let (os, architecture) = platform.split_once('/').unwrap_or((platform, ""));
            IndexEntry { os: os.to_owned(), architecture: architecture.to_owned(), digest }
        });
        entries.collect()
    }

    /// The digests of the manifests in the index: the first digit of the index, and `a` for the first manifest.
    fn children(&self) -> Vec<(String, Option<String>)> {
        let Self::Index { digest, platforms, .. } = self else {
            return Vec::new();
        };
        let first = digest.trim_start_matches("sha256:").chars().next().unwrap_or('0');
        let children = platforms.iter().enumerate().map(|(number, platform)| {
            let digest = whole_digests(&format!("sha256:{first}{:x}…", 10 + number));
            (digest, platform.split_once(' ').map(|(_, failure)| failure.to_owned()))
        });
        children.collect()
    }
}

/// The error of a host for a failure in words. The texts are those of Kubewarden's hosts.
fn host_error(words: &str, image: &str) -> String {
    let url = url(image);
    match words {
        "not found" => registry_error("manifest unknown", image),
        "denied" => format!("Fail to interact with OCI registry: Not authorized: url {url}"),
        "rate limited" => {
            registry_error("You have reached your unauthenticated pull rate limit.", image)
        }
        "unreachable" => {
            format!("Fail to interact with OCI registry: error sending request for url ({url})")
        }
        "refused" => {
            "Policy has not been granted access to the 'oci/v1/manifest_digest' host capability. \
             The violation has been reported."
                .to_owned()
        }
        other => format!("Fail to interact with OCI registry: {other}"),
    }
}

/// The error of a host for an error that a registry answers.
fn registry_error(says: &str, image: &str) -> String {
    let url = url(image);
    format!(
        "Fail to interact with OCI registry: Registry error: url {url}, \
         envelope: OCI API errors: [OCI API error: {says}]"
    )
}

fn url(image: &str) -> String {
    let (registry, repository) = image.split_once('/').unwrap_or(("docker.io", image));
    let (name, reference) = repository.split_once(['@', ':']).unwrap_or((repository, "latest"));
    format!("https://{registry}/v2/{name}/manifests/{reference}")
}
