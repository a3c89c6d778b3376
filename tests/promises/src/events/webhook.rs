//! Webhooks of other projects. They change a Pod after this policy in mode `Fix`, and before a
//! second policy.

use serde_json::{Value, json};

use crate::image::{PullPolicy, Reference};
use crate::json::{elements_mut, list_mut, text};

/// A webhook of another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Webhook {
    /// A webhook injects an init container before all others. Vault's agent injector does this with
    /// `vault.hashicorp.com/agent-init-first`.
    InitContainerInjected,
    /// A webhook writes the Pod with older types, which don't have `volumes[].image`. The API
    /// server makes an `emptyDir` of each such volume. Kubewarden's container-resources-policy does
    /// this.
    VolumeImagesDropped,
    /// The images of containers and init containers get their digests, and the images of volumes
    /// don't. Kubewarden's verify-image-signatures does this (`add_digest_if_not_present` in its
    /// `src/lib.rs`).
    DigestsPinned,
    /// The images of containers get another registry. The images of init containers and volumes
    /// don't.
    RegistriesRenamed,
}

impl Webhook {
    /// Changes a Pod, as the webhook does.
    pub fn change(self, pod: &mut Value) {
        let spec = &mut pod["spec"];
        match self {
            Self::InitContainerInjected => {
                let injected = json!({
                    "name": "vault-agent-init", "image": "docker.io/hashicorp/vault:1.21.1",
                    "imagePullPolicy": "IfNotPresent", "resources": {},
                });
                list_mut(spec, "initContainers").insert(0, injected);
            }
            Self::VolumeImagesDropped => {
                for volume in elements_mut(spec, "volumes") {
                    if volume["image"].is_object() {
                        *volume = json!({"name": volume["name"], "emptyDir": {}});
                    }
                }
            }
            Self::DigestsPinned => change_images(spec, &["initContainers", "containers"], pinned),
            Self::RegistriesRenamed => change_images(spec, &["containers"], renamed),
        }
    }
}

/// Replaces each image in these lists that is a valid reference.
fn change_images(spec: &mut Value, lists: &[&str], change: fn(&str, &Reference) -> String) {
    for list in lists {
        for container in elements_mut(spec, list) {
            let image = text(&container["image"]).to_owned();
            if let Some(reference) = Reference::parse(&image) {
                // The API server has filled in the pull policy before any webhook.
                if text(&container["imagePullPolicy"]).is_empty() {
                    container["imagePullPolicy"] = PullPolicy::server_default(&image).name().into();
                }
                container["image"] = change(&image, &reference).into();
            }
        }
    }
}

/// The image with a digest. References of the same image get the same digest.
fn pinned(image: &str, reference: &Reference) -> String {
    if reference.digest.is_some() {
        return image.to_owned();
    }
    let add = |sum: u128, byte| sum.wrapping_mul(31).wrapping_add(u128::from(byte));
    let digest = reference.normalised().bytes().fold(7, add);
    format!("{image}@sha256:{digest:064x}")
}

/// The image in another registry, with the same repository, tag and digest.
fn renamed(image: &str, reference: &Reference) -> String {
    let end = image.rfind('/').map_or(0, |slash| slash + 1);
    let end = end + image[end..].find([':', '@']).unwrap_or(image.len() - end);
    format!(
        "mirror.example.com/{}{}",
        reference.repository,
        &image[end..]
    )
}
