//! Starts all small Pods in all worlds: `make soak`. `EVERY=7` tries every seventh number only, `JOBS` is the number of threads.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::small_pods::{FAMILIES, Family, settings, try_pod};
use serde_json::Value;

/// How many broken promises of one name are shown for each family.
const SHOWN: usize = 5;

#[derive(Debug, Default)]
struct Sum {
    pods: u64,
    evaluations: u64,
    worlds: u64,
    /// The number of Pods and settings that break each promise, and the first of them.
    broken: BTreeMap<&'static str, (u64, Vec<String>)>,
    broken_pods: u64,
}

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() -> ExitCode {
    let (every, from, jobs) = (number("EVERY", 1), number("FROM", 0), number("JOBS", 2));
    let settings = settings();
    let mut is_kept = true;
    for family in FAMILIES {
        let sum = tried(family, &settings, from, every, jobs);
        println!(
            "{}: {} Pods, {} with each of the settings, {} worlds",
            family.name, sum.pods, sum.evaluations, sum.worlds
        );
        for (promise, (count, shown)) in &sum.broken {
            println!("{promise}: {count} times\n  {}", shown.join("\n  "));
        }
        println!("{} Pods break a promise\n", sum.broken_pods);
        is_kept &= sum.broken_pods == 0 && sum.pods > 0;
    }
    if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tried(family: Family, settings: &[Value], from: u64, every: u64, jobs: u64) -> Sum {
    let (next, sum) = (AtomicU64::new(from), Mutex::new(Sum::default()));
    let work = || {
        let mut own = Sum::default();
        loop {
            let number = next.fetch_add(every, Ordering::Relaxed);
            if number >= family.end() {
                break;
            }
            if let Some(pod) = family.pod(number) {
                own.pods += 1;
                let mut is_broken = false;
                for settings in settings {
                    let tried = try_pod(&Native, &pod, settings);
                    own.evaluations += 1;
                    own.worlds += tried.worlds;
                    for (promise, told) in tried.broken {
                        is_broken = true;
                        let (count, shown) = own.broken.entry(promise).or_default();
                        *count += 1;
                        shown.push(told);
                        shown.sort_by_key(String::len);
                        shown.truncate(SHOWN);
                    }
                }
                own.broken_pods += u64::from(is_broken);
            }
        }
        let mut sum = sum.lock().expect("no thread panics");
        sum.pods += own.pods;
        sum.evaluations += own.evaluations;
        sum.worlds += own.worlds;
        sum.broken_pods += own.broken_pods;
        for (promise, (count, more)) in own.broken {
            let (all, shown) = sum.broken.entry(promise).or_default();
            *all += count;
            shown.extend(more);
            shown.sort_by_key(String::len);
            shown.truncate(SHOWN);
        }
    };
    thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
    sum.into_inner().expect("no thread panics")
}
