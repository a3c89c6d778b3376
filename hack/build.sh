#!/usr/bin/env bash
# Builds policy.wasm, with the same bytes wherever the source, Cargo's packages and the output are.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=wasm32-unknown-unknown

# The messages of panics have paths of sources, and those of packages begin with the user's Cargo directory. Cargo makes
# a folder for each registry when it first downloads packages from it, so the download comes first.
cargo fetch --quiet --locked --target "$target"
printf -v flags '"--remap-path-prefix=%s=/registry",' "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*
# Cargo adds the flags to those in .cargo/config.toml.
cargo build --locked --release --target "$target" --config "target.$target.rustflags=[${flags%,}]" \
  --package consistent-pull-policy --lib
cp "${CARGO_TARGET_DIR:-target}/$target/release/consistent_pull_policy.wasm" policy.wasm
