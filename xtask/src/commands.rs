//! The command line. Each command has a file, and a line in [`Command`] and in [`run`].

mod annotate;
mod build;
#[cfg(feature = "registry")]
mod push;
#[cfg(not(all(feature = "policy", feature = "registry")))]
mod recompile;
mod run;
#[cfg(feature = "policy")]
mod schema;
mod show;

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
    /// Builds policy.wasm and annotated-policy.wasm, and installs the target where it is missing
    Build,
    /// Pushes an annotated module to a registry, as `kwctl push` does, and prints its immutable reference
    #[cfg(feature = "registry")]
    Push(push::Args),
    #[cfg(not(feature = "registry"))]
    Push(recompile::Args),
    Run(run::Args),
    /// Prints the JSON Schema of this policy's settings, for editors
    #[cfg(feature = "policy")]
    Schema,
    #[cfg(not(feature = "policy"))]
    Schema(recompile::Args),
    Show(show::Args),
}

/// Runs the command that the command line names.
pub(crate) fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Users read this error. So its causes follow in the same line, and there is no backtrace,
            // even if RUST_BACKTRACE is set.
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Annotate(args) => annotate::run(&args),
        Command::Build => build::run(),
        #[cfg(feature = "registry")]
        Command::Push(args) => push::run(&args),
        #[cfg(not(feature = "registry"))]
        Command::Push(_) => recompile::with("registry", None),
        Command::Run(args) => run::run(&args),
        #[cfg(feature = "policy")]
        Command::Schema => schema::run(),
        Command::Show(args) => show::run(&args),
        #[cfg(not(feature = "policy"))]
        Command::Schema(_) => recompile::with("policy", None),
    }
}
