#!/usr/bin/env bash
# Lists the module's components in policy-sbom.spdx.json, and signs the list. Only what is compiled
# into the module: not the host-side tools, not the tests, not other platforms' packages.
#
#   hack/release/sbom.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# Where hack/setup.sh sbom puts it.
PATH=$PATH:${TOOLS_DIR:-$PWD/target/tools}/bin
package=consistent-pull-policy
sbom=policy-sbom.spdx.json

# The package's tree on any platform, from which its tree on the module's takes some.
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
