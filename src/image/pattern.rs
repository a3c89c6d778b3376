//! Patterns for images: globs for normalised names.
//!
//! A pattern that is nearly always a mistake is an error, because it would have no effect and its author might not
//! notice. The error says what to write instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use super::Reference;
use super::host::{DOCKER_HUB, comparable, split_port, split_registry};

/// The start of the names of Docker Hub's official images.
const OFFICIAL: &str = "docker.io/library/";

/// A glob for normalised image names, `registry/repository` or `registry/repository:tag`. `*` is any run of
/// characters, `?` is any one character. A pattern without a registry is completed like an image: `nginx` is
/// `docker.io/library/nginx`, and `buildkite/*` is `docker.io/buildkite/*`. An official image of Docker Hub has its names
/// with and without `library/`. A digest doesn't count.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[schemars(with = "String")]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    written: String,
    /// The globs for hosts, if the text before the first slash has a wildcard and also a `.` or `:`. No wildcard in
    /// this text matches a slash. `host:*` also names the host without a port, so it makes two globs.
    hosts: Vec<WildMatch>,
    /// Whether the globs for hosts have the port 443, which names leave out. If so, a host with another port doesn't match.
    is_https_port: bool,
    /// The glob for the rest of the name, from the first slash on. Without globs for hosts, it is for the whole name.
    rest: WildMatch,
}

impl Pattern {
    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether the pattern matches an image: its name with or without the tag.
    ///
    /// # Examples
    ///
    /// ```
    /// use consistent_pull_policy::image::{Names, Pattern, Reference};
    ///
    /// let matches = |pattern: &str, image: &str| {
    ///     let pattern = Pattern::try_from(pattern.to_owned()).expect("a valid pattern");
    ///     let image = Reference::parse(image).expect("a valid reference");
    ///     pattern.matches(&Names::of(&image))
    /// };
    /// assert!(matches("nginx", "docker.io/library/nginx:1.25"));
    /// assert!(matches("*/nginx", "ghcr.io/team/nginx:1.25"));
    /// assert!(!matches("nginx", "ghcr.io/team/nginx:1.25"));
    /// ```
    pub fn matches(&self, names: &Names) -> bool {
        names.0.iter().any(|name| self.matches_name(name))
    }

    fn matches_name(&self, name: &str) -> bool {
        if self.hosts.is_empty() {
            return self.rest.matches(name);
        }
        let (host, rest) = split_at_slash(name);
        let has_other_port = self.is_https_port && split_port(host).is_some();
        !has_other_port && self.hosts.iter().any(|glob| glob.matches(host)) && self.rest.matches(rest)
    }
}

/// The normalised names of an image, which patterns match: without and with the tag. An official image of Docker Hub also
/// has these names without `library/`. The registry host is in the form in which hosts are compared.
#[derive(Clone, Debug)]
pub struct Names(Vec<String>);

impl Names {
    /// The names of an image. An image with neither a tag nor a digest has the tag `latest`.
    pub fn of(image: &Reference<'_>) -> Self {
        let repository = image.comparable_repository();
        let official = repository.strip_prefix(OFFICIAL).filter(|name| !name.contains('/'));
        let short = official.map(|name| [DOCKER_HUB, "/", name].concat());
        let mut names: Vec<String> = [repository].into_iter().chain(short).collect();
        if let Some(tag) = image.effective_tag() {
            let with_tag = names.iter().map(|name| [name, ":", tag].concat());
            names.extend(with_tag.collect::<Vec<_>>());
        }
        Self(names)
    }

    /// The first pattern that matches the image.
    pub(crate) fn first_match<'p>(&self, patterns: &'p [Pattern]) -> Option<&'p Pattern> {
        patterns.iter().find(|pattern| pattern.matches(self))
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> Self {
        pattern.written
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    /// The error says what is wrong with the pattern, and what to write.
    fn try_from(written: String) -> Result<Self, String> {
        if let Some(mistake) = mistake(&written) {
            return Err(format!("{written} {mistake}"));
        }
        let (host, rest) = split_at_slash(&written);
        let has_host_globs = !rest.is_empty() && has_wildcard(host) && host.contains(['.', ':']);
        if !has_host_globs {
            let rest = WildMatch::new(&completed(&written));
            return Ok(Self { hosts: Vec::new(), is_https_port: false, rest, written });
        }
        // Upper case beside a wildcard is a mistake, so only the port changes.
        let form = comparable(host);
        let is_https_port = split_port(host).is_some() && split_port(&form).is_none();
        let forms = [Some(&*form), form.strip_suffix(":*")].into_iter().flatten();
        let hosts = forms.map(WildMatch::new).collect();
        Ok(Self { hosts, is_https_port, rest: WildMatch::new(rest), written })
    }
}

/// The pattern with the registry and the namespace that it leaves out, and with its host in the form in which hosts are
/// compared.
fn completed(written: &str) -> String {
    if written.starts_with('*') {
        return written.to_owned();
    }
    let (registry, rest) = split_registry(written);
    let names_registry = rest.len() < written.len();
    let namespace = if names_registry || rest.contains('/') { "" } else { "library/" };
    [&comparable(registry), "/", namespace, rest].concat()
}

/// What is wrong with a pattern that is nearly always a mistake, and what to write: the end of a sentence that begins with
/// the pattern.
fn mistake(written: &str) -> Option<String> {
    let (host, rest) = match written.split_once('/') {
        Some((host, rest)) => (host, rest),
        None => ("", written),
    };
    let (repository, _) = split_tag(rest);
    let has_upper_case = |text: &str| text.bytes().any(|byte| byte.is_ascii_uppercase());
    let write = |problem: &str, instead: &str| Some(format!("{problem}: write {instead}"));
    if written.contains(char::is_whitespace) {
        write("has white space", &written.split_whitespace().collect::<String>())
    } else if let Some((name, _)) = written.split_once('@') {
        write("has a digest, which doesn't count", name)
    } else if let Some((_, name)) = written.split_once("://") {
        write("has a URL scheme", name)
    } else if written.contains("//") {
        write("has an empty part", &written.replace("//", "/"))
    } else if written.starts_with(['/', ':']) {
        write("begins with a slash or a colon", &["*", written].concat())
    } else if written.ends_with(['/', ':']) {
        write("ends with a slash or a colon", &[written, "*"].concat())
    } else if written.contains("/:") || written.contains(":/") {
        Some("has an empty part: write registry/repository or registry/repository:tag".to_owned())
    } else if is_registry_alone(written) {
        write("names a registry and no image", &[written, "/*"].concat())
    } else if has_upper_case(repository) || (has_wildcard(host) && has_upper_case(host)) {
        write("has upper case in its repository or beside a wildcard", &written.to_ascii_lowercase())
    } else {
        None
    }
}

/// Whether a text without a slash starts like a registry, with or without a port.
fn is_registry_alone(text: &str) -> bool {
    let (name, _) = split_tag(text);
    !text.contains('/') && (name.contains('.') || name == "localhost" || name.starts_with('['))
}

/// A text without the tag or the port after its last colon, and this tag or port. The colons of an address in brackets
/// begin no port.
fn split_tag(text: &str) -> (&str, &str) {
    match text.rsplit_once(':') {
        Some((name, tag)) if !tag.contains(['/', ']']) => (name, tag),
        _ => (text, ""),
    }
}

/// The text before the first slash, and the rest with this slash.
fn split_at_slash(text: &str) -> (&str, &str) {
    text.find('/').and_then(|at| text.split_at_checked(at)).unwrap_or((text, ""))
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(written: &str) -> Pattern {
        Pattern::try_from(written.to_owned()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn matches(written: &str, image: &str) -> bool {
        let image = Reference::parse(image).unwrap_or_else(|error| panic!("{image}: {error:?}"));
        pattern(written).matches(&Names::of(&image))
    }

    #[test]
    fn patterns_match_normalised_names() {
        let digest = format!("@sha256:{}", "a".repeat(64));
        for (written, image, expected) in [
            ("nginx", "nginx", true),
            ("nginx", "nginx:1.25", true),
            ("nginx", "library/nginx", true),
            ("nginx", "registry-1.docker.io/library/nginx:1", true),
            ("nginx", "team/nginx", false),
            ("nginx", "nginx2", false),
            ("nginx:latest", "nginx", true),
            ("nginx:1.*", "nginx:1.25", true),
            ("nginx:1.*", "nginx:2", false),
            ("docker.io/nginx", "nginx", true),
            ("docker.io/nginx:1.*", "nginx:1.25", true),
            ("docker.io/nginx:1.*", "registry-1.docker.io/library/nginx:1.25", true),
            ("docker.io/nginx:1.*", "nginx:2", false),
            ("docker.io/nginx:1.*", "team/nginx:1.25", false),
            ("docker.io/nginx*", "nginx:1", true),
            ("docker.io/nginx*", "library/nginx-unprivileged", true),
            ("docker.io/nginx*", "nginxinc/x", true),
            ("nginx*", "nginxinc/x", false),
            ("*.io/nginx", "nginx:1", true),
            ("docker.io/library/*", "nginx", true),
            ("docker.io/library/*", "team/nginx", false),
            ("docker.io/a/b", "library/a/b", false),
            ("docker.io/*", "team/nginx", true),
            ("buildkite/*", "buildkite/agent:3", true),
            ("buildkite/*", "ghcr.io/buildkite/agent", false),
            ("*", "ghcr.io/a/b/c:1", true),
            ("*/nginx", "ghcr.io/team/nginx:1", true),
            ("*nginx", "ghcr.io/team/my-nginx", true),
            ("n?inx", "nginx", true),
            ("Registry.Example.com:0443/a", "registry.example.com/a:1", true),
            ("registry.example.com/a", "REGISTRY.example.com:443/a", true),
            ("*.example.com/*", "r.example.com/a/b", true),
            ("*.example.com/*", "evil.com/x.example.com/a", false),
            ("*.dkr.ecr.*.amazonaws.com/*", "1.dkr.ecr.eu-1.amazonaws.com/a/b", true),
            ("r.example.com:*/a", "r.example.com/a", true),
            ("r.example.com:*/a", "r.example.com:5000/a", true),
            ("r.example.com:*/a", "r.example.com.evil/a", false),
            ("*:5000/*", "localhost:5000/a/b", true),
            ("*.example.com:443/*", "r.example.com/a", true),
            ("*.example.com:0443/*", "r.example.com:443/a", true),
            ("*.example.com:443/*", "r.example.com:5000/a", false),
            ("*.example.com:05000/*", "r.example.com:5000/a", true),
            ("*.example.com:05000/*", "r.example.com/a", false),
            ("*:443/*", "r.example.com/a", true),
            ("*:443/*", "[::1]/a", true),
            ("*:443/*", "r.example.com:5000/a", false),
            ("*:v1", "ghcr.io/a:v1", true),
        ] {
            assert_eq!(matches(written, image), expected, "{written} {image}");
        }
        assert!(matches("nginx", &format!("nginx{digest}")));
        assert!(!matches("nginx:latest", &format!("nginx{digest}")));
        assert!(matches("nginx:1", &format!("nginx:1{digest}")));
    }

    #[test]
    fn a_mistake_is_an_error_that_says_what_to_write() {
        for (written, error) in [
            ("my app", "my app has white space: write myapp"),
            ("nginx@sha256:1", "nginx@sha256:1 has a digest, which doesn't count: write nginx"),
            ("https://r.io/a", "https://r.io/a has a URL scheme: write r.io/a"),
            ("r.io//a", "r.io//a has an empty part: write r.io/a"),
            ("/a", "/a begins with a slash or a colon: write */a"),
            ("r.io/", "r.io/ ends with a slash or a colon: write r.io/*"),
            ("nginx:", "nginx: ends with a slash or a colon: write nginx:*"),
            ("r.io/:v1", "r.io/:v1 has an empty part: write registry/repository or registry/repository:tag"),
            ("r.example.com", "r.example.com names a registry and no image: write r.example.com/*"),
            ("*.example.com", "*.example.com names a registry and no image: write *.example.com/*"),
            ("localhost:5000", "localhost:5000 names a registry and no image: write localhost:5000/*"),
            ("[::1]:5000", "[::1]:5000 names a registry and no image: write [::1]:5000/*"),
            (
                "r.io/Team/app",
                "r.io/Team/app has upper case in its repository or beside a wildcard: write r.io/team/app",
            ),
            (
                "*.Example.com/a",
                "*.Example.com/a has upper case in its repository or beside a wildcard: write *.example.com/a",
            ),
        ] {
            assert_eq!(Pattern::try_from(written.to_owned()), Err(error.to_owned()));
        }
    }
}
