//! Hostile requests: requests that are made to need much time or memory. A budget bounds the cost for
//! each byte of a request, so that no request reaches policy-server's time limit.

use std::iter;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::capabilities::{Capabilities, nothing_granted};

use super::request_cost::{MeteredPolicy, RequestCost, added_bytes};

/// The largest size of the added checks (1 MiB) and of the record (20 KiB) together. Longer pull
/// policies and moved mounts also add bytes, but fewer bytes than the object has. So the check of this
/// limit adds the size of the object.
const ADDED_BYTES_MAX: u64 = 1024 * 1024 + 20 * 1024;

/// The largest cost of a hostile request. The bytes of a registry's answer count as bytes of the
/// request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostileBudget {
    /// The instructions that each byte of the request, or each added byte, may cost.
    instructions_per_byte: u64,
    /// The instructions that every request may use in addition.
    instructions: u64,
    /// The bytes of linear memory, at its peak, that each byte of the request may cost.
    memory_per_byte: u64,
    /// The bytes of linear memory that each byte added to the object may cost.
    memory_per_added_byte: u64,
    /// The bytes of linear memory that every request may use in addition.
    memory_bytes: u64,
    /// The instructions that each comparison of an image with a pattern may cost.
    instructions_per_match: u64,
    /// The largest growth of the instructions for a byte, in per cent, if the request is four times as
    /// large. Requests with `matches` are left out, because their cost depends on the comparisons.
    growth_percent: u64,
}

/// A hostile request with its cost.
pub(crate) struct HostileCost {
    pub(crate) name: &'static str,
    /// The number of comparisons of images with patterns in the large request.
    matches: u64,
    small: RequestCost,
    /// The cost of the request in four times the size, if it was sent in this size too.
    pub(crate) large: Option<RequestCost>,
}

/// Instructions and memory for each byte of the request.
pub(crate) fn per_byte(cost: &RequestCost) -> [f64; 2] {
    #[allow(clippy::cast_precision_loss)]
    let ratio = |part: u64| part as f64 / cost.request_bytes as f64;
    [ratio(cost.instructions), ratio(cost.memory_bytes)]
}

impl HostileBudget {
    /// A sentence for each figure that exceeds the budget.
    pub(crate) fn excesses(&self, hostile: &[HostileCost]) -> Vec<String> {
        let mut excesses = Vec::new();
        for one in hostile {
            let name = one.name;
            let matching = self.instructions_per_match * one.matches;
            let large = one.large.as_ref().map(|large| (large, matching));
            for (cost, matching) in iter::once((&one.small, matching / 4)).chain(large) {
                let bytes = cost.request_bytes;
                let instructions = self.instructions_per_byte * (bytes + cost.added_bytes)
                    + self.instructions
                    + matching;
                let memory = self.memory_per_byte * bytes
                    + self.memory_per_added_byte * cost.added_bytes
                    + self.memory_bytes;
                for (is, most, unit) in [
                    (cost.instructions, instructions, "instructions"),
                    (cost.memory_bytes, memory, "bytes of memory"),
                ] {
                    if is > most {
                        excesses.push(format!(
                            "{name}: {is} {unit} for {bytes} bytes, at most {most} are allowed"
                        ));
                    }
                }
            }
            let Some(large) = one.large.as_ref().filter(|_| one.matches == 0) else {
                continue;
            };
            let grown =
                (large.instructions.saturating_sub(self.instructions)) * one.small.request_bytes;
            let straight = one.small.instructions * large.request_bytes;
            if grown > straight + straight * self.growth_percent / 100 {
                excesses.push(format!(
                    "{name}: four times as large it costs {} instructions after {}",
                    large.instructions, one.small.instructions
                ));
            }
        }
        excesses
    }
}

/// The cost of each hostile request, in the small size or in both sizes.
pub(crate) fn all_costs(policy: &MeteredPolicy, both_sizes: bool) -> Result<Vec<HostileCost>> {
    let mut counted = Vec::new();
    for &(name, size, request) in REQUESTS {
        let cost = |size: usize| -> Result<RequestCost> {
            let HostileRequest {
                object,
                settings,
                operation,
                registry_answer,
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
            let answer_bytes = registry_answer.as_ref().map_or(0, String::len);
            let capabilities = registry_answer.map_or_else(nothing_granted, registry);
            let (answer, mut exact) = policy.cost(payload.as_bytes(), &capabilities)?;
            let answer: Value =
                serde_json::from_slice(&answer).context("the answer can't be read")?;
            ensure!(answer["accepted"].is_boolean(), "the answer is {answer}");
            exact.request_bytes += u64::try_from(answer_bytes)?;
            exact.added_bytes = added_bytes(&answer, object.len())?;
            ensure!(
                exact.added_bytes <= ADDED_BYTES_MAX + u64::try_from(object.len())?,
                "{} bytes were added to the object",
                exact.added_bytes
            );
            Ok(exact)
        };
        let cost = |size| cost(size).with_context(|| format!("in the hostile request: {name}"));
        counted.push(HostileCost {
            name,
            matches: u64::try_from(request(size).matches)?,
            small: cost(size / 4)?,
            large: both_sizes.then(|| cost(size)).transpose()?,
        });
    }
    Ok(counted)
}

/// A registry with one answer for every lookup: a digest, a manifest or an error. If the answer is a
/// manifest, a lookup that asks for a digest gets a fixed digest.
fn registry(answer: String) -> Capabilities {
    Arc::new(move |call| {
        if call.operation == "v1/manifest_digest" && answer.starts_with("{\"schema") {
            return Ok(format!(r#"{{"digest":"sha256:{}"}}"#, "1".repeat(64)).into_bytes());
        }
        if answer.starts_with('{') {
            Ok(answer.clone().into_bytes())
        } else {
            Err(answer.clone())
        }
    })
}

struct HostileRequest {
    object: String,
    settings: Value,
    operation: &'static str,
    /// The answer of a registry to every lookup. `None` if no host capability is granted.
    registry_answer: Option<String>,
    /// The number of comparisons of images with patterns.
    matches: usize,
}

impl HostileRequest {
    fn create(object: String, settings: Value) -> Self {
        Self {
            object,
            settings,
            operation: "CREATE",
            registry_answer: None,
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

/// A Pod with `images` images without a check, and one check with `argument_bytes` bytes of
/// arguments.
fn images_and_a_large_check(images: usize, argument_bytes: usize) -> HostileRequest {
    let rest = format!(
        r#","initContainers":[{{"name":"imagecheck-0","image":"a:1","command":["/bin/true"],"args":["{}"]}}]"#,
        "x".repeat(argument_bytes)
    );
    HostileRequest::create(
        pod(&list(images, container), &rest),
        json!({"imageChecks": {"coverage": "Fix"}}),
    )
}

/// The name of a hostile request, its large size, and the function that makes it in a given size.
type NamedRequest = (&'static str, usize, fn(usize) -> HostileRequest);

/// The hostile requests.
const REQUESTS: &[NamedRequest] = &[
    (
        "lists in lists in a field that nobody knows",
        100_000,
        |size| {
            let nested = format!(r#","x":{}{}"#, "[".repeat(size), "]".repeat(size));
            HostileRequest::create(pod(&container(0), &nested), json!({}))
        },
    ),
    ("containers, all repaired", 100_000, |size| {
        let checks = list(size / 2, |number| {
            format!(
                r#"{{"name":"imagecheck-{number}","image":"a{number}:1","imagePullPolicy":"Never"}}"#
            )
        });
        let rest = format!(r#","initContainers":[{checks}]"#);
        HostileRequest::create(pod(&list(size / 2, container), &rest), json!({}))
    }),
    ("containers that all get a volume", 20_000, |size| {
        HostileRequest::create(pod(&list(size, container), ""), fixing())
    }),
    ("containers that all change", 50_000, |size| {
        HostileRequest {
            operation: "UPDATE",
            ..HostileRequest::create(pod(&list(size, container), ""), json!({}))
        }
    }),
    // In the next two requests, the added checks would be larger than 1 MiB, so no check is added.
    // Without the limit of 1 MiB, the answer to the first request would have 268 MB, and the second
    // request would end in a trap.
    (
        "a check of 100 KB, and 2,000 images without one",
        2_000,
        |size| images_and_a_large_check(size, 50 * size),
    ),
    (
        "a check of 1.2 MB, and 2,000 images without one",
        2_000,
        |size| images_and_a_large_check(size, 600 * size),
    ),
    ("checks of nearly 1 MiB that are added", 8_000, |size| {
        images_and_a_large_check(size, 1)
    }),
    ("image volumes, all mounted", 20_000, |size| {
        let volumes = list(size, |number| {
            format!(r#"{{"name":"imagecheck-{number}","image":{{"reference":"a{number}:1"}}}}"#)
        });
        let mounts = list(size, |number| {
            format!(r#"{{"name":"imagecheck-{number}","mountPath":"/{number}"}}"#)
        });
        let container = format!(r#"{{"name":"c","image":"a:1","volumeMounts":[{mounts}]}}"#);
        HostileRequest::create(
            pod(&container, &format!(r#","volumes":[{volumes}]"#)),
            fixing(),
        )
    }),
    ("a name of a megabyte", 1 << 20, |size| {
        let container = format!(r#"{{"name":"{}","image":"NOT/VALID"}}"#, "n".repeat(size));
        HostileRequest::create(pod(&container, ""), json!({}))
    }),
    ("an image of a megabyte", 1 << 20, |size| {
        let container = format!(r#"{{"name":"c","image":"{}"}}"#, "a/".repeat(size / 2));
        HostileRequest::create(pod(&container, ""), json!({}))
    }),
    ("*a*a*a*b against a name of a megabyte", 1 << 20, |size| {
        let container = format!(r#"{{"name":"{}","image":"a:1"}}"#, "a".repeat(size));
        let exempt = json!({"containers": ["*a*a*a*a*a*a*a*a*b"]});
        HostileRequest::create(pod(&container, ""), json!({"exempt": exempt}))
    }),
    ("10,000 patterns against 1,000 images", 10_000, |size| {
        let patterns: Vec<String> = (0..size).map(|n| format!("*a*a*a*b{n}")).collect();
        let containers = list(1_000, |number| {
            format!(
                r#"{{"name":"c{number}","image":"{}{number}:1"}}"#,
                "a".repeat(30)
            )
        });
        HostileRequest {
            matches: 1_000 * size,
            ..HostileRequest::create(
                pod(&containers, ""),
                json!({"images": {"requireAlways": patterns}}),
            )
        }
    }),
    ("a key, again and again", 100_000, |size| {
        let keys = list(size, |_| r#""image":"a:1""#.to_owned());
        HostileRequest::create(pod(&format!(r#"{{"name":"c",{keys}}}"#), ""), json!({}))
    }),
    ("lists of containers, again and again", 20_000, |size| {
        let lists = list(size, |number| {
            format!(r#""containers":[{}]"#, container(number))
        });
        HostileRequest::create(
            format!(r#"{{"metadata":{{}},"spec":{{{lists}}}}}"#),
            json!({}),
        )
    }),
    ("lone surrogates", 200_000, |size| {
        let container = format!(r#"{{"name":"{}","image":"a:1"}}"#, r"\ud800".repeat(size));
        HostileRequest::create(pod(&container, ""), json!({}))
    }),
    ("numbers beyond u64", 50_000, |size| {
        let numbers = list(size, |_| "99999999999999999999999,1e999".to_owned());
        HostileRequest::create(
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
            HostileRequest::create(object.replacen(r#""name":"p""#, &notes, 1), fixing())
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
        HostileRequest {
            operation: "UPDATE",
            ..HostileRequest::create(object.replacen(r#""name":"p""#, &notes, 1), json!({}))
        }
    }),
    ("terms of an affinity", 10_000, |size| {
        let term = r#"{"matchExpressions":[{"key":"kubernetes.io/arch","operator":"In","values":["a","b","c","d"]},{"key":"kubernetes.io/os","operator":"In","values":["e","f","g","h"]}]}"#;
        let terms = list(size, |_| term.to_owned());
        let affinity = format!(
            r#","affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{terms}]}}}}}}"#
        );
        let registry = json!({"images": ["*"], "lookup": "Verify", "platform": "Reject"});
        HostileRequest::create(pod(&container(0), &affinity), json!({"registry": registry}))
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
        let registry = json!({"images": ["*"], "lookup": "Verify", "platform": "Reject"});
        let selector = r#","nodeSelector":{"kubernetes.io/arch":"arm64"}"#;
        HostileRequest {
            registry_answer: Some(manifest),
            ..HostileRequest::create(pod(&container(0), selector), json!({"registry": registry}))
        }
    }),
    ("a registry's digest of 10 MB", 10_000_000, |size| {
        HostileRequest {
            registry_answer: Some(format!(r#"{{"digest":"sha256:{}"}}"#, "1".repeat(size))),
            ..HostileRequest::create(
                pod(&container(0), ""),
                json!({"registry": {"images": ["*"], "lookup": "Pin"}}),
            )
        }
    }),
    ("a registry's error of 10 MB", 10_000_000, |size| {
        HostileRequest {
            registry_answer: Some("code: not found ".repeat(size / 16)),
            ..HostileRequest::create(
                pod(&container(0), ""),
                json!({"registry": {"images": ["*"], "lookup": "Pin"}}),
            )
        }
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn hostile(small: [u64; 3], large: [u64; 3]) -> HostileCost {
        let exact = |[request_bytes, instructions, memory_bytes]: [u64; 3]| RequestCost {
            request_bytes,
            added_bytes: 2,
            instructions,
            memory_bytes,
        };
        HostileCost {
            name: "x",
            matches: 0,
            small: exact(small),
            large: Some(exact(large)),
        }
    }

    #[test]
    fn costs_above_the_budget_are_reported() {
        let budget = HostileBudget {
            instructions_per_byte: 100,
            instructions: 1_000,
            memory_per_byte: 8,
            memory_per_added_byte: 5,
            memory_bytes: 90,
            instructions_per_match: 1,
            growth_percent: 20,
        };
        for (small, large, excess) in [
            ([100, 11_200, 900], [400, 41_200, 3_300], None),
            ([100, 11_201, 1], [400, 1, 1], Some("x: 11201 instructions")),
            (
                [100, 1_000, 901],
                [400, 1, 1],
                Some("x: 901 bytes of memory"),
            ),
            ([100, 5_000, 1], [400, 25_000, 1], None),
            ([100, 5_000, 1], [400, 25_001, 1], Some("x: four times")),
        ] {
            let excesses = budget.excesses(&[hostile(small, large)]);
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
    fn a_request_in_the_small_size_is_checked_alone() {
        let budget = HostileBudget::default();
        let mut one = hostile([100, 1, 1], [400, 1, 1]);
        assert_eq!(
            budget.excesses(&[hostile([100, 1, 1], [400, 1, 1])]).len(),
            4
        );
        one.large = None;
        assert_eq!(budget.excesses(&[one]).len(), 2);
    }

    #[test]
    fn each_request_grows_with_its_size() {
        for (name, _, request) in REQUESTS {
            let size = |size: usize| {
                let request = request(size);
                request.object.len() + request.registry_answer.map_or(0, |answer| answer.len())
            };
            let matches = request(4_000).matches / 4 / request(1_000).matches.max(1);
            assert!(matches == 1 || size(4_000) > 2 * size(1_000), "{name}");
        }
    }
}
