#!/usr/bin/env bash
# Builds the module again, in another folder and with another directory for Cargo's packages. Fails unless
# the new policy.wasm and annotated-policy.wasm have the same bytes as the existing ones. To make the existing
# ones, run `make annotated-policy.wasm` first.
#
#   hack/build-elsewhere.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

xtask=${XTASK:-${CARGO_TARGET_DIR:-target}/xtask/xtask}
xtask=$(realpath "$xtask")
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT

mkdir -p "$elsewhere/source" "$elsewhere/cargo/registry"
git ls-files -z | xargs -0 cp --parents -t "$elsewhere/source"
# The second build reads the same packages, but through links, so their paths differ.
for part in cache index src; do
  ln -s "$(realpath "${CARGO_HOME:-$HOME/.cargo}")/registry/$part" "$elsewhere/cargo/registry/$part"
done

log=$elsewhere/log
# CARGO_MANIFEST_DIR has the value that `cargo xtask` would set. xtask finds the source there.
(cd "$elsewhere/source" && CARGO_HOME=$elsewhere/cargo CARGO_TARGET_DIR=$elsewhere/target \
  CARGO_MANIFEST_DIR=$elsewhere/source/xtask "$xtask" build) >"$log" 2>&1 || {
  cat "$log" >&2
  exit 1
}

for module in policy.wasm annotated-policy.wasm; do
  cmp "$module" "$elsewhere/source/$module" || {
    echo "$module has other bytes when it is built elsewhere" >&2
    exit 1
  }
done
