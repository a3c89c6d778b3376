//! The program `xtask`; everything is in the library, which other crates' tests use as well.

fn main() -> std::process::ExitCode {
    xtask::commands::main()
}
