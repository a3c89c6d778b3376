//! Random cases, made from a list of bytes. A case is a request, settings and answers of
//! registries. The same bytes give the same case, so a seed and a number identify a case (see
//! [`bytes()`]). Fewer bytes usually give a smaller case, so [`shrink`] removes bytes of a failing
//! case.
//!
//! Names, images and patterns come from short lists, so that a case often contains the same
//! name twice. Half of the cases are dense (`Source::is_dense`): there, the rules about the start
//! of a Pod have the most to do.

mod any_shape;
mod container;
mod metadata;
mod pod;
mod registries;
mod request;
mod settings;
mod vocabulary;

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};

use crate::answers::Answers;
use vocabulary::{
    OTHER_REPOSITORIES, PATTERN_HOSTS, PATTERN_REPOSITORIES, PATTERN_TAGS, SUFFIXES,
    USUAL_REPOSITORIES,
};

pub use any_shape::any_shape;

/// The number of bytes that a case is made from.
const BYTES: usize = 2048;

/// A request, the settings, and the registries' answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The `AdmissionRequest`.
    pub request: Value,
    /// The settings of this policy.
    pub settings: Value,
    /// The registries' answers.
    pub answers: Answers,
}

/// Returns the bytes of a case. The seed identifies a run, and the number identifies a case in this
/// run.
#[must_use]
pub fn bytes(seed: u64, number: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut random =
        fastrand::Rng::with_seed(random.u64(..) ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut bytes = vec![0; BYTES];
    random.fill(&mut bytes);
    bytes
}

/// Returns the case that is made from these bytes.
#[must_use]
pub fn case(bytes: &[u8]) -> Case {
    Source::new(bytes).case().unwrap_or_else(|_| Case {
        request: json!({}),
        settings: json!({}),
        answers: Answers::default(),
    })
}

/// All images of the random cases that have no digest and no deliberate mistake.
#[must_use]
pub fn images() -> Vec<String> {
    let repositories = [USUAL_REPOSITORIES, OTHER_REPOSITORIES].map(str::split_whitespace);
    let with_suffixes = |repository| SUFFIXES.map(|suffix| [repository, suffix].concat());
    repositories
        .into_iter()
        .flatten()
        .flat_map(with_suffixes)
        .collect()
}

/// All image patterns that are made from parts.
#[must_use]
pub fn image_patterns() -> Vec<String> {
    let mut patterns = Vec::new();
    for host in PATTERN_HOSTS.split_whitespace().chain([""]) {
        for repository in PATTERN_REPOSITORIES.split_whitespace() {
            patterns.extend(PATTERN_TAGS.map(|tag| [host, repository, tag].concat()));
        }
    }
    patterns
}

/// Removes bytes, or sets bytes to smaller values, as long as the case still fails. Returns the
/// bytes of the smallest failing case that was found.
pub fn shrink(bytes: &[u8], mut fails: impl FnMut(&Case) -> bool) -> Vec<u8> {
    let mut best = bytes.to_vec();
    loop {
        let before = best.clone();
        let mut size = best.len().next_power_of_two();
        while size > 0 {
            let mut start = 0;
            while start < best.len() {
                let end = (start + size).min(best.len());
                let without = [&best[..start], &best[end..]].concat();
                let mut zeroed = best.clone();
                zeroed[start..end].fill(0);
                if fails(&case(&without)) {
                    best = without;
                } else {
                    if zeroed != best && fails(&case(&zeroed)) {
                        best = zeroed;
                    }
                    start = end;
                }
            }
            size /= 2;
        }
        for index in 0..best.len() {
            let mut lower = best.clone();
            for value in [1, best[index] / 2, best[index].saturating_sub(1)] {
                lower[index] = value;
                if value < best[index] && fails(&case(&lower)) {
                    best[index] = value;
                    break;
                }
            }
        }
        if best == before {
            return best;
        }
    }
}

struct Source<'a> {
    bytes: Unstructured<'a>,
    /// Whether the case is the creation of a Pod that has few images, some of them in two
    /// spellings, many image volumes, each on some of the containers, and often exempt containers.
    is_dense: bool,
}

impl<'a> Source<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: Unstructured::new(bytes),
            is_dense: false,
        }
    }

    /// Returns true with the probability `part` / `whole`. Returns false if no bytes are left.
    fn chance(&mut self, part: u8, whole: u8) -> Result<bool> {
        Ok(self.bytes.int_in_range(1..=whole)? > whole - part)
    }

    fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> Result<&'t T> {
        Ok(self.bytes.choose(from)?)
    }

    /// One word of a text.
    fn word(&mut self, text: &'static str) -> Result<&'static str> {
        let words: Vec<&str> = text.split_whitespace().collect();
        self.pick(&words)
    }

    /// Some words of a text, each at most once.
    fn words(&mut self, text: &'static str, most: usize) -> Result<Vec<String>> {
        let count = self.bytes.int_in_range(1..=most)?;
        let mut list = Vec::new();
        for _ in 0..count {
            let word = self.word(text)?.to_owned();
            if !list.contains(&word) {
                list.push(word);
            }
        }
        Ok(list)
    }

    /// Writes one of these values under a key, with the probability 1 / `whole`.
    fn sometimes(
        &mut self,
        whole: u8,
        object: &mut Value,
        key: &str,
        values: &[Value],
    ) -> Result<()> {
        if self.chance(1, whole)? {
            object[key] = self.bytes.choose(values)?.clone();
        }
        Ok(())
    }

    fn case(&mut self) -> Result<Case> {
        self.is_dense = self.chance(1, 2)?;
        let settings = self.settings()?;
        let mut images = Vec::new();
        let most = if self.is_dense { 2 } else { 3 };
        for _ in 0..self.bytes.int_in_range(1..=most)? {
            images.push(self.repository()?);
        }
        Ok(Case {
            request: self.request(&images)?,
            settings,
            answers: self.answers(&images)?,
        })
    }

    fn repository(&mut self) -> Result<&'static str> {
        let is_other = self.chance(1, if self.is_dense { 8 } else { 2 })?;
        self.word(if is_other {
            OTHER_REPOSITORIES
        } else {
            USUAL_REPOSITORIES
        })
    }
}
