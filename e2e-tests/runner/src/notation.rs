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

/// The image of a volume that is no image volume.
const EMPTY_DIR: &str = "emptyDir";

/// Reads places and returns a Pod spec that has them.
///
/// Every container has a secret, which no answer may show, and a field that no library knows. The program of an image
/// check comes from a volume, because no other check is ever copied.
pub(crate) fn spec_of_places(places: &str) -> Result<Value> {
    let mut spec = json!({});
    let mut mounts = Vec::new();
    for place in places.split([',', '\n']).map(str::trim) {
        for place in repeated(place) {
            add_place(&mut spec, &mut mounts, &place)
                .with_context(|| format!("place `{place}`"))?;
        }
    }
    for (volume, container) in mounts {
        let lists = ["initContainers", "containers", "ephemeralContainers"];
        let mut containers = spec.as_object_mut().into_iter().flat_map(|spec| {
            let lists = spec
                .iter_mut()
                .filter(|(key, _)| lists.contains(&key.as_str()));
            lists.flat_map(|(_, list)| list.as_array_mut().into_iter().flatten())
        });
        let container = containers.find(|one| one["name"] == *container);
        let container = container.with_context(|| format!("no container mounts {volume}"))?;
        push(
            container,
            "volumeMounts",
            json!({"name": volume, "mountPath": format!("/{volume}")}),
        );
    }
    Ok(spec)
}

fn add_place(spec: &mut Value, mounts: &mut Vec<(String, String)>, place: &str) -> Result<()> {
    let words: Vec<&str> = place.split_whitespace().collect();
    if words.is_empty() {
        return Ok(());
    }
    let (words, carriers) = match words.iter().position(|word| *word == "on") {
        Some(at) => (&words[..at], &words[at + 1..]),
        None => (&words[..], &[][..]),
    };
    let (kind, name, image, policy) = match *words {
        [kind, name, image] => (kind, name, image, None),
        [kind, name, image, policy] => (kind, name, image, Some(policy)),
        _ => bail!("a place is `kind name image [pull policy] [on container...]`"),
    };
    let Some((_, list)) = KINDS.iter().find(|(known, _)| *known == kind) else {
        bail!("no kind of place is `{kind}`");
    };
    mounts.extend(
        carriers
            .iter()
            .map(|one| (name.to_owned(), (*one).to_owned())),
    );
    let mut entry = json!({"name": name});
    if kind == "volume" && image == EMPTY_DIR {
        entry[EMPTY_DIR] = json!({});
    } else if kind == "volume" {
        entry["image"] = json!({"reference": image});
        if let Some(policy) = policy {
            entry["image"]["pullPolicy"] = policy.into();
        }
    } else {
        ensure!(carriers.is_empty(), "only a volume is mounted");
        entry["image"] = image.into();
        entry["env"] = json!([{"name": "TOKEN", "value": "s3cr3t"}]);
        entry["unknownField"] = json!({"of": name});
        if let Some(policy) = policy {
            entry["imagePullPolicy"] = policy.into();
        }
        if kind == "sidecar" {
            entry["restartPolicy"] = "Always".into();
        }
        if kind == "init"
            && (name.starts_with("imagecheck-") || name.starts_with("imagepullcheck-"))
        {
            entry["command"] = json!(["/check/true"]);
            entry["volumeMounts"] = json!([{"name": "check", "mountPath": "/check"}]);
            let has_volume = spec["volumes"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["name"] == "check"));
            if !has_volume {
                push(spec, "volumes", json!({"name": "check", "emptyDir": {}}));
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

/// The places of a Pod spec, as rows write them.
pub(crate) fn places_of_spec(spec: &Value) -> Vec<String> {
    let mut places = Vec::new();
    for list in [
        "initContainers",
        "containers",
        "ephemeralContainers",
        "volumes",
    ] {
        for entry in spec[list].as_array().into_iter().flatten() {
            let kind = match list {
                "initContainers" if entry["restartPolicy"] == "Always" => "sidecar",
                "initContainers" => "init",
                "containers" => "app",
                "ephemeralContainers" => "ephemeral",
                _ if entry["image"].is_object() => "volume",
                _ => continue,
            };
            let (image, policy) = match &entry["image"] {
                Value::Object(image) => (image.get("reference"), image.get("pullPolicy")),
                image => (Some(image), entry.get("imagePullPolicy")),
            };
            let mut words = vec![kind, text(&entry["name"])];
            words.extend([image, policy].into_iter().flatten().map(text));
            words.retain(|word| !word.is_empty());
            let carriers: Vec<&str> = carriers(spec, entry, kind);
            if !carriers.is_empty() {
                words.push("on");
                words.extend(carriers);
            }
            places.push(words.join(" "));
        }
    }
    places
}

/// The containers that mount an image volume.
fn carriers<'a>(spec: &'a Value, volume: &Value, kind: &str) -> Vec<&'a str> {
    let lists = ["initContainers", "containers", "ephemeralContainers"]
        .iter()
        .map(|list| &spec[list]);
    let containers = lists
        .filter_map(Value::as_array)
        .flatten()
        .filter(|_| kind == "volume");
    let mounts = |container: &&Value| {
        let mounts = container["volumeMounts"].as_array();
        mounts.is_some_and(|mounts| mounts.iter().any(|mount| mount["name"] == volume["name"]))
    };
    containers
        .filter(mounts)
        .map(|container| text(&container["name"]))
        .collect()
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Places in the form in which they are compared: one space between two words.
pub(crate) fn tidy(places: &str) -> Vec<String> {
    let places = places
        .split([',', '\n'])
        .map(|place| place.split_whitespace().collect::<Vec<_>>().join(" "));
    places
        .filter(|place| !place.is_empty())
        .flat_map(|place| repeated(&place))
        .collect()
}

/// `3× app c# app:#` stands for three texts. `#` is their number.
pub(crate) fn repeated(text: &str) -> Vec<String> {
    let count = text
        .split_once("× ")
        .and_then(|(count, rest)| Some((count.parse::<usize>().ok()?, rest)));
    match count {
        Some((count, rest)) => (1..=count)
            .map(|number| rest.replace('#', &number.to_string()))
            .collect(),
        None => vec![text.to_owned()],
    }
}

/// Writes out the abbreviated digests in all strings of a value, and the keys that stand for several.
pub(crate) fn written_out(value: &mut Value) {
    match value {
        Value::String(text) => *text = whole_digests(text),
        Value::Array(list) => list.iter_mut().for_each(written_out),
        Value::Object(object) => {
            let entries = std::mem::take(object).into_iter().flat_map(|(key, value)| {
                let keys = repeated(&key);
                let is_one = keys.len() == 1;
                keys.into_iter().zip(1..).map(move |(key, number)| {
                    let mut value = if is_one {
                        value.clone()
                    } else {
                        numbered(&value, number)
                    };
                    written_out(&mut value);
                    (whole_digests(&key), value)
                })
            });
            *object = entries.collect();
        }
        _ => {}
    }
}

/// A value with a number in place of each `#`.
fn numbered(value: &Value, number: usize) -> Value {
    match value {
        Value::String(text) => text.replace('#', &number.to_string()).into(),
        Value::Array(list) => list.iter().map(|one| numbered(one, number)).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), numbered(value, number)))
            .collect(),
        other => other.clone(),
    }
}

/// Writes out each digest: `sha256:a1…` has the two digits 32 times.
pub(crate) fn whole_digests(text: &str) -> String {
    let mut parts = text.split('…');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = whole
            .rsplit_once(':')
            .map_or("", |(_, digits)| digits)
            .to_owned();
        if digits.is_empty()
            || digits.len() > 2
            || !digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            whole.push('…');
        } else {
            whole += &digits.repeat(64 / digits.len() - 1);
        }
        whole += part;
    }
    whole
}

/// Abbreviates each digest that [`whole_digests`] can write out.
pub(crate) fn short_digests(text: &str) -> String {
    const START: &str = "sha256:";
    let mut parts = text.split(START);
    let mut short = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        short += START;
        let (digest, rest) = part.split_at_checked(64).unwrap_or(("", part));
        let digits = [1, 2].iter().filter_map(|length| digest.get(..*length));
        match digits
            .into_iter()
            .find(|digits| digits.repeat(64 / digits.len()) == digest)
        {
            Some(digits) => short += &format!("{digits}…{rest}"),
            None => short += part,
        }
    }
    short
}

/// The value at a path such as `spec.containers.a.image`. A step into a list is the name of an element, or its index.
pub(crate) fn get<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, step| match value {
        Value::Array(list) => list.get(index(list, step)?),
        _ => value.get(step),
    })
}

/// Sets the value at a path, or takes it out. Objects on the way to it are made if they are missing.
pub(crate) fn set(value: &mut Value, path: &str, new: Option<&Value>) -> Result<()> {
    let (step, rest) = path
        .split_once('.')
        .map_or((path, None), |(step, rest)| (step, Some(rest)));
    if value.is_null() {
        *value = json!({});
    }
    match (value, rest, new) {
        (Value::Array(list), Some(rest), _) => {
            let at = index(list, step).with_context(|| format!("no element {step}"))?;
            set(&mut list[at], rest, new)
        }
        (Value::Array(list), None, _) => {
            let at = index(list, step).with_context(|| format!("no element {step}"))?;
            match new {
                Some(new) => list[at] = new.clone(),
                None => drop(list.remove(at)),
            }
            Ok(())
        }
        (Value::Object(object), Some(rest), _) => set(
            object.entry(step).or_insert_with(|| Map::new().into()),
            rest,
            new,
        ),
        (Value::Object(object), None, Some(new)) => {
            object.insert(step.to_owned(), new.clone());
            Ok(())
        }
        (Value::Object(object), None, None) => {
            object.remove(step);
            Ok(())
        }
        _ => bail!("{step} is in no object and no list"),
    }
}

fn index(list: &[Value], step: &str) -> Option<usize> {
    let named = list.iter().position(|element| element["name"] == step);
    named.or_else(|| step.parse().ok().filter(|index| *index < list.len()))
}

/// Writes out the repeated texts in a value: `100× x` is a text of 100 letters.
pub(crate) fn lengthened(value: &Value) -> Value {
    match value {
        Value::String(text) => repeated(text).concat().into(),
        Value::Array(list) => list.iter().map(lengthened).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), lengthened(value)))
            .collect(),
        other => other.clone(),
    }
}
