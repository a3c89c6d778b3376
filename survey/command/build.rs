//! Writes the list of the presets into the program.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = fs::canonicalize("../../examples")?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths: Vec<PathBuf> = paths.collect::<io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|it| it == "yaml"));
    paths.sort_by(|one, other| one.file_stem().cmp(&other.file_stem()));
    let preset = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let path = path.to_string_lossy();
        format!("({name:?}, include_str!({path:?})),\n")
    };
    let presets: String = paths.into_iter().map(preset).collect();
    let output = env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(
        Path::new(&output).join("presets.rs"),
        format!("[{presets}]"),
    )
}
