//! From payload to answer: the request is read, the rules run, the answer is written.

use kubewarden_policy_sdk::accept_request;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use wapc_guest::CallResult;

use crate::answer::{answer, reject, restored};
use crate::json::ReadError;
use crate::request::{Kind, Payload, Review, Scope};
use crate::rules::registry::Registries;
use crate::rules::{self, Decision};
use crate::settings::{AddedCheckKind, Mode, PodTemplateAction, Settings};

/// Answers waPC's `validate`.
///
/// # Errors
/// Never: what can't be examined is rejected.
pub fn validate(payload: &[u8], registries: &mut dyn Registries) -> CallResult {
    let Ok(payload) = std::str::from_utf8(payload) else {
        return reject("the request is not UTF-8".to_owned());
    };
    let (scope, settings) = match Payload::read(payload) {
        Ok(payload) => (payload.scope, payload.settings),
        Err(problem) => return reject(problem.to_string()),
    };
    if matches!(scope, Scope::Untouched) {
        return accept_request();
    }
    let settings = match Settings::read(settings.as_bytes()) {
        Ok(settings) => settings,
        Err(error) => return reject(error.to_string()),
    };
    match scope {
        Scope::Untouched => accept_request(),
        Scope::Broken(kind, _)
            if kind != Kind::Pod && settings.templates == PodTemplateAction::Off =>
        {
            accept_request()
        }
        Scope::Broken(_, problem) => reject(problem),
        Scope::Examine(review) => examine(*review, &settings, registries),
    }
}

fn examine(
    mut review: Review<'_>,
    settings: &Settings,
    registries: &mut dyn Registries,
) -> CallResult {
    if settings.mode == Mode::Fix {
        review.restore();
    }
    review.keep_what_is_new();
    let Some(decision) = Decision::of(&review, settings).filter(|_| !review.pod.places.is_empty())
    else {
        return restored(&review);
    };
    if let Err(problem) = read_the_rest(&mut review, settings) {
        return reject(problem.to_string());
    }
    let work = rules::run(&review, settings, decision, registries);
    answer(&work, decision)
}

/// Reads what only some settings or some Pods need.
fn read_the_rest(review: &mut Review<'_>, settings: &Settings) -> Result<(), ReadError> {
    let needs_mounts = settings.image_checks.made_of == AddedCheckKind::ImageVolume;
    if review.pod.has_image_volumes() || needs_mounts {
        let path = review.spec_path();
        review.pod.read_mounts(&path)?;
    }
    if settings.mode != Mode::Fix {
        review.read_status();
    }
    Ok(())
}

/// Answers waPC's `validate_settings`.
///
/// # Errors
/// Never: serde writes the answer.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    let error = Settings::check(payload).err();
    let answer = SettingsValidationResponse {
        valid: error.is_none(),
        message: error.map(|error| error.to_string()),
    };
    Ok(serde_json::to_vec(&answer)?)
}
