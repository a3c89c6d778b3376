//! The changes of a Pod: the differences between the Pod that came in and the Pod that is returned.

use serde::Serialize;
use serde_json::Value;

use crate::examination::{Additions, Examination, Rule};

/// A change. It is an entry of the audit annotation `changes` and of the record.
#[derive(Serialize)]
pub(super) struct Change<'e> {
    /// The path in the returned object.
    path: String,
    container: &'e str,
    /// The value that came in. None if the value was not set, or if an entry is added.
    from: Option<&'e str>,
    /// The value in the returned object. For an added entry: its name, image and pull policy.
    to: Value,
    /// The rule that changed the value first.
    rule: Rule,
}

/// All changes, in the order of the returned Pod.
pub(super) fn changes<'e>(examination: &'e Examination<'_>) -> Vec<Change<'e>> {
    let spec = examination.request.kind.spec_path();
    let mut changes = Vec::new();
    for place in examination.places.iter().filter(|place| place.is_changed()) {
        let (list, index) = (place.entry.list, examination.index_after(&place.entry));
        let mut add = |key, from, to, rule| {
            let path = [&list.path(spec, index), ".", &list.path_to(key)].concat();
            let container = place.entry.name;
            let change = Change {
                path,
                container,
                from,
                to,
                rule,
            };
            changes.push((list, index, change));
        };
        let (image, policy) = (&place.image, &place.policy);
        if let Some(rule) = image.changed_by {
            let from = Some(place.entry.image);
            add(list.image_key(), from, (*image.now).into(), rule);
        }
        if let Some(rule) = policy.changed_by {
            let from = place.entry.sets_policy;
            let from = from.then(|| place.entry.policy.as_str());
            add(list.policy_key(), from, policy.now.as_str().into(), rule);
        }
    }
    if let Some(Additions {
        list,
        first,
        checks,
        ..
    }) = &examination.additions
    {
        for (index, check) in (*first..).zip(checks) {
            let policy = check.policy.as_str();
            let change = Change {
                path: list.path(spec, index),
                container: &check.name,
                from: None,
                to: list.entry(&check.name, &check.image, policy).into(),
                rule: Rule::MissingCheck,
            };
            changes.push((*list, index, change));
        }
    }
    changes.sort_by_key(|(list, index, _)| (*list, *index));
    changes.into_iter().map(|(.., change)| change).collect()
}
