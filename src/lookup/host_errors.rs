//! What hosts and registries say about a lookup that failed.

use super::failure::{Cause, Failure};

/// What follows a form in a host's error.
#[derive(Clone, Copy)]
enum Form {
    /// The words of a registry.
    Words,
    /// The URL and the HTTP status.
    Status,
    /// Nothing that matters: the form tells the cause.
    Cause(Cause),
}

/// The forms of a host's errors. The first that a text has decides, because the registry's own
/// words come later and can contain any other form. Each form has a space, so no name of an image
/// contains one. Sources: the errors of `oci-client` 0.16 to 0.18, of reqwest, and of Kubewarden's
/// policy-evaluator.
const FORMS: [(Form, &[&str]); 7] = [
    (Form::Words, &["envelope: OCI API errors: ["]),
    (Form::Status, &["Server error: url "]),
    (Form::Cause(Cause::Unauthorized), &["Not authorized: url "]),
    (
        Form::Cause(Cause::Unreachable),
        &[
            "error sending request",
            "error following redirect",
            "error decoding response body",
            "request or response body error",
        ],
    ),
    (
        Form::Cause(Cause::NotGranted),
        &["has not been granted access"],
    ),
    (
        Form::Cause(Cause::UnreadableName),
        &["invalid reference format", "repository name must"],
    ),
    (
        Form::Cause(Cause::Unknown),
        &["OCI distribution spec violation", "Digest error"],
    ),
];

/// The end of a registry's words where the host repeats its error in the same line, as Kubewarden
/// does from 1.38 on. Up to 1.37 it repeats the error on other lines.
const REPETITION: &str = "]: Registry error: url ";

/// Phrases in the words of registries. The first list that has one of them decides. Each phrase of
/// the first four lists has several words, so that a name can't contain it; the other lists choose
/// only between sentences about a denial. Source: `e2e-tests/rows/registry-words.yaml`.
const PHRASES: [(Cause, &[&str]); 8] = [
    (
        Cause::RateLimited,
        &[
            "rate limit",
            "too many requests",
            "too many failed login attempts",
            "rate exceeded",
            "data limit exceeded",
            "quota exceeded for quota metric",
            ", allowed: ",
        ],
    ),
    (
        Cause::Unavailable,
        &[
            "service unavailable",
            "temporarily unavailable",
            "internal server error",
            "bad gateway",
            "gateway timeout",
            "timed out",
            "connection refused",
        ],
    ),
    (
        Cause::Denied,
        &["may require 'docker login'", "installation does not exist"],
    ),
    (
        Cause::NotFound,
        &[
            "manifest unknown",
            "name unknown",
            "unknown manifest",
            "unknown name",
            "unknown repository",
            "unknown tag",
            "not known to registry",
            "not known to the registry",
            "not found",
            "could not find",
            "does not exist",
            "tag has expired",
            "was deleted",
            "failed to fetch \"",
            "not match project repository filter",
        ],
    ),
    (Cause::Quota, &["quota", "billing", "payment"]),
    (Cause::Terms, &["terms", "license agreement"]),
    (
        Cause::Scan,
        &[
            "vulnerabilit",
            "xray",
            "curation",
            "quarantine",
            "not signed",
        ],
    ),
    (
        Cause::Denied,
        &[
            "denied",
            "forbidden",
            "unauthorized",
            "not authorized",
            "authenticat",
            "permission",
            "credentials",
            "login",
            "scope",
        ],
    ),
];

/// The failure that a host's error text tells.
pub fn read(text: &str) -> Failure {
    let found = FORMS.into_iter().flat_map(|(form, marks)| {
        marks.iter().filter_map(move |mark| {
            let (before, after) = text.split_once(mark)?;
            Some((before.len(), form, after))
        })
    });
    match found.min_by_key(|(position, ..)| *position) {
        Some((_, Form::Words, after)) => cause_of_words(after).into(),
        Some((_, Form::Status, after)) => of_status(after),
        Some((_, Form::Cause(cause), _)) => cause.into(),
        None => Cause::Unknown.into(),
    }
}

/// Reads a text such as `…, code: 404, message: …`.
fn of_status(text: &str) -> Failure {
    let code = text
        .split_once(", code: ")
        .and_then(|(_, rest)| rest.get(..3));
    let status = code.and_then(|code| code.parse().ok());
    let cause = match status {
        Some(404) => Cause::NotFound,
        Some(429) => Cause::RateLimited,
        Some(408 | 500..=599) => Cause::ServerError,
        Some(401) => Cause::Unauthorized,
        Some(403) => Cause::Denied,
        Some(402) => Cause::Quota,
        _ => Cause::Unknown,
    };
    Failure { cause, status }
}

/// Reads the words of a registry: the first line, up to the host's repetition. OCI's error code is
/// in it only if the registry writes it in place of words or before them.
fn cause_of_words(text: &str) -> Cause {
    let line = text.lines().next().unwrap_or_default();
    let words = line.split(REPETITION).next().unwrap_or_default();
    let words = words.strip_suffix(']').unwrap_or(words);
    let words = words.strip_prefix("OCI API error: ").unwrap_or(words);
    match words.split(':').next() {
        // An error without words could have any code, but nearly always it has that of something
        // that doesn't exist.
        _ if words.is_empty() => Cause::NotFound,
        Some("MANIFEST_UNKNOWN" | "NAME_UNKNOWN" | "NOT_FOUND") => Cause::NotFound,
        Some("TOOMANYREQUESTS") => Cause::RateLimited,
        _ => {
            let words = without_references(words).to_ascii_lowercase();
            let is_in = |phrase: &&str| words.contains(phrase);
            let mut lists = PHRASES.into_iter();
            let found = lists.find(|(_, phrases)| phrases.iter().any(is_in));
            found.map_or(Cause::Unknown, |(cause, _)| cause)
        }
    }
}

/// The words of a registry without those that have the form of a reference, so that a part of a
/// name never is a part of a phrase.
fn without_references(words: &str) -> String {
    let ends_word = |c: char| !(c.is_ascii_alphanumeric() || "_-./:@%".contains(c));
    let is_reference = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        word.contains(['/', ':', '@', '%'])
    };
    let words = words.split_inclusive(ends_word);
    words.filter(|word| !is_reference(word)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::image::Reference;

    const WORDS: &str = include_str!("../../e2e-tests/rows/registry-words.yaml");

    /// The hosts' own errors. `IMAGE` is in the place of the image.
    const ERRORS: [&str; 8] = [
        "Server error: url https://r.io/v2/IMAGE, code: 404, message: IMAGE",
        "Server error: url https://r.io/v2/IMAGE, code: 403, message: IMAGE not found",
        "Server error: url https://r.io/v2/IMAGE, code: 429, message: IMAGE denied",
        "Server error: url https://r.io/v2/IMAGE, code: 500, message: IMAGE",
        "Not authorized: url https://r.io/v2/IMAGE",
        "error sending request for url (https://r.io/v2/IMAGE)",
        "OCI distribution spec violation: Expected HTTP Status 200, got 204 instead",
        "Registry did not return a digest header",
    ];

    const PARTS: [&str; 9] = [
        "_",
        "/",
        ":",
        "@",
        "%",
        "denied",
        "not",
        "toomanyrequests",
        "500",
    ];

    /// Every image of r.io whose name has up to three parts.
    fn names() -> Vec<String> {
        let mut names = Vec::new();
        let mut longest = vec![String::new()];
        for _ in 0..3 {
            let longer = longest
                .iter()
                .flat_map(|name| PARTS.map(|part| [name, part].concat()));
            longest = longer.collect();
            names.extend_from_slice(&longest);
        }
        names.retain(|name| Reference::parse(&["r.io/", name].concat()).is_ok());
        names
    }

    /// A text of a host or a registry about `team/app:v1` as it is about another image.
    fn about(text: &str, name: &str) -> String {
        let (path, tag) = name.split_once([':', '@']).unwrap_or((name, "latest"));
        let first = path.split('/').next().unwrap_or_default();
        text.replace("IMAGE", name)
            .replace("team/app", path)
            .replace("team", first)
            .replace("v1", tag)
    }

    /// A host's error, up to Kubewarden 1.37 and from 1.38 on.
    fn in_both_forms(error: &str) -> [String; 2] {
        ["\n\nCaused by:\n    ", ": "].map(|separator| [error, separator, error].concat())
    }

    #[test]
    fn the_name_of_an_image_never_decides_the_class_of_a_failed_lookup() {
        let table: Value = yaml_serde::from_str(WORDS).expect("YAML");
        let rows = table["rows"].as_array().expect("rows");
        let registries = rows
            .iter()
            .flat_map(|row| row["registry"].as_array().expect("a list"));
        let words = registries.filter_map(|registry| registry["r.io/team/app:v1"]["says"].as_str());
        let in_envelope = |words: &str| {
            format!(
                "Registry error: url https://r.io/v2/IMAGE, envelope: OCI API errors: [OCI API error: {words}]"
            )
        };
        let words = words.chain(["", "MANIFEST_UNKNOWN", "r.io/IMAGE found"]);
        let texts: Vec<String> = ERRORS
            .map(str::to_owned)
            .into_iter()
            .chain(words.map(in_envelope))
            .collect();
        assert!(texts.len() > 100);
        let names = names();
        for text in texts {
            let [expected, other] =
                in_both_forms(&about(&text, "team/app:v1")).map(|text| read(&text).class());
            assert_eq!(expected, other, "{text}");
            for name in &names {
                for text in in_both_forms(&about(&text, name)) {
                    assert_eq!(read(&text).class(), expected, "{text}");
                }
            }
        }
    }
}
