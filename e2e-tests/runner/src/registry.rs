//! The registries of a row: what they and the host answer to lookups.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use consistent_pull_policy_promises::answers::{Answers, Failure, repeated};
use consistent_pull_policy_promises::image::shared_name;
use consistent_pull_policy_promises::policy::HostCall;
use serde::Deserialize;
use serde_json::Value;

/// What a registry answers about an image.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Image {
    /// A digest, the words of a failure, or the host's own words.
    Answer(String),
    /// The registry's own words.
    Says { says: String },
}

/// Registries that answer as a row says.
#[derive(Clone, Debug, Default)]
pub struct Registries {
    images: BTreeMap<String, Image>,
    /// The answers that are no host's or registry's own words.
    pub(crate) answers: Answers,
    /// The names that all spellings of an image share, for all images of which the row says
    /// something.
    known: BTreeSet<String>,
}

impl Registries {
    pub(crate) fn new(images: BTreeMap<String, Image>) -> Self {
        let mut registries = Self::default();
        for (image, known) in &images {
            let name = shared_name(image).unwrap_or_default();
            let answer = match known {
                Image::Answer(digest) if digest.starts_with("sha256:") => {
                    let at_digest = format!("{}@{digest}", repository(image));
                    registries.known.extend(shared_name(&at_digest));
                    Ok(digest.clone())
                }
                Image::Answer(words) => Err(failure(words).unwrap_or(Failure::Unknown)),
                Image::Says { .. } => Err(Failure::Unknown),
            };
            registries.known.insert(name.clone());
            registries.answers.0.insert(name, answer);
        }
        registries.images = images;
        registries
    }

    /// The images of which a row says something.
    pub(crate) fn images(&self) -> impl Iterator<Item = &str> {
        self.images.keys().map(String::as_str)
    }

    /// Whether the row says something about this image.
    pub(crate) fn knows(&self, image: &str) -> bool {
        shared_name(image).is_some_and(|name| self.known.contains(&name))
    }

    /// A host that lets these registries answer, and writes down the lookups.
    pub(crate) fn host(&self, calls: &Arc<Mutex<Vec<String>>>) -> Arc<HostCall> {
        let (registries, calls) = (self.clone(), Arc::clone(calls));
        Arc::new(move |namespace, operation, payload| {
            if namespace != "oci" {
                return Ok(Vec::new());
            }
            let image = serde_json::from_slice::<String>(payload).map_err(|it| it.to_string())?;
            let answer = registries.answer(operation, &image);
            let mut calls = calls.lock().unwrap_or_else(PoisonError::into_inner);
            calls.push(image);
            answer.map(|answer| answer.to_string().into_bytes())
        })
    }

    /// The answer to a lookup, or the host's error.
    pub(crate) fn answer(&self, operation: &str, image: &str) -> Result<Value, String> {
        const HOST: &str = "Fail to interact with OCI registry";
        match self.images.get(image) {
            Some(Image::Says { says }) => {
                let error = format!(
                    "Registry error: url https://r.io/v2/, envelope: OCI API errors: [OCI API error: {says}]"
                );
                Err(format!("{HOST}: {}", repeated(&error, image)))
            }
            Some(Image::Answer(words))
                if failure(words).is_none() && !words.starts_with("sha256:") =>
            {
                Err(format!("{HOST}: {words}"))
            }
            _ => self.answers.call(operation, image),
        }
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

/// The class of a failure in a row's words. Other words are the host's own.
fn failure(words: &str) -> Option<Failure> {
    let failure = match words {
        "not found" => Failure::NotFound,
        "denied" => Failure::Denied,
        "unreachable" => Failure::Unreachable,
        "refused" => Failure::NotGranted,
        _ => return None,
    };
    Some(failure)
}
