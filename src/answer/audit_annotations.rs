//! The audit annotations: `findings`, `changes` and `lookups`.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use super::Judged;
use super::change::Change;
use super::json_list::{LIST_MAX, joined, json};
use crate::examination::{Examination, Rule, Subject};
use crate::lookup::Class;
use crate::settings::Action;
use crate::shown::shown;

/// The audit annotations. One without entries is left out.
pub(super) fn annotations(
    examination: &Examination<'_>,
    findings: &[Judged<'_, '_>],
    changes: &[Change<'_>],
) -> HashMap<String, String> {
    let of_findings = findings
        .iter()
        .map(|judged| json(&FindingEntry::of(examination, judged)));
    let lookups = &examination.failed_lookups;
    let of_lookups = lookups.iter().map(|((image, action), failure)| {
        json(&LookupEntry {
            image: shown(image),
            failure: failure.class(),
            action: *action,
        })
    });
    let lists = [
        (
            "findings",
            findings.len(),
            joined(of_findings, findings.len(), 0, LIST_MAX),
        ),
        (
            "changes",
            changes.len(),
            joined(changes.iter().map(json), changes.len(), 0, LIST_MAX),
        ),
        (
            "lookups",
            lookups.len(),
            joined(of_lookups, lookups.len(), 0, LIST_MAX),
        ),
    ];
    let filled = lists.into_iter().filter(|(_, count, _)| *count > 0);
    filled
        .filter_map(|(key, _, list)| Some((key.to_owned(), list?)))
        .collect()
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
        let entry = place
            .list
            .path(examination.request.kind.spec_path(), place.index);
        let policy = place.sets_policy.then(|| place.policy.before.as_str());
        let (field, found, expected) = match &finding.subject {
            Subject::Image(expected) => (
                place.list.image_path(),
                Some(place.shown_image()),
                expected.as_deref().map(shown),
            ),
            Subject::Check(expected) => (place.list.image_path(), None, Some(Cow::from(expected))),
            Subject::PullPolicy(expected) => (
                place.list.policy_path(),
                policy.map(Cow::from),
                expected.map(|policy| policy.as_str().into()),
            ),
        };
        Self {
            rule: finding.rule,
            path: [&entry, ".", field].concat(),
            container: shown(&place.name),
            image: place.shown_image(),
            found,
            expected,
        }
    }
}

/// An entry of `lookups`.
#[derive(Serialize)]
struct LookupEntry<'f> {
    image: Cow<'f, str>,
    failure: Class,
    action: Action,
}
