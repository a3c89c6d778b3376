//! `cargo xtask annotate`: adds a policy's metadata to its module, as `kwctl annotate` does.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use xtask::host::module::Module;
use xtask::host::registry::nothing_granted;
use xtask::metadata::{self, Metadata};

/// Adds Kubewarden's metadata to a module, as `kwctl annotate` does
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File with the metadata
    #[arg(short, long, value_name = "PATH")]
    metadata_path: PathBuf,
    /// File with the policy's documentation, in Markdown
    #[arg(short, long, value_name = "PATH")]
    usage_path: PathBuf,
    /// File for the annotated module
    #[arg(short, long, value_name = "PATH")]
    output_path: PathBuf,
    /// The module to annotate
    module: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let read =
        |path: &Path| fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let metadata = read(&args.metadata_path)?;
    let mut metadata: Metadata = yaml_serde::from_slice(&metadata).context("in the metadata")?;
    metadata.insert("protocolVersion".to_owned(), json!("v1"));
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    annotations["io.kubewarden.kwctl"] = json!(concat!("xtask ", env!("CARGO_PKG_VERSION")));
    let usage = String::from_utf8(read(&args.usage_path)?)?;
    annotations["io.kubewarden.policy.usage"] = json!(usage);
    let module = metadata::appended(&read(&args.module)?, &metadata)?;
    // Version 1 of Kubewarden's protocol is the only version.
    let version = Module::new(&module)?
        .call(&nothing_granted(), "protocol_version", &[])?
        .bytes;
    ensure!(
        version == b"\"v1\"",
        "the policy answered protocol_version with {:?}",
        String::from_utf8_lossy(&version)
    );
    let output = args.output_path.display();
    fs::write(&args.output_path, module).with_context(|| format!("cannot write {output}"))
}
