//! Sets of small cases. Each set is enumerated completely, and not sampled.

use serde_json::{Value, json};

use crate::answers::Answers;
use crate::generate::Case;

const DIGEST: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";
const POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const ROLES: [&str; 4] = ["app", "check", "init", "sidecar"];

fn pod(spec: &Value, settings: &Value) -> Case {
    let request = json!({
        "uid": "u",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "a", "groups": ["system:authenticated"]},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec},
    });
    Case {
        request,
        settings: settings.clone(),
        answers: Answers::default(),
    }
}

/// Returns all texts of 1 to `length` characters of an alphabet.
#[must_use]
pub fn texts(alphabet: &[char], length: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut last = vec![String::new()];
    for _ in 0..length {
        last = last
            .iter()
            .flat_map(|text| alphabet.iter().map(move |c| format!("{text}{c}")))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

/// Returns cases for *weak-check*, *pull-once* and *missing-check*. Each Pod has
/// `containers` containers. There is one Pod for each way to give these containers a role, a pull policy
/// and an image. The image references differ in repository, spelling, tag and digest. Some of the references name the same image.
pub fn pods(containers: u32, settings: &Value) -> impl Iterator<Item = Case> + use<> {
    let settings = settings.clone();
    let images = [
        "a:v1".to_owned(),
        "a".to_owned(),
        format!("a:v1@{DIGEST}"),
        format!("a@{DIGEST}"),
        "docker.io/library/a:v1".to_owned(),
        "b:v1".to_owned(),
    ];
    let options = ROLES.len() * POLICIES.len() * images.len();
    (0..options.pow(containers)).map(move |number| {
        let mut spec = json!({"containers": [], "initContainers": []});
        let mut rest = number;
        for index in 0..containers {
            let option = rest % options;
            rest /= options;
            let role = ROLES[option % ROLES.len()];
            let policy = POLICIES[option / ROLES.len() % POLICIES.len()];
            let image = &images[option / ROLES.len() / POLICIES.len()];
            let name = if role == "check" { "imagecheck" } else { role };
            let mut container =
                json!({"name": format!("{name}-{index}"), "image": image, "imagePullPolicy": policy});
            if role == "check" {
                // *missing-check* can copy only a check with a command.
                container["command"] = json!(["/check"]);
            }
            if role == "sidecar" {
                container["restartPolicy"] = "Always".into();
            }
            let list = if role == "app" { "containers" } else { "initContainers" };
            if let Some(list) = spec[list].as_array_mut() {
                list.push(container);
            }
        }
        pod(&spec, &settings)
    })
}

/// Returns cases for the parsing of references and for the server default. The images are all texts of 1
/// to `length` characters of `alphabet`. All containers have `IfNotPresent`. A Pod has at most 500
/// containers. The settings set `defaults.imagePullPolicy: Always`. So the rule *default* has a finding for
/// exactly those containers that have a valid image and the server default as pull policy.
pub fn images(alphabet: &[char], length: usize) -> impl Iterator<Item = Case> {
    let settings = json!({"mode": "Warn", "defaults": {"imagePullPolicy": "Always"}, "imageChecks": {"coverage": "Off"}});
    let texts = texts(alphabet, length);
    let chunks: Vec<Vec<String>> = texts.chunks(500).map(<[String]>::to_vec).collect();
    chunks.into_iter().map(move |texts| {
        let containers: Vec<Value> = texts
            .iter()
            .enumerate()
            .map(|(index, text)| {
                let name = format!("c{index}");
                json!({"name": name, "image": text, "imagePullPolicy": POLICIES[1]})
            })
            .collect();
        pod(&json!({"containers": containers}), &settings)
    })
}

/// Returns cases for globs. Each case exempts containers by one pattern. The containers' names are all
/// texts of 1 to `length` characters of `a` and `b`. All containers have an invalid image, so each
/// container that is not exempt has a finding.
///
/// The patterns are all texts of 1 to `length` characters of `a`, `b`, `*` and `?`.
pub fn globs(length: usize) -> impl Iterator<Item = Case> {
    let containers: Vec<Value> = texts(&['a', 'b'], length)
        .iter()
        .map(|name| json!({"name": name, "image": "NOT/VALID", "imagePullPolicy": "Never"}))
        .collect();
    texts(&['a', 'b', '*', '?'], length)
        .into_iter()
        .map(move |pattern| {
            let settings = json!({
                "mode": "Warn",
                "imageChecks": {"coverage": "Off"},
                "exempt": {"containers": [pattern]},
            });
            pod(&json!({"containers": containers}), &settings)
        })
}
