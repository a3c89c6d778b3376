//! `cargo xtask annotate`: adds a policy's metadata to its module, as `kwctl annotate` does.
//!
//! Kubewarden's hosts read the rules, the capabilities and the README from the annotated module.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::host::policy_module::{Engine, PolicyModule};
use crate::module::metadata::{Metadata, SECTION};
use crate::module::sections;

/// Adds Kubewarden's metadata to a module, as `kwctl annotate` does
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// File with the metadata
    #[arg(short, long, value_name = "PATH")]
    metadata_path: PathBuf,
    /// File with the policy's documentation, in Markdown
    #[arg(short, long, value_name = "PATH")]
    usage_path: Option<PathBuf>,
    /// File for the annotated module
    #[arg(short, long, value_name = "PATH")]
    output_path: PathBuf,
    /// The module to annotate
    module: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    annotate(
        &args.module,
        &args.metadata_path,
        args.usage_path.as_deref(),
        &args.output_path,
    )
}

/// Writes `module` with its metadata to `output`.
pub(crate) fn annotate(
    module: &Path,
    metadata: &Path,
    usage: Option<&Path>,
    output: &Path,
) -> Result<()> {
    let bytes =
        fs::read(module).with_context(|| format!("cannot read module {}", module.display()))?;
    let text = fs::read_to_string(metadata)
        .with_context(|| format!("cannot read metadata {}", metadata.display()))?;
    let usage = usage
        .map(|path| {
            fs::read_to_string(path)
                .with_context(|| format!("cannot read usage {}", path.display()))
        })
        .transpose()?;
    let metadata =
        Metadata::parse(&text).with_context(|| format!("in metadata {}", metadata.display()))?;
    let annotated = annotate_bytes(&bytes, metadata, usage)
        .with_context(|| format!("cannot annotate {}", module.display()))?;
    fs::write(output, annotated).with_context(|| format!("cannot write {}", output.display()))
}

fn annotate_bytes(module: &[u8], mut metadata: Metadata, usage: Option<String>) -> Result<Vec<u8>> {
    if sections::custom_section(module, SECTION)?.is_some() {
        bail!(
            "the module is annotated already, and hosts would read the old metadata: \
             annotate the module as the compiler wrote it"
        );
    }
    let protocol_version =
        PolicyModule::new(module, Engine::default(), None)?.protocol_version()?;
    metadata.complete(protocol_version, usage);
    let json = serde_json::to_vec(&metadata).context("cannot serialise the metadata")?;
    sections::with_custom_section(module, SECTION, &json)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(answer: &str) -> Vec<u8> {
        let escaped = answer.replace('"', "\\22");
        let text = format!(
            r#"(module
                (import "wapc" "__guest_response" (func $response (param i32 i32)))
                (memory (export "memory") 1)
                (data (i32.const 0) "{escaped}")
                (func (export "__guest_call") (param i32 i32) (result i32)
                    (call $response (i32.const 0) (i32.const {})) (i32.const 1)))"#,
            answer.len()
        );
        wat::parse_str(text).expect("a module")
    }

    fn metadata() -> Metadata {
        Metadata::parse("rules: []\nmutating: true\n").expect("metadata")
    }

    #[test]
    fn an_annotated_module_contains_its_metadata() {
        let annotated = annotate_bytes(&policy("\"v1\""), metadata(), Some("read me".to_owned()))
            .expect("annotate");
        let read = Metadata::of_module(&annotated)
            .expect("module")
            .expect("metadata");
        assert_eq!(read.protocol_version.as_deref(), Some("v1"));
        let annotations = read.annotations.expect("annotations");
        assert_eq!(annotations["io.kubewarden.policy.usage"], "read me");
        assert!(annotations["io.kubewarden.kwctl"].starts_with("xtask "));
    }

    #[test]
    fn an_annotated_module_is_not_annotated_again() {
        let once = annotate_bytes(&policy("\"v1\""), metadata(), None).expect("annotate");
        let error = annotate_bytes(&once, metadata(), None).expect_err("twice");
        assert!(error.to_string().contains("annotated already"), "{error}");
    }

    #[test]
    fn a_module_that_does_not_speak_the_protocol_is_refused() {
        assert!(annotate_bytes(&policy("\"v9\""), metadata(), None).is_err());
        assert!(annotate_bytes(b"no module", metadata(), None).is_err());
    }
}
