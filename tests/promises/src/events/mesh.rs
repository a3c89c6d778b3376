//! The containers that service meshes inject. The images have the names that the meshes use,
//! because some example settings name these images in `images.exempt`.

use serde_json::{Value, json};

use crate::json::{all_of, list_mut};

/// A position of a mesh's proxy in a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mesh {
    /// The proxy is a native sidecar: the second init container, after the mesh's own one
    /// (istio/istio `pkg/kube/inject/webhook.go:809-816`, linkerd/linkerd2
    /// `charts/patch/templates/patch.json:11`).
    NativeSidecar,
    /// The proxy is the last app container (istio/istio `pkg/kube/inject/webhook.go:800`).
    LastContainer,
    /// The proxy is the first app container (linkerd/linkerd2
    /// `charts/patch/templates/patch.json:137-138`).
    FirstContainer,
}

impl Mesh {
    /// All variants.
    pub const ALL: [Self; 3] = [
        Self::NativeSidecar,
        Self::LastContainer,
        Self::FirstContainer,
    ];

    /// Injects an init container and a proxy into a Pod. A Pod with such a proxy is not changed,
    /// nor is a Pod on the host's network. A Windows Pod is not changed either, because the proxies
    /// are programs for Linux.
    pub fn inject(self, pod: &mut Value) {
        let spec = &mut pod["spec"];
        let (mesh, image) = match self {
            Self::FirstContainer => ("linkerd", "cr.l5d.io/linkerd/proxy:edge-26.8.1"),
            _ => ("istio", "docker.io/istio/proxyv2:1.28.1"),
        };
        let container = |role: &str| {
            let name = format!("{mesh}-{role}");
            json!({"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "resources": {}})
        };
        let (init_container, mut proxy) = (container("init"), container("proxy"));
        let is_injected =
            all_of(spec, &["initContainers", "containers"]).any(|one| one["name"] == proxy["name"]);
        if is_injected || spec["hostNetwork"] == true || spec["os"]["name"] == "windows" {
            return;
        }
        if self == Self::NativeSidecar {
            proxy["restartPolicy"] = "Always".into();
            list_mut(spec, "initContainers").splice(0..0, [init_container, proxy]);
            return;
        }
        list_mut(spec, "initContainers").push(init_container);
        let containers = list_mut(spec, "containers");
        let index = if self == Self::FirstContainer {
            0
        } else {
            containers.len()
        };
        containers.insert(index, proxy);
    }
}
