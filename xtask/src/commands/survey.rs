//! `cargo xtask survey`: the survey, which is a program of its own.

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::workspace;

/// Shows what each example would do to the workloads of a cluster
///
/// The program is one of its own beside this one (`survey/command`), because a release has it as a
/// plugin of kubectl. Its own --help says more.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(super) struct Args {
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    arguments: Vec<OsString>,
}

/// Runs the program, and returns its exit status.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let status = workspace::cargo()
        .args([
            "run",
            "--quiet",
            "--locked",
            "--profile=xtask",
            "--package=survey-command",
        ])
        .arg("--manifest-path")
        .arg(workspace::root().join("Cargo.toml"))
        .arg("--")
        .args(&args.arguments)
        .current_dir(env::current_dir()?)
        .status()
        .context("cannot run cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
