//! `cargo xtask push`: stores a policy in a registry, as `kwctl push` does.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use xtask::metadata::{self, Metadata};

use crate::client;

/// Pushes an annotated module to a registry, as `kwctl push` does, and prints its immutable reference
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The module
    module: PathBuf,
    /// The destination: `registry://host/repository:tag`
    uri: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let shown = args.module.display();
    let module = fs::read(&args.module).with_context(|| format!("cannot read module {shown}"))?;
    let metadata = metadata::read(&module)?;
    let metadata =
        metadata.context("the module is not annotated, so that no host would know its rules")?;
    let annotations = serde_json::to_string(&annotations(&metadata))?;
    let module = args
        .module
        .to_str()
        .context("the module's path is no text")?;
    let pushed = client::run(["push", module, &args.uri, &annotations])?;
    print!("{pushed}");
    Ok(())
}

/// The annotations of the manifest: the metadata's annotations that have one line, and OCI's
/// annotation for the source.
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
