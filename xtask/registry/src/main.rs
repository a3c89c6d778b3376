//! The client of registries, a program of its own because it is compiled for a minute.

mod client;
mod push;

use std::process::ExitCode;

use anyhow::{Result, bail};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(answer) => {
            println!("{answer}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            // A real host gives a policy the error as `{:?}`. With RUST_BACKTRACE this text
            // includes the stack, which is removed here.
            let text = format!("{error:?}");
            eprint!(
                "{}",
                text.split("\n\nStack backtrace:")
                    .next()
                    .unwrap_or_default()
            );
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match arguments {
            // Prints `{"digest":"sha256:..."}`.
            ["digest", image] => client::digest(image).await,
            // Prints the module's immutable reference.
            ["push", module, uri, annotations] => push::push(module, uri, annotations).await,
            _ => bail!("unknown arguments: {arguments:?}"),
        }
    })
}
