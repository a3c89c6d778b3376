//! Random answers of registries.

use std::collections::BTreeMap;

use arbitrary::Result;

use super::Source;
use super::vocabulary::{ANSWERED_DIGESTS, DIGESTS, SUFFIXES};
use crate::image::Reference;
use crate::{Failure, Registry};

const FAILURES: [Failure; 6] = [
    Failure::NotFound,
    Failure::Denied,
    Failure::RateLimited,
    Failure::Unreachable,
    Failure::Unknown,
    Failure::NotGranted,
];

/// The answers of the registries. If `digests` doesn't list a reference, its lookup succeeds. The
/// answer is the digest in the reference. If the reference has no digest, its length decides which
/// digest of `ANSWERED_DIGESTS` is the answer. If `indexes` doesn't list an image, it has no index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answers {
    /// The answers to lookups of digests, by normalised image reference.
    pub digests: BTreeMap<String, std::result::Result<String, Failure>>,
    /// The answers to requests for manifests, by `registry/repository@digest`.
    pub indexes: BTreeMap<String, Index>,
}

/// The platforms of an image index. `None` means that the image has only one platform, and so no
/// index. The error is the reason why the manifest can't be fetched.
pub type Index = std::result::Result<Option<Vec<(String, String)>>, Failure>;

impl Registry for Answers {
    fn manifest_digest(&mut self, image: &str) -> std::result::Result<String, Failure> {
        if let Some(answer) = self.digests.get(image) {
            return answer.clone();
        }
        match Reference::parse(image).and_then(|image| image.digest) {
            Some(digest) => Ok(digest),
            None => Ok(ANSWERED_DIGESTS[image.len() % ANSWERED_DIGESTS.len()].to_owned()),
        }
    }

    fn platforms(&mut self, image: &str) -> Index {
        self.indexes.get(image).cloned().unwrap_or(Ok(None))
    }
}

impl Source<'_> {
    /// Returns answers for tags and digests of these repositories, or no answers.
    pub(super) fn answers(&mut self, repositories: &[&str]) -> Result<Answers> {
        let mut answers = Answers::default();
        if self.chance(1, 3)? {
            return Ok(answers);
        }
        let all_down = self.chance(1, 8)?;
        for repository in repositories {
            // Sometimes all lookups of a repository fail, or only its lookups by digest.
            let (is_down, fails_by_digest) = (self.chance(1, 12)?, self.chance(1, 12)?);
            for suffix in SUFFIXES {
                let Some(image) = Reference::parse(&format!("{repository}{suffix}")) else {
                    continue;
                };
                let answer = if is_down {
                    Err(Failure::Unreachable)
                } else if all_down || self.chance(1, 4)? {
                    Err(*self.0.choose(&FAILURES)?)
                } else if self.chance(1, 60)? {
                    Ok(self.pick(&["", "sha256:123", "latest"])?.to_owned())
                } else {
                    Ok(self.pick(&ANSWERED_DIGESTS)?.to_owned())
                };
                answers.digests.insert(image.normalised(), answer);
            }
            let Some(image) = Reference::parse(repository) else {
                continue;
            };
            for digest in DIGESTS {
                let at_digest = format!("{}@{digest}", image.name());
                if is_down || fails_by_digest || self.chance(1, 12)? {
                    let failure = if is_down {
                        Failure::Unreachable
                    } else {
                        *self.0.choose(&FAILURES)?
                    };
                    answers.digests.insert(at_digest.clone(), Err(failure));
                }
                if self.chance(1, 3)? {
                    let index = self.index()?;
                    answers.indexes.insert(at_digest, index);
                }
            }
        }
        // If a registry answers a tag with a digest, a lookup of this digest must succeed too. So a
        // failure that is listed for the digest is removed.
        let tagged: Vec<String> = answers
            .digests
            .iter()
            .filter_map(|(image, answer)| {
                let name = Reference::parse(image)?.name();
                Some(format!("{name}@{}", answer.as_ref().ok()?))
            })
            .collect();
        for image in tagged {
            if answers
                .digests
                .get(&image)
                .is_some_and(std::result::Result::is_err)
            {
                answers.digests.remove(&image);
            }
        }
        Ok(answers)
    }

    fn index(&mut self) -> Result<Index> {
        if self.chance(1, 6)? {
            return Ok(Err(*self.0.choose(&FAILURES)?));
        }
        let mut platforms = Vec::new();
        for platform in [
            ("linux", "amd64"),
            ("linux", "arm64"),
            ("windows", "amd64"),
            ("unknown", "unknown"),
        ] {
            if self.chance(1, 2)? {
                platforms.push((platform.0.to_owned(), platform.1.to_owned()));
            }
        }
        if platforms.iter().all(|(os, _)| os == "unknown") && self.chance(3, 4)? {
            platforms.push(("linux".to_owned(), "s390x".to_owned()));
        }
        Ok(Ok(self.chance(3, 4)?.then_some(platforms)))
    }
}
