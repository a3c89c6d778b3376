//! Reads the places of a Pod spec from the request.

use serde_json::Value;

use super::{CameIn, List, Lookups, Place, Pod, RequestKind};
use crate::at;
use crate::image::Reference;
use crate::json::{elements, text};
use crate::policy::{PullPolicy, server_default};
use crate::settings::Settings;

impl<'a> Pod<'a> {
    /// Reads the Pod spec of an object. At UPDATE, `stored` is the stored object.
    ///
    /// # Errors
    /// The path of a field with a broken shape: the field has another type than in the Kubernetes API,
    /// a `name` is missing, or a pull policy is unknown.
    pub(crate) fn read(
        settings: Settings<'a>,
        request_kind: RequestKind,
        root: &'static str,
        object: &Value,
        stored: &Value,
    ) -> Result<Self, String> {
        let mut pod = Pod {
            settings,
            request_kind,
            root,
            spec: at(object, root).cloned().unwrap_or_default(),
            object: object.clone(),
            stored: stored.clone(),
            is_audit: false,
            is_near_limit: false,
            places: Vec::new(),
            findings: Vec::new(),
            lookups: Lookups::default(),
        };
        let (spec, old) = (&pod.spec, at(stored, root).unwrap_or(&Value::Null));
        for list in List::ALL {
            let path = format!("{root}.{}", list.key());
            for (index, entry) in entries(spec, list.key(), &path)?.iter().enumerate() {
                let path = format!("{path}[{index}]");
                if let Some(mut place) = read_place(settings, list, index, entry, &path)? {
                    let mut stored = elements(old, list.key()).iter();
                    let stored = stored.find(|one| text(&one["name"]) == place.name);
                    place.stored = stored.and_then(|one| Some(one["image"].as_str()?.to_owned()));
                    place.is_examined =
                        !place.is_exempt && is_in_scope(request_kind, &place, stored.is_some());
                    pod.places.push(place);
                }
            }
        }
        let os = &spec["os"];
        if !os.is_null() && !os.is_object() {
            return Err(format!("{root}.os"));
        }
        field(os, "name", &format!("{root}.os"))?;
        field(spec, "runtimeClassName", root)?;
        let host_users = &spec["hostUsers"];
        if !(host_users.is_null() || host_users.is_boolean()) {
            return Err(format!("{root}.hostUsers"));
        }
        Ok(pod)
    }
}

/// Returns the entries of a list. A missing list or `null` counts as empty.
fn entries<'v>(value: &'v Value, key: &str, path: &str) -> Result<&'v [Value], String> {
    let list = &value[key];
    if list.is_null() || list.is_array() {
        Ok(elements(value, key))
    } else {
        Err(path.to_owned())
    }
}

/// Returns the text of a field. A missing field or `null` counts as empty.
fn field<'v>(entry: &'v Value, key: &str, path: &str) -> Result<&'v str, String> {
    let value = &entry[key];
    if value.is_null() || value.is_string() {
        Ok(text(value))
    } else {
        Err(format!("{path}.{key}"))
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
    let name = field(entry, "name", path)?.to_owned();
    // **Decided**: a container or an image volume without the key `name` has a broken shape.
    let is_nameless = entry.get("name").is_none();
    let name_path = format!("{path}.name");
    let is_volume = list == List::Volumes;
    let (fields, keys, path) = if is_volume {
        let path = format!("{path}.image");
        match &entry["image"] {
            Value::Null => return Ok(None),
            image if image.is_object() => (image, ["reference", "pullPolicy"], path),
            _ => return Err(path),
        }
    } else {
        (entry, ["image", "imagePullPolicy"], path.to_owned())
    };
    if is_nameless {
        return Err(name_path);
    }
    let image = field(fields, keys[0], &path)?.to_owned();
    let policy = match field(fields, keys[1], &path)? {
        // `""` and `null` count as not set, so the place gets the server default.
        "" => server_default(&image),
        // **Decided**: a pull policy that Kubernetes doesn't know is a broken shape.
        text => PullPolicy::read(text).ok_or_else(|| format!("{path}.{}", keys[1]))?,
    };
    let mut mounts = Vec::new();
    if !is_volume {
        let path = format!("{path}.volumeMounts");
        for (index, mount) in entries(entry, "volumeMounts", &path)?.iter().enumerate() {
            let path = format!("{path}[{index}]");
            if !mount.is_object() {
                return Err(path);
            }
            // **Decided**: a mount may lack a name, but `null` is no name.
            if mount.get("name").is_some_and(Value::is_null) {
                return Err(format!("{path}.name"));
            }
            field(mount, "name", &path)?;
            mounts.extend(mount["name"].as_str().map(str::to_owned));
        }
    }
    let is_sidecar =
        list == List::InitContainers && field(entry, "restartPolicy", &path)? == "Always";
    let reference = Reference::parse(&image);
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

/// Whether the rules examine a place that is not exempt. At UPDATE of a Pod, the rules examine only
/// app containers and init containers whose images changed. In a request for `ephemeralcontainers`,
/// the rules examine only new ephemeral containers.
///
/// **Decided**: at UPDATE of a Pod, each app or init container that the stored Pod doesn't have is
/// examined. A changed image volume is not examined, because the API server refuses the change.
fn is_in_scope(request_kind: RequestKind, place: &Place, is_stored: bool) -> bool {
    match request_kind {
        RequestKind::PodCreate | RequestKind::Template => true,
        RequestKind::PodUpdate => {
            matches!(place.list, List::Containers | List::InitContainers)
                && (!is_stored || place.stored.clone().unwrap_or_default() != place.image)
        }
        RequestKind::EphemeralContainers => place.list == List::EphemeralContainers && !is_stored,
    }
}
