//! The containers that service meshes inject. The images have the names that the meshes use,
//! because some example settings name these images in `exempt.images`.

use serde_json::{Value, json};

use super::elements;
use crate::validity::windows::is_windows;

/// A mesh, and whether its proxy is a native sidecar or an app container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mesh {
    /// Istio with the proxy as a native sidecar. The order is `istio-init`, `istio-proxy`, then the
    /// Pod's own init containers (istio/istio `pkg/kube/inject/webhook.go:809-816`).
    IstioNativeSidecar,
    /// Istio with the proxy as the last app container. `istio-init` comes after the Pod's own init
    /// containers (`pkg/kube/inject/webhook.go:800`, `:821-824`).
    IstioSidecar,
    /// Linkerd with the proxy as a native sidecar. A native sidecar is Linkerd's default
    /// (linkerd/linkerd2 `charts/linkerd-control-plane/values.yaml:255`). `linkerd-init` and the
    /// proxy come first (`charts/patch/templates/patch.json:11`, `:135-136`).
    LinkerdNativeSidecar,
    /// Linkerd with the proxy as the first app container, and `linkerd-init` as the last init
    /// container (`charts/patch/templates/patch.json:11`, `:137-138`).
    LinkerdSidecar,
}

const ISTIO_IMAGE: &str = "docker.io/istio/proxyv2:1.28.1";
const LINKERD_IMAGE: &str = "cr.l5d.io/linkerd/proxy:edge-26.8.1";

impl Mesh {
    /// All variants.
    pub const ALL: [Self; 4] = [
        Self::IstioNativeSidecar,
        Self::IstioSidecar,
        Self::LinkerdNativeSidecar,
        Self::LinkerdSidecar,
    ];

    /// Injects the mesh's containers and volumes into a Pod. A Pod is not changed if it has a proxy of
    /// this mesh already, or if it uses the host's network. A Windows Pod is not changed either,
    /// because the proxies are programs for Linux.
    pub fn inject(self, pod: &mut Value) {
        let spec = &mut pod["spec"];
        let proxy_name = match self {
            Self::IstioNativeSidecar | Self::IstioSidecar => "istio-proxy",
            Self::LinkerdNativeSidecar | Self::LinkerdSidecar => "linkerd-proxy",
        };
        let is_injected = ["initContainers", "containers"].iter().any(|list| {
            elements(spec, list)
                .iter()
                .any(|one| one["name"] == proxy_name)
        });
        if is_injected || spec["hostNetwork"] == true || is_windows(spec) {
            return;
        }
        let mut init_containers = elements(spec, "initContainers").to_vec();
        let mut containers = elements(spec, "containers").to_vec();
        let mut volumes = elements(spec, "volumes").to_vec();
        match self {
            Self::IstioNativeSidecar => {
                init_containers.insert(0, istio_init());
                init_containers.insert(1, native_sidecar(istio_proxy()));
            }
            Self::IstioSidecar => {
                init_containers.push(istio_init());
                containers.push(istio_proxy());
            }
            Self::LinkerdNativeSidecar => {
                init_containers.insert(0, linkerd_init());
                init_containers.insert(1, native_sidecar(linkerd_proxy()));
            }
            Self::LinkerdSidecar => {
                init_containers.push(linkerd_init());
                containers.insert(0, linkerd_proxy());
            }
        }
        match self {
            Self::IstioNativeSidecar | Self::IstioSidecar => {
                volumes.push(json!({"name": "istio-envoy", "emptyDir": {"medium": "Memory"}}));
                volumes.push(json!({"name": "istio-data", "emptyDir": {}}));
            }
            Self::LinkerdNativeSidecar | Self::LinkerdSidecar => {
                volumes.push(json!({"name": "linkerd-proxy-init-xtables-lock", "emptyDir": {}}));
                volumes.push(
                    json!({"name": "linkerd-identity-end-entity", "emptyDir": {"medium": "Memory"}}),
                );
            }
        }
        spec["initContainers"] = init_containers.into();
        spec["containers"] = containers.into();
        spec["volumes"] = volumes.into();
    }
}

fn native_sidecar(mut container: Value) -> Value {
    container["restartPolicy"] = "Always".into();
    container
}

/// Source of the fields: `manifests/charts/istio-control/istio-discovery/files/injection-template.yaml:85`.
/// The pull policy is the API server's default (`:146`).
fn istio_init() -> Value {
    json!({
        "name": "istio-init",
        "image": ISTIO_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["istio-iptables", "-p", "15001"],
        "resources": resources("2", "1Gi"),
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]},
            "runAsUser": 0,
        },
    })
}

/// Source of the fields: `injection-template.yaml:187-193`.
fn istio_proxy() -> Value {
    json!({
        "name": "istio-proxy",
        "image": ISTIO_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "args": ["proxy", "sidecar"],
        "ports": [{"name": "http-envoy-prom", "containerPort": 15090, "protocol": "TCP"}],
        "resources": resources("2", "1Gi"),
        "volumeMounts": [
            {"name": "istio-data", "mountPath": "/var/lib/istio/data"},
            {"name": "istio-envoy", "mountPath": "/etc/istio/proxy"},
        ],
    })
}

/// Source of the fields: `charts/partials/templates/_proxy-init.tpl:49-95`.
fn linkerd_init() -> Value {
    json!({
        "name": "linkerd-init",
        "image": LINKERD_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/usr/lib/linkerd/linkerd2-proxy-init"],
        "args": ["--incoming-proxy-port", "4143", "--outgoing-proxy-port", "4140"],
        "resources": {},
        "volumeMounts": [{"name": "linkerd-proxy-init-xtables-lock", "mountPath": "/run"}],
    })
}

/// Source of the fields: `charts/partials/templates/_proxy.tpl`.
fn linkerd_proxy() -> Value {
    json!({
        "name": "linkerd-proxy",
        "image": LINKERD_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "resources": {},
        "volumeMounts": [
            {"name": "linkerd-identity-end-entity", "mountPath": "/var/run/linkerd/identity/end-entity"},
        ],
    })
}

fn resources(cpu: &str, memory: &str) -> Value {
    json!({
        "requests": {"cpu": "100m", "memory": "128Mi"},
        "limits": {"cpu": cpu, "memory": memory},
    })
}
