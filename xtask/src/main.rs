//! The project's tools; a command that kwctl has too has kwctl's flags and formats.

mod client;
mod commands;
mod workspace;

fn main() -> std::process::ExitCode {
    commands::main()
}
