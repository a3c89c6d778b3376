//! The changes of a Pod: the differences between what came in and what it should be.

use serde::Serialize;
use serde_json::{Value, json};

use super::json_list;
use crate::examination::{Examination, Place, Rule};
use crate::pod::List;

/// A change. It is an entry of the audit annotation `changes` and of the record.
#[derive(Serialize)]
struct Change<'e> {
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

/// The changes of a Pod, in the order of the returned Pod. Without places, there are none.
#[derive(Default)]
pub(super) struct Changes<'e, 'o> {
    /// The places that change, each with the path of its entry in the returned object.
    places: Vec<(String, &'e Place<'o>)>,
}

impl<'e, 'o> Changes<'e, 'o> {
    /// All changes.
    pub(super) fn of(examination: &'e Examination<'o>) -> Self {
        let mut places: Vec<&Place<'_>> = examination
            .places
            .iter()
            .filter(|place| count(place) > 0)
            .collect();
        places.sort_by_key(|place| (place.list, examination.index_after(place)));
        let spec = examination.request.kind.spec_path();
        let with_path =
            |place: &'e Place<'o>| (place.list.path(spec, examination.index_after(place)), place);
        Self {
            places: places.into_iter().map(with_path).collect(),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.places
            .iter()
            .map(|(_, place)| count(place))
            .fold(0, usize::saturating_add)
    }

    /// The entries of the changes, as JSON. They are made one after another, because most lists end early.
    pub(super) fn entries(&self) -> impl Iterator<Item = String> {
        let changes = self
            .places
            .iter()
            .flat_map(|(path, place)| changes_of(path, place));
        changes.map(|change| json_list::json(&change))
    }
}

/// How many values of a place change. An added place is one change.
fn count(place: &Place<'_>) -> usize {
    let is_changed = [
        place.is_added(),
        place.image.changed_by.is_some(),
        place.policy.changed_by.is_some(),
    ];
    is_changed
        .into_iter()
        .filter(|is_changed| *is_changed)
        .count()
}

fn changes_of<'e>(path: &str, place: &'e Place<'_>) -> Vec<Change<'e>> {
    let change = |field: &str, from, to, rule| {
        let path = [path, ".", field].concat().trim_end_matches('.').to_owned();
        Change {
            path,
            container: &place.name,
            from,
            to,
            rule,
        }
    };
    let (image, policy) = (&place.image, &place.policy);
    if place.is_added() {
        return vec![change("", None, summary(place), Rule::MissingCheck)];
    }
    let of_image = image.changed_by.map(|rule| {
        let to = Value::from(&*image.now);
        change(place.list.image_path(), Some(&*image.before), to, rule)
    });
    let of_policy = policy.changed_by.map(|rule| {
        let from = place.sets_policy.then(|| policy.before.as_str());
        change(
            place.list.policy_path(),
            from,
            policy.now.as_str().into(),
            rule,
        )
    });
    of_image.into_iter().chain(of_policy).collect()
}

/// What a change says of an added image check.
fn summary(check: &Place<'_>) -> Value {
    let (name, image, policy) = (&check.name, &check.image.now, check.policy.now.as_str());
    match check.list {
        List::Volumes => json!({"name": name, "image": {"reference": image, "pullPolicy": policy}}),
        _ => json!({"name": name, "image": image, "imagePullPolicy": policy}),
    }
}
