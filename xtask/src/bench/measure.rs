//! The measuring itself: instructions in one pass, time in another.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::host::capabilities::HostFunctions;
use crate::host::response::{AdmissionResponse, ValidationResponse};
use crate::host::{Engine, Module, SettingsValidation};

use super::guest::{Guest, Meter};
use super::profile::Profiler;
use super::scenarios::{Question, Scenario};

/// policy-server's limit. It is never reached; that there is one makes the guest check the clock.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// What is the same in every run with the same module.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Exact {
    /// Of the payload that the guest gets.
    pub(crate) request_bytes: u64,
    /// Of the guest's answer.
    pub(crate) answer_bytes: u64,
    /// Of the start and the call.
    pub(crate) instructions: u64,
    /// Of these, the start's.
    pub(crate) start_instructions: u64,
    /// By `memory.copy` and `memory.fill`, which count as one instruction however long they are.
    pub(crate) moved_bytes: u64,
    /// The linear memory's peak.
    pub(crate) memory_bytes: u64,
}

/// Counts a scenario's instructions, and makes sure that it is the scenario that it says it is.
pub(crate) fn exact(
    profiler: &Profiler,
    functions: &Arc<HostFunctions>,
    scenario: &Scenario,
) -> Result<Exact> {
    let payload = scenario.payload()?;
    let profile = profiler.call(functions, scenario.operation(), &payload)?;
    scenario.check(&profile.call.answer)?;
    Ok(Exact {
        request_bytes: u64::try_from(payload.len())?,
        answer_bytes: u64::try_from(profile.call.answer.len())?,
        instructions: profile.call.fuel(),
        start_instructions: profile.call.fuel_of_start,
        moved_bytes: profile.moved,
        memory_bytes: profile.call.memory,
    })
}

/// Durations in microseconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Quantiles {
    /// Half of the samples took at most so long.
    pub(crate) median: f64,
    /// Ninety-nine of a hundred did.
    pub(crate) p99: f64,
}

impl Quantiles {
    fn of(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let at = |percent: usize| {
            let rank = (samples.len() * percent).div_ceil(100).saturating_sub(1);
            samples
                .get(rank)
                .map_or(0.0, |sample| (sample.as_secs_f64() * 1e7).round() / 10.0)
        };
        Self {
            median: at(50),
            p99: at(99),
        }
    }
}

/// How long a scenario takes.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Times {
    /// How often each was measured.
    pub(crate) samples: usize,
    /// The whole evaluation: the request serialised, a fresh instance, the guest, the answer parsed,
    /// the patch made.
    pub(crate) whole: Quantiles,
    /// The same with the SDK's policy that does nothing.
    pub(crate) nothing: Quantiles,
    /// The same with waPC's.
    pub(crate) nothing_wapc: Quantiles,
    /// The guest's part alone: its function, without the instance's making.
    pub(crate) guest: Quantiles,
    /// The host's part once the guest has answered: the answer parsed, the patch made. A policy that
    /// gave the same answer for nothing would still cost that much more than one that does nothing.
    pub(crate) answer: Quantiles,
    /// Of the medians of `whole` and `nothing`.
    pub(crate) ratio: f64,
}

/// The modules that are compared.
pub(crate) struct Clocked {
    /// Its clock stops when it goes.
    _engine: Engine,
    policy: Module,
    guest: Guest,
    nothing: Module,
    nothing_wapc: Module,
}

/// How much time a scenario gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    time: Duration,
    least: usize,
    most: usize,
}

impl Effort {
    /// Enough for figures that can be written down.
    pub(crate) const FULL: Self = Self {
        time: Duration::from_secs(2),
        least: 100,
        most: 2_000,
    };
    /// Enough to see what is going on.
    pub(crate) const QUICK: Self = Self {
        time: Duration::from_millis(200),
        least: 20,
        most: 200,
    };
}

impl Clocked {
    /// Compiles the modules.
    pub(crate) fn new(policy: &[u8], nothing: &[u8], nothing_wapc: &[u8]) -> Result<Self> {
        let engine = Engine::new(Some(TIME_LIMIT))?;
        Ok(Self {
            policy: Module::new(&engine, policy)?,
            guest: Guest::new(policy, Meter::Time)?,
            nothing: Module::new(&engine, nothing)?,
            nothing_wapc: Module::new(&engine, nothing_wapc)?,
            _engine: engine,
        })
    }

    /// Measures a scenario. The modules take turns, so that what else the machine does befalls all of
    /// them alike.
    pub(crate) fn times(
        &self,
        functions: &Arc<HostFunctions>,
        scenario: &Scenario,
        effort: Effort,
    ) -> Result<Times> {
        let payload = scenario.payload()?;
        let guest = || {
            self.guest
                .call(functions, (), scenario.operation(), &payload)
        };
        let text = guest()?.answer;
        let whole = |module: &Module| whole(module, functions, scenario);
        let modules = [&self.policy, &self.nothing, &self.nothing_wapc];
        for _ in 0..effort.least / 10 {
            for module in modules {
                whole(module)?;
            }
            guest()?;
        }
        let mut samples: [Vec<Duration>; 5] = Default::default();
        let [of_policy, of_nothing, of_wapc, of_guest, of_answer] = &mut samples;
        let begin = Instant::now();
        while of_policy.len() < effort.least
            || (of_policy.len() < effort.most && begin.elapsed() < effort.time)
        {
            of_policy.push(whole(&self.policy)?);
            of_nothing.push(whole(&self.nothing)?);
            of_wapc.push(whole(&self.nothing_wapc)?);
            of_guest.push(guest()?.elapsed);
            of_answer.push(read_answer(scenario, &text)?);
        }
        let count = of_policy.len();
        let [whole, nothing, nothing_wapc, guest, answer] = samples.map(Quantiles::of);
        Ok(Times {
            samples: count,
            whole,
            nothing,
            nothing_wapc,
            guest,
            answer,
            ratio: (whole.median / nothing.median * 100.0).round() / 100.0,
        })
    }
}

/// What the host does with an answer, as [`Module::evaluate`] does it.
fn read_answer(scenario: &Scenario, text: &[u8]) -> Result<Duration> {
    let begin = Instant::now();
    match &scenario.question {
        Question::Request(request, _) => {
            let answer: ValidationResponse =
                serde_json::from_slice(text).context("the answer is no answer")?;
            let uid = request.uid.clone();
            black_box(AdmissionResponse::new(uid, request.object.as_ref(), answer));
        }
        Question::Settings => {
            let answer: SettingsValidation =
                serde_json::from_slice(text).context("the answer is no answer")?;
            black_box(answer);
        }
    }
    Ok(begin.elapsed())
}

fn whole(module: &Module, functions: &Arc<HostFunctions>, scenario: &Scenario) -> Result<Duration> {
    match &scenario.question {
        Question::Request(request, _) => {
            let evaluation = module.evaluate(functions, &scenario.settings, request)?;
            let code = evaluation
                .response
                .status
                .as_ref()
                .and_then(|status| status.code);
            if code == Some(500) {
                bail!("scenario {}: the policy failed", scenario.name);
            }
            Ok(evaluation.elapsed)
        }
        Question::Settings => {
            let begin = Instant::now();
            let validation = module.validate_settings(functions, &scenario.settings)?;
            if !validation.valid {
                bail!("scenario {}: the settings are refused", scenario.name);
            }
            Ok(begin.elapsed())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_samples() {
        let samples = (1..=200).rev().map(Duration::from_micros).collect();
        let quantiles = Quantiles::of(samples);
        assert!((quantiles.median - 100.0).abs() < 1e-6, "{quantiles:?}");
        assert!((quantiles.p99 - 198.0).abs() < 1e-6, "{quantiles:?}");
        let one = Quantiles::of(vec![Duration::from_micros(7)]);
        assert!((one.median - one.p99).abs() < 1e-6);
        assert!(Quantiles::of(Vec::new()).median.abs() < 1e-6);
    }
}
