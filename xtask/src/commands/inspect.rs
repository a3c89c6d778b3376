//! `cargo xtask inspect`: shows the structure of a module, and the metadata in it.
//!
//! A module gets a clock, random numbers and files only through imports. So the list of imports proves
//! that this policy has none of these.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::module::metadata::Metadata;
use crate::module::sections::ModuleOutline;
use crate::terminal;

/// Shows a module's metadata, size, imports, exports and sections
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only the imports, sorted, one on each line
    #[arg(long)]
    imports: bool,
    /// The module
    module: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let path = args.module.display();
    let module =
        std::fs::read(&args.module).with_context(|| format!("cannot read module {path}"))?;
    let outline = ModuleOutline::read(&module).with_context(|| format!("cannot inspect {path}"))?;
    if args.imports {
        let lines: Vec<String> = outline
            .imports
            .iter()
            .map(|import| format!("{import}\n"))
            .collect();
        return terminal::print(&lines.concat());
    }
    let metadata =
        Metadata::of_module(&module).with_context(|| format!("cannot inspect {path}"))?;
    terminal::print(&describe(module.len(), &outline, metadata)?)
}

fn describe(size: usize, outline: &ModuleOutline, metadata: Option<Metadata>) -> Result<String> {
    let mut text = String::new();
    match metadata {
        Some(mut metadata) => {
            // Annotations with several lines, such as the README, are too long to show. So only their
            // number of lines is shown.
            if let Some(annotations) = &mut metadata.annotations {
                for value in annotations
                    .values_mut()
                    .filter(|value| value.contains('\n'))
                {
                    *value = format!("({} lines)", value.lines().count());
                }
            }
            writeln!(text, "Metadata")?;
            for line in yaml_serde::to_string(&metadata)?.lines() {
                writeln!(text, "  {line}")?;
            }
        }
        None => writeln!(text, "Metadata\n  none: the module isn't annotated")?,
    }
    writeln!(text, "\nSize\n  {size} bytes\n\nImports")?;
    for import in &outline.imports {
        writeln!(text, "  {import}")?;
    }
    writeln!(text, "\nExports")?;
    for (name, kind) in &outline.exports {
        writeln!(text, "  {name} ({kind})")?;
    }
    writeln!(text, "\nSections")?;
    for section in &outline.sections {
        writeln!(text, "  {:>9} {}", section.size, section.name)?;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::sections;

    #[test]
    fn a_module_is_described() {
        let module = wat::parse_str(
            r#"(module (import "wapc" "b" (func)) (import "wapc" "a" (func)) (import "env" "m" (memory 1))
                (export "f" (func 0)))"#,
        )
        .expect("a module");
        let mut metadata = Metadata::parse("rules: []\nmutating: true\n").expect("metadata");
        metadata.complete("v1".to_owned(), Some("one\ntwo\n".to_owned()));
        let json = serde_json::to_vec(&metadata).expect("json");
        let module =
            sections::with_custom_section(&module, crate::module::metadata::SECTION, &json)
                .expect("module");
        let outline = ModuleOutline::read(&module).expect("module");
        assert_eq!(outline.imports, ["env.m (memory)", "wapc.a", "wapc.b"]);
        let read = Metadata::of_module(&module).expect("module");
        let text = describe(module.len(), &outline, read).expect("text");
        for expected in [
            "  io.kubewarden.policy.usage: (2 lines)\n",
            "Imports\n  env.m (memory)\n  wapc.a\n  wapc.b\n",
            "  f (function)\n",
            "import\n",
            "custom 'io.kubewarden.metadata'\n",
        ] {
            assert!(text.contains(expected), "{expected:?} in {text}");
        }
    }

    #[test]
    fn a_module_without_metadata_says_so() {
        let text = describe(8, &ModuleOutline::default(), None).expect("text");
        assert!(text.contains("isn't annotated"), "{text}");
    }
}
