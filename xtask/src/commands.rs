//! The command line. Each command has a file, and a line in [`Command`] and in [`run`].

mod annotate;
mod push;
mod run;
mod show;
mod survey;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The tools of consistent-pull-policy
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Annotate(annotate::Args),
    Push(push::Args),
    Run(run::Args),
    /// Shows what this policy does to captured requests
    Show,
    Survey(survey::Args),
}

/// Runs the command that the command line names.
pub(crate) fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(status) => status,
        Err(error) => {
            // Users read this error. So its causes follow in the same line, and there is no
            // backtrace, even if RUST_BACKTRACE is set.
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    match command {
        Command::Annotate(args) => annotate::run(&args)?,
        Command::Push(args) => push::run(&args)?,
        Command::Run(args) => run::run(&args)?,
        Command::Show => show::run()?,
        Command::Survey(args) => return survey::run(&args),
    }
    Ok(ExitCode::SUCCESS)
}
