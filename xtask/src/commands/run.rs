//! `cargo xtask run`: evaluates one admission request with a policy and prints the answer. The output and the flags
//! are those of `kwctl run`, so that the same tests run with both programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use xtask::host::evaluation::AdmissionResponse;
use xtask::host::input::{parse_review, read_settings};
use xtask::host::module::Module;
use xtask::host::registry::{Registry, granted};
use xtask::host::session::{Recorder, Session};

use crate::client::Registries;
use crate::terminal;

/// Evaluates an admission request, as `kwctl run` does
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File with an admission review, or the request in it, in JSON; `-` reads standard input
    #[arg(short, long, value_name = "PATH")]
    request_path: PathBuf,
    /// File with the policy's settings, in YAML or JSON
    #[arg(short, long, value_name = "PATH")]
    settings_path: Option<PathBuf>,
    /// The policy's settings in JSON
    #[arg(long, value_name = "VALUE")]
    settings_json: Option<String>,
    /// Host capabilities that the policy may use, such as 'oci/*'; none when the list is empty
    #[arg(long, value_name = "CAPABILITY", num_args = 0.., default_values = ["*"])]
    allowed_host_capabilities: Vec<String>,
    /// Records the policy's host calls and their answers in this file
    #[arg(long, value_name = "FILE", conflicts_with = "replay_host_capabilities_interactions")]
    record_host_capabilities_interactions: Option<PathBuf>,
    /// Answers the policy's host calls from such a recording
    #[arg(long, value_name = "FILE")]
    replay_host_capabilities_interactions: Option<PathBuf>,
    /// The longest wait for a connection to a registry, or for its answer
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    oci_timeout_seconds: u64,
    /// The policy's module, annotated or not
    module: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = read_settings(args.settings_path.as_deref(), args.settings_json.as_deref())?;
    let text = read_request(&args.request_path)?;
    let request = parse_review(&text)
        .with_context(|| format!("in request {}", args.request_path.display()))?;
    let mut registry: Arc<dyn Registry> = match &args.replay_host_capabilities_interactions {
        Some(path) => Arc::new(Session::open(path)?),
        None => Arc::new(Registries { timeout_seconds: args.oci_timeout_seconds }),
    };
    let recorder = Arc::new(Recorder::new(Arc::clone(&registry)));
    if args.record_host_capabilities_interactions.is_some() {
        registry = Arc::clone(&recorder) as _;
    }
    let module = Module::load(&args.module)?;
    let validation = module.validate_settings(&settings)?;
    if !validation.valid {
        bail!("Provided settings are not valid: {}", validation.message.unwrap_or_default());
    }
    let capabilities = granted(args.allowed_host_capabilities.clone(), registry);
    let answer = module.validate(&capabilities, &settings, &request);
    // A recording is saved before an error is reported.
    if let Some(path) = &args.record_host_capabilities_interactions {
        recorder.save(path)?;
    }
    let response = AdmissionResponse::new(&request, answer?)?;
    terminal::print(&format!("{}\n", serde_json::to_string(&response)?))
}

fn read_request(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        return io::read_to_string(io::stdin())
            .context("cannot read the request from standard input");
    }
    fs::read_to_string(path).with_context(|| format!("cannot read request {}", path.display()))
}
