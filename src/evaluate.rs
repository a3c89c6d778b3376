//! Turns a payload into an answer: reads the request, runs the rules and writes the answer.

use kubewarden_policy_sdk::accept_request;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use wapc_guest::CallResult;

use crate::answer::{StatusCode, accept_restored, answer, reject};
use crate::effective_mode::EffectiveMode;
use crate::lookup::RegistryLookups;
use crate::request::{ExaminedObject, RequestHandling, read_payload};
use crate::rules;
use crate::settings::{AddedCheckKind, Mode, PodTemplateAction, Settings};

/// Answers waPC's `validate`.
///
/// # Errors
/// This function never returns an error: a request that can't be examined is rejected.
pub fn validate(payload: &[u8], registries: &mut dyn RegistryLookups) -> CallResult {
    let Ok(payload) = std::str::from_utf8(payload) else {
        return reject(
            "the request is not UTF-8".to_owned(),
            StatusCode::BadRequest,
        );
    };
    let (handling, settings) = match read_payload(payload) {
        Ok(read) => read,
        Err(reason) => return reject(reason, StatusCode::BadRequest),
    };
    if matches!(handling, RequestHandling::Untouched) {
        return accept_request();
    }
    let settings = match Settings::read(settings.as_bytes()) {
        Ok(settings) => settings,
        Err(error) => return reject(error, StatusCode::BadRequest),
    };
    match handling {
        RequestHandling::Untouched => accept_request(),
        RequestHandling::Malformed(request_type, _)
            if request_type.is_template() && settings.templates == PodTemplateAction::Off =>
        {
            accept_request()
        }
        RequestHandling::Malformed(request_type, reason) => {
            reject(reason, StatusCode::of_object_fault(request_type))
        }
        RequestHandling::Examined(object) => examine(*object, &settings, registries),
    }
}

fn examine(
    mut object: ExaminedObject<'_>,
    settings: &Settings,
    registries: &mut dyn RegistryLookups,
) -> CallResult {
    if settings.mode == Mode::Fix {
        object.restore_stored_values();
    }
    let has_new_images = object.find_new_images();
    let Some(mode) = EffectiveMode::of(&object, settings).filter(|_| has_new_images) else {
        return accept_restored(&object);
    };
    let makes_volumes = settings.image_checks.made_of == AddedCheckKind::ImageVolume;
    if (object.pod.has_image_volumes() || makes_volumes)
        && let Err(wrong) = object.pod.check_mounts()
    {
        return reject(
            wrong.sentence(&object.node, "object"),
            StatusCode::of_object_fault(object.request_type),
        );
    }
    answer(&rules::examine(&object, settings, mode, registries), mode)
}

/// Answers waPC's `validate_settings`.
///
/// # Errors
/// This function never returns an error, because serde can write every answer.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    let message = Settings::check(payload).err();
    let answer = SettingsValidationResponse {
        valid: message.is_none(),
        message,
    };
    Ok(serde_json::to_vec(&answer)?)
}
