//! Requests that nobody sends by mistake: what they cost for each byte is bounded, so that none of
//! them keeps a policy server longer than its time limit.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::{Capabilities, nothing_granted};

use super::meter::{Exact, Metered};

/// What a byte that comes in may cost, that of a registry's answer included.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bound {
    /// Instructions: so many for each byte, ...
    instructions_per_byte: u64,
    /// ... and so many in any case.
    instructions: u64,
    /// Peak linear memory: so many times what comes in, ...
    memory_per_byte: u64,
    /// ... and so many bytes.
    memory_bytes: u64,
    /// Instructions for each image that is held against a pattern.
    instructions_per_match: u64,
    /// By how much a byte of a request four times as large may cost more, in per cent.
    growth_percent: u64,
}

/// One kind of request, and what it cost in one size and in four times that.
pub(crate) struct Hostile {
    pub(crate) name: &'static str,
    /// How many images are held against how many patterns in the large one, multiplied.
    matches: u64,
    pub(crate) small: Exact,
    pub(crate) large: Exact,
}

impl Hostile {
    /// What a byte of the large one costs.
    pub(crate) fn per_byte(&self) -> [f64; 2] {
        #[allow(clippy::cast_precision_loss)]
        let ratio = |part: u64| part as f64 / self.large.request_bytes as f64;
        [
            ratio(self.large.instructions),
            ratio(self.large.memory_bytes),
        ]
    }
}

impl Bound {
    /// What is beyond it, a sentence each.
    pub(crate) fn excesses(&self, hostile: &[Hostile]) -> Vec<String> {
        let mut excesses = Vec::new();
        for one in hostile {
            let name = one.name;
            let matching = self.instructions_per_match * one.matches;
            for (cost, matching) in [(&one.small, matching / 4), (&one.large, matching)] {
                let bytes = cost.request_bytes;
                let instructions =
                    self.instructions_per_byte * bytes + self.instructions + matching;
                let memory = self.memory_per_byte * bytes + self.memory_bytes;
                if cost.instructions > instructions {
                    excesses.push(format!(
                        "{name}: {} instructions for {bytes} bytes, at most {instructions} are allowed",
                        cost.instructions
                    ));
                }
                if cost.memory_bytes > memory {
                    excesses.push(format!(
                        "{name}: {} bytes of memory for {bytes} bytes, at most {memory} are allowed",
                        cost.memory_bytes
                    ));
                }
            }
            let grown = (one.large.instructions.saturating_sub(self.instructions))
                * one.small.request_bytes;
            let straight = one.small.instructions * one.large.request_bytes;
            if one.matches == 0 && grown > straight + straight * self.growth_percent / 100 {
                excesses.push(format!(
                    "{name}: four times as large it costs {} instructions after {}",
                    one.large.instructions, one.small.instructions
                ));
            }
        }
        excesses
    }
}

/// Counts what each of them costs.
pub(crate) fn count(policy: &Metered) -> Result<Vec<Hostile>> {
    let mut counted = Vec::new();
    for &(name, size, request) in REQUESTS {
        let cost = |size: usize| -> Result<Exact> {
            let Request {
                object,
                settings,
                operation,
                heard,
                ..
            } = request(size);
            let payload = format!(
                r#"{{"request":{{"uid":"u","kind":{{"group":"","version":"v1","kind":"Pod"}},"operation":"{operation}","userInfo":{{}},"object":{object},"oldObject":{}}},"settings":{settings}}}"#,
                if operation == "UPDATE" {
                    object.replace(":1\"", ":0\"")
                } else {
                    "null".to_owned()
                },
            );
            let heard_bytes = heard.as_ref().map_or(0, Vec::len);
            let capabilities: Arc<dyn Capabilities> = match heard {
                None => nothing_granted(),
                Some(heard) => {
                    Arc::new(
                        move |_: &str, _: &str, operation: &str, _: &[u8]| match operation {
                            "v1/manifest_digest" if heard.starts_with(b"{\"schema") => {
                                Ok(format!(r#"{{"digest":"sha256:{}"}}"#, "1".repeat(64))
                                    .into_bytes())
                            }
                            _ if heard.starts_with(b"{") => Ok(heard.clone()),
                            _ => Err(String::from_utf8_lossy(&heard).into_owned()),
                        },
                    )
                }
            };
            let (answer, mut exact) = policy.cost(payload.as_bytes(), &capabilities)?;
            let answer: Value =
                serde_json::from_slice(&answer).context("the answer is no answer")?;
            ensure!(answer["accepted"].is_boolean(), "the answer is {answer}");
            exact.request_bytes += u64::try_from(heard_bytes)?;
            Ok(exact)
        };
        let cost = |size| cost(size).with_context(|| format!("in the hostile request: {name}"));
        counted.push(Hostile {
            name,
            matches: u64::try_from(request(size).matches)?,
            small: cost(size / 4)?,
            large: cost(size)?,
        });
    }
    Ok(counted)
}

struct Request {
    object: String,
    settings: Value,
    operation: &'static str,
    /// What a registry answers.
    heard: Option<Vec<u8>>,
    /// Images times patterns, where that is what costs.
    matches: usize,
}

impl Request {
    fn create(object: String, settings: Value) -> Self {
        Self {
            object,
            settings,
            operation: "CREATE",
            heard: None,
            matches: 0,
        }
    }
}

fn pod(containers: &str, rest: &str) -> String {
    format!(r#"{{"metadata":{{"name":"p"}},"spec":{{"containers":[{containers}]{rest}}}}}"#)
}

fn list(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect::<Vec<_>>().join(",")
}

fn container(number: usize) -> String {
    format!(r#"{{"name":"c{number}","image":"a{number}:1","imagePullPolicy":"Always"}}"#)
}

fn fixing() -> Value {
    json!({"imageChecks": {"coverage": "Fix", "everyPod": true, "as": "ImageVolume"}})
}

type Make = fn(usize) -> Request;

/// The name of each, its size, and what it is.
const REQUESTS: &[(&str, usize, Make)] = &[
    (
        "lists in lists in a field that nobody knows",
        100_000,
        |size| {
            let nested = format!(r#","x":{}{}"#, "[".repeat(size), "]".repeat(size));
            Request::create(pod(&container(0), &nested), json!({}))
        },
    ),
    ("containers, all repaired", 100_000, |size| {
        let checks = list(size / 2, |number| {
            format!(
                r#"{{"name":"imagecheck-{number}","image":"a{number}:1","imagePullPolicy":"Never"}}"#
            )
        });
        let rest = format!(r#","initContainers":[{checks}]"#);
        Request::create(pod(&list(size / 2, container), &rest), json!({}))
    }),
    ("containers that all get a volume", 20_000, |size| {
        Request::create(pod(&list(size, container), ""), fixing())
    }),
    ("containers that all change", 50_000, |size| Request {
        operation: "UPDATE",
        ..Request::create(pod(&list(size, container), ""), json!({}))
    }),
    ("checks that all become volumes", 20_000, |size| {
        let checks = list(size, |number| {
            format!(
                r#"{{"name":"imagecheck-{number}","image":"a{number}:1","imagePullPolicy":"Always","volumeMounts":[{{"name":"v","mountPath":"/v"}}]}}"#
            )
        });
        let rest = format!(r#","initContainers":[{{"name":"first","image":"a:1"}},{checks}]"#);
        let object = pod(&container(0), &rest).replacen(
            r#""name":"p""#,
            r#""name":"p","ownerReferences":[{"controller":true}]"#,
            1,
        );
        let checks = json!({"as": "ImageVolume", "replaceExisting": true});
        Request::create(object, json!({"imageChecks": checks}))
    }),
    ("image volumes, all mounted", 20_000, |size| {
        let volumes = list(size, |number| {
            format!(r#"{{"name":"imagecheck-{number}","image":{{"reference":"a{number}:1"}}}}"#)
        });
        let mounts = list(size, |number| {
            format!(r#"{{"name":"imagecheck-{number}","mountPath":"/{number}"}}"#)
        });
        let container = format!(r#"{{"name":"c","image":"a:1","volumeMounts":[{mounts}]}}"#);
        Request::create(
            pod(&container, &format!(r#","volumes":[{volumes}]"#)),
            fixing(),
        )
    }),
    ("a name of a megabyte", 1 << 20, |size| {
        let container = format!(r#"{{"name":"{}","image":"NOT/VALID"}}"#, "n".repeat(size));
        Request::create(pod(&container, ""), json!({}))
    }),
    ("an image of a megabyte", 1 << 20, |size| {
        let container = format!(r#"{{"name":"c","image":"{}"}}"#, "a/".repeat(size / 2));
        Request::create(pod(&container, ""), json!({}))
    }),
    ("*a*a*a*b against a name of a megabyte", 1 << 20, |size| {
        let container = format!(r#"{{"name":"{}","image":"a:1"}}"#, "a".repeat(size));
        let exempt = json!({"containers": ["*a*a*a*a*a*a*a*a*b"]});
        Request::create(pod(&container, ""), json!({"exempt": exempt}))
    }),
    ("10,000 patterns against 1,000 images", 10_000, |size| {
        let patterns: Vec<String> = (0..size).map(|n| format!("*a*a*a*b{n}")).collect();
        let containers = list(1_000, |number| {
            format!(
                r#"{{"name":"c{number}","image":"{}{number}:1"}}"#,
                "a".repeat(30)
            )
        });
        Request {
            matches: 1_000 * size,
            ..Request::create(
                pod(&containers, ""),
                json!({"images": {"requireAlways": patterns}}),
            )
        }
    }),
    ("a key, again and again", 100_000, |size| {
        let keys = list(size, |_| r#""image":"a:1""#.to_owned());
        Request::create(pod(&format!(r#"{{"name":"c",{keys}}}"#), ""), json!({}))
    }),
    ("lists of containers, again and again", 20_000, |size| {
        let lists = list(size, |number| {
            format!(r#""containers":[{}]"#, container(number))
        });
        Request::create(
            format!(r#"{{"metadata":{{}},"spec":{{{lists}}}}}"#),
            json!({}),
        )
    }),
    ("lone surrogates", 200_000, |size| {
        let container = format!(r#"{{"name":"{}","image":"a:1"}}"#, r"\ud800".repeat(size));
        Request::create(pod(&container, ""), json!({}))
    }),
    ("numbers beyond u64", 50_000, |size| {
        let numbers = list(size, |_| "99999999999999999999999,1e999".to_owned());
        Request::create(
            pod(&container(0), &format!(r#","x":[{numbers}]"#)),
            json!({}),
        )
    }),
    (
        "annotations of a megabyte, full of escapes",
        1 << 20,
        |size| {
            let notes = r#"\""#.repeat(size / 2);
            let object = pod(&container(0), "");
            let notes = format!(r#""annotations":{{"a":"{notes}"}},"name":"p""#);
            Request::create(object.replacen(r#""name":"p""#, &notes, 1), fixing())
        },
    ),
    ("a record of a megabyte", 1 << 20, |size| {
        let entry = r#"{\"path\":\"spec.containers[0].imagePullPolicy\",\"from\":\"Always\",\"to\":\"Never\"},"#;
        let entries = entry.repeat(size / entry.len());
        let notes = format!(
            r#""annotations":{{"consistent-pull-policy/changes":"[{}]"}},"name":"p""#,
            entries.trim_end_matches(',')
        );
        let object = pod(&container(0), "");
        Request {
            operation: "UPDATE",
            ..Request::create(object.replacen(r#""name":"p""#, &notes, 1), json!({}))
        }
    }),
    ("terms of an affinity", 10_000, |size| {
        let term = r#"{"matchExpressions":[{"key":"kubernetes.io/arch","operator":"In","values":["a","b","c","d"]},{"key":"kubernetes.io/os","operator":"In","values":["e","f","g","h"]}]}"#;
        let terms = list(size, |_| term.to_owned());
        let affinity = format!(
            r#","affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{terms}]}}}}}}"#
        );
        let registry = json!({"lookup": "Verify", "platform": "Reject"});
        Request::create(pod(&container(0), &affinity), json!({"registry": registry}))
    }),
    ("a registry's manifest of 10 MB", 10_000_000, |size| {
        let entry = format!(
            r#"{{"mediaType":"application/vnd.oci.image.manifest.v1+json","digest":"sha256:{}","size":1,"platform":{{"os":"linux","architecture":"amd64"}}}}"#,
            "4".repeat(64)
        );
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[{}]}}"#,
            list(size / entry.len(), |_| entry.clone())
        );
        let registry = json!({"lookup": "Verify", "platform": "Reject"});
        let selector = r#","nodeSelector":{"kubernetes.io/arch":"arm64"}"#;
        Request {
            heard: Some(manifest.into_bytes()),
            ..Request::create(pod(&container(0), selector), json!({"registry": registry}))
        }
    }),
    ("a registry's digest of 10 MB", 10_000_000, |size| Request {
        heard: Some(format!(r#"{{"digest":"sha256:{}"}}"#, "1".repeat(size)).into_bytes()),
        ..Request::create(
            pod(&container(0), ""),
            json!({"registry": {"lookup": "Pin"}}),
        )
    }),
    ("a registry's error of 10 MB", 10_000_000, |size| Request {
        heard: Some("code: not found ".repeat(size / 16).into_bytes()),
        ..Request::create(
            pod(&container(0), ""),
            json!({"registry": {"lookup": "Pin"}}),
        )
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn hostile(small: [u64; 3], large: [u64; 3]) -> Hostile {
        let exact = |[request_bytes, instructions, memory_bytes]: [u64; 3]| Exact {
            request_bytes,
            instructions,
            memory_bytes,
        };
        Hostile {
            name: "x",
            matches: 0,
            small: exact(small),
            large: exact(large),
        }
    }

    #[test]
    fn what_is_beyond_the_bound_is_told() {
        let bound = Bound {
            instructions_per_byte: 100,
            instructions: 1_000,
            memory_per_byte: 8,
            memory_bytes: 100,
            instructions_per_match: 1,
            growth_percent: 20,
        };
        for (small, large, excess) in [
            ([100, 11_000, 900], [400, 41_000, 3_300], None),
            ([100, 11_001, 1], [400, 1, 1], Some("x: 11001 instructions")),
            (
                [100, 1_000, 901],
                [400, 1, 1],
                Some("x: 901 bytes of memory"),
            ),
            ([100, 5_000, 1], [400, 25_000, 1], None),
            ([100, 5_000, 1], [400, 25_001, 1], Some("x: four times")),
        ] {
            let excesses = bound.excesses(&[hostile(small, large)]);
            assert_eq!(
                excesses.len(),
                usize::from(excess.is_some()),
                "{excesses:?}"
            );
            assert!(
                excesses
                    .iter()
                    .all(|one| one.starts_with(excess.unwrap_or_default()))
            );
        }
    }

    #[test]
    fn each_request_grows_with_its_size() {
        for (name, _, request) in REQUESTS {
            let size = |size: usize| {
                let request = request(size);
                request.object.len() + request.heard.map_or(0, |heard| heard.len())
            };
            let matches = request(4_000).matches / 4 / request(1_000).matches.max(1);
            assert!(matches == 1 || size(4_000) > 2 * size(1_000), "{name}");
        }
    }
}
