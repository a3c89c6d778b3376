//! Patterns in settings. In a glob, `*` matches any run of characters and `?` matches one character.

use crate::image::{Reference, compared_host, is_registry};

/// Whether a glob matches the whole of a text.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    let mut rest = pattern.chars();
    match rest.next() {
        None => text.is_empty(),
        Some('*') => {
            let mut ends = text.char_indices().map(|(index, _)| &text[index..]);
            ends.any(|end| glob(rest.as_str(), end)) || glob(rest.as_str(), "")
        }
        Some(first) => text
            .chars()
            .next()
            .filter(|&letter| first == '?' || first == letter)
            .is_some_and(|letter| glob(rest.as_str(), &text[letter.len_utf8()..])),
    }
}

/// Whether an image pattern matches an image: `registry/repository`, or `registry/repository:tag`.
pub(crate) fn names_image(pattern: &str, image: &Reference) -> bool {
    let host = compared_host(&image.registry);
    let names = [
        Some(image.repository.clone()),
        image.tag.as_ref().map(|tag| format!("{}:{tag}", image.repository)),
    ];
    let pattern = normalised(pattern);
    let mut names = names.into_iter().flatten();
    match pattern.split_once('/') {
        // A wildcard in a host matches no slash.
        Some((first, rest)) if has_wildcard(first) && first.contains(['.', ':']) => {
            let is_without_port =
                || first.strip_suffix(":*").is_some_and(|first| glob(first, &host));
            (glob(first, &host) || is_without_port()) && names.any(|name| glob(rest, &name))
        }
        _ => names.any(|name| glob(&pattern, &format!("{host}/{name}"))),
    }
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// A pattern without a registry gets the registry of Docker Hub, as an image would: `nginx` becomes
/// `docker.io/library/nginx`. A pattern that begins with `*` is not changed, because the `*` may match more
/// than the registry.
fn normalised(pattern: &str) -> String {
    if pattern.starts_with('*') {
        return pattern.to_owned();
    }
    let (registry, rest) = match pattern.split_once('/') {
        Some((first, rest)) if is_registry(first) => (first, rest),
        _ => ("docker.io", pattern),
    };
    let is_official = matches!(registry, "docker.io" | "index.docker.io");
    if is_official && !rest.contains('/') && !rest.starts_with('*') {
        return format!("docker.io/library/{rest}");
    }
    if has_wildcard(registry) {
        return format!("{registry}/{rest}");
    }
    format!("{}/{rest}", compared_host(registry))
}
