//! Turns a payload into an answer: reads the Pod, runs the rules, and writes the answer.

use kubewarden_policy_sdk::response::ValidationResponse;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use kubewarden_policy_sdk::{accept_request, reject_request};
use wapc_guest::CallResult;

use crate::answer::{Edit, Rejection, answer, apply};
use crate::json::InvalidField;
use crate::lookup::Client;
use crate::pod::Pod;
use crate::request::{self, Metadata, Operation, Request};
use crate::rules;
use crate::settings::{PodTemplates, Settings};

/// Answers waPC's `validate`.
///
/// # Errors
/// This function never returns an error: an unreadable request is rejected, and serde can write
/// every answer.
pub fn validate(payload: &[u8], client: &mut Client) -> CallResult {
    match response(payload, client) {
        Ok(Some(response)) => {
            let answer = serde_json::to_vec(&response)?;
            keep(response);
            Ok(answer)
        }
        Ok(None) => accept_request(),
        Err(Rejection { message, code }) => reject_request(Some(message), Some(code), None, None),
    }
}

/// The response to a request. None if it is accepted untouched.
fn response(payload: &[u8], client: &mut Client) -> Result<Option<ValidationResponse>, Rejection> {
    let mut review = request::read(payload).map_err(|message| Rejection::new(message, false))?;
    let settings = Settings::read(&review.settings)
        .map_err(|error| Rejection::new(format!("the settings can't be read: {error}"), false))?;
    let examined = match Request::of(&review) {
        Some(request) => examine(&request, &settings, client)?,
        None => None,
    };
    let response = examined.map(|(mut response, edits)| {
        if !edits.is_empty() {
            let mut object = review.request.object.take();
            for edit in edits {
                apply(&mut object, edit);
            }
            response.mutated_object = Some(object);
        }
        response
    });
    keep(review);
    Ok(response)
}

/// The answer to a request, without the changed object, and the edits of this object.
fn examine(
    request: &Request,
    settings: &Settings,
    client: &mut Client,
) -> Result<Option<(ValidationResponse, Vec<Edit>)>, Rejection> {
    if request.operation == Operation::Template && settings.pod_templates == PodTemplates::Off {
        return Ok(None);
    }
    let malformed =
        |invalid: InvalidField| Rejection::new(invalid.sentence(request.object), request.creates);
    let metadata = Metadata::read(request.object).map_err(malformed)?;
    if request.is_untouched(&metadata) {
        return Ok(None);
    }
    let mut pod = Pod::read(request, metadata, settings).map_err(malformed)?;
    if !pod.is_needed() {
        return Ok(None);
    }
    rules::run(&mut pod, client);
    let answer = answer(&mut pod);
    keep(pod);
    Ok(Some(answer))
}

/// Keeps a tree in the module, where nothing is freed: dropping it would only walk through it.
fn keep<T>(tree: T) {
    if cfg!(target_family = "wasm") {
        std::mem::forget(tree);
    }
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
