//! What the module's bytes are: its sections, and the crates that its code comes from.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Serialize;
use wasmparser::{Parser, Payload, TypeRef};

use crate::module::sections::{Outline, Section};

use super::names;

/// The shipped module's size.
#[derive(Debug, Serialize)]
pub(crate) struct Size {
    /// Of the module with its metadata and the README in it.
    pub(crate) bytes: usize,
    /// In the module's order.
    pub(crate) sections: Vec<Part>,
    /// The code by crate, largest first; generic code belongs to the crate that wrote it.
    pub(crate) crates: Vec<Part>,
    /// Whether the code by crate and function is this module's.
    #[serde(skip)]
    pub(crate) same_code: bool,
    /// The code by function, largest first.
    #[serde(skip)]
    pub(crate) functions: Vec<Part>,
}

/// A part of the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Part {
    /// What it is.
    pub(crate) name: String,
    /// How long it is.
    pub(crate) bytes: usize,
}

impl Size {
    /// Of a module; `named` is the same code with the functions' names.
    pub(crate) fn of(module: &[u8], named: &[u8]) -> Result<Self> {
        let code = |sections: &[Section]| {
            let mut code = sections.iter().filter(|section| section.name == "code");
            code.next().map(|section| section.size)
        };
        let sections = Outline::read(module)?.sections;
        let same_code = code(&sections) == code(&Outline::read(named)?.sections);
        let sections = sections
            .into_iter()
            .map(|section| Part {
                name: section.name,
                bytes: section.size,
            })
            .collect();
        let functions = functions(named)?;
        let mut crates: BTreeMap<String, usize> = BTreeMap::new();
        for function in &functions {
            *crates.entry(names::crate_of(&function.name)).or_default() += function.bytes;
        }
        let crates = crates
            .into_iter()
            .map(|(name, bytes)| Part { name, bytes })
            .collect();
        Ok(Self {
            bytes: module.len(),
            sections,
            same_code,
            crates: largest_first(crates),
            functions: largest_first(functions),
        })
    }
}

fn largest_first(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_by_key(|part| Reverse(part.bytes));
    parts
}

/// Each function's body, under its name as the compiler wrote it.
fn functions(module: &[u8]) -> Result<Vec<Part>> {
    let names = names::of_functions(module)?;
    let mut index = 0;
    let mut parts = Vec::new();
    for payload in Parser::new(0).parse_all(module) {
        match payload.context("not a WebAssembly module")? {
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    if matches!(import?.ty, TypeRef::Func(_)) {
                        index += 1;
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                parts.push(Part {
                    name: names.get(&index).cloned().unwrap_or_default(),
                    bytes: body.range().len(),
                });
                index += 1;
            }
            _ => {}
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_counted_by_crate() {
        let module = wat::parse_str(
            r#"(module (import "wapc" "x" (func $imported))
                (func $_ZN4core3one17h0123456789abcdefE nop nop nop)
                (func $_ZN4core3two17h0123456789abcdefE nop)
                (func $__guest_call))"#,
        )
        .expect("a module");
        let size = Size::of(&module, &module).expect("a size");
        let part = |name: &str, bytes| Part {
            name: name.to_owned(),
            bytes,
        };
        // The locals' count and `end` are two bytes of each.
        assert_eq!(size.crates, [part("core", 5 + 3), part("wapc_guest", 2)]);
        assert_eq!(size.functions.first().map(|part| part.bytes), Some(5));
        assert!(size.sections.iter().any(|section| section.name == "code"));
    }
}
