//! Writes the list of the presets into the program.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = fs::canonicalize(Path::new("../../examples"))?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            names.push(name);
        }
    }
    names.sort();
    let mut list = "[\n".to_owned();
    for name in names {
        let path = folder.join(format!("{name}.yaml")).display().to_string();
        let _ = writeln!(list, "({name:?}, include_str!({path:?})),");
    }
    list.push(']');
    let output = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&output).join("presets.rs"), list)
}
