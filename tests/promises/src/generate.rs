//! Random cases, made by changing others. A case is a request, settings and answers of registries.
//!
//! A [`Generator`] knows the values that its seeds have under each key. It takes a case, and puts
//! some of these values in other places: so each row of the end-to-end tests makes the random cases
//! richer. Every second case is a small Pod, where the rules about the start of a Pod have the most
//! to do.

use std::collections::BTreeMap;

use consistent_pull_policy::settings::Settings;
use fastrand::Rng;
use serde_json::{Value, json};

use crate::answers::{Answers, Failure};
use crate::corpus::create_request;
use crate::image::shared_name;
use crate::json::text;
use crate::small_pods::{LARGE, settings, small_pod};

/// A request, the settings, and the registries' answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The `AdmissionRequest`.
    pub request: Value,
    /// The settings of this policy.
    pub settings: Value,
    /// The registries' answers.
    pub answers: Answers,
}

/// The largest size of a seed, in bytes of JSON.
const SIZE: usize = 20_000;
/// The largest number of changes to a case.
pub const CHANGES: usize = 9;
/// The keys whose values decide the most. The elements of a list have the list's key and `/-`.
const USUAL: [&str; 12] = [
    "image",
    "imagePullPolicy",
    "reference",
    "pullPolicy",
    "restartPolicy",
    "name",
    "containers/-",
    "initContainers/-",
    "volumes/-",
    "volumeMounts",
    "volumeMounts/-",
    "command",
];

/// Makes random cases.
pub struct Generator {
    seeds: Vec<Case>,
    /// The values of the seeds under each key and of each type.
    values: BTreeMap<String, Vec<Value>>,
}

impl Generator {
    /// Makes cases of these ones.
    #[must_use]
    pub fn new(mut seeds: Vec<Case>) -> Self {
        seeds.retain(|seed| seed.request.to_string().len() < SIZE);
        let mut values: BTreeMap<String, BTreeMap<String, Value>> = BTreeMap::new();
        for seed in &seeds {
            for root in [&seed.request, &seed.settings] {
                each(root, "", "", &mut |kind, _, value| {
                    let known = values.entry(kind).or_default();
                    known.insert(value.to_string(), value.clone());
                });
            }
        }
        let values = values.into_iter();
        let values = values.map(|(kind, known)| (kind, known.into_values().collect()));
        Self {
            values: values.collect(),
            seeds,
        }
    }

    /// The case with this number, after at most so many changes. `any_shape` lets values have types
    /// that no API server accepts.
    #[must_use]
    pub fn case(&self, seed: u64, number: u64, changes: usize, any_shape: bool) -> Case {
        let number_of_case = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let random = &mut Rng::with_seed(Rng::with_seed(seed).u64(..) ^ number_of_case);
        let mut case = one(&self.seeds, random).clone();
        let is_small = number.is_multiple_of(2);
        if is_small {
            let pod = small_pod(LARGE, &mut |count| random.usize(..count));
            case.request = create_request(&pod);
            if random.bool() {
                case.settings = one(&settings(&pod), random).clone();
            }
        }
        for _ in 0..random.usize(..=CHANGES).min(changes) {
            match random.u8(..8) {
                0 => fail(&mut case, random),
                part @ (1 | 2) => {
                    let mut settings = case.settings.clone();
                    let others = one(&self.seeds, random).settings.as_object();
                    match others.filter(|_| part == 1) {
                        None => self.change(&mut settings, random, any_shape),
                        Some(others) => {
                            for (section, other) in others {
                                settings[section] = other.clone();
                            }
                        }
                    }
                    if any_shape || Settings::check(settings.to_string().as_bytes()).is_ok() {
                        case.settings = settings;
                    }
                }
                3 if !is_small => {
                    self.change(&mut case.request, random, any_shape);
                }
                _ => self.change(&mut case.request["object"], random, any_shape),
            }
        }
        case
    }

    /// Replaces, removes or doubles a value.
    fn change(&self, root: &mut Value, random: &mut Rng, any_shape: bool) {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        each(root, "", "", &mut |kind, pointer, _| {
            places.entry(kind).or_default().push(pointer.to_owned());
        });
        let is_usual = |kind: &String| {
            USUAL
                .iter()
                .any(|usual| kind.ends_with(&format!(" {usual}")))
        };
        let mut kinds: Vec<&String> = places.keys().collect();
        if random.bool() && kinds.iter().any(|kind| is_usual(kind)) {
            kinds.retain(|kind| is_usual(kind));
        }
        if kinds.is_empty() {
            return;
        }
        let kind = *one(&kinds, random);
        let pointer = one(&places[kind], random);
        // A value of this case, or one of another case.
        let own = root.pointer(one(&places[kind], random));
        let known = if any_shape {
            self.values.values().nth(random.usize(..self.values.len()))
        } else {
            self.values.get(kind).filter(|_| random.bool())
        };
        let new = known.map(|known| one(known, random)).or(own);
        let new = new.cloned().unwrap_or_default();
        let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
        match root.pointer_mut(parent) {
            Some(Value::Array(list)) => {
                let index = key.parse().unwrap_or(0);
                match random.u8(..4) {
                    0 => drop(list.remove(index)),
                    1 => list.insert(index, new),
                    _ => list[index] = new,
                }
            }
            Some(Value::Object(members)) => {
                if random.u8(..6) > 0 {
                    members.insert(key.to_owned(), new);
                } else {
                    members.remove(key);
                }
            }
            _ => {}
        }
    }
}

/// One of a list.
fn one<'t, T>(list: &'t [T], random: &mut Rng) -> &'t T {
    &list[random.usize(..list.len())]
}

/// Lets the registry of one of the images answer in another way.
fn fail(case: &mut Case, random: &mut Rng) {
    let mut images = Vec::new();
    each(&case.request["object"], "", "", &mut |kind, _, value| {
        let is_image = ["text image", "text reference"].contains(&&*kind);
        images.extend(is_image.then(|| shared_name(text(value))).flatten());
    });
    if let Some(image) = random.choice(images) {
        let failure = random.choice(Failure::ALL).map(Err);
        let answer = failure.filter(|_| random.u8(..8) > 0);
        let answer = answer.unwrap_or_else(|| Ok("sha256:123".to_owned()));
        case.answers.0.insert(image, answer);
    }
}

/// Calls a function with each value in another one: its type and its key, its pointer and itself.
fn each(value: &Value, key: &str, pointer: &str, visit: &mut dyn FnMut(String, &str, &Value)) {
    let kind = match value {
        Value::Array(_) => "list",
        Value::Object(_) => "object",
        _ => "text",
    };
    if !pointer.is_empty() {
        visit(format!("{kind} {key}"), pointer, value);
    }
    match value {
        Value::Array(list) => {
            for (index, one) in list.iter().enumerate() {
                each(
                    one,
                    &format!("{key}/-"),
                    &format!("{pointer}/{index}"),
                    visit,
                );
            }
        }
        Value::Object(members) => {
            for (key, one) in members {
                let step = key.replace('~', "~0").replace('/', "~1");
                each(one, key, &format!("{pointer}/{step}"), visit);
            }
        }
        _ => {}
    }
}

/// Removes values from a failing case, as long as it still fails.
#[must_use]
pub fn shrink(mut case: Case, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut is_smaller = true;
    while is_smaller {
        is_smaller = false;
        let mut pointers = Vec::new();
        let whole = json!([case.request, case.settings]);
        each(&whole, "", "", &mut |_, pointer, _| {
            pointers.push(pointer.to_owned());
        });
        for pointer in pointers.iter().rev() {
            let mut whole = json!([case.request, case.settings]);
            let (parent, key) = pointer.rsplit_once('/').unwrap_or_default();
            match whole.pointer_mut(parent) {
                Some(Value::Array(list)) if !parent.is_empty() => {
                    drop(list.remove(key.parse().unwrap_or(0)));
                }
                Some(Value::Object(members)) => drop(members.remove(&key.replace("~1", "/"))),
                _ => continue,
            }
            let smaller = Case {
                request: whole[0].take(),
                settings: whole[1].take(),
                answers: case.answers.clone(),
            };
            if smaller != case && fails(&smaller) {
                (case, is_smaller) = (smaller, true);
            }
        }
    }
    case
}
