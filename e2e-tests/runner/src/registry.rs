//! The registries of a row: what they and the host answer to lookups.

use std::collections::BTreeMap;
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
}

impl Registries {
    pub(crate) fn new(images: BTreeMap<String, Image>) -> Self {
        let mut answers = Answers::default();
        for (image, known) in &images {
            let answer = match known {
                Image::Answer(digest) if digest.starts_with("sha256:") => Ok(digest.clone()),
                Image::Answer(words) => Err(failure(words).unwrap_or(Failure::Unknown)),
                Image::Says { .. } => Err(Failure::Unknown),
            };
            answers
                .0
                .insert(shared_name(image).unwrap_or_default(), answer);
        }
        Self { images, answers }
    }

    /// The images of which a row says something.
    pub(crate) fn images(&self) -> impl Iterator<Item = &str> {
        self.images.keys().map(String::as_str)
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
