//! The changed fields, for the record and for the audit annotation `changes`.

use serde::Serialize;

use super::sort_by_field::sort_by_field;
use crate::findings::reason::RuleId;
use crate::outcome::{NewVolume, Outcome};
use crate::pod::field_path::{FieldPath, FieldSortKey};
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;

/// A changed field, or an element that is added.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FieldChange<'o> {
    path: String,
    container: &'o str,
    from: Option<FieldValue<'o>>,
    to: Option<FieldValue<'o>>,
    rule: &'static str,
    #[serde(skip)]
    order: FieldSortKey,
}

/// The value of a field or element before or after the change.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
enum FieldValue<'o> {
    PullPolicy(&'static str),
    Image(&'o str),
    #[serde(rename_all = "camelCase")]
    Container {
        name: &'o str,
        image: &'o str,
        image_pull_policy: &'static str,
    },
    Volume(VolumeValue<'o>),
}

/// An added image volume, as it is written into the Pod.
#[derive(Clone, Debug, Serialize)]
pub(super) struct VolumeValue<'o> {
    name: &'o str,
    image: ImageVolumeSourceValue<'o>,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ImageVolumeSourceValue<'o> {
    reference: &'o str,
    pull_policy: &'static str,
}

impl<'o> From<&'o NewVolume> for VolumeValue<'o> {
    fn from(volume: &'o NewVolume) -> Self {
        Self {
            name: &volume.name,
            image: ImageVolumeSourceValue {
                reference: &volume.image,
                pull_policy: volume.policy.as_str(),
            },
        }
    }
}

/// All changes that the rules make, sorted by their fields. Restored fields are not among them.
pub(super) fn field_changes<'o>(outcome: &'o Outcome<'_>) -> Vec<FieldChange<'o>> {
    let mut changes = Vec::new();
    for changed in &outcome.changed_places {
        let place = changed.place;
        let list = place.list;
        let index = index_after(outcome, place);
        let name = &*place.name;
        if let Some(image) = &changed.image {
            let from = Some(FieldValue::Image(place.image_text()));
            let to = Some(FieldValue::Image(image));
            let at = ChangePosition(list, index, list.image_field());
            changes.push(change(outcome, at, name, from, to, RuleId::Registry));
        }
        if let Some((policy, rule)) = changed.policy {
            let value = |policy: PullPolicy| FieldValue::PullPolicy(policy.as_str());
            let from = place.policy.map(value);
            let at = ChangePosition(list, index, list.pull_policy_field());
            changes.push(change(outcome, at, name, from, Some(value(policy)), rule));
        }
    }
    let first = outcome.new_init_containers.position.index();
    for (offset, check) in outcome.new_init_containers.checks.iter().enumerate() {
        let value = FieldValue::Container {
            name: &check.name,
            image: &check.image,
            image_pull_policy: check.policy.as_str(),
        };
        let at = ChangePosition(
            PodSpecList::InitContainers,
            first.saturating_add(offset),
            "",
        );
        let rule = RuleId::MissingCheck;
        changes.push(change(outcome, at, &check.name, None, Some(value), rule));
    }
    let first = outcome.object.pod.volume_names.len();
    for (offset, volume) in outcome.new_volumes.iter().enumerate() {
        let value = FieldValue::Volume(volume.into());
        let at = ChangePosition(PodSpecList::Volumes, first.saturating_add(offset), "");
        changes.push(change(
            outcome,
            at,
            &volume.name,
            None,
            Some(value),
            RuleId::MissingCheck,
        ));
    }
    sort_by_field(changes, |change| change.order)
}

/// The list, the index and the field of a change. The field is empty if an element is added.
struct ChangePosition(PodSpecList, usize, &'static str);

fn change<'o>(
    outcome: &Outcome<'_>,
    ChangePosition(list, index, field): ChangePosition,
    container: &'o str,
    from: Option<FieldValue<'o>>,
    to: Option<FieldValue<'o>>,
    rule: RuleId,
) -> FieldChange<'o> {
    let path = FieldPath::Spec {
        pod_spec: outcome.object.spec_path(),
        list,
        index,
        field,
    };
    FieldChange {
        path: path.to_string(),
        container,
        from,
        to,
        rule: rule.as_str(),
        order: FieldSortKey::in_spec(list, index, field),
    }
}

/// The index of a place in the returned object. Init containers that are added before the place change
/// its index.
fn index_after(outcome: &Outcome<'_>, place: &Place<'_>) -> usize {
    let new = &outcome.new_init_containers;
    let is_moved = place.list == PodSpecList::InitContainers && place.index >= new.position.index();
    let added = if is_moved { new.checks.len() } else { 0 };
    place.index.saturating_add(added)
}
