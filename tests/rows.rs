//! Compares the crate with the answers that the built module gave to the rows of the end-to-end tests, sentences
//! included. `make replay` and `make mutants` name the folder of these answers in `$TRANSCRIPTS`.

use std::{env, fs};

use consistent_pull_policy::lookup::RegistryLookups;
use oci_spec::image::{ImageIndex, Platform};
use serde_json::{Value, json};

use crate::common::{answer_with, settings_problems};

/// The recorded answers of registries, in the order of the lookups.
struct Recorded<'t>(std::slice::Iter<'t, Value>);

impl Recorded<'_> {
    fn next(&mut self, image: &str) -> Result<&str, String> {
        let call = self.0.next().ok_or("one lookup too many")?;
        assert_eq!(call["payload"], json!(image).to_string());
        match call["answer"].as_str() {
            Some(answer) => Ok(answer),
            None => Err(call["error"].as_str().expect("an error").to_owned()),
        }
    }
}

impl RegistryLookups for Recorded<'_> {
    fn manifest_digest(&mut self, image: &str) -> Result<String, String> {
        let answer: Value = serde_json::from_str(self.next(image)?).expect("JSON");
        Ok(answer["digest"].as_str().unwrap_or_default().to_owned())
    }

    fn platforms(&mut self, image: &str) -> Result<Option<Vec<Platform>>, String> {
        let index = serde_json::from_str::<ImageIndex>(self.next(image)?).ok();
        Ok(index.map(|index| {
            let manifests = index.manifests().iter();
            manifests.filter_map(|one| one.platform().clone()).collect()
        }))
    }
}

/// The parts of an answer that both forms of it have. `null` and a missing key are the same.
fn parts(answer: &Value, [accepted, audit, object]: [&str; 3], status: &Value) -> Value {
    json!([
        answer[accepted],
        answer["warnings"],
        answer[audit],
        !answer[object].is_null(),
        status["message"],
        status["code"],
    ])
}

#[test]
fn the_crate_gives_the_answers_of_the_module() {
    let Some(folder) = env::var_os("TRANSCRIPTS") else {
        return;
    };
    let mut count = 0;
    for file in fs::read_dir(folder).expect("transcripts") {
        let path = file.expect("a file").path();
        for line in fs::read_to_string(&path).expect("a transcript").lines() {
            let row: Value = serde_json::from_str(line).expect("JSON");
            let settings = row["settings"].to_string();
            let refused = settings_problems(&settings);
            assert_eq!(json!(refused), row["refused"], "{settings}");
            count += 1;
            if refused.is_some() {
                continue;
            }
            // The text is a review or a bare request.
            let text = row["request"].as_str().expect("a text");
            let mut request: Value = serde_json::from_str(text).expect("JSON");
            if request["request"].is_object() {
                request = request["request"].take();
            }
            let calls = row["calls"].as_array().expect("calls");
            let payload = json!({"request": request, "settings": row["settings"]});
            let answer = answer_with(&payload.to_string(), &mut Recorded(calls.iter()));
            let response = &row["response"];
            assert_eq!(
                parts(
                    &answer,
                    ["accepted", "audit_annotations", "mutated_object"],
                    &answer
                ),
                parts(
                    response,
                    ["allowed", "auditAnnotations", "patch"],
                    &response["status"]
                ),
                "{}: {payload}",
                path.display()
            );
        }
    }
    assert!(count > 1000, "{count}");
}
