//! Turns a payload into an answer: reads the request, examines its object, runs the rules, and
//! writes the answer.

#[cfg(not(target_family = "wasm"))]
use std::boxed::Box as Tree;
/// A tree of values. An instance of the module serves one request, so the module never frees one:
/// freeing them would take a fifth of all instructions. A program that asks the crate again and
/// again frees each.
#[cfg(target_family = "wasm")]
use std::mem::ManuallyDrop as Tree;

use kubewarden_policy_sdk::response::ValidationResponse;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use kubewarden_policy_sdk::{accept_request, reject_request};
use wapc_guest::CallResult;

use crate::answer::{Rejection, answer, apply};
use crate::examination::Examination;
use crate::json::Wrong;
use crate::lookup::Client;
use crate::request::{Metadata, Operation, Review};
use crate::rules;
use crate::settings::{PodTemplates, Settings};

/// Answers waPC's `validate`.
///
/// # Errors
/// This function never returns an error: an unreadable request is rejected, and serde can write
/// every answer.
pub fn validate(payload: &[u8], client: &mut dyn Client) -> CallResult {
    match response(payload, client) {
        Ok(Some(response)) => Ok(serde_json::to_vec(&*response)?),
        Ok(None) => accept_request(),
        Err(Rejection { message, code }) => reject_request(Some(message), Some(code), None, None),
    }
}

/// The response to a request. None if it is accepted untouched.
fn response(
    payload: &[u8],
    client: &mut dyn Client,
) -> Result<Option<Tree<ValidationResponse>>, Rejection> {
    let mut review = Tree::new(Review::read(payload).map_err(Rejection::unreadable)?);
    let read = Settings::read(review.settings());
    let settings = read
        .map_err(|error| Rejection::unreadable(format!("the settings can't be read: {error}")))?;
    let Some(request) = review.request().filter(|request| {
        request.operation != Operation::Template || settings.pod_templates != PodTemplates::Off
    }) else {
        return Ok(None);
    };
    let malformed =
        |wrong: Wrong<'_>| Rejection::malformed(wrong.sentence(request.object), request.creates);
    let object_metadata = Metadata::read(request.object).map_err(malformed)?;
    if request.is_untouched(&object_metadata) {
        return Ok(None);
    }
    let metadata = request
        .template_metadata()
        .map_err(malformed)?
        .unwrap_or(object_metadata);
    let (mut response, edits) = {
        let examination = Examination::new(&request, metadata, &settings).map_err(malformed)?;
        let mut examination = Tree::new(examination);
        if !examination.is_needed() {
            return Ok(None);
        }
        rules::run(&mut examination, client);
        answer(&examination)
    };
    if !edits.is_empty() {
        let mut object = review.take_object();
        apply(&mut object, edits);
        response.mutated_object = Some(object);
    }
    Ok(Some(Tree::new(response)))
}

/// Answers waPC's `validate_settings`.
///
/// # Errors
/// This function never returns an error, because serde can write every answer.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    let message = Settings::check(payload).err();
    let valid = message.is_none();
    Ok(serde_json::to_vec(&SettingsValidationResponse {
        valid,
        message,
    })?)
}
