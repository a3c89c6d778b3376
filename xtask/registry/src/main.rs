//! The client of registries, with the client crate that Kubewarden uses. It is a program of its own, because it is
//! compiled for a minute, and only lookups and `cargo xtask push` need it: `xtask` compiles and runs it.

mod client;
mod push;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Parser as _;

/// Asks registries, and pushes modules
#[derive(Debug, clap::Parser)]
struct Args {
    /// The longest wait for a connection to a registry, or for its answer
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout_seconds: u64,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Prints `{"digest":"sha256:..."}` of an image
    Digest { image: String },
    /// Prints the manifest or index of an image
    Manifest { image: String },
    /// Pushes an annotated module, and prints its immutable reference
    Push {
        module: PathBuf,
        /// `registry://host/repository:tag`
        uri: String,
        /// The annotations of the manifest: a JSON object
        annotations: String,
    },
}

fn main() -> ExitCode {
    let Args { timeout_seconds, command } = Args::parse();
    let time_limit = Duration::from_secs(timeout_seconds);
    match run(&command, time_limit) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            // A real host gives a policy the error as `{:?}`. With RUST_BACKTRACE this text includes the stack, which is
            // removed here.
            let text = format!("{error:?}");
            eprint!("{}", text.split("\n\nStack backtrace:").next().unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}

fn run(command: &Command, time_limit: Duration) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match command {
            Command::Digest { image } => client::digest(image, time_limit).await,
            Command::Manifest { image } => client::manifest(image, time_limit).await,
            Command::Push { module, uri, annotations } => {
                push::push(module, uri, annotations, time_limit).await
            }
        }
    })
}
