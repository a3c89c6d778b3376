//! An oracle for one promise: if an API server accepts the request's Pod, it also accepts the
//! returned Pod.
//!
//! The oracle contains only those rules of Kubernetes' Pod validation that an added container, volume or
//! mount can violate. Each problem names its source, usually in `kubernetes/kubernetes`. The source
//! `validation.go` means `pkg/apis/core/validation/validation.go`. [`faults`] doesn't use two of the
//! submodules: [`service`] computes the Pod's quality of service, and [`admission`] has the checks of two
//! admission plugins.

pub mod admission;
mod mounts;
mod names;
pub mod quantity;
mod resources;
pub mod service;

use serde_json::Value;

use crate::json::{elements, text};

/// One reason why an API server would refuse a Pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The path of the field. It is empty if the whole Pod is too large.
    pub path: String,
    /// The problem with the field, and the source of the rule.
    pub problem: &'static str,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.path, self.problem)
    }
}

/// Returns the faults of a Pod, or of a pod template (`metadata` and `spec`). The rules in
/// [`admission`] are not checked here.
#[must_use]
pub fn faults(pod: &Value) -> Vec<Fault> {
    let mut faults = Faults(Vec::new());
    names::check(&pod["spec"], &mut faults);
    mounts::check(&pod["spec"], &mut faults);
    resources::check(&pod["spec"], &mut faults);
    windows(&pod["spec"], &mut faults);
    sizes(pod, &mut faults);
    faults.0
}

/// Fields of a container's security context that a Pod with `spec.os.name: windows` can't have.
const NOT_ON_WINDOWS: [&str; 9] = [
    "allowPrivilegeEscalation",
    "appArmorProfile",
    "capabilities",
    "privileged",
    "procMount",
    "readOnlyRootFilesystem",
    "runAsGroup",
    "runAsUser",
    "seccompProfile",
];

fn windows(spec: &Value, faults: &mut Faults) {
    if spec["os"]["name"] != "windows" {
        return;
    }
    for container in containers(spec) {
        let context = &container.fields["securityContext"];
        for field in NOT_ON_WINDOWS
            .into_iter()
            .filter(|field| !context[*field].is_null())
        {
            let path = format!("{}.securityContext.{field}", container.path);
            faults.add(
                path,
                "is refused in a Windows Pod (validation.go validateWindows)",
            );
        }
    }
}

/// The limit for the keys and values of all annotations together, in bytes.
const ANNOTATIONS_MAX: usize = 256 * 1024;

/// The size limit of etcd for an object, in bytes. The function `sizes` measures the object as JSON. etcd
/// gets the object as protobuf, which is usually smaller. So `sizes` is a little too strict.
const OBJECT_MAX: usize = 1536 * 1024;

fn sizes(pod: &Value, faults: &mut Faults) {
    let annotations = pod["metadata"]["annotations"].as_object();
    let size = annotations.into_iter().flatten();
    let size: usize = size.map(|(key, value)| key.len() + text(value).len()).sum();
    if size > ANNOTATIONS_MAX {
        faults.add(
            "metadata.annotations",
            "are too large (objectmeta.go ValidateAnnotationsSize)",
        );
    }
    if pod.to_string().len() > OBJECT_MAX {
        faults.add(
            "",
            "is too large (etcd's --max-request-bytes, embed.DefaultMaxRequestBytes)",
        );
    }
}

/// Collects faults.
struct Faults(Vec<Fault>);

impl Faults {
    fn add(&mut self, path: impl Into<String>, problem: &'static str) {
        let path = path.into();
        self.0.push(Fault { path, problem });
    }
}

/// A container with its list and its path in the Pod spec.
struct Container<'p> {
    path: String,
    list: &'static str,
    fields: &'p Value,
}

impl Container<'_> {
    /// Whether the container is an init container that keeps running beside the app containers.
    fn is_native_sidecar(&self) -> bool {
        self.list == "initContainers" && self.fields["restartPolicy"] == "Always"
    }
}

/// Returns the init containers, and then the app containers.
fn containers(spec: &Value) -> Vec<Container<'_>> {
    let mut found = Vec::new();
    for list in ["initContainers", "containers"] {
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
