#!/usr/bin/env bash
# Builds the module twice, in two directories. Both modules must have the same bytes, and their SHA-256 is
# written to SHA256SUMS.
#
#   hack/release/build.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

${XTASK:-cargo --locked xtask} build
hack/build-elsewhere.sh
sha256sum annotated-policy.wasm policy.wasm | tee SHA256SUMS
