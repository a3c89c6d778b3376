//! The time of a request, compared with the time of a policy that does nothing. The host is built
//! from the waPC crates that policy-server uses.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::host::capabilities::{Capabilities, nothing_granted};
use crate::host::policy_module::PolicyModule;
use crate::host::wasmtime_engine::CompiledModule;

use super::scenarios::Scenario;

/// The least time for which each scenario is measured.
const MEASURED_TIME: Duration = Duration::from_secs(2);

/// The smallest number of samples of each policy in a scenario.
const MIN_SAMPLES: usize = 30;

/// The two modules that are compared.
pub(crate) struct TimedPolicies {
    policy: PolicyModule,
    nothing: PolicyModule,
}

/// The median times of an evaluation. An evaluation serialises the request, starts an instance,
/// calls the guest, parses the answer and makes a patch if the object was changed.
pub(crate) struct MedianTimes {
    /// The time of this policy.
    pub(crate) policy: Duration,
    /// The time of the policy that does nothing, with the same request.
    pub(crate) nothing: Duration,
}

impl TimedPolicies {
    /// Compiles the modules.
    pub(crate) fn new(policy: &[u8], nothing: &[u8]) -> Result<Self> {
        Ok(Self {
            policy: PolicyModule::of(CompiledModule::with_epochs(policy)?),
            nothing: PolicyModule::of(CompiledModule::with_epochs(nothing)?),
        })
    }

    /// Measures a scenario. The modules alternate, so that other load on the machine affects both.
    pub(crate) fn times(&self, scenario: &Scenario) -> Result<MedianTimes> {
        let capabilities = nothing_granted();
        for _ in 0..MIN_SAMPLES / 10 {
            once(&self.policy, &capabilities, scenario)?;
            once(&self.nothing, &capabilities, scenario)?;
        }
        let (mut policy, mut nothing) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while policy.len() < MIN_SAMPLES || begin.elapsed() < MEASURED_TIME {
            policy.push(once(&self.policy, &capabilities, scenario)?);
            nothing.push(once(&self.nothing, &capabilities, scenario)?);
        }
        Ok(MedianTimes {
            policy: median(policy),
            nothing: median(nothing),
        })
    }
}

fn once(
    module: &PolicyModule,
    capabilities: &Capabilities,
    scenario: &Scenario,
) -> Result<Duration> {
    let begin = Instant::now();
    module.evaluate(capabilities, &scenario.settings, &scenario.request)?;
    Ok(begin.elapsed())
}

fn median(mut samples: Vec<Duration>) -> Duration {
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_sample_in_the_middle() {
        let samples = [9, 1, 2].map(Duration::from_secs).to_vec();
        assert_eq!(median(samples), Duration::from_secs(2));
        assert_eq!(median(Vec::new()), Duration::ZERO);
    }
}
