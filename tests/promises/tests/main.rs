//! Tries the promises with this policy's crate: for the corpus, for random cases, and for input of
//! any shape.

mod any_input;
mod corpus;
mod patterns;
mod random;
mod references;

/// The number in an environment variable, or else a default.
fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}
