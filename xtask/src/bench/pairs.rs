//! Requests that somebody makes to be expensive.
//!
//! No cost may be a product of two lists that a request can lengthen. So this file makes a request for each
//! pair of the parts of a request, in several sizes, and compares what a byte costs. A budget bounds the cost
//! for each byte in addition, so that no request reaches policy-server's time limit.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, thread};

use anyhow::{Context, Result, anyhow, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::host::capabilities::Capabilities;

use super::request_cost::{MeteredPolicy, RequestCost, added_bytes};

/// The file with the parts and the profiles.
const FILE: &str = "xtask/src/bench/pairs.yaml";

/// The sizes of each pair: how often each of its parts is repeated. In small sizes, a cost shows that has a
/// limit: a product of two lists of which only 32 entries are read. In large sizes, other limits are passed, such as
/// `maxLookups`, so that the next entries have another cost than the first ones.
///
/// The cost of the first size, or of the request without the two parts, is subtracted from the others, because
/// the start-up and the rest of the request would hide the growth. A product stays visible: the subtracted cost
/// has next to nothing of it. The first size is needed, because without the parts other rules may act: an image
/// that is not valid ends most of the work.
const SIZES: [[usize; 3]; 2] = [[1, 8, 32], [128, 160, 256]];

/// The smallest number of added instructions that is checked for growth: less than 0.1 ms.
const COST_MIN: u64 = 150_000;

/// The largest cost of a request. The bytes of a registry's answers count as bytes of the request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RequestBudget {
    /// The instructions that each byte of the request, or each added byte, may cost.
    instructions_per_byte: u64,
    /// The instructions that every request may use in addition.
    instructions: u64,
    /// The bytes of linear memory, at its peak, that each byte of the request may cost.
    memory_per_byte: u64,
    /// Replaces `memory_per_byte` for a request that nobody made to be expensive.
    memory_per_ordinary_byte: u64,
    /// The bytes of linear memory that each byte added to the object may cost.
    memory_per_added_byte: u64,
    /// The bytes of linear memory that every request may use in addition.
    memory_bytes: u64,
    /// The instructions that each comparison of an image with a pattern may cost.
    instructions_per_match: u64,
    /// The largest growth of the instructions for a byte, in per cent, if a pair is four times as large.
    growth_percent: f64,
}

/// The contents of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostileRequests {
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
    #[serde(default)]
    answers: BTreeMap<String, String>,
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

/// A request, and the answers of a registry by operation.
#[derive(PartialEq)]
struct HostileRequest {
    payload: String,
    object_bytes: usize,
    answers: BTreeMap<String, String>,
}

/// Parts, each with the number of its repetitions.
type Repeated<'h> = Vec<(&'h Part, usize)>;

impl HostileRequests {
    /// Reads the file.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let path = root.join(FILE);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        yaml_serde::from_str(&text).with_context(|| format!("cannot read {}", path.display()))
    }

    /// Sends each pair and each body. `sizes` is how many series of sizes of a pair are sent. Returns a list for each
    /// of them: what is wrong with its cost.
    pub(crate) fn excesses(
        &self,
        policy: &MeteredPolicy,
        budget: &RequestBudget,
        sizes: usize,
    ) -> Result<Vec<Vec<String>>> {
        let mut jobs: Vec<Box<dyn Fn() -> Result<Vec<String>> + Send + Sync + '_>> = Vec::new();
        for (name, body) in &self.bodies {
            jobs.push(Box::new(move || self.body(policy, budget, name, body)));
        }
        for (profile_name, profile) in &self.profiles {
            let empty_cost = self.cost(policy, profile, &Vec::new());
            let empty_cost = empty_cost.with_context(|| format!("with {profile_name}"))?;
            // A part of another kind of request, such as a status, adds nothing here.
            let empty = self.request(profile, &Vec::new());
            let adds = |part| self.request(profile, &vec![(part, 1)]) != empty;
            let parts: Vec<_> = self.parts.iter().filter(|(_, part)| adds(part)).collect();
            for (index, (one, part)) in parts.iter().enumerate() {
                for (other, second) in parts.iter().skip(index) {
                    let (pair, empty) = ([*part, *second], empty_cost.clone());
                    let name = format!("{one} and {other}, with {profile_name}");
                    jobs.push(Box::new(move || {
                        self.pair(policy, budget, &name, (profile, pair), (&empty, sizes))
                            .with_context(|| format!("in the request: {name}"))
                    }));
                }
            }
        }
        let threads = thread::available_parallelism()?.get();
        thread::scope(|scope| {
            let run = |first: usize| {
                let jobs = jobs.iter().skip(first).step_by(threads);
                jobs.map(|job| job()).collect::<Result<Vec<_>>>()
            };
            let running: Vec<_> = (0..threads)
                .map(|first| scope.spawn(move || run(first)))
                .collect();
            let mut excesses = Vec::new();
            for thread in running {
                let thread = thread.join().map_err(|_| anyhow!("a thread panicked"))?;
                excesses.extend(thread?);
            }
            Ok(excesses)
        })
    }

    fn body(
        &self,
        policy: &MeteredPolicy,
        budget: &RequestBudget,
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
        let cost = self.cost(policy, &profile, &parts.collect::<Result<_>>()?)?;
        let matches = body.patterns * body.parts.values().sum::<usize>();
        let ordinary = budget.of_ordinary_requests();
        let budget = if body.ordinary { &ordinary } else { budget };
        Ok(budget.excesses(name, &cost, u64::try_from(matches)?))
    }

    /// Sends a pair in the first `sizes` series of sizes.
    fn pair(
        &self,
        policy: &MeteredPolicy,
        budget: &RequestBudget,
        name: &str,
        (profile, parts): (&Profile, [&Part; 2]),
        (empty, sizes): (&RequestCost, usize),
    ) -> Result<Vec<String>> {
        let mut excesses = Vec::new();
        for (index, sizes) in SIZES.into_iter().take(sizes).enumerate() {
            let cost = |size| self.cost(policy, profile, &parts.map(|part| (part, size)).into());
            let costs = sizes.map(cost).into_iter().collect::<Result<Vec<_>>>()?;
            for cost in &costs {
                excesses.extend(budget.excesses(name, cost, 0));
            }
            let [first, rest @ ..] = &costs[..] else {
                continue;
            };
            let starts = [if index == 0 { empty } else { first }, first];
            excesses.extend(budget.growth(name, starts, rest));
        }
        Ok(excesses)
    }

    /// Sends a request.
    fn cost(
        &self,
        policy: &MeteredPolicy,
        profile: &Profile,
        parts: &Repeated<'_>,
    ) -> Result<RequestCost> {
        let HostileRequest {
            payload,
            object_bytes,
            answers,
        } = self.request(profile, parts);
        let answered = Arc::new(AtomicU64::new(0));
        let registry = registry(answers, Arc::clone(&answered));
        let (answer, mut cost) = policy.cost(payload.as_bytes(), &registry)?;
        if parts.is_empty() {
            let text = String::from_utf8_lossy(&answer);
            for rule in &profile.rules {
                let entry = format!(r#"\"rule\":\"{rule}\""#);
                ensure!(text.contains(&entry), "{rule} doesn't act: {text}");
            }
        }
        cost.request_bytes += answered.load(Ordering::Relaxed);
        cost.added_bytes = added_bytes(&answer, object_bytes)?;
        Ok(cost)
    }

    fn request(&self, profile: &Profile, parts: &Repeated<'_>) -> HostileRequest {
        let fill = |text: &str| self.filled(text, profile, parts);
        let object = fill(&profile.object);
        let replaced = profile.stored.iter();
        let stored = replaced.fold(object.clone(), |text, (from, to)| text.replace(from, to));
        HostileRequest {
            payload: format!(
                r#"{{"request":{{"uid":"u",{},"object":{object},"oldObject":{stored}}},"settings":{}}}"#,
                fill(&profile.request),
                profile.settings
            ),
            object_bytes: object.len(),
            answers: (profile.answers.iter())
                .map(|(operation, text)| (operation.clone(), fill(text)))
                .collect(),
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
                let Some(text) = part.added.get(slot) else {
                    continue;
                };
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

/// A registry with these answers, by operation. It counts the bytes of its answers.
fn registry(answers: BTreeMap<String, String>, answered: Arc<AtomicU64>) -> Capabilities {
    Arc::new(move |call| {
        let Some(answer) = answers.get(call.operation) else {
            return Err(format!("{} has not been granted access", call.operation));
        };
        answered.fetch_add(
            u64::try_from(answer.len()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
        if answer.starts_with('{') {
            Ok(answer.clone().into_bytes())
        } else {
            Err(answer.clone())
        }
    })
}

impl RequestBudget {
    /// The budget of the requests that nobody made to be expensive.
    pub(super) fn of_ordinary_requests(&self) -> Self {
        Self {
            memory_per_byte: self.memory_per_ordinary_byte,
            ..self.clone()
        }
    }

    /// A sentence for each figure of a request that exceeds the budget.
    pub(super) fn excesses(&self, name: &str, cost: &RequestCost, matches: u64) -> Vec<String> {
        let (bytes, added) = (cost.request_bytes, cost.added_bytes);
        let instructions = self.instructions_per_byte * (bytes + added)
            + self.instructions
            + self.instructions_per_match * matches;
        let memory =
            self.memory_per_byte * bytes + self.memory_per_added_byte * added + self.memory_bytes;
        let figures = [
            (cost.instructions, instructions, "instructions"),
            (cost.memory_bytes, memory, "bytes of memory"),
        ];
        let excesses = figures.into_iter().filter(|(is, most, _)| is > most);
        excesses
            .map(|(is, most, unit)| {
                format!("{name}: {is} {unit} for {bytes} bytes and {added} added ones, at most {most} are allowed")
            })
            .collect()
    }

    /// A sentence if a byte costs too much more in the larger one of two requests.
    fn growth(&self, name: &str, starts: [&RequestCost; 2], two: &[RequestCost]) -> Option<String> {
        let [small, large] = two else { return None };
        let request: fn(&RequestCost) -> u64 = |cost| cost.request_bytes;
        let all: fn(&RequestCost) -> u64 = |cost| cost.request_bytes + cost.added_bytes;
        #[allow(clippy::cast_precision_loss)]
        let of_a_byte =
            |cost: &RequestCost, start: &RequestCost, bytes: fn(&RequestCost) -> u64| {
                let instructions = cost.instructions.saturating_sub(start.instructions);
                instructions as f64 / bytes(cost).saturating_sub(bytes(start)).max(1) as f64
            };
        // The smallest growth counts, because a limit of this policy looks like growth: some bytes are not
        // added any more, or a long name is not in the first ten warnings. A product grows in each way.
        let growths = starts.iter().flat_map(|start| {
            [request, all]
                .map(|bytes| of_a_byte(large, start, bytes) / of_a_byte(small, start, bytes))
        });
        let percent = (growths.fold(f64::INFINITY, f64::min) - 1.0) * 100.0;
        // In a small cost, a single branch is many per cent.
        let is_large = large.instructions > starts[1].instructions + COST_MIN;
        // A smaller request that costs nothing more has passed a limit, for example that of added checks.
        let is_growth = percent.is_finite() && percent > self.growth_percent;
        (is_growth && is_large).then(|| {
            format!(
                "{name}: {} instructions for {} bytes, and {} for {}: a byte costs {percent:.0} % more",
                small.instructions,
                request(small),
                large.instructions,
                request(large),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> RequestBudget {
        RequestBudget {
            instructions_per_byte: 100,
            instructions: 1_000,
            memory_per_byte: 8,
            memory_per_ordinary_byte: 7,
            memory_per_added_byte: 5,
            memory_bytes: 90,
            growth_percent: 20.0,
            instructions_per_match: 7,
        }
    }

    fn cost([request_bytes, added_bytes, instructions, memory_bytes]: [u64; 4]) -> RequestCost {
        RequestCost {
            request_bytes,
            added_bytes,
            instructions,
            memory_bytes,
        }
    }

    #[test]
    fn costs_above_the_budget_are_reported() {
        for (figures, expected) in [
            ([100, 2, 11_207, 900], None),
            (
                [100, 2, 11_208, 900],
                Some("x: 11208 instructions for 100 bytes"),
            ),
            ([100, 2, 11_207, 901], Some("x: 901 bytes of memory")),
        ] {
            let excesses = budget().excesses("x", &cost(figures), 1);
            assert_eq!(excesses.len(), usize::from(expected.is_some()));
            assert!(
                excesses
                    .iter()
                    .all(|one| one.starts_with(expected.unwrap_or_default()))
            );
        }
    }

    #[test]
    fn a_cost_that_grows_faster_than_the_bytes_is_reported() {
        let start = cost([1_000, 0, 500_000, 1]);
        // A byte costs `linear` instructions, and `product` more for each other byte.
        let grows = |linear: u64, product: u64| {
            let of = |bytes: u64| {
                cost([
                    1_000 + bytes,
                    0,
                    500_000 + linear * bytes + product * bytes * bytes,
                    1,
                ])
            };
            budget().growth("x", [&start, &start], &[of(1_000), of(4_000)])
        };
        assert!(grows(1_000, 0).is_none() && grows(10_000, 0).is_none());
        assert!(grows(1_000, 1).is_some_and(|text| text.ends_with("a byte costs 150 % more")));
        assert!(grows(100_000, 1).is_none());
    }

    #[test]
    fn each_part_is_in_a_request_of_some_profile() {
        let requests = HostileRequests::read(&crate::workspace::root()).expect("the file");
        let profiles = requests.profiles.values();
        let empty: Vec<_> = profiles
            .map(|profile| (profile, requests.request(profile, &Vec::new())))
            .collect();
        for (name, part) in &requests.parts {
            let adds = |(profile, empty): &(&Profile, HostileRequest)| {
                requests.request(profile, &vec![(part, 1)]) != *empty
            };
            assert!(empty.iter().any(adds), "{name}");
        }
    }
}
