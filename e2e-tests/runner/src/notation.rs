//! The notation of the rows: places, repeated texts, abbreviated digests and paths.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

/// The kinds of places, and the list of a Pod spec in which each stands.
const KINDS: [(&str, &str); 5] = [
    ("init", "initContainers"),
    ("sidecar", "initContainers"),
    ("app", "containers"),
    ("ephemeral", "ephemeralContainers"),
    ("volume", "volumes"),
];

/// The lists of containers in a Pod spec.
const CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The image of a volume that is no image volume.
const EMPTY_DIR: &str = "emptyDir";

/// Reads places and returns a Pod spec that has them.
///
/// Every container has a secret, which no answer may show, and a field that no library knows. The
/// program of an image check comes from a volume, because no other check is ever copied.
pub(crate) fn spec_of_places(places: &str) -> Result<Value> {
    let mut spec = json!({});
    let mut mounts = Vec::new();
    for place in tidy(places) {
        add_place(&mut spec, &mut mounts, &place).with_context(|| format!("place `{place}`"))?;
    }
    for (volume, carrier) in mounts {
        let list = CONTAINERS
            .iter()
            .find(|list| get(&spec[list], &carrier).is_some());
        let list = list.with_context(|| format!("no container {carrier} mounts {volume}"))?;
        let containers = spec[list].as_array_mut().into_iter().flatten();
        for container in containers.filter(|container| container["name"] == *carrier) {
            let mount = json!({"name": volume, "mountPath": format!("/{volume}")});
            push(container, "volumeMounts", mount);
        }
    }
    Ok(spec)
}

fn add_place(spec: &mut Value, mounts: &mut Vec<(String, String)>, place: &str) -> Result<()> {
    let (place, carriers) = place.split_once(" on ").unwrap_or((place, ""));
    let words: Vec<&str> = place.split(' ').collect();
    let ([kind, name, image] | [kind, name, image, _]) = words[..] else {
        bail!("a place is `kind name image [pull policy] [on container...]`");
    };
    let policy = words.get(3);
    let Some((_, list)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        bail!("no kind of place is `{kind}`");
    };
    let mut entry = json!({"name": name});
    if kind == "volume" {
        let carriers = carriers.split_whitespace();
        mounts.extend(carriers.map(|carrier| (name.to_owned(), carrier.to_owned())));
        match policy {
            _ if image == EMPTY_DIR => entry[EMPTY_DIR] = json!({}),
            Some(policy) => entry["image"] = json!({"reference": image, "pullPolicy": policy}),
            None => entry["image"] = json!({"reference": image}),
        }
    } else {
        ensure!(carriers.is_empty(), "only a volume is mounted");
        entry["image"] = image.into();
        entry["env"] = json!([{"name": "TOKEN", "value": "s3cr3t"}]);
        entry["unknownField"] = json!({"of": name});
        if let Some(policy) = policy {
            entry["imagePullPolicy"] = json!(policy);
        }
        if kind == "sidecar" {
            entry["restartPolicy"] = "Always".into();
        }
        let prefixes = ["imagecheck-", "imagepullcheck-"];
        if kind == "init" && prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            entry["command"] = json!(["/check/true"]);
            entry["volumeMounts"] = json!([{"name": "check", "mountPath": "/check"}]);
            if get(&spec["volumes"], "check").is_none() {
                push(spec, "volumes", json!({"name": "check", EMPTY_DIR: {}}));
            }
        }
    }
    push(spec, list, entry);
    Ok(())
}

fn push(object: &mut Value, key: &str, element: Value) {
    match &mut object[key] {
        Value::Array(list) => list.push(element),
        other => *other = json!([element]),
    }
}

/// A text, or an empty one in place of another value.
pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The lines of a row: one text, or a list of texts.
pub(crate) fn lines(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(lines) => lines.iter().map(text).collect(),
        line => line.as_str().into_iter().collect(),
    }
}

/// Places in the form in which they are compared: one space between two words.
pub(crate) fn tidy(places: &str) -> Vec<String> {
    let places = places.split([',', '\n']);
    let places = places.map(|place| place.split_whitespace().collect::<Vec<_>>().join(" "));
    let places = places.filter(|place| !place.is_empty());
    places.flat_map(|place| repeated(&place)).collect()
}

/// `3× app c# app:#` stands for three texts. `#` is their number.
pub(crate) fn repeated(text: &str) -> Vec<String> {
    let count = text.split_once("× ");
    match count.and_then(|(count, rest)| Some((count.parse::<usize>().ok()?, rest))) {
        Some((count, rest)) => (1..=count)
            .map(|number| rest.replace('#', &number.to_string()))
            .collect(),
        None => vec![text.to_owned()],
    }
}

/// A value with all texts in it changed, keys included.
pub(crate) fn each_text(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => change(text).into(),
        Value::Array(list) => list.iter().map(|one| each_text(one, change)).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (change(key), each_text(value, change)))
            .collect(),
        other => other.clone(),
    }
}

/// Writes out the repeated texts in a value: `100× x` is a text of 100 letters.
pub(crate) fn lengthened(value: &Value) -> Value {
    each_text(value, &|text| repeated(text).concat())
}

/// Writes out keys that stand for several.
pub(crate) fn written_out(value: &Value) -> Value {
    let Value::Object(object) = value else {
        return match value {
            Value::Array(list) => list.iter().map(written_out).collect(),
            other => other.clone(),
        };
    };
    let mut written = Map::new();
    for (key, value) in object {
        let keys = repeated(key);
        for (number, key) in (1..).zip(&keys) {
            let value = match keys.len() {
                1 => value.clone(),
                _ => each_text(value, &|text| text.replace('#', &number.to_string())),
            };
            written.insert(key.clone(), written_out(&value));
        }
    }
    written.into()
}

/// Writes out each digest: `sha256:1…` has the digit 64 times.
pub(crate) fn whole_digests(text: &str) -> String {
    let mut parts = text.split('…');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = whole.rsplit_once(':').map_or("", |(_, digits)| digits);
        let is_digit = digits.len() == 1 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let rest = if is_digit {
            digits.repeat(63)
        } else {
            "…".to_owned()
        };
        whole.extend([&rest, part]);
    }
    whole
}

/// The value at a path such as `spec.containers.a.image`. A step into a list is the name of an
/// element, or its index.
pub(crate) fn get<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Array(list) => list.get(index(list, step)?),
        _ => value.get(step),
    })
}

/// Sets the value at a path, or takes it out. Objects on the way to it are made if they are
/// missing.
pub(crate) fn set(value: &mut Value, path: &str, new: Option<&Value>) -> Result<()> {
    let (step, rest) = match path.split_once('.') {
        Some((step, rest)) => (step, Some(rest)),
        None => (path, None),
    };
    if value.is_null() {
        *value = json!({});
    }
    match (value, rest, new) {
        (Value::Array(list), rest, _) => {
            let at = index(list, step).with_context(|| format!("no element {step}"))?;
            match (rest, new) {
                (Some(rest), _) => return set(&mut list[at], rest, new),
                (None, Some(new)) => list[at] = new.clone(),
                (None, None) => drop(list.remove(at)),
            }
        }
        (Value::Object(object), Some(rest), _) => {
            return set(object.entry(step).or_insert(Value::Null), rest, new);
        }
        (Value::Object(object), None, Some(new)) => {
            object.insert(step.to_owned(), new.clone());
        }
        (Value::Object(object), None, None) => {
            object.remove(step);
        }
        _ => bail!("{step} is in no object and no list"),
    }
    Ok(())
}

fn index(list: &[Value], step: &str) -> Option<usize> {
    let named = list.iter().position(|element| element["name"] == step);
    named.or_else(|| step.parse().ok().filter(|index| *index < list.len()))
}
