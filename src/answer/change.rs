//! The changes of a Pod: the differences between what came in and what it should be.

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
    /// The value in the returned object. Of an added entry, its name, its image and its pull policy.
    to: Value,
    /// The rule that changed the value first.
    rule: Rule,
}

/// All changes, in the order of the returned Pod.
pub(super) fn changes<'e>(examination: &'e Examination<'_>) -> Vec<Change<'e>> {
    let mut places: Vec<&Place<'_>> = examination.places.iter().collect();
    places.sort_by_key(|place| (place.list, examination.index_after(place)));
    places
        .into_iter()
        .flat_map(|place| changes_of(examination, place))
        .collect()
}

fn changes_of<'e>(examination: &'e Examination<'_>, place: &'e Place<'_>) -> Vec<Change<'e>> {
    let change = |field, from, to, rule| {
        let path = examination.path_after(place, field);
        Change {
            path,
            container: &place.name,
            from,
            to,
            rule,
        }
    };
    let (image, policy) = (&place.image, &place.policy);
    if place.is_added {
        return vec![change("", None, summary(place), Rule::MissingCheck)];
    }
    let of_image = image.why.as_ref().map(|why| {
        let to = Value::from(&*image.now);
        change(
            place.list.image_path(),
            Some(&*image.before),
            to,
            why.rule(),
        )
    });
    let of_policy = policy.why.as_ref().map(|why| {
        let from = place.sets_policy.then(|| policy.before.as_str());
        change(
            place.list.policy_path(),
            from,
            policy.now.as_str().into(),
            why.rule(),
        )
    });
    of_image.into_iter().chain(of_policy).collect()
}

/// The name, the image and the pull policy of an added check.
fn summary(place: &Place<'_>) -> Value {
    let (name, image, policy) = (&place.name, &place.image.now, place.policy.now.as_str());
    match place.list {
        List::Volumes => json!({"name": name, "image": {"reference": image, "pullPolicy": policy}}),
        _ => json!({"name": name, "image": image, "imagePullPolicy": policy}),
    }
}
