//! The list that the rules make: what each of them changed, and what it found and could not change.

use crate::image::PullPolicy;
use crate::lookup::Class;
use crate::pod::Pull;
use crate::settings::Action;

/// A change that a rule made in the Pod, or a report.
pub struct Entry<'o> {
    /// The id of the rule.
    pub rule: &'static str,
    /// The position of the pull in the Pod.
    pub pull: usize,
    pub what: What,
    /// Whether the same request may be accepted later.
    pub is_retryable: bool,
    /// Whether a report is only ever a warning.
    pub is_warning: bool,
    /// Writes the sentence. None if nothing is wrong, or if another entry says it.
    pub sentence: Option<Box<Writer<'o>>>,
}

/// Writes a sentence about a pull, which pulls this image.
type Writer<'o> = dyn Fn(&Pull<'_>, &str) -> Sentence + 'o;

/// What a rule did. The first three are changes, the others are reports.
#[derive(Debug, PartialEq, Eq)]
pub enum What {
    /// The pull has this image now.
    Image(String),
    /// The pull has this pull policy now.
    Policy(PullPolicy),
    /// The pull's image has a new check, at this position in the Pod.
    Check(usize),
    /// The pull policy should be this one, and can't change.
    FixedPolicy(PullPolicy),
    /// The pull's image needs a check, and none was added.
    NoCheck,
    /// The image is wrong.
    WrongImage,
    /// A pod template has an image that its registry doesn't have. Pods with it would be created,
    /// unless the settings reject them.
    NotFound,
    /// A lookup of this image failed.
    Lookup(String, Action, Class),
}

/// What a person reads about an entry.
pub struct Sentence {
    /// What is wrong.
    pub problem: String,
    /// What a person can do about it.
    pub help: String,
    /// The warning about the change. None if a change needs no warning, e.g. a pinned tag.
    pub repaired: Option<String>,
}

impl<'o> Entry<'o> {
    /// An entry with a sentence.
    pub fn new(
        rule: &'static str,
        pull: usize,
        what: What,
        sentence: impl Fn(&Pull<'_>, &str) -> Sentence + 'o,
    ) -> Self {
        Self {
            sentence: Some(Box::new(sentence)),
            ..Self::silent(rule, pull, what)
        }
    }

    /// An entry without a sentence.
    pub fn silent(rule: &'static str, pull: usize, what: What) -> Self {
        Self {
            rule,
            pull,
            what,
            is_retryable: false,
            is_warning: false,
            sentence: None,
        }
    }

    /// Whether it is an entry of the audit annotation `findings`.
    pub fn is_finding(&self) -> bool {
        self.sentence.is_some() && !matches!(self.what, What::Lookup(..))
    }

    /// The sort key of entries in annotations: the position of the pull, then the field.
    pub fn position(&self) -> (usize, u8) {
        let field = match self.what {
            What::WrongImage | What::NotFound | What::Lookup(..) => 0,
            What::Image(_) => 1,
            What::Check(_) | What::NoCheck => 2,
            What::Policy(_) | What::FixedPolicy(_) => 3,
        };
        (self.pull, field)
    }
}
