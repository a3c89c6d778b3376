//! The lists of a Pod spec whose entries hold image references.

/// A list of a Pod spec whose entries hold image references. The order is that in which this policy
/// reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum List {
    /// `spec.initContainers`
    InitContainers,
    /// `spec.containers`
    Containers,
    /// `spec.ephemeralContainers`
    EphemeralContainers,
    /// `spec.volumes`. Only image volumes (KEP-4639) hold image references.
    Volumes,
}

impl List {
    /// The lists of containers.
    pub(crate) const CONTAINERS: [Self; 3] = [
        Self::InitContainers,
        Self::Containers,
        Self::EphemeralContainers,
    ];

    /// The list's name in the Pod spec.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InitContainers => "initContainers",
            Self::Containers => "containers",
            Self::EphemeralContainers => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }

    /// The path of an entry, e.g. `spec.containers[0]`. `spec` is the path of the Pod spec.
    pub(crate) fn path(self, spec: &str, index: usize) -> String {
        format!("{spec}.{}[{index}]", self.name())
    }

    /// The key of the image. In an image volume, it is a key of the member `image`.
    pub(crate) const fn image_key(self) -> &'static str {
        match self {
            Self::Volumes => "reference",
            _ => "image",
        }
    }

    /// The key of the pull policy. In an image volume, it is a key of the member `image`.
    pub(crate) const fn policy_key(self) -> &'static str {
        match self {
            Self::Volumes => "pullPolicy",
            _ => "imagePullPolicy",
        }
    }

    /// The path from an entry to its image.
    pub(crate) const fn image_path(self) -> &'static str {
        match self {
            Self::Volumes => "image.reference",
            _ => "image",
        }
    }

    /// The path from an entry to its pull policy.
    pub(crate) const fn policy_path(self) -> &'static str {
        match self {
            Self::Volumes => "image.pullPolicy",
            _ => "imagePullPolicy",
        }
    }
}
