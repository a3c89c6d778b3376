//! The audit annotations: `findings`, `changes` and `lookups`.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::json;

use super::Judged;
use super::change::Change;
use super::json_list::{LIST_MAX, joined, to_json};
use crate::examination::{Entry, Examination, Rule, Subject};
use crate::shown::shown;

/// The audit annotations. One without entries is left out.
pub(super) fn annotations(
    examination: &Examination<'_>,
    findings: &[Judged<'_, '_>],
    changes: &[Change<'_>],
) -> HashMap<String, String> {
    let mut annotations = HashMap::new();
    let mut add = |key: &str, count: usize, entries: &mut dyn Iterator<Item = String>| {
        if count > 0 {
            let list = joined(entries, count, 0, LIST_MAX);
            annotations.extend(list.map(|list| (key.to_owned(), list)));
        }
    };
    let mut of_findings = findings
        .iter()
        .map(|judged| to_json(&FindingEntry::of(examination, judged)));
    add("findings", findings.len(), &mut of_findings);
    add("changes", changes.len(), &mut changes.iter().map(to_json));
    let lookups = &examination.failed_lookups;
    let mut of_lookups = lookups.iter().map(|(image, action, failure)| {
        json!({"image": shown(image), "failure": failure.class(), "action": action}).to_string()
    });
    add("lookups", lookups.len(), &mut of_lookups);
    annotations
}

/// An entry of `findings`.
#[derive(Serialize)]
struct FindingEntry<'f> {
    rule: Rule,
    path: String,
    container: Cow<'f, str>,
    image: Cow<'f, str>,
    found: Option<Cow<'f, str>>,
    expected: Option<Cow<'f, str>>,
}

impl<'f> FindingEntry<'f> {
    fn of(examination: &Examination<'_>, judged: &'f Judged<'_, '_>) -> Self {
        let (finding, place) = (judged.finding, judged.place);
        let Entry { list, policy, .. } = place.entry;
        let entry = place.entry.path(examination.request.kind.spec_path());
        let policy = place.entry.sets_policy.then(|| policy.as_str().into());
        let (field, found, expected) = match &finding.subject {
            Subject::Image(expected) => (
                list.image_key(),
                Some(place.shown_image()),
                expected.as_deref().map(shown),
            ),
            Subject::Check(expected) => (list.image_key(), None, Some(expected.into())),
            Subject::PullPolicy(expected) => (
                list.policy_key(),
                policy,
                expected.map(|policy| policy.as_str().into()),
            ),
        };
        Self {
            rule: finding.rule,
            path: [&entry, ".", &list.path_to(field)].concat(),
            container: shown(place.entry.name),
            image: place.shown_image(),
            found,
            expected,
        }
    }
}
