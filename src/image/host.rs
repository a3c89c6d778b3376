//! The hosts of registries, in the form in which this policy compares them.

/// The registry of a reference that names no registry.
pub const DOCKER_HUB: &str = "docker.io";
/// An older name of Docker Hub, which references may still use.
const DOCKER_HUB_INDEX: &str = "index.docker.io";
/// The host that serves the images of Docker Hub.
const DOCKER_HUB_SERVER: &str = "registry-1.docker.io";
/// The port of HTTPS: a registry without a port is asked at this port.
const HTTPS_PORT: &str = "443";

/// Splits a reference into its registry and the rest, as `splitDockerDomain` of
/// <https://github.com/distribution/reference> does. The text before the first slash is a registry if it looks
/// like a host.
pub fn split_registry(text: &str) -> (&str, &str) {
    match text.split_once('/') {
        Some((DOCKER_HUB_INDEX, rest)) => (DOCKER_HUB, rest),
        Some((first, rest)) if looks_like_host(first) => (first, rest),
        _ => (DOCKER_HUB, text),
    }
}

fn looks_like_host(text: &str) -> bool {
    let marks_host = |byte: u8| matches!(byte, b'.' | b':') || byte.is_ascii_uppercase();
    text == "localhost" || text.bytes().any(marks_host)
}

/// The host of a registry for comparisons: lower case, a port without leading zeros, no port 443,
/// and `docker.io` for the names of Docker Hub. Other aliases count as written. Nodes don't use
/// this form: they use the host as it is written.
pub fn comparable(host: &str) -> String {
    let host = host.to_ascii_lowercase();
    if matches!(&*host, DOCKER_HUB_INDEX | DOCKER_HUB_SERVER) {
        return DOCKER_HUB.to_owned();
    }
    let Some((name, port)) = split_port(&host) else {
        return host;
    };
    match port.trim_start_matches('0') {
        HTTPS_PORT => comparable(name),
        "" => format!("{name}:0"),
        number => format!("{name}:{number}"),
    }
}

/// The name and the port of a host. None if it has no port.
pub fn split_port(host: &str) -> Option<(&str, &str)> {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    host.rsplit_once(':').filter(|(_, port)| is_port(port))
}

/// Whether a text is `host[:port]`. A host is a domain name, an IPv4 address, or an IPv6 address in
/// brackets.
pub fn is_host(text: &str) -> bool {
    let host = split_port(text).map_or(text, |(host, _)| host);
    let in_brackets = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    match in_brackets {
        Some(address) => {
            !address.is_empty() && address.chars().all(|c| c.is_ascii_hexdigit() || c == ':')
        }
        None => host.split('.').all(is_domain_part),
    }
}

/// Whether a text is letters, digits and inner hyphens.
fn is_domain_part(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && !text.starts_with('-') && !text.ends_with('-') && text.bytes().all(is_word)
}
