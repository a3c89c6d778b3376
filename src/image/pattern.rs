//! Patterns for images: globs for normalised names.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wildmatch::WildMatch;

use super::host::{comparable, split_port, split_registry};
use super::reference::Reference;

/// A glob for normalised image names, `registry/repository` or `registry/repository:tag`. `*` is
/// any run of characters, `?` is any one character. A pattern without a registry is completed like
/// an image: `nginx` is `docker.io/library/nginx`, and `buildkite/*` is `docker.io/buildkite/*`. An
/// official image of Docker Hub has its names with and without `library/`. A digest doesn't count.
///
/// Legal is what would be a [`Reference`] without a digest if each wildcard were a letter, a digit,
/// or, for a `*`, also the end of a repository with the start of its tag. Two more rules: beside a
/// wildcard, a host has lower case, and its port doesn't begin with 0. A registry alone, such as
/// `localhost`, is refused, because it nearly always means `localhost/*`.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[schemars(with = "String")]
#[schemars(extend("pattern" = regex()))]
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
    /// The glob for the rest of the name, behind the first slash. Without globs for hosts, it is
    /// for the whole name.
    rest: WildMatch,
}

impl Pattern {
    /// The pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether the pattern matches one of the names of an image ([`Reference::names`]).
    pub fn matches(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.matches_name(name))
    }

    fn matches_name(&self, name: &str) -> bool {
        if self.hosts.is_empty() {
            return self.rest.matches(name);
        }
        let (host, rest) = name.split_once('/').unwrap_or_default();
        let has_other_port = self.is_https_port && split_port(host).is_some();
        !has_other_port
            && self.hosts.iter().any(|glob| glob.matches(host))
            && self.rest.matches(rest)
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
        let registry = [&written, "/*"].concat();
        if is_registry_alone(&written) && Self::read(&registry).is_ok() {
            return Err(format!(
                "{written} names a registry and no image: write {registry}"
            ));
        }
        Self::read(&written).map_err(|problem| {
            format!(
                "{written} matches no image, because {problem}: write registry/repository or \
                 registry/repository:tag, with wildcards (patterns are globs, one an entry)"
            )
        })
    }
}

impl Pattern {
    /// Reads a pattern. The error says why no image can match, as a clause.
    fn read(written: &str) -> Result<Self, &'static str> {
        if written.contains('@') {
            return Err("a digest doesn't count");
        }
        let sample = sample(written);
        let image = Reference::parse(&sample).map_err(|invalid| invalid.problem)?;
        let (host, rest) = written.split_once('/').unwrap_or(("", written));
        let is_of_host = has_wildcard(host) && host.contains(['.', ':']);
        // No legal host has upper case beside a wildcard, so only the port changes.
        let form = comparable(host);
        let forms = [Some(&*form), form.strip_suffix(":*")];
        let hosts = forms.into_iter().flatten().filter(|_| is_of_host);
        let pattern = Self {
            written: written.to_owned(),
            hosts: hosts.map(WildMatch::new).collect(),
            is_https_port: split_port(host).is_some() && split_port(&form).is_none(),
            rest: if is_of_host {
                WildMatch::new(rest)
            } else {
                WildMatch::new(&completed(written))
            },
        };
        let is_lower_case = !host.contains(|c: char| c.is_ascii_uppercase());
        if (is_lower_case || !has_wildcard(host)) && pattern.matches(&image.names()) {
            return Ok(pattern);
        }
        Err("beside a wildcard its host has upper case, or a port that begins with 0")
    }
}

/// The pattern with the registry and the namespace that it lacks, and with its host in the
/// form in which hosts are compared.
fn completed(written: &str) -> String {
    if written.starts_with('*') {
        return written.to_owned();
    }
    let (registry, rest) = split_registry(written);
    let namespace = if written.contains('/') {
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

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}
