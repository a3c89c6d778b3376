//! An oracle for one promise: if an API server accepts the request's Pod, it also accepts the
//! returned Pod.
//!
//! The oracle contains only those rules of Kubernetes' Pod validation that an added or removed
//! container, volume or mount can violate. Each rule names its source, usually in
//! `kubernetes/kubernetes`. The source `validation.go` means `pkg/apis/core/validation/validation.go`.
//! [`faults`] doesn't use two of the submodules: [`service`] computes the Pod's quality of service, and
//! [`admission`] has the checks of two admission plugins.

pub mod admission;
mod mounts;
pub(crate) mod names;
pub mod quantity;
mod resources;
pub mod service;
mod size;
pub mod windows;

use serde_json::Value;

/// One reason why an API server or a kubelet would refuse a Pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The path of the field. It is empty if the whole Pod is too large.
    pub path: String,
    /// The problem with the field.
    pub problem: String,
    /// The source of the rule: usually a file and a function in `kubernetes/kubernetes`.
    pub source: &'static str,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {} ({})", self.path, self.problem, self.source)
    }
}

/// Returns the faults of a Pod, or of a pod template (`metadata` and `spec`). The rules in
/// [`admission`] are not checked here.
#[must_use]
pub fn faults(pod: &Value) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    names::check(pod, &mut faults);
    mounts::check(pod, &mut faults);
    resources::check(&pod["spec"], &mut faults);
    windows::check(&pod["spec"], &mut faults);
    size::check(pod, &mut faults);
    faults.0
}

/// Collects faults.
struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, path: impl Into<String>, problem: impl Into<String>, source: &'static str) {
        self.0.push(Fault {
            path: path.into(),
            problem: problem.into(),
            source,
        });
    }
}

/// A container with its list and its path in the Pod spec.
struct Container<'p> {
    path: String,
    list: &'static str,
    fields: &'p Value,
}

impl<'p> Container<'p> {
    fn name(&self) -> &'p str {
        text(self.fields, "name")
    }

    /// Whether the container is an init container that keeps running beside the app containers.
    fn is_native_sidecar(&self) -> bool {
        self.list == INIT_CONTAINERS && self.fields["restartPolicy"] == "Always"
    }
}

const CONTAINERS: &str = "containers";
const INIT_CONTAINERS: &str = "initContainers";
const EPHEMERAL_CONTAINERS: &str = "ephemeralContainers";

/// Returns the containers of some lists, in the order of these lists.
fn containers<'p>(spec: &'p Value, lists: &[&'static str]) -> Vec<Container<'p>> {
    let mut found = Vec::new();
    for list in lists {
        for (index, fields) in elements(spec, list).iter().enumerate() {
            found.push(Container {
                path: format!("spec.{list}[{index}]"),
                list,
                fields,
            });
        }
    }
    found
}

/// Returns the elements of a list. The result is empty if the field is missing or is no list.
fn elements<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// Returns the text of a field. The result is empty if the field is missing or is no text.
fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Whether a field is there and not null.
fn is_set(value: &Value, key: &str) -> bool {
    value.get(key).is_some_and(|field| !field.is_null())
}
