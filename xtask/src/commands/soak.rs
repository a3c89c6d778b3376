//! `cargo xtask soak`: compares the module with the specification in `spec/`. The cases are random cases, all
//! cases of small sets (such as all Pods with few containers), or the evaluations of the end-to-end tests.

mod transcripts;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use consistent_pull_policy_spec::differential::{HostCall, Policy, check, check_number};
use consistent_pull_policy_spec::generate::Case;
use consistent_pull_policy_spec::spaces;
use serde_json::json;

use crate::host::capabilities::Capabilities;
use crate::host::policy_module::{Engine, PolicyModule};
use crate::workspace::{POLICY, module_or};

/// Compares the module with the specification, on random requests, settings and registries
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many random cases to run
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    cases: u64,
    /// The seed of the random cases; the same seed gives the same cases
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// The first case to run, to continue another run
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: u64,
    /// Runs every case of the small spaces instead: Pods with at most this number of containers
    #[arg(long, value_name = "CONTAINERS")]
    spaces: Option<u32>,
    /// Checks the evaluations that `make e2e-tests` wrote to a directory instead
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "spaces")]
    transcripts: Option<PathBuf>,
    /// The number of cases that run at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    jobs: usize,
    /// The module to run, instead of policy.wasm
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
}

struct ModuleUnderTest(PolicyModule);

impl Policy for ModuleUnderTest {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        let capabilities: Capabilities =
            Arc::new(move |call| host(call.namespace, call.operation, call.payload));
        self.0
            .validate(&capabilities, payload)
            .map_err(|error| format!("call: {error}"))
    }

    fn validate_settings(&self, settings: &[u8]) -> Result<Vec<u8>, String> {
        self.0
            .validate_settings(settings)
            .map_err(|error| format!("call: {error}"))
    }
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let path = module_or(args.module.as_deref(), POLICY)?;
    let module = ModuleUnderTest(PolicyModule::load(&path, Engine::Compiler)?);
    if let Some(directory) = &args.transcripts {
        let rows = transcripts::rows(directory)?;
        return compare(args.jobs, usize::MAX, rows.into_iter(), |row| {
            transcripts::check(&module, &row)
        });
    }
    if let Some(containers) = args.spaces {
        let cases = small_spaces(containers);
        return compare(args.jobs, 1, cases, |case| Ok(check(&module, &case)?));
    }
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let numbers = args.from..args.from.saturating_add(args.cases);
    // A run that is interrupted can be continued from the last of these numbers.
    let numbers = numbers.inspect(|number| {
        if number % 10_000 == 0 || *number == args.from {
            eprintln!("at --seed {seed} --from {number}");
        }
    });
    compare(args.jobs, 1, numbers, |number| {
        let checked = check_number(&module, seed, number);
        checked.with_context(|| format!("--seed {seed} --from {number} --cases 1"))
    })
}

/// Compares cases in as many threads as `jobs` says, until there are no more cases or `most` differences. Prints
/// each difference, and the number of cases.
fn compare<T>(
    jobs: usize,
    most: usize,
    cases: impl Iterator<Item = T> + Send,
    compare: impl Fn(T) -> Result<()> + Sync,
) -> Result<()> {
    let cases = Mutex::new(cases);
    let [count, differences] = [0, 0].map(AtomicUsize::new);
    let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while differences.load(Ordering::Relaxed) < most
            && let Some(case) = next()
        {
            count.fetch_add(1, Ordering::Relaxed);
            if let Err(difference) = compare(case) {
                differences.fetch_add(1, Ordering::Relaxed);
                eprintln!("{difference:#}\n");
            }
        }
    };
    thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(work))));
    let (count, differences) = (count.into_inner(), differences.into_inner());
    println!("{count} cases, {differences} differences");
    ensure!(count > 0, "no cases");
    ensure!(
        differences == 0,
        "specification and module differ, or a promise is broken"
    );
    Ok(())
}

fn small_spaces(containers: u32) -> Box<dyn Iterator<Item = Case> + Send> {
    let settings = [
        json!({}),
        json!({"pullOnce": false}),
        json!({"imageChecks": {"coverage": "Fix"}}),
        json!({"mode": "Reject", "imageChecks": {"coverage": "Reject", "everyPod": true}}),
    ];
    let pods = settings.into_iter().flat_map(move |settings| {
        (1..=containers).flat_map(move |count| spaces::pods(count, &settings))
    });
    let images = spaces::images(
        &['a', 'F', '0', '.', ':', '/', '@', '-', '_', '[', ']', ' '],
        // Texts of up to five characters take half a minute. The tests of a commit use `--spaces 1`, and
        // half a minute is too long for them.
        if containers == 1 { 4 } else { 5 },
    );
    Box::new(spaces::globs(6).chain(images).chain(pods))
}
