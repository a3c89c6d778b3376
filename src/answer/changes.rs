//! Changes: what becomes of which field, as it is written down.

use serde::Serialize;

use super::paths::{Order, Paths, in_order};
use crate::pod::{Place, Slot};
use crate::pull_policy::PullPolicy;
use crate::rules::missing_check::{MadeOf, NewCheck};
use crate::rules::{Entry, Rule, Work};

/// A field that changes, as it stands in the record and in the audit annotation.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Change<'w> {
    path: String,
    container: &'w str,
    from: Option<Value<'w>>,
    to: Option<Value<'w>>,
    rule: &'static str,
    #[serde(skip)]
    order: Order,
}

/// What a field was, or becomes.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Value<'w> {
    Policy(&'static str),
    Image(String),
    #[serde(rename_all = "camelCase")]
    Container {
        name: &'w str,
        image: String,
        image_pull_policy: Option<&'static str>,
    },
    Volume(Volume<'w>),
}

/// An image volume as it is added.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Volume<'w> {
    pub(super) name: &'w str,
    image: VolumeSource,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct VolumeSource {
    reference: String,
    pull_policy: &'static str,
}

impl<'w> Volume<'w> {
    fn new(name: &'w str, reference: String, policy: PullPolicy) -> Self {
        let pull_policy = policy.as_str();
        Self {
            name,
            image: VolumeSource {
                reference,
                pull_policy,
            },
        }
    }
}

/// The volumes that are added, in their order, each with the rule that adds it: those of missing
/// checks, then those of checks that are replaced.
pub(super) fn volumes<'w>(work: &'w Work<'_>) -> Vec<(Volume<'w>, Rule)> {
    let added = work
        .added
        .iter()
        .filter(|check| check.made_of == MadeOf::Volume);
    let added = added.map(|check| {
        let volume = Volume::new(&check.name, check.image.clone(), check.policy);
        (volume, Rule::MissingCheck)
    });
    let replaced = work
        .replaced
        .iter()
        .filter_map(|index| work.entries.get(*index));
    let replaced = replaced.map(|entry| {
        let volume = Volume::new(&entry.place.name.value, entry.image_after(), entry.policy);
        (volume, Rule::ReplaceCheck)
    });
    added.chain(replaced).collect()
}

/// The init containers that are added, in their order.
pub(super) fn containers<'w, 'p>(work: &'w Work<'p>) -> impl Iterator<Item = &'w NewCheck<'p>> {
    work.added
        .iter()
        .filter(|check| check.made_of != MadeOf::Volume)
}

/// The entries that stay in the object, those of replaced checks left out.
pub(super) fn staying<'w, 'p>(work: &'w Work<'p>) -> impl Iterator<Item = &'w Entry<'p>> {
    let is_replaced = |index: &usize| work.replaced.binary_search(index).is_ok();
    let entries = work.entries.iter().enumerate();
    entries.filter_map(move |(index, entry)| (!is_replaced(&index)).then_some(entry))
}

/// All changes, in the order of their fields.
pub(super) fn changes<'w>(work: &'w Work<'_>, paths: &Paths) -> Vec<Change<'w>> {
    let mut changes = Vec::new();
    for entry in staying(work) {
        let place = entry.place;
        let mut change = |field: &'static str, from, to, rule: Rule| {
            let index = paths.index_after(place);
            changes.push(Change {
                path: paths.path(place.slot, index, field),
                container: &place.name.value,
                from,
                to: Some(to),
                rule: rule.id(),
                order: Order::at(place.slot, index, field),
            });
        };
        if entry.pinned {
            let from = Some(Value::Image(entry.image().to_owned()));
            let to = Value::Image(entry.image_after());
            change(place.slot.image_field(), from, to, Rule::Registry);
        }
        if let (true, Some(cause)) = (entry.policy_changed(), &entry.policy_cause) {
            let from = place.policy.map(|policy| Value::Policy(policy.as_str()));
            let to = Value::Policy(entry.policy.as_str());
            change(place.slot.policy_field(), from, to, cause.rule());
        }
    }
    for (offset, check) in containers(work).enumerate() {
        let index = paths.first_added.saturating_add(offset);
        changes.push(Change {
            path: paths.path(Slot::InitContainer, index, ""),
            container: &check.name,
            from: None,
            to: Some(Value::Container {
                name: &check.name,
                image: check.image.clone(),
                image_pull_policy: Some(check.policy.as_str()),
            }),
            rule: Rule::MissingCheck.id(),
            order: Order::at(Slot::InitContainer, index, ""),
        });
    }
    for entry in work
        .replaced
        .iter()
        .filter_map(|index| work.entries.get(*index))
    {
        changes.push(gone(entry.place, paths));
    }
    for (offset, (volume, rule)) in volumes(work).into_iter().enumerate() {
        let index = work.review.pod.volume_names.len().saturating_add(offset);
        changes.push(Change {
            path: paths.path(Slot::ImageVolume, index, ""),
            container: volume.name,
            from: None,
            to: Some(Value::Volume(volume)),
            rule: rule.id(),
            order: Order::at(Slot::ImageVolume, index, ""),
        });
    }
    in_order(changes, |change| change.order)
}

/// An init container that goes. The path is the one that it had, as it has none any more.
fn gone<'w>(place: &'w Place<'_>, paths: &Paths) -> Change<'w> {
    Change {
        path: paths.before(place, ""),
        container: &place.name.value,
        from: Some(Value::Container {
            name: &place.name.value,
            image: place.image_text().to_owned(),
            image_pull_policy: place.policy.map(PullPolicy::as_str),
        }),
        to: None,
        rule: Rule::ReplaceCheck.id(),
        order: Order::at(place.slot, place.index, ""),
    }
}
