//! The changes as JSON: the entries of the record and of the audit annotation `changes`.

use crate::document::quoted;
use crate::findings::reason::RuleId;
use crate::outcome::{Change, Outcome};
use crate::pod::{Place, PodSpecList};
use crate::pull_policy::PullPolicy;

/// An entry for each change, with the paths of the fields in the returned object.
pub(super) fn change_entries(outcome: &Outcome<'_>) -> Vec<String> {
    let index_of_added = outcome.index_of_added();
    let is_new = |change: &&Change<'_>| match change {
        Change::NewCheck(check) => !check.is_image_volume(),
        Change::Image { .. } | Change::PullPolicy { .. } => false,
    };
    let added = outcome.changes.iter().filter(is_new).count();
    let spec_path = outcome.object.spec_path();
    // Init containers that are added before a place change its index.
    let path_of = |place: &Place<'_>, field| {
        let is_moved = place.list == PodSpecList::InitContainers && place.index >= index_of_added;
        let index = place.index.saturating_add(if is_moved { added } else { 0 });
        place.list.path(spec_path, index, field)
    };
    let mut new_init_containers = index_of_added..;
    let mut new_volumes = outcome.object.pod.volume_names.len()..;
    let mut entries = Vec::with_capacity(outcome.changes.len());
    for change in &outcome.changes {
        let (path, name, from, to, rule) = match change {
            Change::Image { place, to } => {
                let path = path_of(place, place.list.image_field());
                let from = Some(place.image_text());
                (path, &*place.name, from, quoted(to), RuleId::Registry)
            }
            Change::PullPolicy { place, to, rule } => {
                let path = path_of(place, place.list.pull_policy_field());
                let from = place.policy.map(PullPolicy::as_str);
                (path, &*place.name, from, quoted(to.as_str()), *rule)
            }
            Change::NewCheck(check) => {
                let (list, indexes) = if check.is_image_volume() {
                    (PodSpecList::Volumes, &mut new_volumes)
                } else {
                    (PodSpecList::InitContainers, &mut new_init_containers)
                };
                let path = list.path(spec_path, indexes.next().unwrap_or_default(), "");
                (
                    path,
                    &*check.name,
                    None,
                    check.summary(),
                    RuleId::MissingCheck,
                )
            }
        };
        entries.push(format!(
            r#"{{"path":{},"container":{},"from":{},"to":{to},"rule":"{}"}}"#,
            quoted(&path),
            quoted(name),
            from.map_or_else(|| "null".to_owned(), quoted),
            rule.as_str()
        ));
    }
    entries
}
