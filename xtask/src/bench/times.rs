//! Times, in the host that policy-server has, against a policy that does nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::host::{Capabilities, Engine, Module, nothing_granted};

use super::scenarios::Scenario;

/// Each scenario is measured for so long.
const EFFORT: Duration = Duration::from_secs(2);

/// And at least so often.
const LEAST: usize = 30;

/// The modules that are compared.
pub(crate) struct Clocked {
    policy: Module,
    nothing: Module,
}

/// Medians of the whole evaluation: the request serialised, a fresh instance, the guest, the answer
/// parsed, the patch made.
pub(crate) struct Times {
    /// Of the policy.
    pub(crate) policy: Duration,
    /// Of the policy that does nothing, given the same request.
    pub(crate) nothing: Duration,
}

impl Clocked {
    /// Compiles the modules, with the interruption of slow policies that policy-server has.
    pub(crate) fn new(policy: &[u8], nothing: &[u8]) -> Result<Self> {
        let time_limit = Some(Duration::from_secs(2));
        Ok(Self {
            policy: Module::new(policy, Engine::Compiler, time_limit)?,
            nothing: Module::new(nothing, Engine::Compiler, time_limit)?,
        })
    }

    /// Measures a scenario. The two take turns, so that a busy moment befalls both.
    pub(crate) fn times(&self, scenario: &Scenario) -> Result<Times> {
        let capabilities = nothing_granted();
        for _ in 0..LEAST / 10 {
            once(&self.policy, &capabilities, scenario)?;
            once(&self.nothing, &capabilities, scenario)?;
        }
        let (mut policy, mut nothing) = (Vec::new(), Vec::new());
        let begin = Instant::now();
        while policy.len() < LEAST || begin.elapsed() < EFFORT {
            policy.push(once(&self.policy, &capabilities, scenario)?);
            nothing.push(once(&self.nothing, &capabilities, scenario)?);
        }
        Ok(Times {
            policy: median(policy),
            nothing: median(nothing),
        })
    }
}

fn once(
    module: &Module,
    capabilities: &Arc<dyn Capabilities>,
    scenario: &Scenario,
) -> Result<Duration> {
    let begin = Instant::now();
    let response = module.evaluate(capabilities, &scenario.settings, &scenario.request)?;
    let elapsed = begin.elapsed();
    let failed = response.status.and_then(|status| status.code) == Some(500);
    ensure!(!failed, "{}: the policy failed", scenario.title());
    Ok(elapsed)
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
