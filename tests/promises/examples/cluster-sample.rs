//! Prints random small Pods in random worlds, with what starts and what waits, as lines of JSON:
//! two lines for each Pod, as it comes in and as this policy returns it. `cluster-sample 40 1`
//! prints 40 Pods of the seed 1.

use consistent_pull_policy_promises::cluster_sample::sample;
use consistent_pull_policy_promises::policy::Native;

fn main() -> Result<(), String> {
    let mut numbers = std::env::args()
        .skip(1)
        .map(|text| text.parse().unwrap_or(0));
    let [pods, seed] = [(); 2].map(|()| numbers.next().unwrap_or(0));
    for number in 0..pods {
        for line in sample(&Native, seed, number)? {
            println!("{line}");
        }
    }
    Ok(())
}
