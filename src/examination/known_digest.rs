//! The digest behind a tag, if it is known while a request is examined.

use std::rc::Rc;

use super::finding::{FindingReason, FindingSubject, RuleId};
use crate::sentence;
use crate::sentence::{Sentence, SentenceLength, UntrustedText};

/// The digest behind the tag of an image, if it is known while a request is examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KnownDigest {
    /// No digest behind the tag is known.
    #[default]
    Unknown,
    /// A lookup gave this digest. It is not written into the image.
    Resolved(Rc<str>),
    /// This digest is to be written into the image, after the tag.
    Pinned(Rc<str>),
    /// The image that the node has cached may be used (`UseCached`), because the registry gave no
    /// digest. The copy also uses this value, because the first installation may have got no digest.
    UseCached,
}

impl KnownDigest {
    /// The digest, if one is known.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        match self {
            Self::Resolved(digest) | Self::Pinned(digest) => Some(digest),
            Self::Unknown | Self::UseCached => None,
        }
    }

    /// The digest that is to be written into the image.
    #[must_use]
    pub fn pinned_digest(&self) -> Option<&Rc<str>> {
        match self {
            Self::Pinned(digest) => Some(digest),
            Self::Unknown | Self::Resolved(_) | Self::UseCached => None,
        }
    }
}

/// The reason for a finding: a tag has to be pinned to its digest.
#[derive(Clone, Debug)]
pub struct PinnedTag {
    /// The image with its digest.
    pub image: String,
    /// The digest.
    pub digest: Rc<str>,
}

impl FindingReason for PinnedTag {
    fn rule(&self) -> RuleId {
        RuleId::Registry
    }

    /// Names the digest to write. Even a short line has the whole digest.
    fn sentence<'s>(&'s self, subject: &FindingSubject<'s>, room: SentenceLength) -> Sentence<'s> {
        let (name, image) = (subject.name, subject.image);
        match room {
            SentenceLength::Full => sentence!(
                name,
                " pulls ",
                image,
                " by its tag: set its image to ",
                UntrustedText(&self.image),
                " with ",
                subject.expected()
            ),
            SentenceLength::Line => sentence!(
                name,
                ": pin ",
                image,
                " to @",
                Sentence::of_digest(&self.digest)
            ),
        }
    }
}
