//! Stores a policy in a registry, in the format of `kwctl push`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use oci_client::Reference;
use oci_client::client::{Config, ImageLayer};
use oci_client::manifest::{OciImageManifest, WASM_CONFIG_MEDIA_TYPE, WASM_LAYER_MEDIA_TYPE};

use crate::client::{client, credentials};

/// The scheme that Kubewarden puts before a reference.
const SCHEME: &str = "registry://";

/// Stores a module under a tag, and returns its immutable reference, `registry://…@sha256:…`. The
/// manifest is pushed last, so an interrupted push doesn't change the tag. It has the module as its
/// only layer, and no time, so that it always has the same digest. Kubewarden's hosts refuse the
/// newer media types of the Wasm working group.
pub(crate) async fn push(module: &str, uri: &str, annotations: &str) -> Result<String> {
    let module = fs::read(module).with_context(|| format!("cannot read module {module}"))?;
    let target: Reference = (uri.strip_prefix(SCHEME).unwrap_or(uri).parse())
        .with_context(|| format!("'{uri}' is no {SCHEME}host/repository:tag"))?;
    let annotations: BTreeMap<String, String> = serde_json::from_str(annotations)?;
    let layers = [ImageLayer::new(
        module,
        WASM_LAYER_MEDIA_TYPE.to_owned(),
        None,
    )];
    let config = Config::new(&b"{}"[..], WASM_CONFIG_MEDIA_TYPE.to_owned(), None);
    let manifest = OciImageManifest::build(&layers, &config, Some(annotations));
    let registry = target.registry();
    let pushed = client(registry)?
        .push(
            &target,
            &layers,
            config,
            &credentials(registry),
            Some(manifest),
        )
        .await;
    // The address of the stored manifest ends in its digest.
    let url = pushed
        .with_context(|| {
            format!(
                "cannot push to {target} (over TLS, or over plain HTTP to this machine: push with \
                 `kwctl push --sources-path` to another registry without TLS)"
            )
        })?
        .manifest_url;
    let digest = url.rsplit_once('/').map_or("", |(_, digest)| digest);
    Ok(format!(
        "{SCHEME}{registry}/{}@{digest}",
        target.repository()
    ))
}
