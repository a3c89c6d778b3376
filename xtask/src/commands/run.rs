//! `cargo xtask run`: evaluates one admission request with a policy and prints the answer, with
//! `kwctl run`'s flags and output, so that the same tests run with either.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::host::capabilities::{AllowList, HostFunctions, ManifestDigests};
use crate::host::oci::Registries;
use crate::host::request;
use crate::host::session::{Recorder, Replayer};
use crate::host::sources::Sources;
use crate::host::{Engine, Module, Settings};
use crate::table;

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
    /// Interrupts the policy after this time, as policy-server does; 0 for no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    timeout_eval_seconds: u64,
    /// Gives up on a registry that neither takes a connection nor answers for so long; 0 for no limit
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    oci_timeout_seconds: u64,
    /// Prints the policy's debug log and what goes on with registries
    #[arg(short, long)]
    verbose: bool,
    /// The policy's module, annotated or not
    module: PathBuf,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = settings(args.settings_path.as_deref(), args.settings_json.as_deref())?;
    let request = request::read(&read_request(&args.request_path)?)
        .with_context(|| format!("in request {}", args.request_path.display()))?;
    let allowed = AllowList::new(&args.allowed_host_capabilities)
        .context("in --allowed-host-capabilities")?;

    let mut recorder = None;
    let mut replayer = None;
    let digests: Arc<dyn ManifestDigests> =
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
    let functions = Arc::new(HostFunctions::new(allowed, digests, args.verbose));

    let engine = Engine::new(limit(args.timeout_eval_seconds))?;
    let module = Module::load(&engine, &args.module)?;
    let validation = module.validate_settings(&functions, &settings)?;
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
    match evaluation? {
        Some(evaluation) => {
            let line = serde_json::to_string(&evaluation.response)
                .context("cannot serialise the answer")?;
            table::print(&format!("{line}\n"))
        }
        None => bail!(
            "Provided settings are not valid: {}",
            validation.message.unwrap_or_default()
        ),
    }
}

/// The settings from a file, else from an argument, else none.
pub(crate) fn settings(path: Option<&Path>, json: Option<&str>) -> Result<Settings> {
    let value: Value = match (path, json) {
        (Some(path), _) => {
            let text = fs::read_to_string(path)
                .with_context(|| format!("cannot read settings {}", path.display()))?;
            yaml_serde::from_str(&text)
                .with_context(|| format!("cannot parse settings {}", path.display()))?
        }
        (None, Some(json)) => {
            serde_json::from_str(json).context("cannot parse --settings-json as JSON")?
        }
        (None, None) => Value::Null,
    };
    match value {
        Value::Null => Ok(Settings::new()),
        Value::Object(settings) => Ok(settings),
        _ => bail!("Invalid settings in CRD, not an object"),
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

fn registries(args: &Args) -> Result<Arc<Registries>> {
    let sources = args
        .sources_path
        .as_deref()
        .map(Sources::read)
        .transpose()?
        .unwrap_or_default();
    Ok(Arc::new(Registries::new(
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
    fn settings_are_an_object_or_nothing() {
        for (json, expected) in [
            (None, Some(0)),
            (Some("null"), Some(0)),
            (Some("{}"), Some(0)),
            (Some(r#"{"a":{"b":[1]}}"#), Some(1)),
            (Some("[]"), None),
            (Some("\"text\""), None),
            (Some("{"), None),
        ] {
            assert_eq!(
                settings(None, json).ok().map(|settings| settings.len()),
                expected,
                "{json:?}"
            );
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = format!(
            "{:#}",
            settings(Some(Path::new("/no/such.yml")), None).expect_err("missing")
        );
        assert!(error.contains("/no/such.yml"), "{error}");
    }

    #[test]
    fn zero_is_no_limit() {
        assert_eq!(limit(0), None);
        assert_eq!(limit(2), Some(Duration::from_secs(2)));
    }
}
