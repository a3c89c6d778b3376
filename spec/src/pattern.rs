//! Patterns in settings. In a glob, `*` matches any text and `?` matches one character.

use std::cell::RefCell;
use std::collections::HashMap;

use regex::Regex;

use crate::image::{Reference, compared_host, is_registry};

thread_local! {
    static COMPILED: RefCell<HashMap<String, Regex>> = RefCell::new(HashMap::new());
}

/// Whether a regular expression matches the whole of a text.
fn matches(expression: String, text: &str) -> bool {
    COMPILED.with_borrow_mut(|compiled| {
        compiled
            .entry(expression)
            .or_insert_with_key(|expression| {
                Regex::new(&format!(r"(?s)\A{expression}\z")).expect("an escaped glob")
            })
            .is_match(text)
    })
}

/// Returns the regular expression of a glob. `class` is the regular expression of one character that
/// the glob's wildcards match.
fn expression(pattern: &str, class: &str) -> String {
    pattern
        .chars()
        .map(|c| match c {
            '*' => format!("{class}*"),
            '?' => class.to_owned(),
            c => regex::escape(&c.to_string()),
        })
        .collect()
}

/// Whether a glob matches the whole of a text.
///
/// # Panics
/// Never, because `expression` returns a valid regular expression for each glob.
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    matches(expression(pattern, "."), text)
}

/// Whether an image pattern matches an image. The pattern is compared with `registry/repository` and
/// with `registry/repository:tag` of the normalised image. One match is enough.
#[must_use]
pub fn names_image(pattern: &str, image: &Reference) -> bool {
    let expression = image_expression(pattern);
    let mut names = image.names_for_patterns().into_iter();
    names.any(|name| matches(expression.clone(), &name))
}

/// Returns the regular expression of an image pattern.
///
/// If the text before the first slash has a wildcard and also a `.` or `:`, this text is a registry
/// host. Then no wildcard in this text matches `/`. All other wildcards can match `/`.
fn image_expression(pattern: &str) -> String {
    let pattern = normalised(pattern);
    let Some((first, rest)) = pattern.split_once('/') else {
        return expression(&pattern, ".");
    };
    if !(has_wildcard(first) && first.contains(['.', ':'])) {
        return expression(&pattern, ".");
    }
    // The pattern `host:*` also matches the host without a port.
    let first = match first.strip_suffix(":*") {
        Some(host) => format!("{}(?::[^/]*)?", expression(host, "[^/]")),
        None => expression(first, "[^/]"),
    };
    format!("{first}/{}", expression(rest, "."))
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// Normalises a pattern. A pattern without a registry gets the registry of Docker Hub: `nginx` becomes
/// `docker.io/library/nginx`, and `buildkite/*` becomes `docker.io/buildkite/*`. No tag is added. If
/// the registry host of a pattern has no wildcard, it is normalised like the host of an image.
///
/// A pattern that begins with `*` is not changed, because the `*` may match more than the registry.
#[must_use]
pub fn normalised(pattern: &str) -> String {
    if pattern.starts_with('*') {
        return pattern.to_owned();
    }
    let (registry, rest) = match pattern.split_once('/') {
        Some((first, rest)) if is_registry(first) => (first, rest),
        _ => ("docker.io", pattern),
    };
    if matches!(registry, "docker.io" | "index.docker.io")
        && !rest.contains('/')
        && !rest.starts_with('*')
    {
        return format!("docker.io/library/{rest}");
    }
    if has_wildcard(registry) {
        return format!("{registry}/{rest}");
    }
    format!("{}/{rest}", compared_host(registry))
}

/// Returns the reason why an image pattern is a settings error, or `None` if the pattern is valid. A
/// pattern is an error if it can't match any normalised reference.
///
/// **Decided**: this specification checks the registry host of a pattern. It doesn't check the
/// repository and the tag, because that would need the grammar of references.
#[must_use]
pub fn fault(pattern: &str) -> Option<&'static str> {
    // **Decided**: a pattern without a slash that begins with `*` is valid, because it may match
    // the end of a repository.
    let Some((first, _)) = pattern.split_once('/') else {
        // A pattern without a slash is an error if it starts like a registry host. A host is a name
        // with a `.`, or `localhost`, or an address in brackets. A port or tag may follow.
        let name = pattern.split(':').next().unwrap_or(pattern);
        let starts_like_registry =
            name.contains('.') || name == "localhost" || pattern.starts_with('[');
        return (starts_like_registry && !pattern.starts_with('*'))
            .then_some("a registry without a repository");
    };
    // No registry host has a `_`. A first part with a `.` is accepted nevertheless: `a_b.c/d` is a
    // reference.
    if is_registry(first) && first.contains('_') && !first.contains(['.', ':', '*', '?']) {
        return Some("no registry has a `_` in its host");
    }
    // A host with a wildcard is compared as it is written. A normalised host never has the port 443
    // (`*:443/…`), and its port has no leading zeros.
    let port = first.rsplit_once(':').map_or("", |(_, port)| port);
    let is_number = !port.is_empty() && port.chars().all(|c| c.is_ascii_digit());
    let never_matches = port == "443" || is_number && port.len() > 1 && port.starts_with('0');
    (has_wildcard(first) && never_matches).then_some("no image has this port in its host")
}
