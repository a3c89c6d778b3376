#!/usr/bin/env bash
# Pushes annotated-policy.wasm and signs the pushed manifest. The manifest's name, digest and immutable
# reference become outputs of the workflow's step.
#
#   hack/release/push.sh <registry>/<path> <tag>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

module=$1/consistent-pull-policy
reference=$(kwctl push --output json annotated-policy.wasm "registry://$module:$2" |
  jq --raw-output .immutable_ref)

# The signature is written in cosign's old format and as a bundle of cosign 3, because not every verifier
# reads these bundles.
cosign sign --yes --new-bundle-format=false --use-signing-config=false "$reference"
cosign sign --yes --new-bundle-format=true --use-signing-config=true "$reference"

printf '%s\n' "name=$module" "digest=${reference#*@}" "reference=$reference" |
  tee -a "${GITHUB_OUTPUT:-/dev/null}"
