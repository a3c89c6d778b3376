//! Starts a sample of the small Pods. `make soak` starts all of them.

use consistent_pull_policy_promises::policy::Native;
use consistent_pull_policy_promises::small_pods::{FAMILIES, settings, try_pod};

use crate::number;

/// Every so many numbers are tried. It is a prime, so that the sample has each digit of the
/// numbers.
const EVERY: u64 = 1_999;

#[test]
fn a_sample_of_the_small_pods_starts_as_promised() {
    let settings = settings();
    let mut tried = 0;
    for family in FAMILIES {
        let step = usize::try_from(number("EVERY", EVERY)).expect("a small number");
        for number in (0..family.end()).step_by(step) {
            let Some(pod) = family.pod(number) else {
                continue;
            };
            tried += 1;
            for settings in &settings {
                let broken = try_pod(&Native, &pod, settings).broken;
                let told: Vec<_> = broken
                    .iter()
                    .map(|(name, told)| [*name, told].join("\n    "))
                    .collect();
                assert!(told.is_empty(), "{}", told.join("\n"));
            }
        }
    }
    assert!(tried > 300, "{tried} Pods");
}
