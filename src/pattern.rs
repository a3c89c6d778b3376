//! Globs that match image names and container names.

use std::borrow::Cow;

use crate::image::{DEFAULT_REGISTRY, Reference, split_registry};

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
        if written.contains("://") {
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
