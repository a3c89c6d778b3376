//! Why an image pattern is refused, and which pattern to write instead.

use super::glob::has_wildcard;
use super::{ImageNamesForPatterns, ImagePattern};
use crate::image::{DEFAULT_REGISTRY, Reference, comparable_port, looks_like_host, split_registry};

/// The texts that usually fill all wildcards in a search for an image that a pattern matches.
const USUAL_FILLINGS: [&str; 2] = ["0", ""];
/// The texts that may fill some of the wildcards in this search. They contain the punctuation of a
/// reference: the slash, the colon, and the brackets of an IPv6 address.
const FILLINGS: [&str; 13] = [
    "", ":", "/", "[", "]", "0/0", "0/0:0", "/0:0", ":0/0", "[:", "]:", ":]/0", ":]/0:0",
];
/// The largest number of wildcards that [`FILLINGS`] fill. The others have the usual filling.
const UNUSUAL_MAX: u32 = 2;
/// The form of an image's name.
const FORM: &str = "names are registry/repository[:tag], with lower-case letters and digits parted by . _ - or / in \
                    the repository, and letters, digits, _ . - in the tag";
/// The largest number of wildcards in a pattern that is searched. The search of more would be slow.
const WILDCARDS_MAX: usize = 6;

impl ImagePattern {
    /// Why no image can match the pattern. The text is the end of a sentence that begins with the
    /// pattern. `None` if an image can match it.
    pub(super) fn problem(&self) -> Option<String> {
        let written = &*self.written;
        if written.contains('@') {
            let problem = "has a digest, but patterns match registry/repository[:tag]";
            return Some(problem.to_owned());
        }
        if written.contains("://") {
            return Some("has a URL scheme, but image names have none".to_owned());
        }
        if written.chars().any(char::is_whitespace) {
            return Some("has white space, but image names have none".to_owned());
        }
        if let Some(instead) = instead_of_registry(written) {
            return Some(format!(
                "names a registry, but no image in it: write {instead}"
            ));
        }
        if self.can_match() {
            return None;
        }
        let is_better = |instead: &str| {
            instead != written && instead_of_registry(instead).is_none() && can_match(instead)
        };
        let mut corrections = corrections(written, &self.glob).into_iter().flatten();
        let instead = corrections.find(|instead| is_better(instead));
        let what_to_write = instead.map_or(FORM.to_owned(), |instead| format!("write {instead}"));
        Some(format!("can match no image: {what_to_write}"))
    }

    /// Whether the pattern matches an image. The wildcards are filled in many ways, and the parser
    /// says whether the result is an image. A pattern with very many wildcards is not searched, and
    /// the answer is then true.
    fn can_match(&self) -> bool {
        let glob = &*self.glob;
        // The host of the glob `registry/*` has no mark of a host. The written `Registry/*` has one.
        // Docker Hub is left out: it has no repository `registry-1.docker.io/nginx`.
        let is_on_hub = glob.split('/').next() == Some(DEFAULT_REGISTRY);
        let written = Some(self.as_str()).filter(|written| *written != glob && !is_on_hub);
        glob.matches(['*', '?']).count() > WILDCARDS_MAX
            || [Some(glob), written].into_iter().flatten().any(|text| {
                USUAL_FILLINGS
                    .iter()
                    .any(|usual| self.matches_filled("", text, usual, UNUSUAL_MAX))
            })
    }

    /// Whether the pattern matches an image whose reference is `filled` and then `rest` with filled
    /// wildcards. All but `unusual` wildcards are filled with `usual`.
    fn matches_filled(&self, filled: &str, rest: &str, usual: &str, unusual: u32) -> bool {
        let Some((before, after)) = rest.split_once(['*', '?']) else {
            return Reference::parse(&[filled, rest].concat())
                .is_ok_and(|image| self.matches(&ImageNamesForPatterns::of(&image)));
        };
        let fill = |text, unusual| {
            self.matches_filled(&[filled, before, text].concat(), after, usual, unusual)
        };
        fill(usual, unusual)
            || unusual
                .checked_sub(1)
                .is_some_and(|unusual| FILLINGS.iter().any(|text| fill(text, unusual)))
    }
}

fn can_match(pattern: &str) -> bool {
    ImagePattern::unchecked(pattern.to_owned()).can_match()
}

/// The text to write instead of a pattern that is only a registry. `None` for any other pattern.
///
/// `registry.example.com` could also be the name of a repository on Docker Hub, but it is nearly
/// always meant as the name of a registry.
fn instead_of_registry(written: &str) -> Option<String> {
    let first = written.strip_suffix('/').unwrap_or(written);
    let (host, has_port_or_tag) = match first.rsplit_once(':') {
        Some((host, _)) if !first.ends_with(']') => (host, true),
        _ => (first, false),
    };
    let is_registry = host.contains('.')
        || host == "localhost"
        || host.starts_with('[')
        || (has_port_or_tag && written.ends_with('/'));
    if first.contains('/') || !is_registry {
        return None;
    }
    let with_port = [&possible_host(first), "/*"].concat();
    let anywhere = if host.starts_with('*') {
        "*/"
    } else {
        "docker.io/library/"
    };
    let with_tag = [anywhere, written].concat();
    Some(if can_match(&with_port) {
        format!("{with_port} for all its images")
    } else if can_match(&with_tag) {
        format!("{with_tag} for an image of this name")
    } else {
        format!("{}/* for all its images", possible_host(host))
    })
}

/// The host to propose in a pattern. A host with a wildcard becomes lower case, and loses the
/// port 443 and the leading zeros of a port. A host without a wildcard stays as it is, because it is normalised later, when the pattern
/// is read.
fn possible_host(host: &str) -> String {
    if !has_wildcard(host) {
        return host.to_owned();
    }
    let (name, port) = comparable_port(host);
    let port = port.map(|port| [":", port].concat());
    let possible = [name, &port.unwrap_or_default()]
        .concat()
        .to_ascii_lowercase();
    if looks_like_host(&possible) || possible.starts_with('*') {
        return possible;
    }
    // A text with a wildcard but without `.` or `:` would be read as a namespace of Docker Hub. With
    // `:*` at its end, the text is read as a host with any port or without a port.
    [&possible, ":*"].concat()
}

/// The patterns that may have been meant: with `*` or nothing in place of a misplaced separator, with the namespace of
/// Docker Hub, without the port 443 and without leading zeros of a port, in lower case. `completed` is the normalised
/// pattern.
fn corrections(written: &str, completed: &str) -> [Option<String>; 9] {
    let begins_with = |mark| written.starts_with(mark).then(|| ["*", written].concat());
    let in_library = completed
        .strip_prefix("docker.io/")
        .filter(|rest| !rest.contains('/'));
    let (host, slash, rest) = match split_registry(written) {
        (_, rest) if rest == written => ("", "", written),
        (host, rest) => (host, "/", rest),
    };
    let possible_host = possible_host(host);
    let lower_case = match rest.split_once(':') {
        Some((path, tag)) => [&path.to_ascii_lowercase(), ":", tag].concat(),
        None => rest.to_ascii_lowercase(),
    };
    [
        begins_with('/'),
        Some(written.replace("//", "/")),
        written.ends_with('/').then(|| [written, "*"].concat()),
        written.strip_suffix(':').map(str::to_owned),
        begins_with(':'),
        in_library.map(|name| ["docker.io/library/", name].concat()),
        Some([&possible_host, slash, rest].concat()),
        Some([&possible_host, slash, &lower_case].concat()),
        // The first part of `Team_A/app` looks like a host, but no host has a `_`.
        Some([&host.to_ascii_lowercase(), slash, &lower_case].concat()),
    ]
}
