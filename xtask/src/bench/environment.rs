//! Where the figures come from: instructions depend on the compiler, times on everything.

use std::fs;
use std::path::Path;
use std::thread;

use serde::Serialize;
use wasmparser::{KnownCustom, Parser, Payload};

/// The machine and the versions.
#[derive(Debug, Serialize)]
pub(crate) struct Environment {
    /// The processor's model.
    pub(crate) processor: String,
    /// How many cores there are.
    pub(crate) cores: usize,
    /// The compiler of the module.
    pub(crate) rustc: String,
    /// The engine.
    pub(crate) wasmtime: String,
    /// The SDK of the policy that does nothing.
    pub(crate) sdk: String,
}

impl Environment {
    /// Of this machine; a named module says who compiled it.
    pub(crate) fn of(root: &Path, named: &[u8]) -> Self {
        let unknown = || "unknown".to_owned();
        let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap_or_default();
        let version = |name| version(&lock, name).map_or_else(unknown, str::to_owned);
        Self {
            processor: processor().unwrap_or_else(unknown),
            cores: thread::available_parallelism().map_or(1, usize::from),
            rustc: compiler(named).unwrap_or_else(unknown),
            wasmtime: version("wasmtime"),
            sdk: version("kubewarden-policy-sdk"),
        }
    }
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// What the module's `producers` section says.
fn compiler(module: &[u8]) -> Option<String> {
    for payload in Parser::new(0).parse_all(module) {
        let Ok(Payload::CustomSection(section)) = payload else {
            continue;
        };
        let KnownCustom::Producers(fields) = section.as_known() else {
            continue;
        };
        for field in fields.into_iter().flatten() {
            for value in field.values.into_iter().flatten() {
                if value.name == "rustc" {
                    return Some(value.version.to_owned());
                }
            }
        }
    }
    None
}

/// The version of a package in Cargo.lock.
fn version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    lines
        .next()?
        .strip_prefix("version = \"")?
        .strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_by_the_whole_name() {
        let lock = "[[package]]\nname = \"wasmtime-cache\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"wasmtime\"\nversion = \"44.0.3\"\n";
        assert_eq!(version(lock, "wasmtime"), Some("44.0.3"));
        assert_eq!(version(lock, "wasm"), None);
    }

    #[test]
    fn a_module_without_producers_has_no_compiler() {
        assert_eq!(compiler(b"\0asm\x01\0\0\0"), None);
    }
}
