//! The survey on small clusters, and on the Pods of well-known controllers in `test_data/pods`.

mod answers;
mod objects;
mod reading;

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::repository::{files, survey};
use consistent_pull_policy_survey::{Question, Survey};
use serde_json::Value;

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
    let files = files("test_data/pods", ".yaml").into_iter();
    let texts: Vec<String> = files.map(|(_, text)| text).collect();
    texts.join("\n---\n")
}
