//! Patterns for images: globs for normalised names.

use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use super::reference::Reference;
use super::registry_host::{DOCKER_HUB, comparable, split_port, split_registry};

/// The start of the names of Docker Hub's official images.
const OFFICIAL: &str = "docker.io/library/";

/// A glob for normalised image names, `registry/repository` or `registry/repository:tag`. `*` is
/// any run of characters, `?` is any one character. A pattern without a registry is completed like
/// an image: `nginx` is `docker.io/library/nginx`, and `buildkite/*` is `docker.io/buildkite/*`. An
/// official image of Docker Hub has its names with and without `library/`. A digest doesn't count.
///
/// Legal is what would be a [`Reference`] without a digest if each wildcard were a letter, a digit,
/// or, for a `*`, also the end of a repository with the start of its tag. Two more rules: beside a
/// wildcard, a host has lower case, and its port doesn't begin with 0. A registry alone, such as
/// `localhost`, is refused, because it nearly always means `localhost/*`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = regex())))]
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
        let repository = image.repository();
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

    /// The error says what is wrong with the pattern, and what to write. A pattern that no image can
    /// match is an error, because its author might not notice that it has no effect.
    fn try_from(written: String) -> Result<Self, String> {
        let pattern = Self::read(written);
        let written = pattern.as_str();
        let registry = [written, "/*"].concat();
        if is_registry_alone(written) && Self::try_from(registry.clone()).is_ok() {
            return Err(format!(
                "{written} names a registry and no image: write {registry}"
            ));
        }
        match pattern.problem() {
            Some(problem) => Err(format!(
                "{written} matches no image, because {problem}: write registry/repository or \
                 registry/repository:tag, with wildcards (patterns are globs, one an entry)"
            )),
            None => Ok(pattern),
        }
    }
}

impl Pattern {
    fn read(written: String) -> Self {
        let (host, rest) = split_at_slash(&written);
        let has_host_globs = !rest.is_empty() && has_wildcard(host) && host.contains(['.', ':']);
        if !has_host_globs {
            let rest = WildMatch::new(&completed(&written));
            return Self {
                hosts: Vec::new(),
                is_https_port: false,
                rest,
                written,
            };
        }
        // No legal host has upper case beside a wildcard, so only the port changes.
        let form = comparable(host);
        let is_https_port = split_port(host).is_some() && split_port(&form).is_none();
        let forms = [Some(&*form), form.strip_suffix(":*")]
            .into_iter()
            .flatten();
        let hosts = forms.map(WildMatch::new).collect();
        Self {
            hosts,
            is_https_port,
            rest: WildMatch::new(rest),
            written,
        }
    }

    /// Why no image matches, as a clause.
    fn problem(&self) -> Option<&'static str> {
        if self.written.contains('@') {
            return Some("a digest doesn't count");
        }
        let sample = sample(&self.written);
        let image = match Reference::parse(&sample) {
            Ok(image) => image,
            Err(invalid) => return Some(invalid.problem()),
        };
        let (host, rest) = split_at_slash(&self.written);
        let has_upper_case = host.bytes().any(|byte| byte.is_ascii_uppercase());
        let is_wrong_host = !rest.is_empty() && has_wildcard(host) && has_upper_case;
        (is_wrong_host || !self.matches(&Names::of(&image)))
            .then_some("beside a wildcard its host has upper case, or a port that begins with 0")
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

/// An image that a legal pattern matches: with a `1` in place of each wildcard. The first `*` of the
/// last part is also the start of a tag, unless a colon comes with it.
fn sample(written: &str) -> String {
    let (parts, last) = written.split_at(written.rfind('/').unwrap_or(0));
    let sample = match last.split_once('*') {
        Some((before, after)) if !last.contains(':') => [parts, before, "1:1", after].concat(),
        _ => written.to_owned(),
    };
    sample.replace(['*', '?'], "1")
}

/// Whether a text without a slash starts like a registry, with or without a port.
fn is_registry_alone(text: &str) -> bool {
    let name = text.rsplit_once(':').map_or(text, |(name, _)| name);
    !text.contains('/') && (name.contains('.') || name == "localhost" || name.starts_with('['))
}

/// What a schema says about a pattern: a regular expression for all legal ones. It also lets registries
/// alone and image IDs through.
#[cfg(feature = "schema")]
fn regex() -> String {
    let name = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?";
    let glob = "[a-z0-9*?]([a-z0-9*?-]*[a-z0-9*?])?";
    let host = format!(r"({name}([.]{name})*|\[[0-9A-Fa-f]*:[0-9A-Fa-f:]*\])(:[0-9]+)?");
    let host_glob =
        format!(r"({glob}([.]{glob})*|\[[0-9a-f*?]*:[0-9a-f:*?]*\])(:(0[0-9]*|[1-9*?][0-9*?]*))?");
    let separator = "([.]|_|__|-+)";
    let part = format!("[a-z0-9*?]+({separator}[a-z0-9*?]+)*");
    let tag = "[A-Za-z0-9_*?][A-Za-z0-9_.*?-]{0,127}";
    let end_and_tag = format!("([a-z0-9?]+{separator})*[a-z0-9?]*[*][A-Za-z0-9_.*?-]{{0,127}}");
    format!("^(({host}|{host_glob})/)?({part}/)*({part}(:{tag})?|{end_and_tag})$")
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
