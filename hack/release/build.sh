#!/usr/bin/env bash
# Builds the module twice, and fails unless both modules have the same bytes: the second build is in another folder,
# with another directory for Cargo's packages. kwctl adds the metadata. Writes the SHA-256 of the module, with and without
# metadata, to SHA256SUMS.
#
#   hack/release/build.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

hack/build.sh

elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
mkdir -p "$elsewhere/source" "$elsewhere/cargo/registry"
git ls-files -z | xargs -0 cp --parents -t "$elsewhere/source"
# The second build reads the same packages, but through links, so their paths differ.
for part in cache index src; do
  ln -s "$(realpath "${CARGO_HOME:-$HOME/.cargo}")/registry/$part" "$elsewhere/cargo/registry/$part"
done
CARGO_HOME=$elsewhere/cargo CARGO_TARGET_DIR=$elsewhere/target "$elsewhere/source/hack/build.sh"
cmp policy.wasm "$elsewhere/source/policy.wasm"

version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
mkdir -p target
hack/absolute-links.sh "v$version" <README.md >target/README.md
kwctl annotate --metadata-path metadata.yml --usage-path target/README.md --output-path annotated-policy.wasm policy.wasm
sha256sum annotated-policy.wasm policy.wasm | tee SHA256SUMS
