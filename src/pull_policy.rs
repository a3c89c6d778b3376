//! The pull policy: its values, their strength, and the server default.

/// When the kubelet pulls an image: the value of `imagePullPolicy`, or of an image volume's
/// `pullPolicy`.
///
/// The values are ordered by strength: a greater pull policy asks the registry more often.
///
/// Source: `PullPolicy` in the Kubernetes API,
/// <https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PullPolicy {
    /// The kubelet never pulls the image: it has to be on the node already.
    Never,
    /// The kubelet pulls the image if the node has no image of that name.
    IfNotPresent,
    /// The kubelet asks the registry each time a container starts.
    Always,
}

impl PullPolicy {
    /// All values, the strongest first. The API server's error about a wrong pull policy has this order.
    pub const ALL: [Self; 3] = [Self::Always, Self::IfNotPresent, Self::Never];

    /// The value as it is written in an object.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Never => "Never",
            Self::IfNotPresent => "IfNotPresent",
            Self::Always => "Always",
        }
    }

    /// Reads a value as the API server does: upper and lower case must match.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == text)
    }

    /// The server default: the pull policy that the API server writes if none is set.
    ///
    /// It is `Always` if the tag is exactly `latest`, or if there is neither a tag nor a digest.
    /// Otherwise it is `IfNotPresent`. A digest after the tag changes nothing. An image that can't
    /// be parsed gets `IfNotPresent` too.
    ///
    /// Source: `SetDefaults_Container` in `pkg/apis/core/v1/defaults.go` and `ParseImageName` in
    /// `pkg/util/parsers`. kubernetes/kubernetes#134092 describes the case of a tag with a digest.
    ///
    /// # Examples
    ///
    /// ```
    /// use consistent_pull_policy::pull_policy::PullPolicy;
    ///
    /// let digest = Some("sha256:0123…");
    /// // nginx, nginx:latest and nginx:latest@sha256:…
    /// assert_eq!(PullPolicy::server_default(None, None), PullPolicy::Always);
    /// assert_eq!(PullPolicy::server_default(Some("latest"), None), PullPolicy::Always);
    /// assert_eq!(PullPolicy::server_default(Some("latest"), digest), PullPolicy::Always);
    /// // nginx:1.25 and nginx@sha256:…
    /// assert_eq!(PullPolicy::server_default(Some("1.25"), None), PullPolicy::IfNotPresent);
    /// assert_eq!(PullPolicy::server_default(None, digest), PullPolicy::IfNotPresent);
    /// ```
    pub fn server_default(tag: Option<&str>, digest: Option<&str>) -> Self {
        if tag.map_or(digest.is_none(), |tag| tag == "latest") {
            Self::Always
        } else {
            Self::IfNotPresent
        }
    }
}
