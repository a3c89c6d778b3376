//! The files of this repository, for the tests of all crates.

use std::fs;
use std::path::{Path, PathBuf};

use consistent_pull_policy_survey::Survey;
use serde::Deserialize;
use serde_json::Value;

/// A path from the root of the repository.
#[must_use]
pub fn path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path)
}

/// The text of a file.
///
/// # Panics
/// If the file can't be read.
#[must_use]
pub fn text(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The files of a folder whose names have this end, such as `.yaml`. Each has its name without the
/// end, and its text. They are sorted by their whole names.
///
/// # Panics
/// If there is no such file.
#[must_use]
pub fn files(folder: &str, end: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(path(folder)).expect(folder);
    let names = entries.map(|entry| entry.expect(folder).file_name().into_string());
    let mut names: Vec<String> = names.map(|name| name.expect(folder)).collect();
    names.retain(|name| name.ends_with(end));
    names.sort();
    assert!(!names.is_empty(), "{folder} has no file *{end}");
    let file = |name: String| {
        let text = text(&format!("{folder}/{name}"));
        (name.trim_end_matches(end).to_owned(), text)
    };
    names.into_iter().map(file).collect()
}

/// The documents of a YAML text.
///
/// # Panics
/// If the text is no YAML.
#[must_use]
pub fn documents(text: &str) -> Vec<Value> {
    let documents = yaml_serde::Deserializer::from_str(text);
    documents
        .map(|document| {
            Value::deserialize(document).unwrap_or_else(|error| panic!("{error}: {text}"))
        })
        .collect()
}

/// The request in the text of an `AdmissionReview`.
fn request(review: &str) -> Value {
    let mut review: Value = serde_json::from_str(review).expect("a review is JSON");
    review["request"].take()
}

/// The requests that API servers have sent, with the names of their files in `test_data/reviews`.
///
/// # Panics
/// If a file is no review.
#[must_use]
pub fn all_captured() -> Vec<(String, Value)> {
    let reviews = files("test_data/reviews", ".json").into_iter();
    reviews.map(|(name, text)| (name, request(&text))).collect()
}

/// One of these requests.
///
/// # Panics
/// If there is no such file.
#[must_use]
pub fn captured(name: &str) -> Value {
    request(&text(&format!("test_data/reviews/{name}.json")))
}

/// A survey with all presets.
///
/// # Panics
/// If a preset can't be read.
#[must_use]
pub fn survey() -> Survey {
    let files = files("examples", ".yaml");
    let files = files.iter().map(|(name, text)| (&**name, &**text));
    Survey::new(files).expect("the presets can be read")
}
