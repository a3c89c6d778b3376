//! The resources of a whole Pod, in `spec.resources` (KEP-2837).

use serde_json::Value;

/// Whether the text of `spec.resources` has a request or a limit of cpu, memory or huge pages. These
/// are the only resources that a Pod can have as a whole. Source: `IsSupportedPodLevelResource` in
/// `pkg/apis/core/v1/helper/helpers.go`.
#[must_use]
pub(super) fn sets_pod_resources(text: &str) -> bool {
    let resources: Value = serde_json::from_str(text).unwrap_or_default();
    let lists = ["requests", "limits"].map(|key| resources.get(key).and_then(Value::as_object));
    let mut names = lists.into_iter().flatten().flat_map(|list| list.keys());
    names.any(|name| matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-"))
}
