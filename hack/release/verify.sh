#!/usr/bin/env bash
# Verifies the pushed module, the SBOM and the built file annotated-policy.wasm, with the commands of
# docs/verify.md. Also compares the pushed module with the built file. The release workflow runs this script
# before it publishes the release.
#
#   hack/release/verify.sh <reference> <tag>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

reference=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

repository=${GITHUB_SERVER_URL:-https://github.com}/$GITHUB_REPOSITORY
signer=(
  --certificate-identity "$repository/.github/workflows/release.yml@refs/tags/$2"
  --certificate-oidc-issuer https://token.actions.githubusercontent.com
)
cosign verify "${signer[@]}" "$reference" >/dev/null
cosign verify-blob "${signer[@]}" --bundle policy-sbom.spdx.jsonl.bundle.sigstore policy-sbom.spdx.json
# Users verify with docs/verification-config.yml. A fork signs its own releases, so the fork's name replaces
# the name of this project.
sed "s#github.com/[^/]*/[^/]*/#github.com/$GITHUB_REPOSITORY/#" docs/verification-config.yml >"$work/config.yml"
kwctl verify --verification-config-path "$work/config.yml" "registry://$reference"
gh attestation verify "oci://$reference" --repo "$GITHUB_REPOSITORY"
gh attestation verify annotated-policy.wasm --repo "$GITHUB_REPOSITORY"

kwctl pull --output-path "$work/pulled.wasm" "registry://$reference"
cmp annotated-policy.wasm "$work/pulled.wasm"
