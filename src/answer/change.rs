//! The changes of a Pod: the differences between what came in and what it should be.

use serde::Serialize;
use serde_json::Value;

use super::list::json;
use crate::examination::{Examination, Place, Rule, summary};

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

/// The changes of a Pod, in the order of the returned Pod.
#[derive(Default)]
pub(super) struct Changes<'e, 'o> {
    examination: Option<&'e Examination<'o>>,
    /// The places that change.
    places: Vec<&'e Place<'o>>,
}

impl<'e, 'o> Changes<'e, 'o> {
    /// All changes.
    pub(super) fn of(examination: &'e Examination<'o>) -> Self {
        let mut places: Vec<&Place<'_>> =
            examination.places.iter().filter(|place| count(place) > 0).collect();
        places.sort_by_key(|place| (place.list, examination.index_after(place)));
        Self { examination: Some(examination), places }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.places.iter().map(|place| count(place)).fold(0, usize::saturating_add)
    }

    /// The entries of the changes, as JSON. They are made one after another, because most lists end early.
    pub(super) fn entries(&self) -> impl Iterator<Item = String> {
        let examination = self.examination.into_iter();
        let changes = examination
            .flat_map(|one| self.places.iter().flat_map(move |place| changes_of(one, place)));
        changes.map(|change| json(&change))
    }
}

/// How many values of a place change. An added place is one change.
fn count(place: &Place<'_>) -> usize {
    let is_changed = [place.is_added(), place.image.why.is_some(), place.policy.why.is_some()];
    is_changed.into_iter().filter(|is_changed| *is_changed).count()
}

fn changes_of<'e>(examination: &Examination<'_>, place: &'e Place<'_>) -> Vec<Change<'e>> {
    let change = |field, from, to, rule| {
        let path = examination.path_after(place, field);
        Change { path, container: &place.name, from, to, rule }
    };
    let (image, policy) = (&place.image, &place.policy);
    if place.is_added() {
        return vec![change("", None, summary(place), Rule::MissingCheck)];
    }
    let of_image = image.why.as_ref().map(|why| {
        let to = Value::from(&*image.now);
        change(place.list.image_path(), Some(&*image.before), to, why.rule())
    });
    let of_policy = policy.why.as_ref().map(|why| {
        let from = place.sets_policy.then(|| policy.before.as_str());
        change(place.list.policy_path(), from, policy.now.as_str().into(), why.rule())
    });
    of_image.into_iter().chain(of_policy).collect()
}
