//! The project's tools on the host's side: what builds, runs and looks into the policy's module.
//!
//! They serve where Kubewarden's own tools are not installed, with the same flags and formats where
//! there is a counterpart. Each command has its file; this one only reads the command line.

mod annotate;
mod bench;
mod build;
mod capabilities;
mod faulty_registry;
mod host;
mod inspect;
mod metadata;
mod oci;
mod request;
mod response;
mod run;
mod session;
mod show;
mod sources;
mod table;
mod wasm;
mod workspace;

use std::process::ExitCode;

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
    Bench(bench::Args),
    Build(build::Args),
    #[command(hide = true)]
    FaultyRegistry(faulty_registry::Args),
    Inspect(inspect::Args),
    Run(run::Args),
    Show(show::Args),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Annotate(args) => annotate::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Build(args) => build::run(&args),
        Command::FaultyRegistry(args) => faulty_registry::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Show(args) => show::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // On one line and without a backtrace, whatever the environment says: people read it.
            eprintln!("Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
