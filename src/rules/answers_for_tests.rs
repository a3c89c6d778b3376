//! For the tests of sentences: the texts of the answer to a Pod that is written as a list of places.

use std::collections::BTreeMap;

use oci_spec::image::Platform;
use serde_json::{Value, json};

use crate::lookup::RegistryClient;
use crate::validate::validate;

/// Registries with these images. The error of any other image is its own text.
struct FakeRegistries(BTreeMap<&'static str, String>);

impl RegistryClient for FakeRegistries {
    fn manifest_digest(&mut self, image: &str) -> Result<String, String> {
        self.0.get(image).cloned().ok_or_else(|| {
            let code = if image.contains("missing") { 404 } else { 503 };
            format!("Server error: url https://r.io, code: {code}, message: x")
        })
    }

    fn platforms(&mut self, _: &str) -> Result<Option<Vec<Platform>>, String> {
        let platform = json!({"os": "linux", "architecture": "amd64"});
        Ok(Some(vec![
            serde_json::from_value(platform).expect("a platform"),
        ]))
    }
}

/// A Pod spec. Each place is written as `kind name image [pull-policy]`, with a comma between two places. The kinds
/// are `init`, `app` and `volume`. The program of an init container comes from a volume, so that it can be copied.
fn pod_spec(places: &str) -> Value {
    let mut spec = json!({"volumes": [{"name": "tools", "emptyDir": {}}]});
    for place in places.split(", ") {
        let mut words = place.split(' ');
        let mut next = || words.next();
        let (kind, name, image, policy) = (next(), next(), next(), next());
        let (list, place) = match kind {
            Some("volume") => {
                let image = json!({"reference": image, "pullPolicy": policy});
                ("volumes", json!({"name": name, "image": image}))
            }
            Some("init") => {
                let mounts = json!([{"name": "tools", "mountPath": "/tools"}]);
                let command = json!(["/tools/true"]);
                let place = json!({"name": name, "image": image, "imagePullPolicy": policy,
                    "command": command, "volumeMounts": mounts});
                ("initContainers", place)
            }
            _ => {
                let place = json!({"name": name, "image": image, "imagePullPolicy": policy});
                ("containers", place)
            }
        };
        match spec[list].as_array_mut() {
            Some(places) => places.push(place),
            None => spec[list] = json!([place]),
        }
    }
    spec
}

/// The CREATE request of a Pod with these places.
pub(super) fn pod(places: &str) -> Value {
    json!({
        "kind": {"group": "", "kind": "Pod"},
        "operation": "CREATE",
        "userInfo": {"username": "someone"},
        "object": {"spec": pod_spec(places)},
    })
}

/// The answer to a request. The registries have only the images `app:1` and `docker.io/library/sha256:abc`. No sentence may show the invisible characters
/// of a name, so the same request is also sent with such characters.
pub(super) fn answer(request: &Value, settings: &Value) -> Value {
    let mut odd = request.clone();
    make_names_odd(&mut odd["object"]);
    make_names_odd(&mut odd["oldObject"]);
    let odd = answer_once(&odd, settings);
    let sentences = format!("{}{}", odd["message"], odd["warnings"]);
    assert!(!sentences.contains(&ODD_CHARACTERS[..]), "{sentences}");
    answer_once(request, settings)
}

/// A format character and a white space.
const ODD_CHARACTERS: [char; 2] = ['\u{200b}', '\u{2003}'];

/// Adds odd characters to the names in an object, and to the architecture that a Pod asks for.
fn make_names_odd(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "name" || key == "kubernetes.io/arch" => {
                        text.extend(ODD_CHARACTERS);
                    }
                    value => make_names_odd(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(make_names_odd),
        _ => {}
    }
}

fn answer_once(request: &Value, settings: &Value) -> Value {
    let digest = format!("sha256:{}", "a".repeat(64));
    let images = ["docker.io/library/app:1", "docker.io/library/sha256:abc"];
    let images = images.map(|image| (image, digest.clone())).into();
    let payload = json!({"request": request, "settings": settings}).to_string();
    let answer = validate(payload.as_bytes(), &mut FakeRegistries(images)).expect("an answer");
    serde_json::from_slice(&answer).expect("JSON")
}

/// The message of the rejection of a Pod.
pub(super) fn message(places: &str, settings: &Value) -> String {
    let answer = answer(&pod(places), settings);
    answer["message"].as_str().unwrap_or("accepted").to_owned()
}

/// The warnings about a Pod, a line each.
pub(super) fn warnings(places: &str, settings: &Value) -> String {
    lines(&answer(&pod(places), settings))
}

/// The warnings of an answer, a line each.
pub(super) fn lines(answer: &Value) -> String {
    let warnings = answer["warnings"].as_array().into_iter().flatten();
    let warnings: Vec<_> = warnings.filter_map(Value::as_str).collect();
    warnings.join("\n")
}
