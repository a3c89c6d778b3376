//! An image that lacks a platform for which its Pod asks.

use oci_spec::image::Platform;

use crate::finding::{Finding, FindingReason};
use crate::pod_spec::RequestedPlatforms;
use crate::rule_id::RuleId;
use crate::shown_text::TextLimit;

/// The platforms of an image, and a platform that the Pod asks for and that is not among them.
#[derive(Clone, Debug)]
pub(super) struct MissingPlatformReason {
    /// The platforms of the image.
    has: Vec<String>,
    /// The platform that the image lacks.
    lacks: String,
    /// The path of the Pod spec.
    pod_spec: &'static str,
    /// The field of the Pod spec that asks for the platform.
    field: &'static str,
}

impl MissingPlatformReason {
    /// The first requested platform that is not in the index of an image. None if the index has all requested
    /// platforms, or names no platform. `pod_spec` is the path of the Pod spec.
    pub(super) fn find(
        requested: &RequestedPlatforms,
        index: &[Platform],
        pod_spec: &'static str,
    ) -> Option<Self> {
        // An index may also list attestations, with the platform `unknown/unknown`. An attestation
        // describes how an image was built.
        let is_attestation = |platform: &&Platform| {
            platform.os().to_string() == "unknown"
                && platform.architecture().to_string() == "unknown"
        };
        let has: Vec<&Platform> = index.iter().filter(|p| !is_attestation(p)).collect();
        // If an index names no platform, nothing can be compared.
        if has.is_empty() {
            return None;
        }
        let lacks = requested.first_missing(&has)?;
        let mut has: Vec<String> = has
            .iter()
            .map(|platform| match platform.variant() {
                Some(variant) => {
                    format!("{}/{}/{variant}", platform.os(), platform.architecture())
                }
                None => format!("{}/{}", platform.os(), platform.architecture()),
            })
            .collect();
        has.dedup();
        Some(Self {
            has,
            lacks,
            pod_spec,
            field: requested.field,
        })
    }
}

impl FindingReason for MissingPlatformReason {
    fn rule(&self) -> RuleId {
        RuleId::Registry
    }

    fn sentence(&self, finding: &Finding<'_>, limit: TextLimit) -> String {
        let (name, image) = (finding.name(limit), finding.image(limit));
        let (has, lacks) = (limit.show_list(&self.has), limit.show(&self.lacks));
        let (pod_spec, field) = (self.pod_spec, self.field);
        format!(
            "{name}'s image {image} has {has} only, but the Pod asks for {lacks}: build it for {lacks} or \
             change {pod_spec}.{field}"
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::rules::answers_for_tests::{answer, pod};

    #[test]
    fn sentence() {
        let mut request = pod("app a app:1 Always");
        request["object"]["spec"]["nodeSelector"] = json!({"kubernetes.io/arch": "arm64"});
        let registry = json!({"images": ["*"], "lookup": "Verify", "platform": "Reject"});
        assert_eq!(
            answer(&request, &json!({"registry": registry}))["message"],
            "a's image app:1 has linux/amd64 only, but the Pod asks for arm64: build it for arm64 or change \
             spec.nodeSelector"
        );
    }
}
