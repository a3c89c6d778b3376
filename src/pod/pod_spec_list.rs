//! The lists of a Pod spec, with the paths of the image and the pull policy in their elements.

/// The lists of a Pod spec whose elements hold image references.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PodSpecList {
    /// `spec.initContainers`
    InitContainers,
    /// `spec.containers`
    Containers,
    /// `spec.ephemeralContainers`
    EphemeralContainers,
    /// `spec.volumes`. Only image volumes (KEP-4639) hold image references.
    Volumes,
}

impl PodSpecList {
    /// The list's name in the Pod spec.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::InitContainers => "initContainers",
            Self::Containers => "containers",
            Self::EphemeralContainers => "ephemeralContainers",
            Self::Volumes => "volumes",
        }
    }

    /// The key of the image. In an image volume, it is a key of the member `image`.
    pub(crate) const fn image_key(self) -> &'static str {
        match self {
            Self::Volumes => "reference",
            _ => "image",
        }
    }

    /// The key of the pull policy. In an image volume, it is a key of the member `image`.
    pub(crate) const fn pull_policy_key(self) -> &'static str {
        match self {
            Self::Volumes => "pullPolicy",
            _ => "imagePullPolicy",
        }
    }

    /// The path from an element of the list to its image.
    pub(crate) const fn image_field(self) -> &'static str {
        match self {
            Self::Volumes => "image.reference",
            _ => "image",
        }
    }

    /// The path from an element of the list to its pull policy.
    pub(crate) const fn pull_policy_field(self) -> &'static str {
        match self {
            Self::Volumes => "image.pullPolicy",
            _ => "imagePullPolicy",
        }
    }

    /// The path of a field, or of a whole element if `field` is empty: for example
    /// `spec.containers[0].image`. `pod_spec` has the keys that lead from the object to its Pod spec.
    pub(crate) fn path(self, pod_spec: &[&str], index: usize, field: &str) -> String {
        let dot = if field.is_empty() { "" } else { "." };
        let (pod_spec, list) = (pod_spec.join("."), self.name());
        format!("{pod_spec}.{list}[{index}]{dot}{field}")
    }

    /// All lists, in the order in which [`Pod::places`](super::Pod::places) holds their elements.
    pub(crate) const ALL: [Self; 4] = [
        Self::InitContainers,
        Self::Containers,
        Self::EphemeralContainers,
        Self::Volumes,
    ];
}
