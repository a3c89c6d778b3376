//! `cargo xtask run`: evaluates one admission request with a policy and prints the answer. The output
//! and most flags are those of `kwctl run`, so that the same tests run with both programs.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::host::policy_module::{Engine, PolicyModule};
use crate::host::registry_calls::{Registries, granted};
use crate::host::registry_client::RegistryClient;
use crate::host::request::parse_review;
use crate::host::session::{SessionRecorder, SessionReplayer};
use crate::host::settings::read_settings;
use crate::host::transcript::{Transcript, TranscriptRecorder};
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
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "replay_host_capabilities_interactions"
    )]
    record_host_capabilities_interactions: Option<PathBuf>,
    /// Answers the policy's host calls from such a recording
    #[arg(long, value_name = "FILE")]
    replay_host_capabilities_interactions: Option<PathBuf>,
    /// Appends request, settings, host calls and response to this file, as a line of JSON
    #[arg(long, value_name = "FILE", hide = true)]
    transcript: Option<PathBuf>,
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
    let mut registries: Arc<dyn Registries> = Arc::new(RegistryClient {
        time_limit: Duration::from_secs(args.oci_timeout_seconds),
    });
    if let Some(path) = &args.replay_host_capabilities_interactions {
        registries = Arc::new(SessionReplayer::open(path)?);
    }
    let mut recorded = None;
    if let Some(path) = &args.record_host_capabilities_interactions {
        let session = Arc::new(SessionRecorder::new(registries));
        recorded = Some((Arc::clone(&session), path));
        registries = session;
    }
    let transcript = TranscriptRecorder::default();
    let capabilities =
        transcript.record(granted(args.allowed_host_capabilities.clone(), registries));

    let module = PolicyModule::load(&args.module, Engine::FASTEST)?;
    let validation = module.judge_settings(&settings)?;
    // A recording is saved before an error of the evaluation is reported.
    let evaluation = validation
        .valid
        .then(|| module.evaluate(&capabilities, &settings, &request))
        .transpose();
    if let Some((session, path)) = recorded {
        session.save(path)?;
    }
    let evaluation = evaluation?;
    if let Some(path) = &args.transcript {
        let refused = validation.message.as_deref();
        let transcript = Transcript {
            request: &text,
            settings: &settings,
            calls: transcript.calls(),
            refused: refused.filter(|_| !validation.valid),
            response: evaluation.as_ref(),
        };
        transcript.append_to(path)?;
    }
    match evaluation {
        Some(response) => {
            let line = serde_json::to_string(&response).context("cannot serialise the answer")?;
            terminal::print(&format!("{line}\n"))
        }
        None => bail!(
            "Provided settings are not valid: {}",
            validation.message.unwrap_or_default()
        ),
    }
}

fn read_request(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        return io::read_to_string(io::stdin())
            .context("cannot read the request from standard input");
    }
    fs::read_to_string(path).with_context(|| format!("cannot read request {}", path.display()))
}
