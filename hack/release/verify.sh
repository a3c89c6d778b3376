#!/usr/bin/env bash
# Verifies what a release in TAG has pushed or built, as docs/verify.md does: references of the module and the chart, and
# files. The workflow goes on only if users can do the same.
#
#   TAG=v<version> hack/release/verify.sh <reference or file>...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/lib.sh

attested() { gh attestation verify "$1" --repo "${repository#https://github.com/}"; }

for name in "$@"; do
  case $name in
  *.spdx.json) cosign verify-blob "${signer[@]}" --bundle "${name%.json}.jsonl.bundle.sigstore" "$name" ;;
  *@sha256:*)
    cosign verify "${signer[@]}" "$name" >/dev/null
    attested "oci://$name"
    [[ $name != "$module"@* ]] || kwctl verify --verification-config-path docs/verification-config.yml "registry://$name"
    ;;
  *) attested "$name" ;;
  esac
done
