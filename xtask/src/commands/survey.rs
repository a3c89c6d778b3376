//! `cargo xtask survey`: the survey, which is a program of its own.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::Result;

use crate::workspace;

/// Shows what each preset would do to the workloads of a cluster
///
/// The program is one of its own beside this one (`survey/command`), because a release has it as a
/// plugin of kubectl. Its own --help says more.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(super) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs the program, and returns its exit status.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let program = workspace::compiled("survey-command", "kubectl-consistent_pull_policy")?;
    let status = Command::new(program).args(&args.arguments).status()?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
