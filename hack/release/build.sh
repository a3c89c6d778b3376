#!/usr/bin/env bash
# Builds the module, once here and once elsewhere, which has to give the same bytes, and writes down
# their SHA-256.
#
#   hack/release/build.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

${XTASK:-cargo --locked xtask} build
hack/build-elsewhere.sh
sha256sum annotated-policy.wasm policy.wasm | tee SHA256SUMS
