//! Images as the kubelet reads them: references, pull policies, and the patterns that name images.

mod host;
mod pattern;
mod reference;

pub use self::pattern::Pattern;
pub use self::reference::{Invalid, Reference};
pub(crate) use self::reference::{LATEST, is_digest};

/// When the kubelet pulls an image: the value of `imagePullPolicy`, or of an image volume's
/// `pullPolicy`.
///
/// The values are ordered by strength: a greater pull policy asks the registry more often. Upper and
/// lower case of a written value must match, as in the API server.
///
/// Source: `PullPolicy` in the Kubernetes API,
/// <https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy>.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
)]
pub enum PullPolicy {
    /// The kubelet never pulls the image: it has to be on the node already.
    Never,
    /// The kubelet pulls the image if the node has no image of that name.
    IfNotPresent,
    /// The kubelet asks the registry each time a container starts.
    Always,
}

impl PullPolicy {
    /// The value as it is written in an object.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The server default: the pull policy that the API server writes if none is set. None is
    /// an image that can't be parsed.
    ///
    /// Source: `SetDefaults_Container` in `pkg/apis/core/v1/defaults.go` and `ParseImageName` in
    /// `pkg/util/parsers`. A digest after the tag `latest` changes nothing (kubernetes#134092).
    pub fn server_default(image: Option<&Reference>) -> Self {
        if image.and_then(Reference::effective_tag) == Some(LATEST) {
            Self::Always
        } else {
            Self::IfNotPresent
        }
    }
}
