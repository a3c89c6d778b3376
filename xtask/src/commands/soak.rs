//! `cargo xtask soak`: compares the module with the specification in `spec/`. The cases are random cases, all
//! cases of small sets (such as all Pods with few containers), or the evaluations of the end-to-end tests.

mod transcripts;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, bail, ensure};
use consistent_pull_policy_spec::differential::{
    Difference, HostCall, Policy, check, check_number, write,
};
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
    let subject = ModuleUnderTest(PolicyModule::load(&path, Engine::Compiler)?);
    if let Some(directory) = &args.transcripts {
        return transcripts::compare(directory, &subject, args.jobs);
    }
    match args.spaces {
        Some(containers) => compare_small_spaces(args, &subject, containers),
        None => compare_random_cases(args, &subject),
    }
}

/// Compares cases in as many threads as the arguments ask for, until `next` has no more cases or
/// until a difference is found. Prints the number of cases, and then `note`.
fn compare<T>(
    jobs: usize,
    note: &dyn Fn() -> String,
    next: impl Fn() -> Option<T> + Sync,
    compare: impl Fn(T) -> Result<(), Box<Difference>> + Sync,
) -> Result<()> {
    let (cases, differ) = (AtomicU64::new(0), AtomicBool::new(false));
    let work = || -> Result<()> {
        while !differ.load(Ordering::Relaxed)
            && let Some(case) = next()
        {
            if let Err(difference) = compare(case) {
                differ.store(true, Ordering::Relaxed);
                report(&difference)?;
            }
            cases.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    };
    in_threads(jobs, work)?;
    let differ = differ.into_inner();
    let outcome = if differ {
        "a difference"
    } else {
        "no difference"
    };
    println!("{} cases, {outcome}{}", cases.into_inner(), note());
    ensure!(!differ, "specification and module differ");
    Ok(())
}

/// Runs `work` in `jobs` threads, and returns the result of each thread.
fn in_threads<T: Send>(jobs: usize, work: impl Fn() -> Result<T> + Sync) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(&work)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked")))
            .collect()
    })
}

fn compare_small_spaces(args: &Args, subject: &ModuleUnderTest, containers: u32) -> Result<()> {
    let cases = Mutex::new(small_spaces(containers));
    let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).next();
    compare(args.jobs, &String::new, next, |case| check(subject, &case))
}

fn compare_random_cases(args: &Args, subject: &ModuleUnderTest) -> Result<()> {
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    eprintln!("seed {seed}");
    let (first, last) = (
        AtomicU64::new(args.from),
        args.from.saturating_add(args.cases),
    );
    let next = || {
        let number = first.fetch_add(1, Ordering::Relaxed);
        // A run that is interrupted can be continued from this number.
        if number % 10_000 == 0 {
            eprintln!("at --from {number}");
        }
        (number < last).then_some(number)
    };
    let note = || {
        let reached = first.load(Ordering::Relaxed).min(last);
        format!(", seed {seed}; continue with --seed {seed} --from {reached}")
    };
    compare(args.jobs, &note, next, |number| {
        check_number(subject, seed, number).inspect_err(|_| eprintln!("case {number}"))
    })
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

/// Prints a difference, and the command that shows it again.
fn report(difference: &Difference) -> Result<()> {
    let directory = Path::new("target/differences");
    let review = write(difference, directory)?;
    eprintln!(
        "{}\ncargo xtask run --request-path {} --settings-path {} \\\n  \
         --replay-host-capabilities-interactions {} annotated-policy.wasm\n",
        difference.lines.join("\n"),
        review.display(),
        directory.join("settings.json").display(),
        directory.join("session.yml").display(),
    );
    Ok(())
}
