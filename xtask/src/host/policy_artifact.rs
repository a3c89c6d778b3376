//! Policies in registries, in the format of `kwctl push`: an OCI image manifest with the module as its
//! only layer, and with annotations from the metadata.
//!
//! The media types are those that Kubewarden's hosts accept. These hosts refuse the newer format of the
//! Wasm working group. The manifest contains no time, so it always has the same digest for the same
//! module.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use oci_client::Reference;
use oci_client::client::{Config, ImageLayer};
use oci_client::manifest::{OciImageManifest, WASM_CONFIG_MEDIA_TYPE, WASM_LAYER_MEDIA_TYPE};

use crate::host::registry_client::{RegistryClient, credentials, runtime};
use crate::module::{self, Metadata};

/// The scheme that Kubewarden puts before a reference.
const SCHEME: &str = "registry://";

/// The time limit for each answer of a registry.
const CLIENT: RegistryClient = RegistryClient {
    time_limit: Duration::from_secs(30),
};

/// Reads `[registry://][host/]repository[:tag][@digest]`. The default host is `docker.io`.
fn reference(uri: &str) -> Result<Reference> {
    let reference = uri.strip_prefix(SCHEME).unwrap_or(uri);
    let parsed = reference.parse();
    parsed.with_context(|| format!("'{uri}' is no {SCHEME}host/repository:tag"))
}

/// The annotations of the manifest: the metadata's annotations that have one line, and OCI's annotation for
/// the source.
fn annotations(metadata: &Metadata) -> BTreeMap<String, String> {
    let annotations = metadata.get("annotations").and_then(|all| all.as_object());
    let mut annotations: BTreeMap<String, String> = annotations
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.trim().to_owned())))
        .filter(|(_, value)| !value.contains('\n'))
        .collect();
    if let Some(source) = annotations.get("io.kubewarden.policy.source").cloned() {
        annotations.insert("org.opencontainers.image.source".to_owned(), source);
    }
    annotations
}

/// Stores a module under a tag, and returns its immutable reference, `registry://…@sha256:…`.
///
/// The manifest is pushed last, so an interrupted push doesn't change the tag.
///
/// # Errors
/// When the reference is invalid, when the module is not annotated, or when the push fails.
pub(crate) fn push(uri: &str, module: Vec<u8>) -> Result<String> {
    let target = reference(uri)?;
    let metadata = module::metadata(&module)?;
    let metadata =
        metadata.context("the module is not annotated, so that no host would know its rules")?;
    let layers = [ImageLayer::new(
        module,
        WASM_LAYER_MEDIA_TYPE.to_owned(),
        None,
    )];
    let config = Config::new(&b"{}"[..], WASM_CONFIG_MEDIA_TYPE.to_owned(), None);
    let manifest = OciImageManifest::build(&layers, &config, Some(annotations(&metadata)));
    let registry = target.registry();
    let credentials = credentials(registry);
    let pushed = runtime()?.block_on(async {
        let client = CLIENT.client(registry)?;
        client
            .push(&target, &layers, config, &credentials, Some(manifest))
            .await
    });
    // The address of the stored manifest ends in its digest.
    let url = pushed
        .with_context(|| format!("cannot push to {target}"))?
        .manifest_url;
    let digest = url.rsplit_once('/').map_or("", |(_, digest)| digest);
    Ok(format!(
        "{SCHEME}{registry}/{}@{digest}",
        target.repository()
    ))
}
