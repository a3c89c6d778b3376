//! The digest behind a tag, if it is known while a request is examined.

use std::rc::Rc;

/// The digest behind the tag of an image, if it is known while a request is examined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum KnownDigest {
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
    pub(crate) fn digest(&self) -> Option<&str> {
        match self {
            Self::Resolved(digest) | Self::Pinned(digest) => Some(digest),
            Self::Unknown | Self::UseCached => None,
        }
    }

    /// The digest that is to be written into the image.
    pub(crate) fn pinned_digest(&self) -> Option<&Rc<str>> {
        match self {
            Self::Pinned(digest) => Some(digest),
            Self::Unknown | Self::Resolved(_) | Self::UseCached => None,
        }
    }
}
