//! The tests of this policy's crate. They are one program, because Cargo links each program with
//! all packages. `cargo test --test policy presets` runs the tests of one file.

mod common;

mod bytes;
mod documentation;
mod generated_pages;
mod presets;
mod settings;
