//! Random answers of registries.

use arbitrary::Result;

use super::Source;
use super::vocabulary::{DIGESTS, SUFFIXES};
use crate::answers::{ANSWERED_DIGESTS, Answers, Failure, Index};
use crate::image::Reference;

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
                    Err(*self.0.choose(&Failure::ALL)?)
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
                        *self.0.choose(&Failure::ALL)?
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
            if answers.digests.get(&image).is_some_and(|one| one.is_err()) {
                answers.digests.remove(&image);
            }
        }
        Ok(answers)
    }

    fn index(&mut self) -> Result<Index> {
        if self.chance(1, 6)? {
            return Ok(Err(*self.0.choose(&Failure::ALL)?));
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
