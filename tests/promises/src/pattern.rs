//! Patterns in settings. In a glob, `*` matches any run of characters and `?` matches one
//! character.

use crate::image::{Reference, compared_host, is_registry};

/// Whether a glob matches the whole of a text.
fn glob(pattern: &str, text: &str) -> bool {
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

/// Whether an image pattern matches one of the names of an image: `registry/repository`, with the
/// tag or without it, and for an official image of Docker Hub also without `library/`.
#[must_use]
pub fn names_image(pattern: &str, image: &Reference) -> bool {
    let host = compared_host(&image.registry);
    let mut repositories = vec![image.repository.clone()];
    if let Some(official) = image.repository.strip_prefix("library/")
        && host == "docker.io"
        && !official.contains('/')
    {
        repositories.push(official.to_owned());
    }
    let with_tags = |repository: String| {
        let with_tag = image.tag.as_ref().map(|tag| format!("{repository}:{tag}"));
        [Some(repository), with_tag].into_iter().flatten()
    };
    let mut names = repositories.into_iter().flat_map(with_tags);
    match pattern.split_once('/') {
        // A wildcard in a host matches no slash.
        Some((first, rest)) if has_wildcard(first) && first.contains(['.', ':']) => {
            names_host(first, &host) && names.any(|name| glob(rest, &name))
        }
        _ => {
            let pattern = normalised(pattern);
            names.any(|name| glob(&pattern, &format!("{host}/{name}")))
        }
    }
}

/// Whether a pattern with a wildcard matches a host. `:*` is any port or none, and `:443` is no
/// port.
fn names_host(pattern: &str, host: &str) -> bool {
    let has_port = host
        .rsplit_once(':')
        .is_some_and(|(_, port)| is_number(port));
    match pattern.rsplit_once(':') {
        Some((name, "*")) => glob(pattern, host) || glob(name, host),
        Some((name, port)) if is_number(port) => match port.trim_start_matches('0') {
            "443" => !has_port && glob(name, host),
            port => glob(&format!("{name}:{port}"), host),
        },
        _ => glob(pattern, host),
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

/// A pattern without a registry gets the registry of Docker Hub, as an image would: `nginx` becomes
/// `docker.io/library/nginx`. A pattern that begins with `*` is not changed, because the `*` may
/// match more than the registry.
fn normalised(pattern: &str) -> String {
    match pattern.split_once('/') {
        _ if pattern.starts_with('*') => pattern.to_owned(),
        Some((first, rest)) if is_registry(first) => format!("{}/{rest}", compared_host(first)),
        Some(_) => format!("docker.io/{pattern}"),
        None => format!("docker.io/library/{pattern}"),
    }
}
