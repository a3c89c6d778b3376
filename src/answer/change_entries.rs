//! The changes as JSON: the entries of the record and of the audit annotation `changes`.

use crate::document::quoted;
use crate::findings::reason::RuleId;
use crate::outcome::{Change, Outcome};
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;

/// An entry for each change, with the paths of the fields in the returned object.
pub(super) fn change_entries(outcome: &Outcome<'_>) -> Vec<String> {
    let index_of_added = outcome.index_of_added();
    let is_new = |change: &&Change<'_>| matches!(change, Change::NewInitContainer(_));
    let added = outcome.changes.iter().filter(is_new).count();
    // Init containers that are added before a place change its index.
    let index_after = |place: &Place<'_>| {
        let is_moved = place.list == PodSpecList::InitContainers && place.index >= index_of_added;
        place.index.saturating_add(if is_moved { added } else { 0 })
    };
    let mut new_init_containers = index_of_added..;
    let mut new_volumes = outcome.object.pod.volume_names.len()..;
    let mut entries = Vec::with_capacity(outcome.changes.len());
    for change in &outcome.changes {
        let (list, index, field) = match change {
            Change::Image { place, .. } => {
                (place.list, index_after(place), place.list.image_field())
            }
            Change::PullPolicy { place, .. } => (
                place.list,
                index_after(place),
                place.list.pull_policy_field(),
            ),
            Change::NewInitContainer(_) => {
                let index = new_init_containers.next().unwrap_or_default();
                (PodSpecList::InitContainers, index, "")
            }
            Change::NewVolume(_) => {
                let index = new_volumes.next().unwrap_or_default();
                (PodSpecList::Volumes, index, "")
            }
        };
        let (name, from, to, rule) = match change {
            Change::Image { place, to } => {
                let from = Some(place.image_text());
                (&*place.name, from, quoted(to), RuleId::Registry)
            }
            Change::PullPolicy { place, to, rule } => {
                let from = place.policy.map(PullPolicy::as_str);
                (&*place.name, from, quoted(to.as_str()), *rule)
            }
            Change::NewInitContainer(check) | Change::NewVolume(check) => {
                (&*check.name, None, check.summary(), RuleId::MissingCheck)
            }
        };
        entries.push(format!(
            r#"{{"path":{},"container":{},"from":{},"to":{to},"rule":"{}"}}"#,
            quoted(&list.path(outcome.object.spec_path(), index, field)),
            quoted(name),
            from.map_or_else(|| "null".to_owned(), quoted),
            rule.as_str()
        ));
    }
    entries
}
