//! Prints random small Pods in random worlds, with what starts and what waits, as lines of JSON:
//! two lines for each Pod, as it comes in and as this policy returns it. `PODS` is the number of
//! Pods, and `SEED` is the seed.

use consistent_pull_policy_promises::cluster_sample::sample;
use consistent_pull_policy_promises::policy::Native;

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn main() -> Result<(), String> {
    for index in 0..number("PODS", 40) {
        for line in sample(&Native, number("SEED", 1), index)? {
            println!("{line}");
        }
    }
    Ok(())
}
