//! The checks that *missing-check* adds: what they are made of, their names, and where they are inserted.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::Value;

use super::init_container::init_container;
use super::needs::Uncovered;
use crate::json::{lenient_list, lenient_string};
use crate::pod::{List, MOUNT_FOLDER, Pod, Pull, mount};
use crate::settings::Form;

/// The largest size of all checks and mounts that are added to a Pod, in bytes of JSON. Without
/// this limit, a user could make the Pod huge, because an added check may be a copy of one that the
/// user wrote.
const ADDITIONS_MAX: usize = 1024 * 1024;
const TOO_LARGE: &str =
    "none is added, because all missing checks together would be larger than 1 MiB";

/// Why no check is added.
pub struct NotAdded {
    /// The sentence that says why. None if the settings ask for no checks.
    pub why: Option<Rc<str>>,
    /// Whether the images that are not covered are only warnings.
    pub is_warning: bool,
}

impl From<String> for NotAdded {
    fn from(why: String) -> Self {
        Self {
            why: Some(why.into()),
            is_warning: true,
        }
    }
}

/// The new checks of these images, or why none is added.
pub fn new_checks<'o>(pod: &Pod<'o>, images: &[Uncovered]) -> Result<Vec<Pull<'o>>, NotAdded> {
    if pod.spec.asks_for_windows() {
        return Err("none is added to a Windows Pod".to_owned().into());
    }
    let first = match pod.settings.image_checks.form {
        Form::InitContainer => init_container(pod)?,
        Form::ImageVolume => volume(pod)?,
    };
    let mut checks: Vec<Pull<'o>> = Vec::with_capacity(images.len());
    let mut size_of_entry = None;
    let mut size = 0_usize;
    for ((one, name), added) in images.iter().zip(free_names(pod)).zip(0..) {
        let image = pod.pulls.get(one.pull).map_or("", Pull::image);
        let check = Pull {
            position: pod.pulls.len().saturating_add(added),
            index: first.index.saturating_add(added),
            name: name.into(),
            new_image: Some(image.to_owned()),
            policy: one.policy,
            is_check: true,
            ..first.clone()
        };
        // The entries differ in names and images. Only one is measured, because the fields of all
        // may be huge.
        let sizes = [
            check.name.len().saturating_add(image.len()),
            *size_of_entry.get_or_insert_with(|| size_of(&check.entry())),
            size_of_mounts(&check),
        ];
        size = sizes.into_iter().fold(size, usize::saturating_add);
        if size > ADDITIONS_MAX {
            return Err(NotAdded {
                why: Some(TOO_LARGE.into()),
                is_warning: false,
            });
        }
        checks.push(check);
    }
    Ok(checks)
}

/// The first added image volume, without a name and an image.
fn volume<'o>(pod: &Pod<'o>) -> Result<Pull<'o>, String> {
    if let Some(field) = pod.spec.refuses_image_volumes() {
        return Err(format!("no image volume is added beside {field}"));
    }
    // On the first init container, nothing starts before the volumes are pulled.
    let mounting: Vec<&Pull> = match pod.first_init() {
        Some(first) => vec![first],
        None => pod.apps().collect(),
    };
    let Some(first) = mounting.first() else {
        return Err("none is added, because every container is exempt".to_owned());
    };
    Ok(Pull {
        list: List::Volumes,
        index: pod.spec.count(List::Volumes),
        added: Some(Rc::default()),
        moment: first.moment,
        mounted_by: mounting.iter().map(|pull| pull.position).collect(),
        ..Pull::default()
    })
}

fn size_of_mounts(check: &Pull) -> usize {
    match check.mounted_by.len() {
        0 => 0,
        count => size_of(&mount(&check.name)).saturating_mul(count),
    }
}

/// The size of an entry or a mount, in bytes of JSON.
fn size_of(value: &Value) -> usize {
    value.to_string().len()
}

/// The free names: no container and no volume has them. If added checks are volumes, no container
/// mounts anything at their path in `MOUNT_FOLDER`.
fn free_names(pod: &Pod) -> impl Iterator<Item = String> {
    let settings = &pod.settings.image_checks;
    let mut taken: BTreeSet<&str> = pod.spec.volume_names().collect();
    for pull in &pod.pulls {
        taken.insert(&pull.name);
        if settings.form == Form::ImageVolume {
            let names = paths(pull.value).filter_map(|path| path.strip_prefix(MOUNT_FOLDER));
            taken.extend(names);
        }
    }
    let prefix = settings.first_prefix();
    let names = (0_usize..).map(move |number| format!("{prefix}{number}"));
    names.filter(move |name| !taken.contains(&**name))
}

/// The paths at which a container sees volumes: its mounts, and its devices.
fn paths(container: &Value) -> impl Iterator<Item = &str> {
    let path = |list, key| {
        let entries = lenient_list(container, list).iter();
        entries.filter_map(move |entry| lenient_string(entry, key))
    };
    path("volumeMounts", "mountPath").chain(path("volumeDevices", "devicePath"))
}
