//! Requests that somebody makes to be expensive (`bench/hostile.yaml`).
//!
//! No cost may be a product of two lists that a request can lengthen. So this file makes a request
//! for each pair of the parts of a request, in several sizes, and compares what a byte costs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use serde::Deserialize;
use serde_json::{Value, json};
use xtask::host::module::{Capabilities, Module};

use crate::cost::{self, Cost};
use crate::limits::{Limits, growth_percent};

/// The sizes of each pair: how often each of its parts is repeated. The last is four times as large
/// as the one before. The cost of the first size, or of the request without the two parts, is
/// subtracted from the others, because the start-up and the rest of the request would hide the
/// growth. A product stays visible: the subtracted cost has next to nothing of it. The first size
/// is needed, because without the parts other rules may act: an image that is not valid ends most
/// of the work.
const SIZES: [usize; 3] = [1, 8, 32];

/// The smallest number of added instructions that is checked for growth: in a small cost, a single
/// branch is many per cent.
const COST_MIN: u64 = 150_000;

/// The contents of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Hostile {
    texts: BTreeMap<String, String>,
    parts: BTreeMap<String, Part>,
    profiles: BTreeMap<String, Profile>,
    bodies: BTreeMap<String, Body>,
}

/// A part of a request that can be repeated or lengthened: what it adds to each slot.
#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default = "once")]
    times: usize,
    #[serde(flatten)]
    added: BTreeMap<String, String>,
}

const fn once() -> usize {
    1
}

/// Settings and a kind of request.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    request: String,
    #[serde(default = "pod")]
    object: String,
    #[serde(default)]
    texts: BTreeMap<String, String>,
    /// The replacements that make the stored object of the object.
    #[serde(default)]
    stored: BTreeMap<String, String>,
    settings: Value,
    /// The answer of every registry.
    #[serde(default)]
    answer: String,
    /// The rules that act on the request without parts.
    rules: Vec<String>,
}

fn pod() -> String {
    "<pod>".to_owned()
}

/// A request that is no pair.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    profile: String,
    parts: BTreeMap<String, usize>,
    /// The number of patterns in the settings.
    #[serde(default)]
    patterns: usize,
    /// Whether nobody made this request to be expensive.
    #[serde(default)]
    ordinary: bool,
}

/// A request, and the answer of every registry.
#[derive(PartialEq)]
struct Request {
    payload: String,
    object_bytes: usize,
    answer: String,
}

/// Parts, each with the number of its repetitions.
type Repeated<'h> = [(&'h Part, usize)];

/// Two parts with a profile.
struct Pair<'h> {
    name: String,
    profile: &'h Profile,
    parts: [&'h Part; 2],
    /// The cost of the profile's request without the two parts.
    empty: Cost,
}

impl Hostile {
    /// Sends each body, and one of `every` pairs. Returns the number of requests, and a sentence for
    /// each figure beyond its limit.
    pub(crate) fn measure(
        &self,
        module: &Module,
        limits: &Limits,
        every: usize,
    ) -> Result<(usize, Vec<String>)> {
        let pairs = self.pairs(module)?;
        let pairs: Vec<_> = pairs.iter().step_by(every).collect();
        let bodies = self
            .bodies
            .par_iter()
            .map(|(name, body)| self.body(module, limits, name, body));
        let of_pair = |pair: &&Pair<'_>| {
            let excesses = self.pair(module, limits, pair);
            excesses.with_context(|| format!("in the request: {}", pair.name))
        };
        let excesses = bodies.chain(pairs.par_iter().map(of_pair));
        let excesses = excesses.collect::<Result<Vec<_>>>()?;
        Ok((
            self.bodies.len() + pairs.len() * SIZES.len(),
            excesses.into_iter().flatten().collect(),
        ))
    }

    /// For each profile, each two parts that add something to its request. Most parts are of one
    /// kind of request.
    fn pairs(&self, module: &Module) -> Result<Vec<Pair<'_>>> {
        let mut pairs = Vec::new();
        let mut unread: BTreeSet<_> = self.parts.keys().collect();
        for (name, profile) in &self.profiles {
            let (answer, empty) = self.send(module, profile, &[])?;
            for rule in &profile.rules {
                let entry = format!(r#"\"rule\":\"{rule}\""#);
                ensure!(
                    answer.contains(&entry),
                    "{name}: {rule} doesn't act: {answer}"
                );
            }
            let request = self.request(profile, &[]);
            let adds = |part| self.request(profile, &[(part, 1)]) != request;
            let parts: Vec<_> = self.parts.iter().filter(|(_, part)| adds(part)).collect();
            unread.retain(|name| !parts.iter().any(|(part, _)| part == name));
            for (index, (one, part)) in parts.iter().enumerate() {
                for (other, second) in parts.iter().skip(index) {
                    pairs.push(Pair {
                        name: format!("{one} and {other}, with {name}"),
                        profile,
                        parts: [part, second],
                        empty,
                    });
                }
            }
        }
        ensure!(unread.is_empty(), "no profile reads the parts {unread:?}");
        Ok(pairs)
    }

    /// Sends a pair in each of the sizes. If a byte costs too much more in the last one, a limit of
    /// this policy may be the reason: lookups beyond the 20th cost something else than those
    /// before. A product grows in each size, so the pair is sent four times as large once more.
    fn pair(&self, module: &Module, limits: &Limits, pair: &Pair<'_>) -> Result<Vec<String>> {
        let Pair {
            name,
            profile,
            parts,
            empty,
        } = pair;
        let cost = |size| {
            anyhow::Ok(
                self.send(module, profile, &parts.map(|part| (part, size)))?
                    .1,
            )
        };
        let mut costs = SIZES.into_iter().map(cost).collect::<Result<Vec<_>>>()?;
        let grows = |costs: &[Cost]| growth(empty, costs) > limits.growth_percent;
        let mut excesses = Vec::new();
        if grows(&costs) {
            costs.push(cost(4 * SIZES[2])?);
            if grows(&costs) {
                let figures = costs.iter().map(|cost| {
                    format!(
                        "{} instructions for {} bytes",
                        cost.instructions, cost.request_bytes
                    )
                });
                excesses.push(format!(
                    "{name}: a byte costs {:.0} % more ({})",
                    growth(empty, &costs),
                    figures.collect::<Vec<_>>().join(", ")
                ));
            }
        }
        excesses.extend(
            costs
                .iter()
                .flat_map(|cost| limits.excesses(name, cost, true, 0)),
        );
        Ok(excesses)
    }

    fn body(
        &self,
        module: &Module,
        limits: &Limits,
        name: &str,
        body: &Body,
    ) -> Result<Vec<String>> {
        let profile = self
            .profiles
            .get(&body.profile)
            .context("no such profile")?;
        let mut profile = profile.clone();
        if body.patterns > 0 {
            let patterns = (0..body.patterns).map(|number| format!("*a*a*a*b{number}"));
            let patterns: Vec<_> = patterns.collect();
            profile.settings = json!({"images": {"requireAlways": patterns}});
        }
        let parts = body.parts.iter().map(|(part, &times)| {
            let part = self.parts.get(part).context("no such part")?;
            Ok((part, times))
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let matches = body.patterns * body.parts.values().sum::<usize>();
        let (_, cost) = self.send(module, &profile, &parts)?;
        Ok(limits.excesses(name, &cost, !body.ordinary, u64::try_from(matches)?))
    }

    /// Sends a request. The bytes of a registry's answers count as bytes of the request.
    fn send(
        &self,
        module: &Module,
        profile: &Profile,
        parts: &Repeated<'_>,
    ) -> Result<(String, Cost)> {
        let Request {
            payload,
            object_bytes,
            answer,
        } = self.request(profile, parts);
        let answered = Arc::new(AtomicU64::new(0));
        let registry = registry(answer, Arc::clone(&answered));
        let (answer, mut cost) = cost::of(module, &registry, payload.as_bytes(), object_bytes)?;
        cost.request_bytes += answered.load(Ordering::Relaxed);
        Ok((String::from_utf8(answer)?, cost))
    }

    fn request(&self, profile: &Profile, parts: &Repeated<'_>) -> Request {
        let fill = |text: &str| self.filled(text, profile, parts);
        let object = fill(&profile.object);
        let replaced = profile.stored.iter();
        let stored = replaced.fold(object.clone(), |text, (from, to)| text.replace(from, to));
        Request {
            payload: format!(
                r#"{{"request":{{"uid":"u",{},"object":{object},"oldObject":{stored}}},"settings":{}}}"#,
                fill(&profile.request),
                profile.settings
            ),
            object_bytes: object.len(),
            answer: fill(&profile.answer),
        }
    }

    /// A text whose slots are filled.
    fn filled(&self, text: &str, profile: &Profile, parts: &Repeated<'_>) -> String {
        let mut filled = String::new();
        let mut pieces = text.split(['<', '>']);
        while let Some(piece) = pieces.next() {
            filled.push_str(piece);
            let Some(slot) = pieces.next() else { break };
            if let Some(text) = profile.texts.get(slot).or_else(|| self.texts.get(slot)) {
                filled.push_str(&self.filled(text, profile, parts));
            }
            for (index, (part, times)) in parts.iter().enumerate() {
                let text = part.added.get(slot).map_or("", String::as_str);
                let times = times * part.times;
                if text.contains('%') {
                    // The numbers of a part that is repeated twice are different too.
                    for number in (0..times).map(|number| number * parts.len() + index) {
                        filled.push_str(&text.replace('%', &number.to_string()));
                    }
                } else {
                    filled.push_str(&text.repeat(times));
                }
            }
        }
        filled
    }
}

/// A registry with this answer. One that is no JSON is an error. Counts the bytes of its answers.
fn registry(answer: String, answered: Arc<AtomicU64>) -> Capabilities {
    Arc::new(move |call| {
        if call.operation != "v1/manifest_digest" {
            return Err(format!("{} is not granted", call.operation));
        }
        answered.fetch_add(answer.len() as u64, Ordering::Relaxed);
        if answer.starts_with('{') {
            Ok(answer.clone().into_bytes())
        } else {
            Err(answer.clone())
        }
    })
}

/// By how many per cent a byte costs more in the largest one of several requests than in the second
/// largest one. 0 for a small cost, or if the second largest request costs nothing more than the
/// first one: then it has passed a limit, for example that of added checks.
fn growth(empty: &Cost, costs: &[Cost]) -> f64 {
    let [first, .., small, large] = costs else {
        return 0.0;
    };
    if large.instructions <= first.instructions + COST_MIN {
        return 0.0;
    }
    // The smallest growth counts, because a limit of this policy looks like growth: some bytes are
    // not added any more, or a long name is not in the first ten warnings. A product grows in each
    // way.
    let of_request = |cost: &Cost| (cost.request_bytes, cost.instructions);
    let of_all = |cost: &Cost| (cost.request_bytes + cost.added_bytes, cost.instructions);
    let growths = [empty, first].into_iter().flat_map(|start| {
        [
            growth_percent(of_request(start), of_request(small), of_request(large)),
            growth_percent(of_all(start), of_all(small), of_all(large)),
        ]
    });
    let least = growths.fold(f64::INFINITY, f64::min);
    if least.is_finite() { least } else { 0.0 }
}
