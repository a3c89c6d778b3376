//! The containers that service meshes inject. The images have the names that the meshes use,
//! because some example settings name these images in `exempt.images`.

use serde_json::{Value, json};

use crate::json::{all_of, list_mut};

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
        let Injected {
            init_container,
            mut proxy,
            volumes,
        } = match self {
            Self::IstioNativeSidecar | Self::IstioSidecar => istio(),
            Self::LinkerdNativeSidecar | Self::LinkerdSidecar => linkerd(),
        };
        let is_injected =
            all_of(spec, &["initContainers", "containers"]).any(|one| one["name"] == proxy["name"]);
        if is_injected || spec["hostNetwork"] == true || spec["os"]["name"] == "windows" {
            return;
        }
        let init_containers = list_mut(spec, "initContainers");
        match self {
            Self::IstioNativeSidecar | Self::LinkerdNativeSidecar => {
                proxy["restartPolicy"] = "Always".into();
                init_containers.splice(0..0, [init_container, proxy]);
            }
            Self::IstioSidecar => {
                init_containers.push(init_container);
                list_mut(spec, "containers").push(proxy);
            }
            Self::LinkerdSidecar => {
                init_containers.push(init_container);
                list_mut(spec, "containers").insert(0, proxy);
            }
        }
        list_mut(spec, "volumes").extend(volumes);
    }
}

/// The containers and volumes that a mesh injects.
struct Injected {
    init_container: Value,
    proxy: Value,
    volumes: [Value; 2],
}

/// Source of the fields: `manifests/charts/istio-control/istio-discovery/files/injection-template.yaml:85`
/// and `:187-193`. The pull policy is the API server's default (`:146`).
fn istio() -> Injected {
    let resources = json!({
        "requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "2", "memory": "1Gi"},
    });
    Injected {
        init_container: json!({
            "name": "istio-init",
            "image": ISTIO_IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "args": ["istio-iptables", "-p", "15001"],
            "resources": resources,
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]},
                "runAsUser": 0,
            },
        }),
        proxy: json!({
            "name": "istio-proxy",
            "image": ISTIO_IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "args": ["proxy", "sidecar"],
            "ports": [{"name": "http-envoy-prom", "containerPort": 15090, "protocol": "TCP"}],
            "resources": resources,
            "volumeMounts": [
                {"name": "istio-data", "mountPath": "/var/lib/istio/data"},
                {"name": "istio-envoy", "mountPath": "/etc/istio/proxy"},
            ],
        }),
        volumes: [
            json!({"name": "istio-envoy", "emptyDir": {"medium": "Memory"}}),
            json!({"name": "istio-data", "emptyDir": {}}),
        ],
    }
}

/// Source of the fields: `charts/partials/templates/_proxy-init.tpl:49-95` and `_proxy.tpl`.
fn linkerd() -> Injected {
    let (lock, identity) = (
        "linkerd-proxy-init-xtables-lock",
        "linkerd-identity-end-entity",
    );
    Injected {
        init_container: json!({
            "name": "linkerd-init",
            "image": LINKERD_IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "command": ["/usr/lib/linkerd/linkerd2-proxy-init"],
            "args": ["--incoming-proxy-port", "4143", "--outgoing-proxy-port", "4140"],
            "resources": {},
            "volumeMounts": [{"name": lock, "mountPath": "/run"}],
        }),
        proxy: json!({
            "name": "linkerd-proxy",
            "image": LINKERD_IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "resources": {},
            "volumeMounts": [{"name": identity, "mountPath": "/var/run/linkerd/identity/end-entity"}],
        }),
        volumes: [
            json!({"name": lock, "emptyDir": {}}),
            json!({"name": identity, "emptyDir": {"medium": "Memory"}}),
        ],
    }
}
