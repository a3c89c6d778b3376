//! The checks that *missing-check* adds: what they are made of, their names, and where they are inserted.

use std::collections::BTreeSet;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::init_container::fields;
use super::needs::Uncovered;
use crate::image::PullPolicy;
use crate::json::{lenient_list, lenient_string};
use crate::pod::{List, MOUNT_FOLDER, Pod, Pull, Start, mount};
use crate::settings::Form;

/// The largest size of all checks and mounts that are added to a Pod, in bytes of JSON. Without
/// this limit, a user could make the Pod huge, because an added check may be a copy of one that the
/// user wrote.
const ADDITIONS_MAX: usize = 1024 * 1024;

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

/// What all added checks have in common.
struct Source {
    list: List,
    /// The index of the first of them in the list.
    index: usize,
    /// The fields of init containers, apart from name, image and pull policy.
    fields: Map<String, Value>,
    /// When they are pulled, and which containers mount them.
    start: Start,
}

/// The new checks of these images.
///
/// # Errors
/// None is added.
pub fn new_checks<'o>(pod: &Pod<'o>, images: &[Uncovered]) -> Result<Vec<Pull<'o>>, NotAdded> {
    if pod.spec.asks_for_windows() {
        return Err("none is added to a Windows Pod".to_owned().into());
    }
    let source = match pod.settings.image_checks.form {
        Form::InitContainer => init_containers(pod)?,
        Form::ImageVolume => volumes(pod)?,
    };
    let mut checks: Vec<Pull<'o>> = Vec::with_capacity(images.len());
    let mut size_of_entry = None;
    let mut size = 0_usize;
    for ((one, name), index) in images.iter().zip(free_names(pod)).zip(source.index..) {
        let image = pod.pulls.get(one.pull).map_or("", Pull::image);
        let entry = source.entry(&name, image, one.policy);
        // The entries differ in names and images. Only one is measured, because the fields of all
        // may be huge.
        let sizes = [
            name.len().saturating_add(image.len()),
            *size_of_entry.get_or_insert_with(|| size_of(&entry)),
            source.size_of_mounts(&name),
        ];
        size = sizes.into_iter().fold(size, usize::saturating_add);
        if size > ADDITIONS_MAX {
            let why =
                "none is added, because all missing checks together would be larger than 1 MiB";
            return Err(NotAdded {
                why: Some(why.into()),
                is_warning: false,
            });
        }
        let (list, start) = (source.list, source.start.clone());
        checks.push(Pull {
            added: Some(entry),
            new_image: Some(image.to_owned()),
            is_check: true,
            start,
            ..Pull::new(list, index, name.into(), one.policy)
        });
    }
    Ok(checks)
}

impl Source {
    fn entry(&self, name: &str, image: &str, policy: PullPolicy) -> Value {
        let mut entry = self.list.entry(name, image, policy);
        if let Value::Object(members) = &mut entry {
            members.extend(self.fields.clone());
        }
        entry
    }

    fn size_of_mounts(&self, name: &str) -> usize {
        match self.start.mounted_by.len() {
            0 => 0,
            count => size_of(&mount(name)).saturating_mul(count),
        }
    }
}

fn init_containers(pod: &Pod<'_>) -> Result<Source, String> {
    let (container, index) = fields(pod)?;
    // serde can write each container.
    let mut fields = match serde_json::to_value(container) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.remove("name");
    Ok(Source {
        list: List::InitContainers,
        index,
        fields,
        start: Start::inserted(index),
    })
}

fn volumes(pod: &Pod<'_>) -> Result<Source, String> {
    if let Some(field) = pod.spec.refuses_image_volumes() {
        return Err(format!("no image volume is added beside {field}"));
    }
    // On the first init container, nothing starts before the volumes are pulled.
    let first_init = pod.first_init().map(|(index, _)| vec![index]);
    let apps = || pod.apps().map(|(index, _)| index).collect();
    let mounted_by: Vec<usize> = first_init.unwrap_or_else(apps);
    let Some((_, first)) = pod.at(&mounted_by).next() else {
        return Err("none is added, because every container is exempt".to_owned());
    };
    Ok(Source {
        list: List::Volumes,
        index: pod.spec.entries(List::Volumes).map_or(0, <[_]>::len),
        fields: Map::new(),
        start: Start::volume(Some(&first.start), mounted_by.clone(), true),
    })
}

/// The size of an entry or a mount, in bytes of JSON.
fn size_of(value: &Value) -> usize {
    value.to_string().len()
}

/// The free names: no container and no volume has them. If added checks are volumes, no container
/// mounts anything at their path in `MOUNT_FOLDER`.
fn free_names<'p>(pod: &'p Pod<'_>) -> impl Iterator<Item = String> + use<'p> {
    let settings = &pod.settings.image_checks;
    let prefix = settings.first_prefix();
    let mut taken = BTreeSet::new();
    let mut take = |name: &str| taken.extend(name.strip_prefix(prefix).and_then(number));
    for pull in &pod.pulls {
        take(&pull.name);
        if settings.form == Form::ImageVolume {
            for path in paths(pull.value) {
                take(path.strip_prefix(MOUNT_FOLDER).unwrap_or_default());
            }
        }
    }
    pod.spec.volume_names().for_each(take);
    let free = (0_usize..).filter(move |number| !taken.contains(number));
    free.map(move |number| format!("{prefix}{number}"))
}

/// The paths at which a container sees volumes: its mounts, and its devices.
fn paths(container: &Value) -> impl Iterator<Item = &str> {
    let path = |list, key| {
        let entries = lenient_list(container, list).iter();
        entries.filter_map(move |entry| lenient_string(entry, key))
    };
    path("volumeMounts", "mountPath").chain(path("volumeDevices", "devicePath"))
}

/// A number as this policy writes it. `imagecheck-007` doesn't take the number 7.
fn number(text: &str) -> Option<usize> {
    let number: usize = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}
