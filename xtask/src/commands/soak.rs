//! `cargo xtask soak`: runs the module against the specification in `spec/`, on random cases or on
//! small spaces as a whole.

mod transcripts;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use consistent_pull_policy_spec::differential::{
    Difference, HostCall, Policy, check, check_number, write,
};
use consistent_pull_policy_spec::generate::{Case, bytes, case};
use consistent_pull_policy_spec::spaces;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use crate::host::{Capabilities, Engine, Module, nothing_granted};
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
    /// Compares the evaluations that `make e2e-tests` wrote to a directory with the specification instead
    #[arg(long, value_name = "DIRECTORY", conflicts_with_all = ["spaces", "load"])]
    transcripts: Option<PathBuf>,
    /// Sends mixed reviews for so many seconds instead, and looks at errors, latency and memory
    #[arg(long, value_name = "SECONDS", conflicts_with = "spaces")]
    load: Option<u64>,
    /// With --load: the address of a policy in a policy-server, instead of the embedded host
    #[arg(long, value_name = "URL", requires = "load")]
    server: Option<String>,
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
    if let Some(directory) = &args.transcripts {
        return transcripts::compare(directory);
    }
    let path = args
        .module
        .clone()
        .unwrap_or_else(|| workspace::root().join(POLICY));
    let subject = Subject(Module::load(&path, Engine::Compiler, None)?);
    if let Some(seconds) = args.load {
        return load(args, &subject.0, Duration::from_secs(seconds));
    }
    match args.spaces {
        Some(containers) => whole(args, &subject, containers),
        None => random(args, &subject),
    }
}

/// Does something until it has nothing more to do, in as many threads as the arguments say.
fn in_threads(args: &Args, work: impl Fn() -> Result<()> + Sync) -> Result<()> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs.max(1)).map(|_| scope.spawn(&work)).collect();
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().unwrap_or_else(|_| bail!("a thread panicked")))
    })
}

fn whole(args: &Args, subject: &Subject, containers: u32) -> Result<()> {
    let cases = small_spaces(containers);
    let bar = progress(cases.size_hint().0 as u64);
    let found = AtomicUsize::new(0);
    let cases = Mutex::new(cases);
    in_threads(args, || {
        loop {
            let case = cases.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(case) = case.filter(|_| found.load(Ordering::Relaxed) < args.differences)
            else {
                return Ok(());
            };
            if let Err(difference) = check(subject, &case) {
                let index = found.fetch_add(1, Ordering::Relaxed);
                tell(args, &bar, index, &difference)?;
            }
            bar.inc(1);
        }
    })?;
    end(found.into_inner(), &bar, "")
}

/// Sends reviews that a cluster could send, of all kinds, and says how long the answers took.
fn load(args: &Args, module: &Module, time: Duration) -> Result<()> {
    const BYTES_PER_KIB: u64 = 1024;
    let seed = args.seed.unwrap_or(1);
    let mut server = args.server.as_deref().map(Server::connect).transpose()?;
    let (start, mut latencies) = (Instant::now(), Vec::new());
    let mut memory_before = None;
    for number in args.from.. {
        if start.elapsed() >= time {
            break;
        }
        let case = case(&bytes(seed, number));
        let sent = Instant::now();
        let is_answered = if let Some(server) = &mut server {
            server.review(&case.review())?["response"]["allowed"].is_boolean()
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
        // By then every page that is needed once is there.
        if number == args.from + WARM {
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
    // The host's own: what a policy-server needs, hack/load-test.sh shows.
    if let (None, Some(before), Some(after)) = (&server, memory_before, memory()) {
        let own = std::mem::size_of_val(&latencies[..]) as u64 / BYTES_PER_KIB;
        println!("memory: {before} KiB after {WARM} requests, {after} KiB at the end");
        if after > before + own + GROWTH_KIB {
            bail!("memory grew by {} KiB", after - before);
        }
    }
    Ok(())
}

/// After so many requests nothing is needed for the first time.
const WARM: u64 = 500;
/// What the allocator may keep on top, in KiB.
const GROWTH_KIB: u64 = 32 * 1024;

/// The resident memory of this process in KiB, where the system tells it.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// A connection to a policy-server that speaks HTTP.
struct Server {
    stream: BufReader<TcpStream>,
    host: String,
    path: String,
}

impl Server {
    fn connect(url: &str) -> Result<Self> {
        let rest = url.strip_prefix("http://");
        let rest = rest.with_context(|| format!("{url} does not begin with http://"))?;
        let (host, path) = rest
            .split_once('/')
            .with_context(|| format!("{url} names no policy: http://HOST:PORT/validate/NAME"))?;
        let stream = TcpStream::connect(host).with_context(|| format!("cannot reach {host}"))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            host: host.to_owned(),
            path: format!("/{path}"),
        })
    }

    fn review(&mut self, review: &Value) -> Result<Value> {
        let body = review.to_string();
        let request = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            self.host,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if line.split(' ').nth(1) != Some("200") {
            bail!("the server says {}", line.trim());
        }
        let mut length = 0;
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                bail!("the server hung up");
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        serde_json::from_slice(&answer).context("the answer is no JSON")
    }
}

fn random(args: &Args, subject: &Subject) -> Result<()> {
    let seed = args.seed.unwrap_or_else(|| u64::from(std::process::id()));
    let bar = progress(args.cases);
    bar.suspend(|| eprintln!("seed {seed}"));
    let (next, found) = (AtomicU64::new(args.from), AtomicUsize::new(0));
    let last = args.from.saturating_add(args.cases);
    in_threads(args, || {
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
            // Without a bar a log says how far it came, for whoever has to end it.
            if bar.is_hidden() && number % 10_000 == 0 {
                eprintln!("at --from {number}");
            }
        }
    })?;
    let reached = next.load(Ordering::Relaxed).min(last);
    end(
        found.load(Ordering::Relaxed),
        &bar,
        &format!(", seed {seed}; go on with --seed {seed} --from {reached}"),
    )
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
        // Half a minute more, which the tests of a commit don't take.
        if containers == 1 { 4 } else { 5 },
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
