#!/usr/bin/env bash
# Builds the module twice, in two directories, and fails unless both modules have the same bytes. Writes the
# SHA-256 of the module, with and without annotations, to SHA256SUMS.
#
#   hack/release/build.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

${XTASK:-cargo --locked xtask} build
hack/build-elsewhere.sh
sha256sum annotated-policy.wasm policy.wasm | tee SHA256SUMS
