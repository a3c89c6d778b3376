//! Starts all small Pods in all worlds: `make soak`. `EVERY=7` tries every seventh Pod only, and
//! `JOBS` is the number of threads.

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::promises::broken_starts;
use consistent_pull_policy_promises::small_pods::{
    Choices, FAMILIES, Family, case, settings, small_pod,
};

fn number(variable: &str, default: usize) -> usize {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The numbers of Pods with settings, of worlds and of broken promises.
type Counts = [AtomicUsize; 3];

/// Starts every so many-th Pod, from the first one on.
fn try_pods(family: Family, first: usize, every: usize, counts: &Counts) {
    let mut choices = Choices::default();
    for number in 0.. {
        let pod = small_pod(family, &mut |count| choices.choose(count));
        if number % every == first && family.has(&pod) {
            for settings in settings(&pod) {
                let case = case(&pod, &settings);
                let problems = match broken_starts(&Native, &case) {
                    Ok((broken, worlds, _)) => {
                        counts[1].fetch_add(worlds, Ordering::Relaxed);
                        broken.iter().map(|one| format!("{one:?}")).collect()
                    }
                    Err(problem) => vec![problem],
                };
                counts[0].fetch_add(1, Ordering::Relaxed);
                counts[2].fetch_add(problems.len(), Ordering::Relaxed);
                for problem in problems {
                    println!("{problem}\n    {pod}\n    {settings}");
                }
            }
        }
        if !choices.advance() {
            return;
        }
    }
}

fn main() -> ExitCode {
    let (every, jobs) = (number("EVERY", 1).max(1), number("JOBS", 2));
    let mut is_kept = true;
    for family in FAMILIES {
        let counts = Counts::default();
        thread::scope(|scope| {
            for job in 0..jobs {
                let counts = &counts;
                scope.spawn(move || try_pods(family, job * every, every * jobs, counts));
            }
        });
        let [pods, worlds, broken] = counts.map(AtomicUsize::into_inner);
        let name = family.name;
        println!("{name}: {pods} Pods with settings, {worlds} worlds, {broken} broken promises");
        // A family without Pods proves nothing.
        is_kept &= broken == 0 && pods > 0;
    }
    ExitCode::from(u8::from(!is_kept))
}
