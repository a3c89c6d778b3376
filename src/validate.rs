//! Turns a payload into an answer: reads the Pod, runs the rules, and writes the answer.

use kubewarden_policy_sdk::response::ValidationResponse;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use kubewarden_policy_sdk::{accept_request, reject_request};
use wapc_guest::CallResult;

use crate::answer::{Rejection, answer};
use crate::json::InvalidField;
use crate::lookup::Client;
use crate::pod::Pod;
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
        Ok(Some(response)) => Ok(serde_json::to_vec(&response)?),
        Ok(None) => accept_request(),
        Err(Rejection { message, code }) => reject_request(Some(message), Some(code), None, None),
    }
}

/// The response to a request. None if it is accepted untouched.
fn response(
    payload: &[u8],
    client: &mut dyn Client,
) -> Result<Option<ValidationResponse>, Rejection> {
    let mut review = Review::read(payload).map_err(Rejection::unreadable)?;
    let read = Settings::read(review.settings());
    let settings = read
        .map_err(|error| Rejection::unreadable(format!("the settings can't be read: {error}")))?;
    let Some(request) = review.request().filter(|request| {
        request.operation != Operation::Template || settings.pod_templates != PodTemplates::Off
    }) else {
        return Ok(None);
    };
    let malformed = |wrong: InvalidField<'_>| {
        Rejection::malformed(wrong.sentence(request.object), request.creates)
    };
    let object_metadata = Metadata::read(request.object).map_err(malformed)?;
    if request.is_untouched(&object_metadata) {
        return Ok(None);
    }
    let metadata = request
        .template_metadata()
        .map_err(malformed)?
        .unwrap_or(object_metadata);
    let (mut response, edits) = {
        let mut pod = Pod::read(&request, metadata, &settings).map_err(malformed)?;
        if !pod.is_needed() {
            return Ok(None);
        }
        let entries = rules::run(&mut pod, client);
        answer(&pod, &entries)
    };
    if !edits.is_empty() {
        let mut object = review.take_object();
        edits.into_iter().for_each(|edit| edit(&mut object));
        response.mutated_object = Some(object);
    }
    Ok(Some(response))
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
