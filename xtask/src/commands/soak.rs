//! `cargo xtask soak`: compares the module with the specification in `spec/`. The cases are random cases, all
//! cases of small sets (such as all Pods with few containers), or the evaluations of the end-to-end tests.
//! `--load` is a load test instead.

mod transcripts;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use consistent_pull_policy_spec::differential::{
    Difference, HostCall, Policy, check, check_number, write,
};
use consistent_pull_policy_spec::generate::{Case, bytes, case};
use consistent_pull_policy_spec::spaces;
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::host::capabilities::{Capabilities, nothing_granted};
use crate::host::policy_module::{Engine, PolicyModule};
use crate::host::registry_client::runtime;
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
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["spaces", "load"])]
    transcripts: Option<PathBuf>,
    /// Sends mixed reviews for this time instead, and measures errors, latency and memory
    #[arg(long, value_name = "SECONDS", conflicts_with = "spaces")]
    load: Option<u64>,
    /// With --load: the address of a policy in a policy-server, instead of the embedded host
    #[arg(long, value_name = "URL", requires = "load")]
    server: Option<String>,
    /// Ends after this number of differences
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    differences: usize,
    /// The number of cases that run at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    jobs: usize,
    /// The directory for differences
    #[arg(long, value_name = "DIRECTORY", default_value = "target/differences")]
    output: PathBuf,
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
    if let Some(seconds) = args.load {
        return load(args, &subject.0, Duration::from_secs(seconds));
    }
    match args.spaces {
        Some(containers) => compare_small_spaces(args, &subject, containers),
        None => compare_random_cases(args, &subject),
    }
}

/// Compares cases in as many threads as the arguments ask for, until `next` has no more cases or
/// until enough differences are found. Prints the number of cases and differences, and then `note`.
fn compare<T>(
    args: &Args,
    bar: &ProgressBar,
    note: &dyn Fn() -> String,
    next: impl Fn() -> Option<T> + Sync,
    compare: impl Fn(T) -> Result<(), Box<Difference>> + Sync,
) -> Result<()> {
    let found = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while found.load(Ordering::Relaxed) < args.differences
            && let Some(case) = next()
        {
            if let Err(difference) = compare(case) {
                let index = found.fetch_add(1, Ordering::Relaxed);
                report(args, bar, index, &difference)?;
            }
            bar.inc(1);
        }
        Ok(())
    };
    in_threads(args.jobs, work)?;
    let (cases, found) = (bar.position(), found.into_inner());
    bar.finish_and_clear();
    println!("{cases} cases, {found} differences{}", note());
    ensure!(found == 0, "specification and module differ");
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
    let cases = small_spaces(containers);
    let bar = progress(cases.size_hint().0 as u64);
    let cases = Mutex::new(cases);
    let next = || cases.lock().unwrap_or_else(PoisonError::into_inner).next();
    compare(args, &bar, &String::new, next, |case| check(subject, &case))
}

fn compare_random_cases(args: &Args, subject: &ModuleUnderTest) -> Result<()> {
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let bar = progress(args.cases);
    bar.suspend(|| eprintln!("seed {seed}"));
    let (first, last) = (
        AtomicU64::new(args.from),
        args.from.saturating_add(args.cases),
    );
    let next = || {
        let number = first.fetch_add(1, Ordering::Relaxed);
        // Without a progress bar, the log gets a number from which the run can be continued.
        if bar.is_hidden() && number % 10_000 == 0 {
            eprintln!("at --from {number}");
        }
        (number < last).then_some(number)
    };
    let note = || {
        let reached = first.load(Ordering::Relaxed).min(last);
        format!(", seed {seed}; continue with --seed {seed} --from {reached}")
    };
    compare(args, &bar, &note, next, |number| {
        check_number(subject, seed, number)
            .inspect_err(|_| bar.suspend(|| eprintln!("case {number}")))
    })
}

/// Sends random reviews for `time`, to the server or else to `module`, and prints the latency of the
/// answers. Fails if a review gets no answer, or if this process's memory grows too much without a server.
fn load(args: &Args, module: &PolicyModule, time: Duration) -> Result<()> {
    const BYTES_PER_KIB: u64 = 1024;
    let seed = args.seed.unwrap_or(1);
    let server = args.server.as_deref().map(Server::new).transpose()?;
    let (start, mut latencies) = (Instant::now(), Vec::new());
    let (mut memory_before, mut refused) = (None, 0_u64);
    for number in args.from.. {
        if start.elapsed() >= time {
            break;
        }
        let case = case(&bytes(seed, number));
        let sent = Instant::now();
        let is_answered = if let Some(server) = &server {
            let answer = server
                .review(&case.review())
                .with_context(|| format!("seed {seed}, case {number}"))?;
            let Some(answer) = answer else {
                refused += 1;
                continue;
            };
            answer["response"]["allowed"].is_boolean()
        } else {
            let payload = json!({"request": case.request, "settings": case.settings});
            let answer = module
                .validate(&nothing_granted(), payload.to_string().as_bytes())
                .with_context(|| format!("seed {seed}, case {number}"))?;
            serde_json::from_slice::<Value>(&answer)?["accepted"].is_boolean()
        };
        latencies.push(u32::try_from(sent.elapsed().as_micros()).unwrap_or(u32::MAX));
        if !is_answered {
            bail!("seed {seed}, case {number}: no answer");
        }
        // By now, the memory that is needed only once has been allocated. So it doesn't count as growth.
        if number == args.from + WARM_UP_REQUESTS {
            memory_before = memory();
        }
    }
    let requests = latencies.len();
    if requests == 0 {
        bail!("no request was sent");
    }
    latencies.sort_unstable();
    let at = |percent: usize| latencies[(requests * percent / 100).min(requests - 1)];
    println!(
        "{requests} requests, no error, seed {seed}; latency in µs: p50 {}, p99 {}, most {}",
        at(50),
        at(99),
        at(100)
    );
    if server.is_some() {
        println!("{refused} more reviews were refused by policy-server itself");
    }
    // This is the memory of this process. hack/load-test.sh prints the memory of a policy-server.
    if let (None, Some(before), Some(after)) = (&server, memory_before, memory()) {
        let own = std::mem::size_of_val(&latencies[..]) as u64 / BYTES_PER_KIB;
        println!("memory: {before} KiB after {WARM_UP_REQUESTS} requests, {after} KiB at the end");
        if after > before + own + MAX_GROWTH_KIB {
            bail!("memory grew by {} KiB", after - before);
        }
    }
    Ok(())
}

/// The number of requests before the first measurement of the memory. After these requests, the memory
/// that is needed only once has been allocated.
const WARM_UP_REQUESTS: u64 = 500;
/// The memory may grow by this number of KiB, because the allocator keeps some freed memory.
const MAX_GROWTH_KIB: u64 = 32 * 1024;

/// The resident memory of this process in KiB. `None` on systems without `/proc`.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A policy in a policy-server.
struct Server {
    client: Client,
    url: String,
    runtime: Runtime,
}

impl Server {
    fn new(url: &str) -> Result<Self> {
        Ok(Self {
            client: Client::builder().no_proxy().build()?,
            url: url.to_owned(),
            runtime: runtime()?,
        })
    }

    /// The answer to a review. `None` if policy-server refuses the review before any policy gets it, because
    /// the review lacks a field that API servers always write, for example.
    fn review(&self, review: &Value) -> Result<Option<Value>> {
        let request = self.client.post(&self.url).json(review);
        self.runtime.block_on(async {
            let answer = request.send().await?;
            if answer.status() == StatusCode::UNPROCESSABLE_ENTITY {
                return Ok(None);
            }
            let answer = answer.error_for_status()?;
            answer.json().await.context("the answer is no JSON")
        })
    }
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

fn progress(cases: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {human_pos}/{human_len} {per_sec} {eta}");
    let bar = ProgressBar::new(cases);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn report(args: &Args, bar: &ProgressBar, index: usize, difference: &Difference) -> Result<()> {
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
