//! Random requests, settings and registries, made from a string of bytes: the same bytes give the
//! same case, fewer bytes a smaller one. So a case is told by a seed and a number, a fuzzer can write
//! its own, and what fails is made small by leaving bytes out.
//!
//! Names, images and patterns come from short lists, so that they meet.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

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

    #[allow(clippy::too_many_lines)]
    fn settings(&mut self) -> Result<Value> {
        let mut settings = json!({});
        let mut put = |path: &str, value: Value| {
            let pointer = path.replace('.', "/");
            let mut at = &mut settings;
            for key in pointer.split('/') {
                at = &mut at[key];
            }
            *at = value;
        };
        let mode = self.pick(&["Fix", "Fix", "Reject", "Warn"])?;
        put("mode", mode.into());
        if self.chance(1, 6)? {
            let prefixes = [
                json!(["probe-"]),
                json!(["imagecheck-"]),
                json!(["setup", "imagecheck-"]),
            ];
            put(
                "imageChecks.namePrefixes",
                self.0.choose(&prefixes)?.clone(),
            );
        }
        let coverage = self.pick(&["Fix", "Warn", "Off", "Reject"])?;
        if self.chance(3, 4)? {
            put("imageChecks.coverage", coverage.into());
        }
        let as_volume = self.chance(1, 3)?;
        if as_volume {
            put("imageChecks.as", "ImageVolume".into());
            if self.chance(1, 2)? {
                put("imageChecks.replaceExisting", true.into());
            }
        }
        let has_template = self.chance(1, 3)?;
        if has_template {
            let template = json!({
                "command": ["/tools/true"],
                "volumeMounts": [{"name": "tools", "mountPath": "/tools"}],
            });
            put("imageChecks.template", template);
        }
        if self.chance(1, 3)? && (as_volume || has_template || coverage != "Fix") {
            put("imageChecks.everyPod", true.into());
        }
        if self.chance(1, 4)? {
            put(
                "imageChecks.after",
                json!(self.some(&CONTAINER_PATTERNS, 2)?),
            );
        }
        if self.chance(1, 4)? {
            put("pullOnce", self.0.arbitrary::<bool>()?.into());
        }
        for key in ["defaults.imagePullPolicy", "defaults.imageCheckPullPolicy"] {
            if self.chance(1, 3)? {
                put(
                    key,
                    self.pick(&["Always", "IfNotPresent", "Never", "AlwaysUnlessDigest"])?
                        .into(),
                );
            }
        }
        if self.chance(1, 6)? {
            put(
                "defaults.replaceServerDefaults",
                self.0.arbitrary::<bool>()?.into(),
            );
        }
        for key in [
            "images.requireAlways",
            "images.forbidAlways",
            "images.forbidNever",
        ] {
            if self.chance(1, 5)? {
                put(key, json!(self.some(&IMAGE_PATTERNS, 2)?));
            }
        }
        if self.chance(1, 2)? {
            let asks_nothing = mode != "Fix" && self.chance(1, 4)?;
            put("registry", self.registry(asks_nothing)?);
        }
        if self.chance(2, 3)? {
            put("templates", self.pick(&["Enforce", "Warn", "Off"])?.into());
        }
        if self.chance(1, 5)? {
            put(
                "exempt.containers",
                json!(self.some(&CONTAINER_PATTERNS, 2)?),
            );
        }
        if self.chance(1, 6)? {
            put("exempt.images", json!(self.some(&IMAGE_PATTERNS[1..], 2)?));
        }
        if self.chance(1, 8)? {
            put("recordChanges", false.into());
        }
        if self.chance(1, 10)? {
            for key in ["defaults", "images", "exempt", "pullOnce"] {
                let unset = self.0.choose(&[json!(null), json!({}), json!([])])?.clone();
                if settings.get(key).is_none() && (key != "pullOnce" || unset.is_null()) {
                    settings[key] = unset;
                }
            }
        }
        Ok(settings)
    }

    fn registry(&mut self, asks_nothing: bool) -> Result<Value> {
        let mut registry = self.actions()?;
        registry["lookup"] = self.pick(&["Pin", "Verify", "Pin", "Off"])?.into();
        for key in ["images", "skipImages"] {
            if self.chance(1, 6)? {
                registry[key] = json!(self.some(&IMAGE_PATTERNS, 2)?);
            }
        }
        if asks_nothing {
            registry["maxLookups"] = 0.into();
        } else if self.chance(1, 4)? {
            registry["maxLookups"] = self.0.int_in_range(1..=4)?.into();
        }
        let mut looks_up = registry["lookup"] != "Off";
        if self.chance(1, 4)? {
            let mut overrides = Vec::new();
            // One never hides the other.
            for patterns in [["r.example.com/*"], ["app"]] {
                if self.chance(1, 2)? {
                    let mut over = self.actions()?;
                    if self.chance(1, 2)? {
                        let lookup = self.pick(&["Pin", "Verify", "Off"])?;
                        looks_up |= lookup != "Off";
                        over["lookup"] = lookup.into();
                    }
                    over["images"] = json!(patterns);
                    overrides.push(over);
                }
            }
            registry["overrides"] = overrides.into();
        }
        if looks_up && self.chance(1, 3)? {
            registry["platform"] = self.pick(&["Reject", "Warn"])?.into();
        }
        Ok(registry)
    }

    fn actions(&mut self) -> Result<Value> {
        let mut actions = json!({});
        for key in ON {
            if self.chance(1, 4)? {
                actions[key] = self.pick(&ACTIONS)?.into();
            }
        }
        Ok(actions)
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

    fn image(&mut self, repositories: &[&str]) -> Result<Value> {
        if self.chance(1, 40)? {
            let bad = self.pick(&BAD_IMAGES)?;
            return Ok(if bad.is_empty() && self.0.arbitrary()? {
                Value::Null
            } else {
                bad.into()
            });
        }
        let repository = self.pick(repositories)?;
        let among = if self.chance(1, 4)? {
            SUFFIXES.len()
        } else {
            3
        };
        let suffix = self.pick(&SUFFIXES[..among])?;
        let digest = if self.chance(1, 4)? {
            format!("@{}", self.pick(&DIGESTS)?)
        } else {
            String::new()
        };
        Ok(format!("{repository}{suffix}{digest}").into())
    }

    fn policy(&mut self) -> Result<Option<Value>> {
        if self.chance(1, 12)? {
            return Ok(self
                .0
                .choose(&[None, Some(Value::Null), Some("".into())])?
                .clone());
        }
        let among = if self.chance(1, 4)? { 3 } else { 2 };
        Ok(Some(self.pick(&POLICIES[..among])?.into()))
    }

    fn container(&mut self, name: &str, images: &[&str]) -> Result<Value> {
        let mut container = json!({"name": name, "image": self.image(images)?});
        if container["image"].is_null() && self.0.arbitrary()? {
            container = json!({"name": name});
        }
        if let Some(policy) = self.policy()? {
            container["imagePullPolicy"] = policy;
        }
        if self.chance(1, 4)? {
            container["env"] = json!([{"name": "TOKEN", "value": "s3cr3t-value"}]);
            container["args"] = json!(["--password=s3cr3t-value"]);
        }
        if self.chance(1, 6)? {
            container["futureField"] =
                json!({"imagePullPolicy": "Never", "deep": [1, {"image": "x"}]});
        }
        if self.chance(1, 8)? {
            container["volumeMounts"] = self.0.choose(&[json!(null), json!([])])?.clone();
        }
        Ok(container)
    }

    fn spec(&mut self, images: &[&str]) -> Result<Value> {
        let mut spec = json!({});
        let mut containers = Vec::new();
        for name in self.some(&APPS, 3)? {
            containers.push(self.container(&name, images)?);
        }
        let mut inits = Vec::new();
        if self.chance(5, 6)? {
            for name in self.some(&INITS, 4)? {
                let mut init = self.container(&name, images)?;
                if self.chance(1, 8)? {
                    init["restartPolicy"] = "Always".into();
                }
                inits.push(init);
            }
        }
        let mut volumes = Vec::new();
        if self.chance(1, 3)? {
            for name in self.some(&VOLUMES, 3)? {
                volumes.push(self.volume(&name, images, &mut inits, &mut containers)?);
            }
        }
        spec["containers"] = containers.into();
        for (key, list) in [("initContainers", inits), ("volumes", volumes)] {
            if !list.is_empty() {
                spec[key] = list.into();
            } else if self.chance(1, 6)? {
                spec[key] = self.0.choose(&[json!(null), json!([])])?.clone();
            }
        }
        if self.chance(1, 12)? {
            spec["os"] = json!({"name": self.pick(&["windows", "linux"])?});
        }
        if self.chance(1, 6)? {
            let arch = self.pick(&["amd64", "arm64"])?;
            spec["nodeSelector"] = json!({"kubernetes.io/arch": arch, "disk": "ssd"});
        }
        if self.chance(1, 8)? {
            spec["affinity"] = self.affinity()?;
        }
        if self.chance(1, 12)? {
            for key in ["os", "nodeSelector", "affinity"] {
                if spec.get(key).is_none() {
                    spec[key] = Value::Null;
                }
            }
        }
        if self.chance(1, 6)? {
            spec["futureSpecField"] = json!({"containers": [{"image": "NGINX"}]});
        }
        Ok(spec)
    }

    fn volume(
        &mut self,
        name: &str,
        images: &[&str],
        inits: &mut [Value],
        containers: &mut [Value],
    ) -> Result<Value> {
        if self.chance(1, 6)? {
            return Ok(if self.chance(1, 2)? {
                json!({"name": name, "emptyDir": {}})
            } else {
                json!({"name": name, "emptyDir": {}, "image": null})
            });
        }
        let mut volume = json!({"name": name, "image": {"reference": self.image(images)?}});
        if let Some(policy) = self.policy()? {
            volume["image"]["pullPolicy"] = policy;
        }
        let where_mounted = self.0.int_in_range(0..=4)?;
        let path = if self.chance(1, 8)? {
            format!("/.imagecheck/{}", self.pick(&INITS)?)
        } else if self.chance(1, 2)? {
            format!("/.imagecheck/{name}")
        } else {
            format!("/mnt/{name}")
        };
        let mount = json!({"name": name, "mountPath": path, "readOnly": true});
        let mut put = |container: &mut Value| match &mut container["volumeMounts"] {
            Value::Array(mounts) => mounts.push(mount.clone()),
            none => *none = json!([mount]),
        };
        match where_mounted {
            0 => inits.iter_mut().take(1).for_each(&mut put),
            1 => containers.iter_mut().for_each(&mut put),
            2 => containers.iter_mut().take(1).for_each(&mut put),
            3 => inits
                .iter_mut()
                .chain(containers)
                .take(2)
                .for_each(&mut put),
            _ => {}
        }
        Ok(volume)
    }

    fn affinity(&mut self) -> Result<Value> {
        let mut terms = Vec::new();
        for _ in 0..self.0.int_in_range(1..=2)? {
            let mut expressions = Vec::new();
            for _ in 0..self.0.int_in_range(0..=2)? {
                let key = self.pick(&["kubernetes.io/arch", "kubernetes.io/os", "zone"])?;
                let operator = self.pick(&["In", "In", "NotIn", "Exists"])?;
                let values = if key == "kubernetes.io/os" {
                    self.some(&["linux", "windows"], 2)?
                } else {
                    self.some(&["amd64", "arm64"], 2)?
                };
                expressions.push(json!({"key": key, "operator": operator, "values": values}));
            }
            terms.push(json!({"matchExpressions": expressions}));
        }
        Ok(
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}),
        )
    }

    fn metadata(&mut self) -> Result<Value> {
        let mut metadata = json!({"namespace": "default"});
        if self.chance(1, 3)? {
            metadata["generateName"] = "job-".into();
        } else {
            metadata["name"] = "job-1".into();
        }
        if self.chance(1, 3)? {
            let controller = self.chance(3, 4)?;
            metadata["ownerReferences"] = json!([{"apiVersion": "batch/v1", "kind": "Job", "name": "job", "uid": "u", "controller": controller}]);
        }
        let mut annotations = Map::new();
        if self.chance(1, 6)? {
            annotations.insert(RECORD.to_owned(), self.record()?.into());
        }
        if self.chance(1, 15)? {
            annotations.insert("kubernetes.io/config.mirror".to_owned(), "hash".into());
        }
        if self.chance(1, 25)? {
            let size = *self.0.choose(&[240_000, 262_000, 262_100])?;
            annotations.insert("big".to_owned(), "x".repeat(size).into());
        }
        if !annotations.is_empty() {
            metadata["annotations"] = annotations.into();
        } else if self.chance(1, 8)? {
            metadata["annotations"] = self.0.choose(&[json!(null), json!({})])?.clone();
        }
        if self.chance(1, 15)? {
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }
        Ok(metadata)
    }

    fn record(&mut self) -> Result<String> {
        let entry = json!({
            "path": "spec.containers[0].imagePullPolicy", "container": self.pick(&APPS)?,
            "from": self.pick(&POLICIES)?, "to": self.pick(&POLICIES)?, "rule": "pull-once",
        });
        Ok(match self.0.int_in_range(0..=4)? {
            0 => json!([entry]).to_string(),
            1 => "no list".to_owned(),
            2 => json!({"a": 1}).to_string(),
            3 => json!([entry, {"more": 3}]).to_string(),
            _ => json!(vec![entry; 200]).to_string(),
        })
    }

    fn request(&mut self, images: &[&str]) -> Result<Value> {
        const KINDS: [(&str, &str, &str); 10] = [
            ("", "Pod", ""),
            ("batch", "Job", "spec.template"),
            ("apps", "Deployment", "spec.template"),
            ("apps", "StatefulSet", "spec.template"),
            ("apps", "DaemonSet", "spec.template"),
            ("apps", "ReplicaSet", "spec.template"),
            ("batch", "CronJob", "spec.jobTemplate.spec.template"),
            ("", "ReplicationController", "spec.template"),
            ("", "PodTemplate", "template"),
            ("batch.volcano.sh", "Job", "spec.template"),
        ];
        let kind = if self.chance(1, 3)? {
            *self.0.choose(&KINDS)?
        } else {
            KINDS[0]
        };
        let is_pod = kind.1 == "Pod";
        let mut object = json!({"apiVersion": "v1", "kind": kind.1, "metadata": self.metadata()?});
        let spec = self.spec(images)?;
        if is_pod {
            object["spec"] = spec;
            if self.chance(1, 8)? {
                object["status"] = self.status(&object["spec"])?;
            }
        } else {
            let mut at = &mut object;
            for key in kind.2.split('.') {
                at = &mut at[key];
            }
            *at = json!({"metadata": {"labels": {"a": "b"}}, "spec": spec});
        }
        if self.chance(1, 6)? {
            object["futureTopLevel"] = json!([1, 2.5, {"a": null}]);
        }
        let mut request = json!({
            "uid": "65807ee6-82f9-481d-8a51-a41ae51a855d",
            "kind": {"group": kind.0, "version": "v1", "kind": kind.1},
            "resource": {"group": kind.0, "version": "v1", "resource": "any"},
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "somebody", "groups": ["system:authenticated"]},
            "object": object,
            "oldObject": null,
            "dryRun": false,
        });
        if self.chance(1, 4)? {
            self.update(&mut request, is_pod)?;
        } else if self.chance(1, 40)? {
            request["operation"] = self.pick(&["DELETE", "CONNECT"])?.into();
        }
        if self.chance(1, 8)? {
            request["userInfo"]["groups"] = json!(["system:nodes", "system:authenticated"]);
        }
        if self.chance(1, 40)? {
            self.break_shape(&mut request["object"])?;
        }
        Ok(request)
    }

    fn update(&mut self, request: &mut Value, is_pod: bool) -> Result<()> {
        request["operation"] = "UPDATE".into();
        request["oldObject"] = request["object"].clone();
        if !self.chance(1, 4)? {
            self.change_an_image(&mut request["object"])?;
            self.change_an_image(&mut request["object"])?;
        }
        if is_pod && self.chance(1, 3)? {
            request["subResource"] = self
                .pick(&[
                    "ephemeralcontainers",
                    "ephemeralcontainers",
                    "resize",
                    "status",
                ])?
                .into();
            let images = [self.repository()?];
            let mut stored = Vec::new();
            let mut brought = Vec::new();
            for name in self.some(&["debug-0", "debug-1", "istio-debug"], 3)? {
                let mut container = self.container(&name, &images)?;
                if self.chance(1, 4)? {
                    let volume = self.pick(&VOLUMES)?;
                    container["volumeMounts"] = json!([{"name": volume, "mountPath": "/mnt"}]);
                }
                if self.chance(1, 3)? {
                    let mut same = container.clone();
                    // No API server lets it through, and nothing else keeps it from coming.
                    if self.chance(1, 6)? {
                        same["image"] = "stored.example.com/other:1".into();
                    }
                    stored.push(same);
                }
                brought.push(container);
            }
            request["object"]["spec"]["ephemeralContainers"] = brought.into();
            request["oldObject"]["spec"]["ephemeralContainers"] = stored.into();
        }
        Ok(())
    }

    /// Sets the image of one container of a Pod spec wherever it stands in an object.
    fn change_an_image(&mut self, object: &mut Value) -> Result<()> {
        if !self.chance(1, 2)? {
            return Ok(());
        }
        let list = self.pick(&["containers", "initContainers"])?;
        let index = self.0.int_in_range(0..=2usize)?;
        let images = [self.repository()?];
        let image = self.image(&images)?;
        let is_digest_dropped = self.chance(1, 2)?;
        for root in [
            "/spec",
            "/spec/template/spec",
            "/spec/jobTemplate/spec/template/spec",
            "/template/spec",
        ] {
            let Some(container) = object.pointer_mut(&format!("{root}/{list}/{index}")) else {
                continue;
            };
            let without_digest = container["image"]
                .as_str()
                .and_then(|image| image.split('@').next())
                .map(Value::from);
            container["image"] = match without_digest {
                Some(tag) if is_digest_dropped => tag,
                _ => image.clone(),
            };
        }
        Ok(())
    }

    fn status(&mut self, spec: &Value) -> Result<Value> {
        let mut status = json!({"phase": "Pending", "conditions": [
            {"type": "Initialized", "status": "True", "lastTransitionTime": "2026-11-21T09:06:20Z"},
            {"type": "ContainersReady", "status": "False", "lastTransitionTime": "2026-11-21T09:06:17Z"},
        ]});
        for (list, key) in [
            ("initContainers", "initContainerStatuses"),
            ("containers", "containerStatuses"),
        ] {
            let mut statuses = Vec::new();
            for container in spec[list].as_array().into_iter().flatten() {
                let state = match self.0.int_in_range(0..=3)? {
                    0 => json!({"terminated": {"exitCode": 0, "reason": "Completed"}}),
                    1 => json!({"running": {}}),
                    _ => {
                        let reason = self.pick(&[
                            "ImagePullBackOff",
                            "ErrImagePull",
                            "PodInitializing",
                            "ErrImageNeverPull",
                            "InvalidImageName",
                            "ImageInspectError",
                            "SignatureValidationFailed",
                            "RegistryUnavailable",
                            "CrashLoopBackOff",
                        ])?;
                        json!({"waiting": {"reason": reason, "message": "token=s3cr3t-value"}})
                    }
                };
                statuses.push(json!({"name": container["name"], "state": state, "image": "x", "restartCount": 0}));
            }
            status[key] = statuses.into();
        }
        Ok(status)
    }

    fn break_shape(&mut self, object: &mut Value) -> Result<()> {
        let broken = self
            .0
            .choose(&[json!({"a": 1}), json!("text"), json!(7), json!(true)])?
            .clone();
        let places = [
            "/spec/containers",
            "/spec/containers/0",
            "/spec/containers/0/image",
            "/spec/initContainers",
            "/spec",
            "/spec/template",
            "/spec/template/spec",
            "/spec/template/spec/containers",
        ];
        let place = self.pick(&places)?;
        let is_still_right = place.ends_with("image") && broken.is_string()
            || !place.ends_with("containers")
                && !place.ends_with("image")
                && !place.ends_with("Containers")
                && broken.is_object();
        if let Some(value) = object.pointer_mut(place).filter(|_| !is_still_right) {
            *value = broken;
        }
        Ok(())
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
