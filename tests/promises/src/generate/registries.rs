//! Random answers of registries.

use arbitrary::Result;

use super::Source;
use super::vocabulary::{DIGESTS, SUFFIXES};
use crate::answers::{ANSWERED_DIGESTS, Answers, Failure};
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
                    Err(*self.bytes.choose(&Failure::ALL)?)
                } else if self.chance(1, 60)? {
                    Ok(self.pick(&["", "sha256:123", "latest"])?.to_owned())
                } else {
                    Ok(self.pick(&ANSWERED_DIGESTS)?.to_owned())
                };
                answers.0.insert(image, answer);
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
                        *self.bytes.choose(&Failure::ALL)?
                    };
                    answers.0.insert(at_digest, Err(failure));
                }
            }
        }
        // If a registry answers a tag with a digest, a lookup of this digest must succeed too. So a
        // failure that is listed for the digest is removed.
        let tagged: Vec<String> = answers
            .0
            .iter()
            .filter_map(|(image, answer)| {
                let (name, _) = image.rsplit_once(':')?;
                Some(format!("{name}@{}", answer.as_ref().ok()?))
            })
            .collect();
        for image in tagged {
            if answers.0.get(&image).is_some_and(Result::is_err) {
                answers.0.remove(&image);
            }
        }
        Ok(answers)
    }
}
