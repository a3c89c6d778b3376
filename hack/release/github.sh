#!/usr/bin/env bash
# Publishes the release in TAG on GitHub, with its files. The notes have the changelog's section about this version, and the
# digests. A release that is published stays as it is. A draft is what a run left behind that broke off: it is made again.
#
#   TAG=v<version> hack/release/github.sh <module@digest> <chart@digest>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/lib.sh

draft=$(gh release view "$TAG" --json isDraft --jq .isDraft 2>/dev/null || true)
if [[ $draft == false ]]; then
  echo "the release $TAG is published already"
  exit
fi
[[ -z $draft ]] || gh release delete "$TAG" --yes

notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
{
  awk -v heading="## [${TAG#v}]" '
    index($0, "## ") == 1 { inside = index($0, heading) == 1; next }
    inside { print }' CHANGELOG.md
  # The backticks are escaped, so that the shell doesn't run the words between them.
  cat <<MARKDOWN

## What is published

The module \`registry://$1\`, and the chart \`oci://$2\`, which names this module.

Built with rustc $(rustc --version | cut -d ' ' -f 2-), for \`wasm32-unknown-unknown\`, and annotated with $(kwctl --version). How to check who built it, and that the source gives the same bytes: [docs/verify.md]($repository/blob/$TAG/docs/verify.md).

\`\`\`text
$(cat SHA256SUMS)
\`\`\`
MARKDOWN
} >"$notes"

# SHA256SUMS names the programs, the modules and the chart. gh publishes the release after it has uploaded all files.
mapfile -t files < <(sed 's/^[0-9a-f]*  //' SHA256SUMS)
files+=(SHA256SUMS policy-sbom.spdx.json policy-sbom.spdx.jsonl.bundle.sigstore LICENSE NOTICES.txt)
kind=()
[[ $TAG != *-* ]] || kind=(--prerelease)
gh release create "$TAG" "${kind[@]}" --verify-tag --title "$TAG" --notes-file "$notes" "${files[@]}"
