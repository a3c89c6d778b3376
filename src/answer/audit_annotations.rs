//! The audit annotations: `findings`, `changes` and `lookups`.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;
use serde_json::json;

use super::changes::Change;
use super::json_list::{LIST_MAX, joined, to_json};
use crate::entry::{Entry, What};
use crate::pod::{Pod, Pull};
use crate::sanitize::sanitize;

/// The audit annotations. One without entries is left out.
pub(super) fn annotations(
    pod: &Pod<'_>,
    entries: &[Entry<'_>],
    changes: &[Change<'_>],
) -> HashMap<String, String> {
    let mut annotations = HashMap::new();
    let mut add = |key: &str, count: usize, entries: &mut dyn Iterator<Item = String>| {
        if count > 0 {
            let list = joined(entries, count, 0, LIST_MAX);
            annotations.extend(list.map(|list| (key.to_owned(), list)));
        }
    };
    let findings = entries.iter().filter(|entry| entry.is_finding());
    let mut findings: Vec<_> = findings.collect();
    findings.sort_by_key(|entry| entry.position());
    let mut of_findings = findings.iter().filter_map(|entry| {
        let pull = pod.pulls.get(entry.pull)?;
        Some(to_json(&Finding::of(pod, pull, entry)))
    });
    add("findings", findings.len(), &mut of_findings);
    add("changes", changes.len(), &mut changes.iter().map(to_json));
    let lookups = entries.iter().filter_map(|entry| match &entry.what {
        What::Lookup(image, action, failure) => Some((image, action, failure.class)),
        _ => None,
    });
    let count = lookups.clone().count();
    let mut of_lookups = lookups.map(|(image, action, class)| {
        json!({"image": sanitize(image), "failure": class, "action": action}).to_string()
    });
    add("lookups", count, &mut of_lookups);
    annotations
}

/// An entry of `findings`.
#[derive(Serialize)]
struct Finding<'e> {
    rule: &'static str,
    path: String,
    container: Cow<'e, str>,
    image: Cow<'e, str>,
    found: Option<Cow<'e, str>>,
    expected: Option<Cow<'e, str>>,
}

impl<'e> Finding<'e> {
    fn of(pod: &Pod<'_>, pull: &'e Pull<'_>, entry: &'e Entry<'_>) -> Self {
        let (list, image) = (pull.list, sanitize(pull.written_image));
        let (key, found, expected) = match &entry.what {
            What::Policy(policy) | What::FixedPolicy(policy) => {
                let found = pull.written_policy.map(|found| found.as_str().into());
                (list.policy_key(), found, Some(policy.as_str().into()))
            }
            What::Check(name, policy) => {
                let check = format!("{name} with {}", policy.as_str());
                (list.image_key(), None, Some(check.into()))
            }
            What::NoCheck { .. } => (list.image_key(), None, Some("an image check".into())),
            What::Image(to) => (list.image_key(), Some(image.clone()), Some(sanitize(to))),
            _ => (list.image_key(), Some(image.clone()), None),
        };
        Self {
            rule: entry.rule,
            path: pull.field_path(pod.request.kind.spec_path(), pull.index, key),
            container: sanitize(&pull.name),
            found,
            expected,
            image,
        }
    }
}
