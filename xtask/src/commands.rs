//! The command line. Each command has its file, and a line in [`Command`] and in [`main`].

mod annotate;
mod artifacthub;
#[cfg(feature = "wasmtime")]
mod bench;
mod build;
#[cfg(not(all(feature = "policy", feature = "registry", feature = "soak")))]
mod elsewhere;
mod faulty_registry;
mod inspect;
#[cfg(feature = "policy")]
mod plan;
#[cfg(feature = "registry")]
mod pull;
#[cfg(feature = "registry")]
mod push;
#[cfg(feature = "registry")]
mod run;
#[cfg(feature = "policy")]
mod schema;
mod show;
#[cfg(feature = "soak")]
mod soak;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[cfg(not(feature = "wasmtime"))]
mod bench {
    pub(super) use super::elsewhere::{Args, with_wasmtime as run};
}
#[cfg(not(feature = "soak"))]
mod soak {
    pub(super) use super::elsewhere::{Args, with_soak as run};
}
#[cfg(not(feature = "policy"))]
mod plan {
    pub(super) use super::elsewhere::{Args, with_policy as run};
}
#[cfg(not(feature = "registry"))]
mod pull {
    pub(super) use super::elsewhere::{Args, with_registry as run};
}
#[cfg(not(feature = "registry"))]
mod push {
    pub(super) use super::elsewhere::{Args, with_registry as run};
}
#[cfg(not(feature = "registry"))]
mod run {
    pub(super) use super::elsewhere::{Args, with_registry as run};
}

#[cfg(not(feature = "policy"))]
mod schema {
    pub(super) use super::elsewhere::{Args, with_policy as run};
}

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
    /// Writes Artifact Hub's package, as `kwctl scaffold artifacthub` does and with what that can't know
    #[command(name = "artifacthub")]
    ArtifactHub(artifacthub::Args),
    /// Measures the policy against a policy that does nothing: time, instructions, memory
    Bench(bench::Args),
    Build(build::Args),
    #[command(hide = true)]
    FaultyRegistry(faulty_registry::Args),
    Inspect(inspect::Args),
    /// Lists what the policy would do to many objects: kubectl get pods -A -o json | cargo xtask plan
    Plan(plan::Args),
    /// Pulls a policy's module from a registry, as `kwctl pull` does
    Pull(pull::Args),
    /// Pushes an annotated module to a registry, as `kwctl push` does
    Push(push::Args),
    /// Evaluates an admission request, as `kwctl run` does
    Run(run::Args),
    /// Prints the JSON Schema of the policy's settings, for editors
    Schema(schema::Args),
    Show(show::Args),
    /// Runs the module against the specification, with random requests, settings and registries
    Soak(soak::Args),
}

/// Runs what the command line asks for.
#[must_use]
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Annotate(args) => annotate::run(&args),
        Command::ArtifactHub(args) => artifacthub::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Build(args) => build::run(&args),
        Command::FaultyRegistry(args) => faulty_registry::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Pull(args) => pull::run(&args),
        Command::Push(args) => push::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Soak(args) => soak::run(&args),
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
