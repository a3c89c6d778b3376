//! Random answers of registries.

use arbitrary::Result;

use super::Source;
use super::vocabulary::{DIGESTS, MANIFESTS, SUFFIXES};
use crate::answers::{ANSWERED_DIGESTS, Answers, Failure, Index, IndexEntry};
use crate::image::shared_name;

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
                let Some(image) = shared_name(&format!("{repository}{suffix}")) else {
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
                answers.digests.insert(image, answer);
            }
            let Some(image) = shared_name(repository) else {
                continue;
            };
            let name = image.trim_end_matches(":latest");
            for digest in DIGESTS {
                let at_digest = format!("{name}@{digest}");
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
            // Registries lose a manifest and keep the index that names it.
            for digest in MANIFESTS {
                if self.chance(1, 6)? {
                    let failure = self.pick_failure()?;
                    let manifest = format!("{name}@{}", manifest_digest(digest));
                    answers.digests.insert(manifest, Err(failure));
                }
            }
        }
        // If a registry answers a tag with a digest, a lookup of this digest must succeed too. So a
        // failure that is listed for the digest is removed.
        let tagged: Vec<String> = answers
            .digests
            .iter()
            .filter_map(|(image, answer)| {
                let (name, _) = image.rsplit_once(':')?;
                Some(format!("{name}@{}", answer.as_ref().ok()?))
            })
            .collect();
        for image in tagged {
            if answers.digests.get(&image).is_some_and(Result::is_err) {
                answers.digests.remove(&image);
            }
        }
        Ok(answers)
    }

    /// A class of failures. Half of them are *not found*, because only this one has a meaning of its own for a
    /// platform.
    fn pick_failure(&mut self) -> Result<Failure> {
        if self.chance(1, 2)? {
            return Ok(Failure::NotFound);
        }
        Ok(*self.0.choose(&Failure::ALL)?)
    }

    fn index(&mut self) -> Result<Index> {
        if self.chance(1, 6)? {
            return Ok(Err(*self.0.choose(&Failure::ALL)?));
        }
        let mut entries = Vec::new();
        // Two entries fit `linux/amd64`: an index may name a manifest for each variant of the processor.
        let platforms = [
            ("linux", "amd64"),
            ("linux", "arm64"),
            ("windows", "amd64"),
            ("unknown", "unknown"),
            ("linux", "amd64"),
            ("linux", "s390x"),
        ];
        for ((os, architecture), digest) in platforms.into_iter().zip(MANIFESTS) {
            if self.chance(1, 2)? {
                entries.push(IndexEntry {
                    os: os.to_owned(),
                    architecture: architecture.to_owned(),
                    digest: manifest_digest(digest),
                });
            }
        }
        Ok(Ok(self.chance(3, 4)?.then_some(entries)))
    }
}

/// The digest of a manifest with these first digits.
fn manifest_digest(digits: &str) -> String {
    format!("sha256:{digits:0<64}")
}
