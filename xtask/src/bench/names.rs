//! The names of a module's functions, and the crate that each one comes from.
//!
//! Only a module that was built with its names kept has them; the shipped one has none.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// The names of the functions by their index, as the compiler wrote them.
pub(crate) fn of_functions(module: &[u8]) -> Result<BTreeMap<u32, String>> {
    let mut names = BTreeMap::new();
    for payload in Parser::new(0).parse_all(module) {
        let payload = payload.context("not a WebAssembly module")?;
        let Payload::CustomSection(section) = &payload else {
            continue;
        };
        let KnownCustom::Name(subsections) = section.as_known() else {
            continue;
        };
        for subsection in subsections {
            if let Name::Function(functions) = subsection.context("cannot read the names")? {
                for naming in functions {
                    let naming = naming.context("cannot read the names")?;
                    names.insert(naming.index, naming.name.to_owned());
                }
            }
        }
    }
    Ok(names)
}

/// A name as a person writes it, without the hash that keeps it unique.
pub(crate) fn readable(name: &str) -> String {
    // Merged functions have a suffix that the demangler leaves alone.
    format!("{:#}", rustc_demangle::demangle(name))
}

/// The crate that a function's source is in. A method of a trait is where its type is, unless that is
/// one of the language's own: then it is where the trait is.
///
/// What a generic function costs counts for the crate that wrote it, not for the one that uses it:
/// this is about who to ask for less.
pub(crate) fn crate_of(name: &str) -> String {
    let readable = readable(name);
    if readable == name && !name.contains("::") {
        // Exported as it stands, or made by the linker.
        return match name {
            "memcpy" | "memmove" | "memset" | "memcmp" | "bcmp" => "compiler_builtins",
            "__guest_call" => "wapc_guest",
            "wapc_init" => "consistent_pull_policy",
            _ => "other",
        }
        .to_owned();
    }
    // Several types may come first: `<&mut core::fmt::Formatter as core::fmt::Write>::write_str`.
    let mut fallback = None;
    for path in paths(&readable) {
        let first = path.split("::").next().unwrap_or_default();
        match first {
            "alloc" | "core" | "std" => {
                fallback.get_or_insert_with(|| first.to_owned());
            }
            _ => return first.to_owned(),
        }
    }
    fallback.unwrap_or_else(|| "other".to_owned())
}

/// The paths in a name that have more than one part, without those among generic arguments.
fn paths(readable: &str) -> impl Iterator<Item = &str> {
    let in_brackets = readable.starts_with('<');
    let head = if in_brackets {
        // The impl's type and trait; its method adds nothing.
        let end = matching(readable).unwrap_or(readable.len());
        readable.get(1..end).unwrap_or(readable)
    } else {
        // `core::ptr::drop_in_place<policy::Type>` is core's.
        readable.split('<').next().unwrap_or(readable)
    };
    head.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'))
        .map(|path| path.trim_matches(':'))
        .filter(|path| path.contains("::"))
}

/// Where the bracket that a text begins with is closed.
fn matching(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut before = ' ';
    for (index, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
        before = c;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_their_crates() {
        for (name, expected) in [
            (
                "_ZN22consistent_pull_policy3pod3Pod4read17h7ca368da14398cd5E",
                "consistent_pull_policy",
            ),
            (
                "_ZN4core5slice4sort6stable9quicksort9quicksort17h4e9cf61574764069E",
                "core",
            ),
            (
                "_ZN112_$LT$consistent_pull_policy..guest..Host$u20$as$u20$consistent_pull_policy..rules..registry..ManifestDigests$GT$15manifest_digest17h1983b24d8abe0653E",
                "consistent_pull_policy",
            ),
            (
                "_ZN4core3ptr63drop_in_place$LT$consistent_pull_policy..settings..Settings$GT$17h479d02cf7fde6bfeE",
                "core",
            ),
            (
                "_ZN9hashbrown3raw21RawTable$LT$T$C$A$GT$14reserve_rehash17h31ca20a19c613881E",
                "hashbrown",
            ),
            (
                "_RNvMs0_NtCsjqx8TIyZbP9_8dlmalloc8dlmallocINtB5_8DlmallocNtNtB7_3sys6SystemE6mallocCsebHcaeoSrxy_3std",
                "dlmalloc",
            ),
            ("_RNvNtCsgXGp5Oqx2Ny_4core3str19slice_error_fail_rt", "core"),
            ("__guest_call", "wapc_guest"),
            ("memcpy", "compiler_builtins"),
            ("__unknown", "other"),
        ] {
            assert_eq!(crate_of(name), expected, "{}", readable(name));
        }
    }

    #[test]
    fn a_hash_is_not_part_of_a_name() {
        assert_eq!(
            readable("_ZN22consistent_pull_policy3pod3Pod4read17h7ca368da14398cd5E"),
            "consistent_pull_policy::pod::Pod::read"
        );
    }

    #[test]
    fn the_name_section_is_read() {
        let module = wat::parse_str(
            r#"(module (import "wapc" "x" (func $imported)) (func $mine) (func $yours))"#,
        )
        .expect("a module");
        let names = of_functions(&module).expect("names");
        assert_eq!(
            names.into_iter().collect::<Vec<_>>(),
            [
                (0, "imported".to_owned()),
                (1, "mine".to_owned()),
                (2, "yours".to_owned())
            ]
        );
    }
}
