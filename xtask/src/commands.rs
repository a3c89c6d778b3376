//! The command line. Each command has a file, and a line in [`Command`] and in [`run`].
//!
//! `make run` compiles this program without its Cargo features, so that the first build is short. A
//! program without a feature lacks the commands that need this feature. [`build_with_feature`] compiles
//! these commands when one of them is first used.

mod annotate;
#[cfg(feature = "wasmtime")]
mod bench;
mod build;
mod build_with_feature;
#[cfg(feature = "registry")]
mod push;
#[cfg(feature = "registry")]
mod run;
#[cfg(feature = "policy")]
mod schema;
mod show;
#[cfg(feature = "wasmtime")]
mod soak;

use std::process::ExitCode;

use anyhow::Result;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

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
    #[cfg(feature = "wasmtime")]
    Bench(bench::Args),
    /// Builds policy.wasm and annotated-policy.wasm, and installs the target where it is missing
    Build,
    #[cfg(feature = "registry")]
    Push(push::Args),
    #[cfg(feature = "registry")]
    Run(run::Args),
    /// Prints the JSON Schema of this policy's settings, for editors
    #[cfg(feature = "policy")]
    Schema,
    Show(show::Args),
    #[cfg(feature = "wasmtime")]
    Soak(soak::Args),
}

/// Runs the command that the command line names.
pub(crate) fn main() -> ExitCode {
    let result = match build_with_feature::missing_feature(&Cli::command()) {
        Some(feature) => build_with_feature::run(feature),
        None => run(&build_with_feature::with_missing_commands(Cli::command()).get_matches()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Users read this error. So its causes follow in the same line, and there is no backtrace,
            // even if RUST_BACKTRACE is set.
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(matches: &ArgMatches) -> Result<()> {
    match Cli::from_arg_matches(matches)?.command {
        Command::Annotate(args) => annotate::run(&args),
        #[cfg(feature = "wasmtime")]
        Command::Bench(args) => bench::run(&args),
        Command::Build => build::run(),
        #[cfg(feature = "registry")]
        Command::Push(args) => push::run(&args),
        #[cfg(feature = "registry")]
        Command::Run(args) => run::run(&args),
        #[cfg(feature = "policy")]
        Command::Schema => schema::run(),
        Command::Show(args) => show::run(&args),
        #[cfg(feature = "wasmtime")]
        Command::Soak(args) => soak::run(&args),
    }
}
