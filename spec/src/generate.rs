//! Random requests, settings and registries, made from a string of bytes: the same bytes give the
//! same case, fewer bytes a smaller one. So a case is told by a seed and a number, a fuzzer can write
//! its own, and what fails is made small by leaving bytes out.
//!
//! Names, images and patterns come from short lists, so that they meet.

mod pod;
mod request;
mod settings;

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};

use crate::image::Reference;
use crate::{Failure, RECORD, Registry};

/// How many bytes a case is made of.
const BYTES: usize = 1024;

/// One request under some settings, and what the registries would answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The `AdmissionRequest`.
    pub request: Value,
    /// The policy's settings.
    pub settings: Value,
    /// The registries' answers.
    pub answers: Answers,
}

impl Case {
    /// As `cargo xtask run --request-path` takes it.
    #[must_use]
    pub fn review(&self) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": self.request})
    }
}

/// The bytes of a case, by the seed of a run and the number of the case in it.
#[must_use]
pub fn bytes(seed: u64, number: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut random =
        fastrand::Rng::with_seed(random.u64(..) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut bytes = vec![0; BYTES];
    random.fill(&mut bytes);
    bytes
}

/// The case that bytes stand for.
#[must_use]
pub fn case(bytes: &[u8]) -> Case {
    Source(Unstructured::new(bytes))
        .case()
        .unwrap_or_else(|_| Case {
            request: json!({}),
            settings: json!({}),
            answers: Answers::default(),
        })
}

/// Leaves out and zeroes bytes as long as the case fails, and returns the smallest that does.
pub fn shrink(bytes: &[u8], mut fails: impl FnMut(&Case) -> bool) -> Vec<u8> {
    let mut best = bytes.to_vec();
    loop {
        let before = best.clone();
        let mut size = best.len().next_power_of_two();
        while size > 0 {
            let mut start = 0;
            while start < best.len() {
                let end = (start + size).min(best.len());
                let without = [&best[..start], &best[end..]].concat();
                let mut zeroed = best.clone();
                zeroed[start..end].fill(0);
                if fails(&case(&without)) {
                    best = without;
                } else {
                    if zeroed != best && fails(&case(&zeroed)) {
                        best = zeroed;
                    }
                    start = end;
                }
            }
            size /= 2;
        }
        for index in 0..best.len() {
            let mut lower = best.clone();
            for value in [1, best[index] / 2, best[index].saturating_sub(1)] {
                lower[index] = value;
                if value < best[index] && fails(&case(&lower)) {
                    best[index] = value;
                    break;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

/// What the registries answer; an image that is not named here has the digest of its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// Per normalised image.
    pub digests: BTreeMap<String, std::result::Result<String, Failure>>,
    /// Per repository at a digest.
    pub indexes: BTreeMap<String, Index>,
}

/// The platforms of an index, `None` for an image of one platform, or why it can't be had.
pub type Index = std::result::Result<Option<Vec<(String, String)>>, Failure>;

impl Registry for Answers {
    fn manifest_digest(&mut self, image: &str) -> std::result::Result<String, Failure> {
        if let Some(answer) = self.digests.get(image) {
            return answer.clone();
        }
        match Reference::parse(image).and_then(|image| image.digest) {
            Some(digest) => Ok(digest),
            None => Ok(DIGESTS[image.len() % DIGESTS.len()].to_owned()),
        }
    }

    fn platforms(&mut self, image: &str) -> Index {
        self.indexes.get(image).cloned().unwrap_or(Ok(None))
    }
}

const DIGESTS: [&str; 3] = [
    "sha256:1111111111111111111111111111111111111111111111111111111111111111",
    "sha256:2222222222222222222222222222222222222222222222222222222222222222",
    "sha256:3333333333333333333333333333333333333333333333333333333333333333",
];
const REPOSITORIES: [&str; 10] = [
    "app",
    "docker.io/library/app",
    "library/app",
    "index.docker.io/library/app",
    "r.example.com/team/app",
    "r.example.com/tools",
    "web",
    "localhost:5000/a/b",
    "R.example.com/x",
    "[::1]:5000/a/b",
];
const SUFFIXES: [&str; 6] = ["", ":latest", ":v1", ":v2", ":1.29-alpine", ":Latest"];
const BAD_IMAGES: [&str; 12] = [
    "",
    "NGINX",
    "$(IMG)",
    "app:",
    "http://r.example.com/a",
    "a//b",
    "app@latest",
    "app:v1@sha256:abc",
    "sha256:1111111111111111111111111111111111111111111111111111111111111111",
    "sha256:abc",
    "1111111111111111111111111111111111111111111111111111111111111111",
    "ngi nx",
];
const IMAGE_PATTERNS: [&str; 18] = [
    "*",
    "app",
    "app:v*",
    "app:latest",
    "*/app",
    "*:latest",
    "docker.io/*",
    "docker.io/library/app:v1",
    "index.docker.io/library/app",
    "r.example.com/*",
    "r.example.com/team/app:v?",
    "*/tools",
    "library/*",
    "web",
    "localhost:5000/*",
    "a?p",
    "*v1",
    "R.example.com/x",
];
const APPS: [&str; 6] = [
    "container-0",
    "container-1",
    "app",
    "imagecheck-1",
    "istio-proxy",
    "x",
];
const INITS: [&str; 8] = [
    "imagecheck-0",
    "imagecheck-1",
    "copy-agent",
    "imagepullcheck-0",
    "setup",
    "imagecheck-3",
    "probe-0",
    "istio-init",
];
const VOLUMES: [&str; 7] = [
    "workspace",
    "model",
    "imagecheck-0",
    "imagecheck-5",
    "imagepullcheck-0",
    "istio-proxy",
    "probe-1",
];
const CONTAINER_PATTERNS: [&str; 6] = [
    "istio-*",
    "app",
    "copy-*",
    "imagepullcheck-*",
    "set?p",
    "*-proxy",
];
const POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const ACTIONS: [&str; 3] = ["KeepTag", "UseCached", "Reject"];
const ON: [&str; 5] = [
    "onNotFound",
    "onDenied",
    "onRateLimited",
    "onUnreachable",
    "onUnknown",
];
const FAILURES: [Failure; 6] = [
    Failure::NotFound,
    Failure::Denied,
    Failure::RateLimited,
    Failure::Unreachable,
    Failure::Unknown,
    Failure::NotGranted,
];

struct Source<'a>(Unstructured<'a>);

impl Source<'_> {
    /// True `part` times in `whole`; false where there are no bytes left.
    fn chance(&mut self, part: u8, whole: u8) -> Result<bool> {
        Ok(self.0.int_in_range(1..=whole)? > whole - part)
    }

    fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> Result<&'t T> {
        Ok(self.0.choose(from)?)
    }

    fn some(&mut self, from: &[&str], most: usize) -> Result<Vec<String>> {
        let count = self.0.int_in_range(1..=most)?;
        let mut list = Vec::new();
        for _ in 0..count {
            let one = self.pick(from)?.to_owned();
            if !list.contains(&one) {
                list.push(one);
            }
        }
        Ok(list)
    }

    fn case(&mut self) -> Result<Case> {
        let settings = self.settings()?;
        let mut images = Vec::new();
        for _ in 0..self.0.int_in_range(1..=3)? {
            images.push(self.repository()?);
        }
        let answers = self.answers()?;
        let mut request = self.request(&images)?;
        // The next looks at the same object: the policy's own output, the manifest applied again.
        if request["operation"] == "CREATE" && self.chance(1, 4)? {
            let first = Case {
                request: request.clone(),
                settings: settings.clone(),
                answers: answers.clone(),
            };
            if let Some(stored) = stored(&first) {
                if self.chance(1, 3)? {
                    request["object"] = stored;
                } else {
                    request["operation"] = "UPDATE".into();
                    request["oldObject"] = stored.clone();
                    if self.chance(1, 2)? {
                        // As kubectl does: what is not in the manifest stays, lists included.
                        let record = stored.pointer("/metadata/annotations").cloned();
                        if let Some(record) =
                            record.filter(|_| request["object"]["metadata"].is_object())
                        {
                            request["object"]["metadata"]["annotations"] = record;
                        }
                    }
                    self.change_an_image(&mut request["object"])?;
                }
            }
        }
        Ok(Case {
            request,
            settings,
            answers,
        })
    }

    fn repository(&mut self) -> Result<&'static str> {
        // One image under several names is what most rules are about.
        let among = if self.chance(1, 2)? {
            REPOSITORIES.len()
        } else {
            5
        };
        self.pick(&REPOSITORIES[..among])
    }

    fn answers(&mut self) -> Result<Answers> {
        let mut answers = Answers::default();
        if self.chance(1, 3)? {
            return Ok(answers);
        }
        let all_down = self.chance(1, 8)?;
        for repository in REPOSITORIES {
            for suffix in SUFFIXES {
                if let Some(image) = Reference::parse(&format!("{repository}{suffix}")) {
                    let answer = if all_down || self.chance(1, 4)? {
                        Err(*self.0.choose(&FAILURES)?)
                    } else if self.chance(1, 60)? {
                        Ok(self.pick(&["", "sha256:123", "latest"])?.to_owned())
                    } else {
                        Ok(self.pick(&DIGESTS)?.to_owned())
                    };
                    answers.digests.insert(image.normalised(), answer);
                    for digest in DIGESTS {
                        if self.chance(1, 3)? {
                            let index = self.index()?;
                            answers
                                .indexes
                                .insert(format!("{}@{digest}", image.name()), index);
                        }
                    }
                }
            }
        }
        Ok(answers)
    }

    fn index(&mut self) -> Result<Index> {
        if self.chance(1, 6)? {
            return Ok(Err(*self.0.choose(&FAILURES)?));
        }
        let mut platforms = Vec::new();
        for platform in [
            ("linux", "amd64"),
            ("linux", "arm64"),
            ("windows", "amd64"),
            ("unknown", "unknown"),
        ] {
            if self.chance(1, 2)? {
                platforms.push((platform.0.to_owned(), platform.1.to_owned()));
            }
        }
        if platforms.iter().all(|(os, _)| os == "unknown") && self.chance(3, 4)? {
            platforms.push(("linux".to_owned(), "s390x".to_owned()));
        }
        Ok(Ok(self.chance(3, 4)?.then_some(platforms)))
    }
}

/// The object as the API server would keep it after a CREATE, with its record; `None` where it is
/// refused.
#[must_use]
pub fn stored(case: &Case) -> Option<Value> {
    let verdict = crate::validate(&case.request, &case.settings, &mut case.answers.clone());
    if !verdict.allowed {
        return None;
    }
    let mut object = verdict
        .object
        .unwrap_or_else(|| case.request["object"].clone());
    if let Some(record) = &verdict.record {
        let entries: Vec<Value> = record
            .new
            .iter()
            .map(crate::Change::json)
            .chain(record.earlier.clone())
            .collect();
        if object["metadata"].is_object() {
            if !object["metadata"]["annotations"].is_object() {
                object["metadata"]["annotations"] = json!({});
            }
            object["metadata"]["annotations"][RECORD] =
                Value::from(Value::Array(entries).to_string());
        }
    }
    Some(object)
}
