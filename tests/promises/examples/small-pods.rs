//! Starts all small Pods in all worlds: `make soak`. `EVERY=7` tries every seventh number only, and
//! `JOBS` is the number of processes at the same time.
//!
//! The crate doesn't free what it made for a request, because an instance of the module serves one.
//! So this program starts itself again for each part of the Pods.

use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::small_pods::{FAMILIES, Family, settings, try_pod};
use serde_json::{Value, json};

/// The number of parts of all Pods. A part needs a few hundred MiB.
const PARTS: u64 = 400;
/// How many broken promises of one name are shown for each family.
const SHOWN: usize = 5;
const COUNTS: [&str; 4] = [
    "Pods",
    "Pods that break a promise",
    "Pods with settings",
    "worlds",
];

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

fn main() -> ExitCode {
    let every = number("EVERY").unwrap_or(1).max(1);
    let step = every.saturating_mul(PARTS.div_ceil(every));
    if let Some(part) = number("PART") {
        println!(
            "{}",
            json!(FAMILIES.map(|family| tried(family, part, step)))
        );
        return ExitCode::SUCCESS;
    }
    let sums = Mutex::new(FAMILIES.map(|_| json!({})));
    let next = AtomicU64::new(0);
    let work = || {
        loop {
            let part = next.fetch_add(every, Ordering::Relaxed);
            if part >= step {
                return;
            }
            let program = std::env::current_exe().expect("the path of this program");
            let output = Command::new(program).env("PART", part.to_string()).output();
            let output = output.expect("this program starts again").stdout;
            let tried: Vec<Value> = serde_json::from_slice(&output).expect("the sums of a part");
            let mut sums = sums.lock().expect("no thread panics");
            sums.iter_mut()
                .zip(&tried)
                .for_each(|(sum, tried)| add(sum, tried));
            eprintln!("part {part} of {step}: {}", json!(*sums));
        }
    };
    let jobs = number("JOBS").unwrap_or(2);
    thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    let sums = sums.into_inner().expect("no thread panics");
    for (family, sum) in FAMILIES.iter().zip(&sums) {
        let counts = COUNTS.map(|count| format!("{} {count}", sum[count]));
        println!("{}: {}", family.name, counts.join(", "));
        for (promise, broken) in sum["broken"].as_object().into_iter().flatten() {
            println!("  {promise}: {} times", broken["count"]);
            let shown = broken["shown"].as_array().into_iter().flatten();
            shown
                .filter_map(Value::as_str)
                .for_each(|shown| println!("    {shown}"));
        }
    }
    let is_kept = sums
        .iter()
        .all(|sum| sum[COUNTS[0]] != 0 && sum[COUNTS[1]] == 0);
    if is_kept {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Tries the Pods with every so many numbers.
fn tried(family: Family, first: u64, step: u64) -> Value {
    let settings = settings();
    let mut sum = json!({});
    let step = usize::try_from(step).expect("a number of parts");
    for pod in (first..family.end())
        .step_by(step)
        .filter_map(|number| family.pod(number))
    {
        let (mut worlds, mut broken) = (0, json!({}));
        for settings in &settings {
            let tried = try_pod(&Native, &pod, settings);
            worlds += tried.worlds;
            for (promise, told) in tried.broken {
                let one = json!({"broken": {promise: {"count": 1, "shown": [told]}}});
                add(&mut broken, &one);
            }
        }
        let is_broken = u64::from(broken != json!({}));
        add(
            &mut broken,
            &json!({
                COUNTS[0]: 1, COUNTS[1]: is_broken, COUNTS[2]: settings.len(), COUNTS[3]: worlds,
            }),
        );
        add(&mut sum, &broken);
    }
    sum
}

/// Adds the numbers of `more`, and keeps the shortest texts.
fn add(sum: &mut Value, more: &Value) {
    match more {
        Value::Object(members) => {
            for (key, more) in members {
                add(&mut sum[key], more);
            }
        }
        Value::Array(texts) => {
            let mut all: Vec<Value> = sum.as_array().cloned().unwrap_or_default();
            all.extend(texts.iter().cloned());
            all.sort_by_key(|text| text.as_str().map(str::len));
            all.truncate(SHOWN);
            *sum = all.into();
        }
        _ => *sum = (sum.as_u64().unwrap_or_default() + more.as_u64().unwrap_or_default()).into(),
    }
}
