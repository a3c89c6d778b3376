#!/usr/bin/env bash
# Writes a Helm repository: index.yaml and one packed chart. Rancher's UI makes policies from this chart.
# The repository becomes the folder `charts` of the project's website.
#
#   hack/helm-repository.sh <folder>
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# macOS may have no sha256sum, but it has shasum.
sha256() { if command -v sha256sum >/dev/null; then sha256sum; else shasum -a 256; fi; }
field() { sed -n "s/^$1: *//p" artifacthub-pkg.yml; }
name=$(field name)
version=$(field version)
created=$(field createdAt)
page=$(field homeURL | sed -E 's|^https://github.com/([^/]+)/(.+)$|https://\1.github.io/\2|')
chart=$work/$name
archive=$name-$version.tgz

mkdir "$chart"
${XTASK:-cargo --locked xtask} chart --output-path "$chart"
cp questions-ui.yml "$chart/questions.yaml"
cp README.md LICENSE "$chart"
rm -f "$folder"/*.tgz
(cd "$work" && tar -cf - "$name"/{Chart.yaml,values.yaml,questions.yaml,README.md,LICENSE}) |
  gzip -n >"$folder/$archive"

# The entry of index.yaml has the text of Chart.yaml, and the archive's address, creation time and digest. The
# address is absolute, because versions of Rancher resolve relative addresses differently. A pre-release gets
# no entry, because Rancher hides a policy whose newest version is a pre-release.
{
  printf 'apiVersion: v1\ngenerated: "%s"\nentries:' "$created"
  if [[ $version == *-* ]]; then
    echo ' {}'
  else
    printf '\n  %s:\n  - urls:\n    - %s/charts/%s\n' "$name" "$page" "$archive"
    printf '    created: "%s"\n    digest: %s\n' "$created" "$(sha256 <"$folder/$archive" | cut -d ' ' -f 1)"
    sed 's/^/    /' "$chart/Chart.yaml"
  fi
} >"$folder/index.yaml"
