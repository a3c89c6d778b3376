//! `cargo xtask annotate`: adds a policy's metadata to its module, as `kwctl annotate` does.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use xtask::host::module::Module;
use xtask::host::registry::nothing_granted;
use xtask::metadata::{self, Metadata};

/// The keys of metadata that Kubewarden reads. It would silently ignore any other key.
const KEYS: [&str; 9] = [
    "rules",
    "annotations",
    "mutating",
    "backgroundAudit",
    "executionMode",
    "policyType",
    "contextAwareResources",
    "hostCapabilities",
    "minimumKubewardenVersion",
];

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
    /// Replaces the metadata of a module that is annotated already
    #[arg(long)]
    force: bool,
    /// The module to annotate
    module: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let (module, output) = (args.module.display(), args.output_path.display());
    let bytes = fs::read(&args.module).with_context(|| format!("cannot read module {module}"))?;
    let read = |path: &Path| {
        fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (metadata, usage) = (read(&args.metadata_path)?, read(&args.usage_path)?);
    ensure!(
        args.force || metadata::read(&bytes)?.is_none(),
        "{module} is annotated already (--force replaces its metadata)"
    );
    let annotated = annotate(&bytes, &metadata, &usage);
    let annotated = annotated.with_context(|| format!("cannot annotate {module}"))?;
    fs::write(&args.output_path, annotated).with_context(|| format!("cannot write {output}"))
}

fn annotate(module: &[u8], metadata: &str, usage: &str) -> Result<Vec<u8>> {
    let mut metadata: Metadata = yaml_serde::from_str(metadata).context("in the metadata")?;
    let unknown = metadata.keys().find(|key| !KEYS.contains(&key.as_str()));
    ensure!(
        unknown.is_none(),
        "unknown key in the metadata: {unknown:?}"
    );
    metadata.insert("protocolVersion".to_owned(), json!("v1"));
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    annotations["io.kubewarden.kwctl"] = json!(concat!("xtask ", env!("CARGO_PKG_VERSION")));
    annotations["io.kubewarden.policy.usage"] = json!(usage);
    let module = metadata::replaced(module, &metadata)?;
    // Version 1 of Kubewarden's protocol is the only version.
    let version = Module::new(&module)?
        .call(&nothing_granted(), "protocol_version", &[])?
        .bytes;
    ensure!(
        version == b"\"v1\"",
        "the policy answered protocol_version with {:?}",
        String::from_utf8_lossy(&version)
    );
    Ok(module)
}
