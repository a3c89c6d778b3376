//! `cargo xtask push`: stores a policy in a registry, in the format of `kwctl push`: an OCI image manifest with the
//! module as its only layer, and with annotations from the metadata.
//!
//! The media types are those that Kubewarden's hosts accept. These hosts refuse the newer format of the Wasm working
//! group. The manifest contains no time, so it always has the same digest for the same module.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use oci_client::Reference;
use oci_client::client::{Config, ImageLayer};
use oci_client::manifest::{OciImageManifest, WASM_CONFIG_MEDIA_TYPE, WASM_LAYER_MEDIA_TYPE};
use xtask::host::registry_client::{Registries, credentials, runtime};
use xtask::metadata::{self, Metadata};

use crate::terminal;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The module
    module: PathBuf,
    /// The destination: `registry://host/repository:tag`
    uri: String,
}

/// The scheme that Kubewarden puts before a reference.
const SCHEME: &str = "registry://";

/// The time limit for a connection, and for each answer of a registry.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The manifest is pushed last, so an interrupted push doesn't change the tag.
pub(crate) fn run(args: &Args) -> Result<()> {
    let Args { module, uri } = args;
    let module =
        fs::read(module).with_context(|| format!("cannot read module {}", module.display()))?;
    let target: Reference = (uri.strip_prefix(SCHEME).unwrap_or(uri).parse())
        .with_context(|| format!("'{uri}' is no {SCHEME}host/repository:tag"))?;
    let metadata = metadata::read(&module)?;
    let metadata =
        metadata.context("the module is not annotated, so that no host would know its rules")?;
    let layers = [ImageLayer::new(module, WASM_LAYER_MEDIA_TYPE.to_owned(), None)];
    let config = Config::new(&b"{}"[..], WASM_CONFIG_MEDIA_TYPE.to_owned(), None);
    let manifest = OciImageManifest::build(&layers, &config, Some(annotations(&metadata)));
    let registry = target.registry();
    let pushed = runtime()?.block_on(async {
        let client = Registries::new(TIME_LIMIT).client(registry)?;
        client
            .push(&target, &layers, config, &credentials(registry), Some(manifest))
            .await
    });
    // The address of the stored manifest ends in its digest.
    let url = pushed.with_context(|| format!("cannot push to {target}"))?.manifest_url;
    let digest = url.rsplit_once('/').map_or("", |(_, digest)| digest);
    terminal::print(&format!("{SCHEME}{registry}/{}@{digest}\n", target.repository()))
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
