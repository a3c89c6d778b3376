#!/usr/bin/env bash
# Writes policy-sbom.spdx.json, the list of the packages that the module is built with, and signs this file.
#
#   hack/release/sbom.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# hack/setup.sh installs cargo-sbom in this directory.
PATH=$PATH:${TOOLS_DIR:-$PWD/target/tools}/bin
package=consistent-pull-policy
sbom=policy-sbom.spdx.json

# cargo-sbom lists the packages of all platforms. Only those that cargo tree lists for the module are kept.
cargo sbom --cargo-package "$package" --output-format spdx_json_2_3 >"$sbom.all"
cargo --locked tree --package "$package" --target wasm32-unknown-unknown --edges normal \
  --prefix none --format '{p}' --no-dedupe | sed 's/^\([^ ]*\) v\([^ ]*\).*/\1 \2/' | sort -u >"$sbom.used"
jq --rawfile used "$sbom.used" '
  ($used | split("\n")) as $used
  | [.packages[] | select("\(.name) \(.versionInfo)" | IN($used[])) | .SPDXID] as $kept
  | ([.packages[].SPDXID] - $kept) as $dropped
  | .packages |= map(select(.SPDXID | IN($kept[])))
  | .relationships |= map(select([.spdxElementId, .relatedSpdxElement] | any(IN($dropped[])) | not))
' "$sbom.all" >"$sbom"
rm "$sbom.all" "$sbom.used"

cosign sign-blob --yes --bundle policy-sbom.spdx.jsonl.bundle.sigstore "$sbom"
