//! Tries the promises with random cases and the built module: `make soak`. (`cargo test` tries them
//! with the crate.)

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Result, ensure};
use clap::Parser as _;
use consistent_pull_policy_promises::policy::{HostCall, Policy};
use consistent_pull_policy_rows::{generator, keeps_promises};
use xtask::host::module::{Capabilities, Module};
use xtask::host::registry::nothing_granted;

/// Tries the promises with the module, on random requests, settings and registries
#[derive(Debug, clap::Parser)]
struct Args {
    /// How many random cases to run
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    cases: u64,
    /// The seed of the random cases; the same seed gives the same cases
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// The first case to run, to continue another run
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: u64,
    /// The number of cases that run at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    jobs: usize,
    /// The module
    #[arg(default_value = "policy.wasm")]
    module: PathBuf,
}

struct ModuleUnderTest(Module);

impl ModuleUnderTest {
    fn call(
        &self,
        host: &Capabilities,
        operation: &str,
        payload: &[u8],
    ) -> Result<Vec<u8>, String> {
        let answer = self.0.call(host, operation, payload);
        answer
            .map(|answer| answer.bytes)
            .map_err(|error| format!("call: {error:#}"))
    }
}

impl Policy for ModuleUnderTest {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        let host: Capabilities =
            Arc::new(move |call| host(call.namespace, call.operation, call.payload));
        self.call(&host, "validate", payload)
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String> {
        self.call(&nothing_granted(), "validate_settings", settings)
    }
}

fn main() -> Result<()> {
    let args = Args::parse();
    let module = ModuleUnderTest(Module::load(&args.module)?);
    let generator = generator()?;
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let end = args.from.saturating_add(args.cases);
    let [next, failures] = [args.from, 0].map(AtomicU64::new);
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end {
                return;
            }
            // A run that is interrupted can be continued from the last of these numbers.
            if number % 10_000 == 0 || number == args.from {
                eprintln!("at --seed {seed} --from {number}");
            }
            if let Err(failure) = keeps_promises(&module, &generator, seed, number) {
                failures.fetch_add(1, Ordering::Relaxed);
                eprintln!("{failure}\n");
            }
        }
    };
    thread::scope(|scope| (0..args.jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
    let failures = failures.into_inner();
    println!("{} cases, {failures} failures", args.cases);
    ensure!(args.cases > 0, "no cases");
    ensure!(failures == 0, "a promise is broken");
    Ok(())
}
