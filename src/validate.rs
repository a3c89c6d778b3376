//! Turns a payload into an answer: reads the request, runs the rules and writes the answer.

use kubewarden_policy_sdk::accept_request;
use kubewarden_policy_sdk::settings::SettingsValidationResponse;
use wapc_guest::CallResult;

use crate::answer::{BAD_REQUEST, answer, code_of_object_fault, reject};
use crate::examination::Examination;
use crate::examination_result::ExaminationResult;
use crate::lookup::RegistryClient;
use crate::request::{ExaminedObject, ExaminedOrMalformedObject, read_payload};
use crate::rules;
use crate::settings::{InitContainerOrImageVolume, PodTemplateAction, PolicyMode, Settings};

/// Answers waPC's `validate`.
///
/// # Errors
/// This function never returns an error: a request that can't be examined is rejected.
pub fn validate(payload: &[u8], registries: &mut dyn RegistryClient) -> CallResult {
    let Ok(payload) = std::str::from_utf8(payload) else {
        return reject("the request is not UTF-8".to_owned(), BAD_REQUEST);
    };
    let (object, settings) = match read_payload(payload) {
        Ok(Some(read)) => read,
        Ok(None) => return accept_request(),
        Err(reason) => return reject(reason, BAD_REQUEST),
    };
    let settings = match Settings::read(settings.as_bytes()) {
        Ok(settings) => settings,
        Err(error) => return reject(error, BAD_REQUEST),
    };
    match object {
        ExaminedOrMalformedObject::Malformed(request_type, _)
            if request_type.is_template() && settings.templates == PodTemplateAction::Off =>
        {
            accept_request()
        }
        ExaminedOrMalformedObject::Malformed(request_type, reason) => {
            reject(reason, code_of_object_fault(request_type))
        }
        ExaminedOrMalformedObject::Examined(object) => examine(*object, &settings, registries),
    }
}

fn examine(
    mut object: ExaminedObject<'_>,
    settings: &Settings,
    registries: &mut dyn RegistryClient,
) -> CallResult {
    if settings.mode == PolicyMode::Fix {
        object.restore_stored_values();
    }
    let mode = match (object.request_type.is_template(), settings.templates) {
        (true, PodTemplateAction::Off) => None,
        (true, PodTemplateAction::Warn) => Some(PolicyMode::Warn),
        (true, PodTemplateAction::Enforce) | (false, _) => Some(settings.mode),
    };
    let examination = mode.and_then(|_| Examination::new(&object, settings));
    let (Some(mode), Some(mut examination)) = (mode, examination) else {
        return answer(ExaminationResult::none(&object, settings), settings.mode);
    };
    let makes_volumes = settings.image_checks.made_of == InitContainerOrImageVolume::ImageVolume;
    if (object.pod.has_image_volumes() || makes_volumes)
        && let Err(wrong) = object.pod.check_mounts()
    {
        return reject(
            object.node.sentence_about(&wrong, "object"),
            code_of_object_fault(object.request_type),
        );
    }
    rules::run(&mut examination, registries);
    answer(ExaminationResult::of(examination), mode)
}

/// Answers waPC's `validate_settings`.
///
/// # Errors
/// This function never returns an error, because serde can write every answer.
pub fn validate_settings(payload: &[u8]) -> CallResult {
    let message = Settings::check(payload).err();
    let valid = message.is_none();
    let answer = SettingsValidationResponse { valid, message };
    Ok(serde_json::to_vec(&answer)?)
}
