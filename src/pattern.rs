//! Globs that match image names and container names.

use std::borrow::Cow;

use crate::image::{DEFAULT_REGISTRY, Reference, split_registry};
use crate::sentence::has;

/// A glob: `*` stands for any run of characters, `?` for one. Everything else is literal.
#[must_use]
pub fn glob_matches(glob: &str, text: &str) -> bool {
    let (glob, text) = (glob.as_bytes(), text.as_bytes());
    let (mut g, mut t) = (0, 0);
    // After a `*`: where it stands, and how much of the text it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while let Some(&byte) = text.get(t) {
        match glob.get(g) {
            Some(b'*') => {
                star = Some((g, t));
                g += 1;
            }
            Some(&wanted) if wanted == b'?' || wanted == byte => {
                g += 1;
                t += 1;
            }
            _ => {
                let Some((position, taken)) = star else {
                    return false;
                };
                star = Some((position, taken + 1));
                g = position + 1;
                t = taken + 1;
            }
        }
    }
    glob.get(g..)
        .is_some_and(|rest| rest.iter().all(|&byte| byte == b'*'))
}

/// A pattern for images, as it was written and as it is matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImagePattern<'a> {
    written: Cow<'a, str>,
    glob: Cow<'a, str>,
}

impl<'a> ImagePattern<'a> {
    /// Reads a pattern. One without a registry is completed as an image would be: `nginx` is
    /// `docker.io/library/nginx`, `buildkite/*` is `docker.io/buildkite/*`. One that begins with
    /// `*` is matched as it stands, so that `*` is every image and `*/nginx` an nginx anywhere.
    ///
    /// # Errors
    /// Says why no image could ever match it.
    pub fn parse(written: Cow<'a, str>) -> Result<Self, &'static str> {
        if written.is_empty() {
            return Err("is empty, which matches nothing");
        }
        if written.contains('@') {
            return Err("has a digest, but patterns match registry/repository[:tag]");
        }
        if has(&written, "://") {
            return Err("has a URL scheme, but image names have none");
        }
        if written.chars().any(char::is_whitespace) {
            return Err("has white space, but image names have none");
        }
        let glob = complete(&written).map_or_else(|| written.clone(), Cow::Owned);
        Ok(Self { written, glob })
    }

    /// The pattern as the settings have it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    fn matches(&self, name: &ImageName) -> bool {
        glob_matches(&self.glob, &name.repository)
            || name
                .with_tag
                .as_ref()
                .is_some_and(|with_tag| glob_matches(&self.glob, with_tag))
    }
}

/// The pattern in full, where it leaves out what an image may leave out.
fn complete(written: &str) -> Option<String> {
    if written.starts_with('*') {
        return None;
    }
    let (registry, rest) = split_registry(written);
    if registry != DEFAULT_REGISTRY {
        return None;
    }
    let named = rest.len() != written.len();
    // `docker.io/*` is all of Docker Hub; only `docker.io/nginx` leaves out `library/`.
    let official = !(rest.contains('/') || (named && rest.contains(['*', '?'])));
    let namespace = if official { "library/" } else { "" };
    Some([DEFAULT_REGISTRY, "/", namespace, rest].concat())
}

/// The normalised names of an image that patterns are matched against.
struct ImageName {
    repository: String,
    with_tag: Option<String>,
}

/// The first pattern that matches the image.
#[must_use]
pub fn first_match<'p, 'a>(
    patterns: &'p [ImagePattern<'a>],
    reference: &Reference<'_>,
) -> Option<&'p ImagePattern<'a>> {
    if patterns.is_empty() {
        return None;
    }
    let name = ImageName {
        repository: reference.repository(),
        with_tag: reference.repository_and_tag(),
    };
    patterns.iter().find(|pattern| pattern.matches(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_matches_the_whole_text() {
        let cases = [
            ("", "", true),
            ("", "a", false),
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("*", "anything/at:all", true),
            ("a*", "a", true),
            ("a*c", "abbc", true),
            ("a*c", "abcb", false),
            ("a*b*c", "a-b-b-c", true),
            ("*ab", "aab", true),
            ("?", "", false),
            ("?", "x", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*?", "x", true),
            ("**", "", true),
            ("imagecheck-?", "imagecheck-10", false),
        ];
        for (glob, text, expected) in cases {
            assert_eq!(glob_matches(glob, text), expected, "{glob} {text}");
        }
    }

    #[test]
    fn a_pattern_matches_images_by_their_full_name() {
        let cases = [
            ("nginx", "nginx", true),
            ("nginx", "nginx:1.25", true),
            ("nginx", "docker.io/library/nginx:1.25", true),
            ("nginx", "index.docker.io/library/nginx", true),
            ("nginx", "bitnami/nginx", false),
            ("nginx", "ghcr.io/library/nginx", false),
            ("nginx:latest", "nginx", true),
            ("nginx:1.*", "nginx:1.25", true),
            ("nginx:1.*", "nginx:2.0", false),
            ("nginx:*", "nginx", true),
            ("docker.io/nginx", "nginx", true),
            ("index.docker.io/nginx", "nginx", true),
            ("docker.io/*", "nginx", true),
            ("docker.io/*", "buildkite/agent:3", true),
            ("docker.io/*", "ghcr.io/a", false),
            ("buildkite/*", "buildkite/agent", true),
            ("buildkite/*", "ghcr.io/buildkite/agent", false),
            ("*", "ghcr.io/a/b/c:1", true),
            ("*/nginx", "ghcr.io/team/nginx:1", true),
            ("*/nginx", "nginx", true),
            ("*.example.com/*", "reg.example.com/a", true),
            ("*.example.com/*", "example.com/a", false),
            ("localhost:5000/*", "localhost:5000/a/b:v1", true),
            ("localhost:5000/*", "localhost:5001/a", false),
            ("ghcr.io/a/?", "ghcr.io/a/b", true),
        ];
        for (pattern, image, expected) in cases {
            let pattern = ImagePattern::parse(pattern.into()).expect(pattern);
            let reference = Reference::parse(image).expect(image);
            let patterns = [pattern];
            let matched = first_match(&patterns, &reference).map(ImagePattern::as_str);
            let expected = expected.then(|| patterns[0].as_str());
            assert_eq!(matched, expected, "{image}");
        }
    }

    #[test]
    fn a_digest_has_no_tag_to_match_unless_one_is_written() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let matches = |pattern: &'static str, image: &str| {
            let pattern = ImagePattern::parse(pattern.into()).expect(pattern);
            first_match(&[pattern], &Reference::parse(image).expect(image)).is_some()
        };
        assert!(matches("nginx", &format!("nginx@{digest}")));
        assert!(!matches("nginx:latest", &format!("nginx@{digest}")));
        assert!(matches("nginx:1.25", &format!("nginx:1.25@{digest}")));
    }
}
