//! `cargo xtask soak`: runs the module against the specification in `spec/`, on random cases or on
//! small spaces as a whole.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use anyhow::{Result, bail};
use consistent_pull_policy_spec::differential::{
    Difference, HostCall, Policy, check, check_number, write,
};
use consistent_pull_policy_spec::generate::Case;
use consistent_pull_policy_spec::spaces;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use crate::host::{Capabilities, Engine, Module};
use crate::workspace::{self, POLICY};

/// Runs the module against the specification, with random requests, settings and registries
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many random cases to run
    #[arg(long, value_name = "NUMBER", default_value_t = 100_000)]
    cases: u64,
    /// What the cases are made from; the same seed gives the same cases
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// The first case to run, to go on where another run ended
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    from: u64,
    /// Runs every case of the small spaces instead: Pods of up to so many containers
    #[arg(long, value_name = "CONTAINERS")]
    spaces: Option<u32>,
    /// How many differences to look for before giving up
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    differences: usize,
    /// How many cases to run at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    jobs: usize,
    /// Where differences are written
    #[arg(long, value_name = "DIRECTORY", default_value = "target/differences")]
    output: PathBuf,
    /// The module to run, instead of policy.wasm
    #[arg(long, value_name = "PATH")]
    module: Option<PathBuf>,
}

struct Subject(Module);

impl Policy for Subject {
    fn validate(&self, payload: &[u8], host: Arc<HostCall>) -> Result<Vec<u8>, String> {
        let capabilities: Arc<dyn Capabilities> = Arc::new(
            move |_: &str, namespace: &str, operation: &str, payload: &[u8]| {
                host(namespace, operation, payload)
            },
        );
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

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let path = args
        .module
        .clone()
        .unwrap_or_else(|| workspace::root().join(POLICY));
    let subject = Subject(Module::load(&path, Engine::Compiler, None)?);
    match args.spaces {
        Some(containers) => {
            let cases = small_spaces(containers);
            let bar = progress(cases.size_hint().0 as u64);
            let mut found = 0;
            for case in cases {
                bar.inc(1);
                if let Err(difference) = check(&subject, &case) {
                    tell(args, &bar, found, &difference)?;
                    found += 1;
                    if found == args.differences {
                        break;
                    }
                }
            }
            end(found, &bar, "")
        }
        None => random(args, &subject),
    }
}

fn random(args: &Args, subject: &Subject) -> Result<()> {
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let bar = progress(args.cases);
    bar.suspend(|| eprintln!("seed {seed}"));
    let (next, found) = (AtomicU64::new(args.from), AtomicUsize::new(0));
    let last = args.from.saturating_add(args.cases);
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= last || found.load(Ordering::Relaxed) >= args.differences {
                    return Ok(());
                }
                if let Err(difference) = check_number(subject, seed, number) {
                    let index = found.fetch_add(1, Ordering::Relaxed);
                    bar.suspend(|| eprintln!("case {number}"));
                    tell(args, &bar, index, &difference)?;
                }
                bar.inc(1);
            }
        };
        let threads: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked")))
    })?;
    let reached = next.load(Ordering::Relaxed).min(last);
    end(
        found.load(Ordering::Relaxed),
        &bar,
        &format!(", seed {seed}; go on with --seed {seed} --from {reached}"),
    )
}

fn small_spaces(containers: u32) -> Box<dyn Iterator<Item = Case>> {
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
        4,
    );
    Box::new(spaces::globs(6).chain(images).chain(pods))
}

fn progress(cases: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} {per_sec} {eta}");
    let bar = ProgressBar::new(cases);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn tell(args: &Args, bar: &ProgressBar, index: usize, difference: &Difference) -> Result<()> {
    let directory = args.output.join(index.to_string());
    let review = write(difference, &directory)?;
    let at = |name: &str| directory.join(name).display().to_string();
    bar.suspend(|| {
        eprintln!(
            "{}\ncargo xtask run --request-path {} --settings-path {} \\\n  \
             --replay-host-capabilities-interactions {} annotated-policy.wasm\n",
            difference.lines.join("\n"),
            review.display(),
            at("settings.json"),
            at("session.yml"),
        );
    });
    Ok(())
}

fn end(found: usize, bar: &ProgressBar, how: &str) -> Result<()> {
    let cases = bar.position();
    bar.finish_and_clear();
    println!("{cases} cases, {found} differences{how}");
    if found > 0 {
        bail!("specification and module differ");
    }
    Ok(())
}
