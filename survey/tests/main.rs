//! The survey on small clusters, and on the Pods of well-known controllers in `test_data/pods`.

mod answers;
mod objects;
mod reading;

use std::fs;
use std::path::{Path, PathBuf};

use consistent_pull_policy::lookup::Client;
use consistent_pull_policy::validate::validate;
use consistent_pull_policy_survey::{Policy, Question, Registries, Survey};
use serde_json::Value;

/// This policy's crate.
pub(crate) struct Native;

struct Lookups<'r>(&'r mut Registries);

impl Client for Lookups<'_> {
    fn digest(&mut self, image: &str) -> Result<String, String> {
        self.0.digest(image)
    }
}

impl Policy for Native {
    fn validate(&mut self, payload: &str, registries: &mut Registries) -> Result<Vec<u8>, String> {
        validate(payload.as_bytes(), &mut Lookups(registries)).map_err(|error| error.to_string())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The YAML files of a folder: their names and texts.
pub(crate) fn files(folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(root().join(folder)).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut files: Vec<(String, String)> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .map(|path| {
            let name = path
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            (name, fs::read_to_string(path).expect("a text"))
        })
        .collect();
    files.sort();
    files
}

pub(crate) fn survey() -> Survey {
    let mut files = files("examples");
    let pairs = files
        .iter()
        .position(|(name, _)| name == "pairs")
        .expect("pairs.yaml");
    let (_, pairs) = files.remove(pairs);
    let files = files.iter().map(|(name, text)| (&**name, &**text));
    Survey::new(files, &pairs).expect("the examples can be read")
}

/// The survey of an input, with all rows.
pub(crate) fn surveyed(input: &str, question: Value) -> Survey {
    let mut survey = survey();
    survey.ask(serde_json::from_value::<Question>(question).expect("a question"));
    survey.read(input.as_bytes());
    survey.finish().expect("the input can be read");
    while survey.work(&mut Native) {}
    survey
}

/// The Pods of well-known controllers, as one text.
pub(crate) fn corpus() -> String {
    let files = files("test_data/pods").into_iter();
    let texts: Vec<String> = files.map(|(_, text)| text).collect();
    texts.join("\n---\n")
}

/// The objects of an `AdmissionReview` that an API server has sent.
pub(crate) fn captured(name: &str) -> Value {
    let path = root().join(format!("test_data/reviews/{name}.json"));
    let review: Value = serde_json::from_str(&fs::read_to_string(path).expect(name)).expect(name);
    review["request"]["object"].clone()
}
