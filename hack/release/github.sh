#!/usr/bin/env bash
# Publishes the release on GitHub. The release notes have the changelog's section about this version, the
# module's reference and the digests of the files. If the release exists, it is updated.
#
#   hack/release/github.sh <reference> <tag>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

reference=$1 tag=$2
notes=$(mktemp)
trap 'rm -f "$notes"' EXIT
{
  awk -v heading="## [${tag#v}]" '
    index($0, "## ") == 1 { inside = index($0, heading) == 1; next }
    inside { print }' CHANGELOG.md
  # The backticks are escaped, so that the shell doesn't run the words between them.
  cat <<MARKDOWN

## The module

\`registry://$reference\`

Built with rustc $(rustc --version | cut -d ' ' -f 2-), for \`wasm32-unknown-unknown\`, and annotated with $(kwctl --version). How to check who built it, and that the source gives the same bytes: [docs/verify.md](https://github.com/$GITHUB_REPOSITORY/blob/$tag/docs/verify.md).

\`\`\`text
$(cat SHA256SUMS)
\`\`\`
MARKDOWN
} >"$notes"

kind=--latest
[[ $tag != *-* ]] || kind=--prerelease
assets=(policy.wasm annotated-policy.wasm SHA256SUMS policy-sbom.spdx.json policy-sbom.spdx.jsonl.bundle.sigstore)
if gh release view "$tag" >/dev/null 2>&1; then
  gh release edit "$tag" "$kind" --title "$tag" --notes-file "$notes"
  gh release upload "$tag" --clobber "${assets[@]}"
else
  gh release create "$tag" "$kind" --verify-tag --title "$tag" --notes-file "$notes" "${assets[@]}"
fi
