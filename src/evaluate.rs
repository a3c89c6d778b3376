//! From payload to answer: the request is read, the rules run, the answer is written.

use crate::answer::{accept, answer, reject};
use crate::json::{Span, write_string};
use crate::request::{Payload, Scope};
use crate::rules::registry::ManifestDigests;
use crate::rules::{self, Decision};
use crate::settings::Settings;

/// Answers waPC's `validate`.
#[must_use]
pub fn validate(payload: &[u8], registry: &mut dyn ManifestDigests) -> Vec<u8> {
    let scope = Payload::read(payload).and_then(|read| Ok((read.scope?, read.settings)));
    let (review, settings) = match scope {
        Err(error) => return reject(&error.sentence()),
        Ok((Scope::Untouched, _)) => return accept(),
        Ok((Scope::Examine(review), settings)) => (review, settings),
    };
    let settings = match Settings::read(settings.map_or(b"null", |span: Span| span.of(payload))) {
        Ok(settings) => settings,
        Err(problems) => return reject(&problems.join("; ")),
    };
    match Decision::of(&review, &settings) {
        None => accept(),
        Some(decision) => {
            let work = rules::run(&review, &settings, decision, registry);
            answer(&work, decision)
        }
    }
}

/// Answers waPC's `validate_settings`.
#[must_use]
pub fn validate_settings(payload: &[u8]) -> Vec<u8> {
    match Settings::check(payload) {
        Ok(()) => br#"{"valid":true}"#.to_vec(),
        Err(problems) => {
            let mut out = br#"{"valid":false,"message":"#.to_vec();
            write_string(&mut out, &problems.join("; "));
            out.push(b'}');
            out
        }
    }
}
