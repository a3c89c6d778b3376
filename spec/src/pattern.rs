//! Patterns: "a glob (`*` any run of characters, `?` one)".

use std::cell::RefCell;
use std::collections::HashMap;

use regex::Regex;

use crate::image::{Reference, is_registry};

thread_local! {
    static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
}

/// Whether a glob matches the whole of a text.
///
/// # Panics
/// Never: what is made of a glob is a regular expression.
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    COMPILED.with_borrow_mut(|compiled| {
        compiled
            .entry(pattern.to_owned())
            .or_insert_with(|| {
                let inner: String = pattern
                    .chars()
                    .map(|c| match c {
                        '*' => ".*".to_owned(),
                        '?' => ".".to_owned(),
                        c => regex::escape(&c.to_string()),
                    })
                    .collect();
                Regex::new(&format!(r"(?s)\A{inner}\z")).expect("an escaped glob")
            })
            .is_match(text)
    })
}

/// Whether an image pattern names an image: "matched against the normalised name,
/// `registry/repository` or `registry/repository:tag`".
#[must_use]
pub fn names_image(pattern: &str, image: &Reference) -> bool {
    let pattern = normalised(pattern);
    glob(&pattern, &image.name())
        || image
            .name_and_tag()
            .is_some_and(|name| glob(&pattern, &name))
}

/// "a pattern without a registry (`nginx`, `buildkite/*`) is normalised as an image would be";
/// one that begins with `*` says nothing about where a registry ends and is taken as it stands.
#[must_use]
pub fn normalised(pattern: &str) -> String {
    if pattern.starts_with('*') {
        return pattern.to_owned();
    }
    let (registry, rest) = match pattern.split_once('/') {
        Some((first, rest)) if is_registry(first) => (first, rest),
        _ => ("docker.io", pattern),
    };
    let registry = if registry == "index.docker.io" {
        "docker.io"
    } else {
        registry
    };
    if registry == "docker.io" && !rest.contains('/') && !rest.starts_with('*') {
        format!("{registry}/library/{rest}")
    } else {
        format!("{registry}/{rest}")
    }
}
