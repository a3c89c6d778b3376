//! Patterns for images: globs for normalised names.
//!
//! A pattern that is nearly always a mistake is an error, because it would have no effect and its
//! author might not notice. The error says what to write instead.

use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use super::Reference;
use super::reference::is_path_component;
use super::registry_host::{DOCKER_HUB, comparable, is_host, split_port, split_registry};

/// The start of the names of Docker Hub's official images.
const OFFICIAL: &str = "docker.io/library/";

/// The form of a pattern without wildcards.
const FORM: &str = "registry/repository or registry/repository:tag";

/// A glob for normalised image names, `registry/repository` or `registry/repository:tag`. `*` is
/// any run of characters, `?` is any one character. A pattern without a registry is completed like
/// an image: `nginx` is `docker.io/library/nginx`, and `buildkite/*` is `docker.io/buildkite/*`. An
/// official image of Docker Hub has its names with and without `library/`. A digest doesn't count.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
#[serde(try_from = "String", into = "String")]
pub struct Pattern {
    written: String,
    /// The globs for hosts, if the text before the first slash has a wildcard and also a `.` or
    /// `:`. No wildcard in this text matches a slash. `host:*` also names the host without a
    /// port, so it makes two globs.
    hosts: Vec<WildMatch>,
    /// Whether the globs for hosts have the port 443, which names leave out. If so, a host with
    /// another port doesn't match.
    is_https_port: bool,
    /// The glob for the rest of the name, from the first slash on. Without globs for hosts, it is
    /// for the whole name.
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
        !has_other_port
            && self.hosts.iter().any(|glob| glob.matches(host))
            && self.rest.matches(rest)
    }
}

/// The normalised names of an image, which patterns match: without and with the tag. An official
/// image of Docker Hub also has these names without `library/`. The registry host is in the form in
/// which hosts are compared.
#[derive(Clone, Debug)]
pub struct Names(Vec<String>);

impl Names {
    /// The names of an image. An image with neither a tag nor a digest has the tag `latest`.
    pub fn of(image: &Reference<'_>) -> Self {
        let repository = image.comparable_repository();
        let official = repository
            .strip_prefix(OFFICIAL)
            .filter(|name| !name.contains('/'));
        let short = official.map(|name| [DOCKER_HUB, "/", name].concat());
        let mut names: Vec<String> = short.into_iter().chain([repository]).collect();
        if let Some(tag) = image.effective_tag() {
            let with_tag: Vec<_> = names.iter().map(|name| [name, ":", tag].concat()).collect();
            names.extend(with_tag);
        }
        Self(names)
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
            return Ok(Self {
                hosts: Vec::new(),
                is_https_port: false,
                rest,
                written,
            });
        }
        // Upper case beside a wildcard is a mistake, so only the port changes.
        let form = comparable(host);
        let is_https_port = split_port(host).is_some() && split_port(&form).is_none();
        let forms = [Some(&*form), form.strip_suffix(":*")]
            .into_iter()
            .flatten();
        let hosts = forms.map(WildMatch::new).collect();
        Ok(Self {
            hosts,
            is_https_port,
            rest: WildMatch::new(rest),
            written,
        })
    }
}

/// The pattern with the registry and the namespace that it leaves out, and with its host in the
/// form in which hosts are compared.
fn completed(written: &str) -> String {
    if written.starts_with('*') {
        return written.to_owned();
    }
    let (registry, rest) = split_registry(written);
    let names_registry = rest.len() < written.len();
    let namespace = if names_registry || rest.contains('/') {
        ""
    } else {
        "library/"
    };
    [&comparable(registry), "/", namespace, rest].concat()
}

/// What is wrong with a pattern that is nearly always a mistake, and what to write: the end of a
/// sentence that begins with the pattern.
fn mistake(written: &str) -> Option<String> {
    let (host, rest) = match written.split_once('/') {
        Some((host, rest)) => (host, rest),
        None => ("", written),
    };
    let repository = without_tag(rest);
    let has_upper_case = |text: &str| text.bytes().any(|byte| byte.is_ascii_uppercase());
    let write = |problem: &str, instead: &str| Some(format!("{problem}: write {instead}"));
    if written.contains(char::is_whitespace) {
        write(
            "has white space",
            &written.split_whitespace().collect::<String>(),
        )
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
        write("has an empty part", FORM)
    } else if is_registry_alone(written) {
        write("names a registry and no image", &[written, "/*"].concat())
    } else if rest.len() < written.len()
        && !has_wildcard(host)
        && !is_host(host)
        && !is_path_component(host)
    {
        write(
            "begins with neither a host nor a part of a repository",
            FORM,
        )
    } else if has_upper_case(repository) || (has_wildcard(host) && has_upper_case(host)) {
        write(
            "has upper case in its repository or beside a wildcard",
            &written.to_ascii_lowercase(),
        )
    } else {
        None
    }
}

/// Whether a text without a slash starts like a registry, with or without a port.
fn is_registry_alone(text: &str) -> bool {
    let name = without_tag(text);
    !text.contains('/') && (name.contains('.') || name == "localhost" || name.starts_with('['))
}

/// A text without the tag or the port after its last colon. The colons of an address in brackets
/// begin no port.
fn without_tag(text: &str) -> &str {
    match text.rsplit_once(':') {
        Some((name, tag)) if !tag.contains(['/', ']']) => name,
        _ => text,
    }
}

/// The text before the first slash, and the rest with this slash.
fn split_at_slash(text: &str) -> (&str, &str) {
    text.find('/')
        .and_then(|at| text.split_at_checked(at))
        .unwrap_or((text, ""))
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}
