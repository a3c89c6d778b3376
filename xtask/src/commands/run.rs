//! `cargo xtask run`: evaluates one admission request, as `kwctl run` does.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use xtask::host::evaluation::AdmissionResponse;
use xtask::host::input::{parse_review, read_settings};
use xtask::host::module::Module;
use xtask::host::registry::{Registry, granted};
use xtask::host::session;

use crate::client;

/// Evaluates an admission request, as `kwctl run` does
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File with an admission review, or the request in it, in JSON
    #[arg(short, long, value_name = "PATH")]
    request_path: PathBuf,
    /// File with the policy's settings, in YAML or JSON
    #[arg(short, long, value_name = "PATH")]
    settings_path: Option<PathBuf>,
    /// The policy's settings in JSON
    #[arg(long, value_name = "VALUE")]
    settings_json: Option<String>,
    /// Answers the policy's host calls from a recording of kwctl
    #[arg(long, value_name = "FILE")]
    replay_host_capabilities_interactions: Option<PathBuf>,
    /// The policy's module, annotated or not
    module: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let settings = read_settings(args.settings_path.as_deref(), args.settings_json.as_deref())?;
    let shown = args.request_path.display();
    let text = fs::read_to_string(&args.request_path)
        .with_context(|| format!("cannot read request {shown}"))?;
    let request = parse_review(&text).with_context(|| format!("in request {shown}"))?;
    let registry: Registry = match &args.replay_host_capabilities_interactions {
        Some(path) => session::open(path)?,
        None => Box::new(client::digest),
    };
    let module = Module::load(&args.module)?;
    let validation = module.validate_settings(&settings)?;
    if !validation.valid {
        bail!(
            "Provided settings are not valid: {}",
            validation.message.unwrap_or_default()
        );
    }
    let answer = module.validate(&granted(registry), &settings, &request)?;
    let response = AdmissionResponse::new(&request, answer)?;
    println!("{}", serde_json::to_string(&response)?);
    Ok(())
}
