//! Starts all small Pods in all worlds: `make soak`. `EVERY=7` tries every seventh Pod only, and
//! `JOBS` is the number of threads.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::small_pods::{FAMILIES, settings, try_pod};

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() -> ExitCode {
    let (every, jobs) = (number("EVERY", 1).max(1), number("JOBS", 2));
    let settings = settings();
    let mut all_broken = 0;
    for family in FAMILIES {
        let [next, pods, worlds, broken] = [(); 4].map(|()| AtomicU64::new(0));
        let work = || {
            while let number = next.fetch_add(every, Ordering::Relaxed)
                && number < family.end()
            {
                let Some(pod) = family.pod(number) else {
                    continue;
                };
                pods.fetch_add(1, Ordering::Relaxed);
                for settings in &settings {
                    let tried = try_pod(&Native, &pod, settings);
                    worlds.fetch_add(tried.worlds, Ordering::Relaxed);
                    for (promise, told) in tried.broken {
                        broken.fetch_add(1, Ordering::Relaxed);
                        println!("{promise}\n    {told}");
                    }
                }
            }
        };
        thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
        let [pods, worlds, broken] = [pods, worlds, broken].map(AtomicU64::into_inner);
        println!(
            "{}: {pods} Pods, each under {} settings, {worlds} worlds, {broken} broken promises",
            family.name,
            settings.len()
        );
        // A family without Pods proves nothing.
        all_broken += broken + u64::from(pods == 0);
    }
    ExitCode::from(u8::from(all_broken > 0))
}
