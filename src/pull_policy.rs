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
        let latest = match (tag, digest) {
            (Some(tag), _) => tag == "latest",
            (None, digest) => digest.is_none(),
        };
        if latest {
            Self::Always
        } else {
            Self::IfNotPresent
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::Reference;

    #[test]
    fn always_is_stronger_than_if_not_present_which_is_stronger_than_never() {
        assert!(PullPolicy::Always > PullPolicy::IfNotPresent);
        assert!(PullPolicy::IfNotPresent > PullPolicy::Never);
    }

    #[test]
    fn only_the_exact_three_words_are_pull_policies() {
        for policy in PullPolicy::ALL {
            assert_eq!(PullPolicy::parse(policy.as_str()), Some(policy));
        }
        for other in ["always", "ALWAYS", "", " Always", "IfNotpresent", "Newer"] {
            assert_eq!(PullPolicy::parse(other), None, "{other:?}");
        }
    }

    /// The expected values were observed on a kube-apiserver 1.36.2.
    #[test]
    fn the_server_default_equals_the_value_that_the_api_server_writes() {
        let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
        let hex = "0123456789abcdef".repeat(4);
        let always = [
            "nginx".to_owned(),
            "nginx:latest".to_owned(),
            format!("nginx:latest@{digest}"),
            "localhost:5000/a/b".to_owned(),
            "localhost/a/b".to_owned(),
            "[::1]:5000/a/b".to_owned(),
            "localhost:5000/a/b:latest".to_owned(),
            "Registry.Example.com/nginx".to_owned(),
            "REGISTRY/nginx".to_owned(),
            format!("{hex}:latest"),
        ];
        let if_not_present = [
            "nginx:1.25".to_owned(),
            format!("nginx@{digest}"),
            format!("nginx:1.25@{digest}"),
            "localhost:5000/a/b:v1".to_owned(),
            "nginx:Latest".to_owned(),
            "nginx:LATEST".to_owned(),
            "nginx:latest-alpine".to_owned(),
            "nginx:stable-latest".to_owned(),
        ];
        for (images, expected) in [
            (&always[..], PullPolicy::Always),
            (&if_not_present[..], PullPolicy::IfNotPresent),
        ] {
            for image in images {
                let reference =
                    Reference::parse(image).unwrap_or_else(|e| panic!("{image}: {}", e.reason()));
                assert_eq!(
                    PullPolicy::server_default(reference.tag(), reference.digest()),
                    expected,
                    "{image}"
                );
            }
        }
    }
}
