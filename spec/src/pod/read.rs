//! Reads the places of a Pod spec from the request.

use serde_json::Value;

use super::{CameIn, Event, List, Lookups, Place, Pod};
use crate::image::{Reference, is_image_id};
use crate::policy::{PullPolicy, server_default};
use crate::settings::Settings;

impl<'a> Pod<'a> {
    /// Reads a Pod spec. At UPDATE, `old` is the stored Pod spec.
    ///
    /// # Errors
    /// The path of a field with a broken shape: the field has another type than in the Kubernetes API,
    /// a `name` is missing, or a pull policy is unknown.
    pub(crate) fn read(
        settings: Settings<'a>,
        event: Event,
        root: &'static str,
        spec: &Value,
        old: Option<&Value>,
    ) -> Result<Self, String> {
        let mut pod = Pod {
            settings,
            event,
            root,
            spec: spec.clone(),
            object: Value::Null,
            is_audit: false,
            is_near_limit: false,
            places: Vec::new(),
            findings: Vec::new(),
            lookups: Lookups::default(),
            is_lenient: false,
        };
        for list in List::ALL {
            for (index, entry) in entries(spec, root, list)?.into_iter().enumerate() {
                let path = format!("{root}.{}[{index}]", list.key());
                if let Some(mut place) = read_place(settings, list, index, entry, &path)? {
                    let stored = stored_entry(&place, old);
                    place.stored =
                        stored.and_then(|entry| Some(entry.get("image")?.as_str()?.to_owned()));
                    place.is_examined = !place.is_exempt && is_in_scope(event, &place, stored);
                    pod.places.push(place);
                }
            }
        }
        let os = &spec["os"];
        if !os.is_null() && !os.is_object() {
            return Err(format!("{root}.os"));
        }
        text(os, "name", &format!("{root}.os"))?;
        text(spec, "runtimeClassName", root)?;
        let host_users = &spec["hostUsers"];
        if !(host_users.is_null() || host_users.is_boolean()) {
            return Err(format!("{root}.hostUsers"));
        }
        Ok(pod)
    }
}

/// Returns the entries of a list. A missing list or `null` counts as empty.
pub(crate) fn entries<'v>(
    spec: &'v Value,
    root: &str,
    list: List,
) -> Result<Vec<&'v Value>, String> {
    match spec.get(list.key()) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(entries)) => Ok(entries.iter().collect()),
        Some(_) => Err(format!("{root}.{}", list.key())),
    }
}

fn text(entry: &Value, key: &str, path: &str) -> Result<Option<String>, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{path}.{key}")),
    }
}

pub(super) fn read_place(
    settings: Settings,
    list: List,
    index: usize,
    entry: &Value,
    path: &str,
) -> Result<Option<Place>, String> {
    if !entry.is_object() {
        return Err(path.to_owned());
    }
    let name = text(entry, "name", path)?.unwrap_or_default();
    // **Decided**: a container or an image volume without the key `name` has a broken shape.
    let is_nameless = entry.get("name").is_none();
    let name_path = format!("{path}.name");
    let is_volume = list == List::Volumes;
    let (fields, keys, path) = if is_volume {
        match entry.get("image") {
            None | Some(Value::Null) => return Ok(None),
            Some(image) if image.is_object() => {
                (image, ["reference", "pullPolicy"], format!("{path}.image"))
            }
            Some(_) => return Err(format!("{path}.image")),
        }
    } else {
        (entry, ["image", "imagePullPolicy"], path.to_owned())
    };
    if is_nameless {
        return Err(name_path);
    }
    let image = text(fields, keys[0], &path)?.unwrap_or_default();
    let policy = match text(fields, keys[1], &path)?.as_deref() {
        // `""` and `null` count as not set, so the place gets the server default.
        None | Some("") => server_default(&image),
        // **Decided**: a pull policy that Kubernetes doesn't know is a broken shape.
        Some(text) => PullPolicy::read(text).ok_or_else(|| format!("{path}.{}", keys[1]))?,
    };
    let mut mounts = Vec::new();
    match entry.get("volumeMounts") {
        None | Some(Value::Null) => {}
        Some(Value::Array(list)) => {
            for (index, mount) in list.iter().enumerate() {
                let path = format!("{path}.volumeMounts[{index}]");
                if !mount.is_object() {
                    return Err(path);
                }
                mounts.extend(text(mount, "name", &path)?);
            }
        }
        Some(_) if is_volume => {}
        Some(_) => return Err(format!("{path}.volumeMounts")),
    }
    let is_sidecar = list == List::InitContainers
        && text(entry, "restartPolicy", &path)?.as_deref() == Some("Always");
    let reference = Reference::parse(&image).filter(|_| !is_image_id(&image));
    Ok(Some(Place {
        list,
        index,
        is_exempt: settings.is_exempt(&name, reference.as_ref()),
        name,
        came_in: Some(CameIn {
            index,
            image: fields.get(keys[0]).cloned().unwrap_or_default(),
            policy: fields.get(keys[1]).cloned().unwrap_or_default(),
            effective: policy,
        }),
        image,
        policy,
        is_sidecar,
        is_examined: false,
        mounts,
        stored: None,
        image_rule: "",
        policy_rule: "",
    }))
}

fn stored_entry<'v>(place: &Place, old: Option<&'v Value>) -> Option<&'v Value> {
    let entries = old?.get(place.list.key())?.as_array()?;
    entries.iter().find(|entry| {
        let name = entry.get("name").and_then(Value::as_str);
        name.unwrap_or_default() == place.name
    })
}

/// Whether the rules examine a place that is not exempt. At UPDATE of a Pod, the rules examine only
/// app containers and init containers whose images changed. In a request for `ephemeralcontainers`,
/// the rules examine only new ephemeral containers.
///
/// **Decided**: at UPDATE of a Pod, each app or init container that the stored Pod doesn't have is
/// examined. A changed image volume is not examined, because the API server refuses the change.
fn is_in_scope(event: Event, place: &Place, stored: Option<&Value>) -> bool {
    match event {
        Event::PodCreate | Event::Template => true,
        Event::PodUpdate => {
            matches!(place.list, List::Containers | List::InitContainers)
                && (stored.is_none() || place.stored.clone().unwrap_or_default() != place.image)
        }
        Event::EphemeralContainers => place.list == List::EphemeralContainers && stored.is_none(),
    }
}
