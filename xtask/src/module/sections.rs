//! Reads the sections, imports and exports of a WebAssembly module, and adds a custom section.

use anyhow::{Context, Result};
use wasm_encoder::{CustomSection, RawSection};
use wasmparser::{ExternalKind, Parser, Payload, TypeRef};

/// A section of a module.
pub(crate) struct ModuleSection {
    /// The section's kind, as the WebAssembly specification names it. For a custom section, also its name.
    pub(crate) name: String,
    /// The size of the section's contents in bytes.
    pub(crate) size: usize,
}

/// The structure of a module.
#[derive(Default)]
pub(crate) struct ModuleOutline {
    /// The sections in the module's order.
    pub(crate) sections: Vec<ModuleSection>,
    /// The imports as `module.name`, sorted. The kind follows, if the import is not a function.
    pub(crate) imports: Vec<String>,
    /// The name and the kind of each export, in the module's order.
    pub(crate) exports: Vec<(String, &'static str)>,
}

impl ModuleOutline {
    /// Reads a module.
    pub(crate) fn read(module: &[u8]) -> Result<Self> {
        let mut outline = Self::default();
        for payload in Parser::new(0).parse_all(module) {
            let payload = payload.context("not a WebAssembly module")?;
            match &payload {
                Payload::ImportSection(imports) => {
                    for import in imports.clone() {
                        let import = import.context("cannot read the imports")?;
                        let kind = match import.ty {
                            TypeRef::Func(_) => "",
                            TypeRef::Table(_) => " (table)",
                            TypeRef::Memory(_) => " (memory)",
                            TypeRef::Global(_) => " (global)",
                            TypeRef::Tag(_) => " (tag)",
                        };
                        outline
                            .imports
                            .push(format!("{}.{}{kind}", import.module, import.name));
                    }
                }
                Payload::ExportSection(exports) => {
                    for export in exports.clone() {
                        let export = export.context("cannot read the exports")?;
                        let kind = match export.kind {
                            ExternalKind::Func => "function",
                            ExternalKind::Table => "table",
                            ExternalKind::Memory => "memory",
                            ExternalKind::Global => "global",
                            ExternalKind::Tag => "tag",
                        };
                        outline.exports.push((export.name.to_owned(), kind));
                    }
                }
                _ => {}
            }
            if let Some((id, range)) = payload.as_section() {
                let name = match &payload {
                    Payload::CustomSection(custom) => format!("custom '{}'", custom.name()),
                    _ => section_name(id).to_owned(),
                };
                outline.sections.push(ModuleSection {
                    name,
                    size: range.len(),
                });
            }
        }
        outline.imports.sort_unstable();
        Ok(outline)
    }
}

/// The section's kind, as the WebAssembly specification names it.
fn section_name(id: u8) -> &'static str {
    let names = "custom,type,import,function,table,memory,global,export,start,element,code,data,data count,tag";
    names.split(',').nth(id.into()).unwrap_or("unknown")
}

/// The contents of the first custom section with this name. Kubewarden's hosts also read the first one.
pub(crate) fn custom_section<'a>(module: &'a [u8], name: &str) -> Result<Option<&'a [u8]>> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload.context("not a WebAssembly module")?
            && section.name() == name
        {
            return Ok(Some(section.data()));
        }
    }
    Ok(None)
}

/// Adds a custom section at the end of a module, and removes the sections with debugging information,
/// which no host uses. The contents of every other section stay the same.
pub(crate) fn with_custom_section(module: &[u8], name: &str, data: &[u8]) -> Result<Vec<u8>> {
    let mut output = wasm_encoder::Module::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.context("not a WebAssembly module")?;
        if let Payload::CustomSection(section) = &payload
            && section.name().starts_with(".debug_")
        {
            continue;
        }
        if let Some((id, range)) = payload.as_section() {
            let data = module
                .get(range)
                .context("a section reaches beyond the module")?;
            output.section(&RawSection { id, data });
        }
    }
    output.section(&CustomSection {
        name: name.into(),
        data: data.into(),
    });
    Ok(output.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_encoder::{ConstExpr, DataSection, MemorySection, MemoryType, Module};

    fn module(customs: &[(&str, &[u8])]) -> Vec<u8> {
        let mut module = Module::new();
        let mut memory = MemorySection::new();
        memory.memory(MemoryType {
            minimum: 1,
            maximum: None,
            memory64: false,
            shared: false,
            page_size_log2: None,
        });
        let mut data = DataSection::new();
        data.active(0, &ConstExpr::i32_const(0), *b"first");
        data.active(0, &ConstExpr::i32_const(9), *b"second");
        module.section(&memory).section(&data);
        for (name, data) in customs {
            module.section(&CustomSection {
                name: (*name).into(),
                data: (*data).into(),
            });
        }
        module.finish()
    }

    #[test]
    fn a_custom_section_is_appended_and_nothing_else_changes() {
        let before = module(&[("name", b"\0")]);
        let after = with_custom_section(&before, "x", b"hello").expect("module");
        assert!(after.starts_with(&before));
        assert_eq!(
            custom_section(&after, "x").expect("module"),
            Some(&b"hello"[..])
        );
        assert_eq!(custom_section(&before, "x").expect("module"), None);
    }

    #[test]
    fn debugging_information_is_dropped() {
        let before = module(&[
            (".debug_info", b"1"),
            ("producers", b"2"),
            (".debug_line", b"3"),
        ]);
        let after = with_custom_section(&before, "x", b"").expect("module");
        let names: Vec<_> = ModuleOutline::read(&after)
            .expect("module")
            .sections
            .into_iter()
            .map(|section| section.name)
            .collect();
        assert_eq!(
            names,
            ["memory", "data", "custom 'producers'", "custom 'x'"]
        );
    }

    #[test]
    fn the_first_section_of_a_name_counts() {
        let module = module(&[("x", b"old"), ("x", b"new")]);
        assert_eq!(
            custom_section(&module, "x").expect("module"),
            Some(&b"old"[..])
        );
    }

    #[test]
    fn an_invalid_module_is_an_error() {
        assert!(ModuleOutline::read(b"no module").is_err());
        assert!(with_custom_section(b"", "x", b"").is_err());
    }
}
