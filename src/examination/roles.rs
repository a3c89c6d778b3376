//! What each place is in its Pod. Here, and only here, it is decided whether a place is an image
//! check.

use super::place::{Entry, Field, Place, Role};
use super::start_order::{mounters, start};
use crate::settings::Settings;

/// What a request says of an entry: its stored image, and whether the rules examine the place.
type Stored<'o> = (Option<&'o str>, bool);

/// The places of these entries, in the same order.
pub(super) fn places<'o>(
    entries: Vec<Entry<'o>>,
    settings: &Settings,
    stored: impl Fn(&Entry<'o>) -> Stored<'o>,
) -> Vec<Place<'o>> {
    let apps = entries.iter().filter(|entry| entry.is_app()).count();
    let mut mounters = mounters(&entries);
    let mut parts = Vec::new();
    for entry in &entries {
        let mounted_by = mounters
            .remove(&(entry.list, entry.name))
            .unwrap_or_default();
        let containers = mounted_by.iter().filter_map(|index| entries.get(*index));
        let containers: Vec<&Entry<'_>> = containers.collect();
        let carries = |entry: &Entry<'_>| entry.ends() || entry.is_app();
        let can_be_check = entry.ends() || containers.iter().any(|entry| carries(entry));
        let role = role(entry, settings, can_be_check);
        parts.push((role, start(entry, &containers, apps), mounted_by));
    }
    let place = |(entry, (role, start, mounted_by)): (Entry<'o>, _)| {
        let (stored_image, is_examined) = stored(&entry);
        Place {
            role,
            start,
            mounted_by,
            stored_image,
            is_examined,
            image: Field::new(entry.image.into()),
            policy: Field::new(entry.policy),
            entry,
        }
    };
    entries.into_iter().zip(parts).map(place).collect()
}

fn role(entry: &Entry<'_>, settings: &Settings, can_be_check: bool) -> Role {
    let refuses_ids = settings.images.refuse_image_ids();
    match entry.reference {
        _ if entry.settings.is_exempt => Role::Exempt,
        Err(_) => Role::Invalid,
        Ok(image) if image.is_image_id() && refuses_ids => Role::Invalid,
        Ok(_) if can_be_check && settings.image_checks.has_prefix(entry.name) => Role::Check,
        Ok(_) => Role::Other,
    }
}
