//! `cargo xtask run`: evaluates one admission request with a policy and prints the answer, with
//! `kwctl run`'s flags and output, so that the same tests run with either.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::host::artifact;
use crate::host::capabilities::Capabilities;
use crate::host::functions::{AllowList, HostFunctions, Registries};
use crate::host::oci::RealRegistries;
use crate::host::session::{Recorder, Replayer};
use crate::host::sources::Sources;
use crate::host::transcript::{Listener, Transcript};
use crate::host::{Engine, Module};
use crate::host::{request, settings};
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
    /// File that says which registries are insecure or have their own certificate authority
    #[arg(long, value_name = "PATH")]
    sources_path: Option<PathBuf>,
    /// Directory with Docker's config.json, for the registries' credentials
    #[arg(long, value_name = "PATH")]
    docker_config_json_path: Option<PathBuf>,
    /// Writes down what the policy asks of its host, and the answers
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "replay_host_capabilities_interactions"
    )]
    record_host_capabilities_interactions: Option<PathBuf>,
    /// Answers what the policy asks of its host from such a record
    #[arg(long, value_name = "FILE")]
    replay_host_capabilities_interactions: Option<PathBuf>,
    /// Adds request, settings, host calls and answer to this file, as a line of JSON
    #[arg(long, value_name = "FILE", hide = true)]
    transcript: Option<PathBuf>,
    /// Interrupts the policy after this time, as policy-server does; 0 for no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    timeout_eval_seconds: u64,
    /// Gives up on a registry that neither takes a connection nor answers for so long; 0 for no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    oci_timeout_seconds: u64,
    /// Prints the policy's debug log and what goes on with registries
    #[arg(short, long)]
    verbose: bool,
    /// The policy's module, annotated or not: a file, or registry://… for one in a registry
    module: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = settings::read(args.settings_path.as_deref(), args.settings_json.as_deref())?;
    let text = read_request(&args.request_path)?;
    let request = request::read(&text)
        .with_context(|| format!("in request {}", args.request_path.display()))?;
    let allowed = AllowList::new(&args.allowed_host_capabilities)
        .context("in --allowed-host-capabilities")?;

    let mut recorder = None;
    let mut replayer = None;
    let answers: Arc<dyn Registries> =
        if let Some(path) = &args.replay_host_capabilities_interactions {
            let session = Arc::new(Replayer::open(path)?);
            replayer = Some(Arc::clone(&session));
            session
        } else {
            let registries = registries(args)?;
            if args.record_host_capabilities_interactions.is_some() {
                let session = Arc::new(Recorder::new(registries));
                recorder = Some(Arc::clone(&session));
                session
            } else {
                registries
            }
        };
    let functions = Arc::new(HostFunctions::new(allowed, answers, args.verbose));
    let listener = Arc::new(Listener::new(functions));
    let functions: Arc<dyn Capabilities> = Arc::clone(&listener) as _;

    let time_limit = limit(args.timeout_eval_seconds);
    let module = match args
        .module
        .to_str()
        .filter(|uri| artifact::is_in_registry(uri))
    {
        Some(uri) => {
            let bytes = artifact::pull(&*registries(args)?, uri)?;
            Module::new(&bytes, Engine::default(), time_limit)
                .with_context(|| format!("cannot load module {uri}"))?
        }
        None => Module::load(&args.module, Engine::default(), time_limit)?,
    };
    let validation = module.judge_settings(&settings)?;
    // A session is worth keeping, and worth checking, whatever came of it.
    let evaluation = validation
        .valid
        .then(|| module.evaluate(&functions, &settings, &request))
        .transpose();
    if let (Some(session), Some(path)) = (recorder, &args.record_host_capabilities_interactions) {
        session.save(path)?;
    }
    if let Some(left_over) = replayer
        .map(|session| session.left_over())
        .filter(|count| *count > 0)
    {
        eprintln!("WARN {left_over} recorded exchanges have not been replayed");
    }
    let evaluation = evaluation?;
    if let Some(path) = &args.transcript {
        let refused = validation.message.as_deref();
        let transcript = Transcript {
            request: &text,
            settings: &settings,
            calls: listener.calls(),
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
        let mut text = String::new();
        std::io::stdin()
            .read_to_string(&mut text)
            .context("cannot read the request from standard input")?;
        return Ok(text);
    }
    fs::read_to_string(path).with_context(|| format!("cannot read request {}", path.display()))
}

fn registries(args: &Args) -> Result<Arc<RealRegistries>> {
    let sources = args
        .sources_path
        .as_deref()
        .map(Sources::read)
        .transpose()?
        .unwrap_or_default();
    Ok(Arc::new(RealRegistries::new(
        sources,
        args.docker_config_json_path.as_deref(),
        limit(args.oci_timeout_seconds),
        args.verbose,
    )))
}

fn limit(seconds: u64) -> Option<Duration> {
    (seconds > 0).then_some(Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(limit(0), None);
        assert_eq!(limit(2), Some(Duration::from_secs(2)));
    }
}
