#!/usr/bin/env bash
# Builds the module twice, in two directories, and fails unless both modules have the same bytes. kwctl adds the
# metadata. Writes the SHA-256 of the module, with and without metadata, to SHA256SUMS.
#
#   hack/release/build.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

${XTASK:-cargo --locked xtask} build
hack/build-elsewhere.sh
version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
hack/absolute-links.sh "v$version" <README.md >target/README.md
kwctl annotate --metadata-path metadata.yml --usage-path target/README.md --output-path annotated-policy.wasm policy.wasm
sha256sum annotated-policy.wasm policy.wasm | tee SHA256SUMS
