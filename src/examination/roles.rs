//! What each place is in its Pod. Here, and only here, it is decided whether a place is an image
//! check.

use super::place::{Entry, Field, Place, Role};
use super::start_order::{mounters, start};
use crate::pod::List;
use crate::settings::{ForImage, Settings};

/// What a request says of an entry: its stored image, and whether the rules examine the place.
type Stored<'o> = (Option<&'o str>, bool);

/// The places of these entries, in the same order.
pub(super) fn places<'o>(
    entries: Vec<Entry<'o>>,
    settings: &'o Settings,
    stored: impl Fn(&Entry<'o>) -> Stored<'o>,
) -> Vec<Place<'o>> {
    let for_images = entries.iter().map(|entry| match entry.reference {
        Ok(image) => settings.for_image(&image),
        Err(_) => ForImage::default(),
    });
    let for_images: Vec<ForImage<'_>> = for_images.collect();
    let both = entries.iter().zip(&for_images);
    let is_app: Vec<bool> = both
        .map(|(entry, it)| entry.list == List::Containers && !is_exempt(entry, it, settings))
        .collect();
    let apps = is_app.iter().filter(|is_app| **is_app).count();
    let mut mounters = mounters(&entries);
    let mut parts = Vec::new();
    for (entry, for_image) in entries.iter().zip(for_images) {
        let mounted_by = match entry.list {
            List::Volumes => mounters.remove(entry.name).unwrap_or_default(),
            List::InitContainers | List::Containers | List::EphemeralContainers => Vec::new(),
        };
        let is_app = |index: &&usize| is_app.get(**index) == Some(&true);
        let on_apps = mounted_by.iter().filter(is_app).count();
        let containers: Vec<&Entry<'_>> = mounted_by
            .iter()
            .filter_map(|index| entries.get(*index))
            .collect();
        let can_be_check = match entry.list {
            List::Volumes => on_apps > 0 || containers.iter().any(|container| container.ends()),
            List::InitContainers | List::Containers | List::EphemeralContainers => entry.ends(),
        };
        let role = role(entry, &for_image, settings, can_be_check);
        let start = start(entry, &containers, (on_apps, apps));
        parts.push((for_image, role, start, mounted_by));
    }
    let places = entries.into_iter().zip(parts);
    let place = |(entry, (settings, role, start, mounted_by)): (Entry<'o>, _)| {
        let (stored_image, is_examined) = stored(&entry);
        Place {
            role,
            start,
            mounted_by,
            settings,
            stored_image,
            is_examined,
            image: Field::new(entry.image.into()),
            policy: Field::new(entry.policy),
            entry,
        }
    };
    places.map(place).collect()
}

/// Whether the settings exempt an entry, by its name or its image.
fn is_exempt(entry: &Entry<'_>, for_image: &ForImage<'_>, settings: &Settings) -> bool {
    let mut names = settings.exempt.containers.iter();
    for_image.is_exempt_image || names.any(|pattern| pattern.matches(entry.name))
}

fn role(
    entry: &Entry<'_>,
    for_image: &ForImage<'_>,
    settings: &Settings,
    can_be_check: bool,
) -> Role {
    let is_valid = match &entry.reference {
        Err(_) => false,
        Ok(image) => !(image.is_image_id() && settings.images.refuse_image_ids()),
    };
    if is_exempt(entry, for_image, settings) {
        Role::Exempt
    } else if !is_valid {
        Role::Invalid
    } else if can_be_check && settings.image_checks.has_prefix(entry.name) {
        Role::Check
    } else {
        Role::Other
    }
}
