//! The list that the rules make: what each of them changed, and what it found and could not change.

use super::pull::Pull;
use crate::image::PullPolicy;
use crate::lookup::Class;
use crate::sanitize::sanitize;
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
type Writer<'o> = dyn Fn(&Pull, &str) -> Sentence + 'o;

/// What a rule did. The first three are changes, the others are reports.
#[derive(Debug, PartialEq, Eq)]
pub enum What {
    /// The pull has another image now.
    Image,
    /// The pull has another pull policy now.
    Policy,
    /// The pull's image has a new check, at this position in the Pod.
    Check(usize),
    /// The pull policy should be this one, and can't change.
    FixedPolicy(PullPolicy),
    /// The pull's image needs a check, and none was added.
    NoCheck,
    /// The image is wrong, or nothing else in the Pod has it.
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

impl Sentence {
    /// The sentence about a pull policy. `why` it is wrong follows `but`, and `reason` is why it
    /// changes. None if the change needs no warning.
    pub fn of_policy(pull: &Pull, image: &str, why: &str, reason: Option<&str>) -> Self {
        let (name, policy, before) = (pull.label(), pull.policy, pull.policy_before());
        let written = sanitize(pull.written_image);
        let repaired = |reason| {
            format!("{name} now pulls {written} with {policy} instead of {before}{reason}")
        };
        Self {
            problem: format!("{name} pulls {image} with {before} but {why}"),
            help: format!("set {name} to {policy}"),
            repaired: reason.map(repaired),
        }
    }
}

impl<'o> Entry<'o> {
    /// An entry with a sentence.
    pub fn new(
        rule: &'static str,
        pull: usize,
        what: What,
        sentence: impl Fn(&Pull, &str) -> Sentence + 'o,
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

    /// The field that it is about: its key, the value that came in, and the value that is there now
    /// or should be there.
    pub fn field<'p>(&self, pull: &'p Pull) -> (&'static str, Option<&'p str>, Option<&'p str>) {
        let (image, policy) = (pull.list.image_key(), pull.list.policy_key());
        let policy_before = pull.written_policy.map(PullPolicy::as_str);
        match self.what {
            What::Policy => (policy, policy_before, Some(pull.policy.as_str())),
            What::FixedPolicy(needed) => (policy, policy_before, Some(needed.as_str())),
            What::Image => (image, Some(pull.written_image), pull.new_image.as_deref()),
            What::Check(_) | What::NoCheck => (image, None, None),
            _ => (image, Some(pull.written_image), None),
        }
    }

    /// The sort key of entries: the position of the pull, then the field.
    pub fn position(&self) -> (usize, u8) {
        let field = match self.what {
            What::WrongImage | What::NotFound | What::Lookup(..) => 0,
            What::Image => 1,
            What::Check(_) | What::NoCheck => 2,
            What::Policy | What::FixedPolicy(_) => 3,
        };
        (self.pull, field)
    }
}
