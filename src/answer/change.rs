//! The changes of a Pod: the differences between the Pod that came in and the Pod that is returned.

use serde::Serialize;
use serde_json::{Value, json};

use crate::examination::{Examination, Place, Rule};
use crate::pod::List;

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
    let is_changed = |place: &&Place<'_>| place.is_added() || place.is_changed();
    let mut places: Vec<&Place<'_>> = examination.places.iter().filter(is_changed).collect();
    places.sort_by_key(|place| (place.list, examination.index_after(place)));
    let spec = examination.request.kind.spec_path();
    let mut changes = Vec::new();
    for place in places {
        let entry = place.list.path(spec, examination.index_after(place));
        let mut add = |path, from, to, rule| {
            let container = &*place.name;
            changes.push(Change {
                path,
                container,
                from,
                to,
                rule,
            });
        };
        let path = |field| [&entry, ".", field].concat();
        if place.is_added() {
            add(entry, None, summary(place), Rule::MissingCheck);
            continue;
        }
        let (image, policy) = (&place.image, &place.policy);
        if let Some(rule) = image.changed_by {
            let path = path(place.list.image_path());
            add(path, Some(&*image.before), (*image.now).into(), rule);
        }
        if let Some(rule) = policy.changed_by {
            let from = place.sets_policy.then(|| policy.before.as_str());
            let path = path(place.list.policy_path());
            add(path, from, policy.now.as_str().into(), rule);
        }
    }
    changes
}

/// What a change says of an added image check.
fn summary(check: &Place<'_>) -> Value {
    let (name, image, policy) = (&check.name, &check.image.now, check.policy.now.as_str());
    match check.list {
        List::Volumes => {
            json!({"name": name, "image": {"reference": image, "pullPolicy": policy}})
        }
        _ => json!({"name": name, "image": image, "imagePullPolicy": policy}),
    }
}
