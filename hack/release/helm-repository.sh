#!/usr/bin/env bash
# Writes index.yaml of the Helm repository into a folder of the page. It is made from the charts of all releases on GitHub
# that are no pre-releases, and leads to these files. So no earlier chart can be lost. The addresses are absolute,
# because versions of Rancher resolve relative addresses differently. Rancher hides a policy whose newest version is a
# pre-release.
#
#   TAG=v<version> hack/release/helm-repository.sh <folder>
set -euo pipefail
folder=$(realpath -m "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/lib.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gh release list --limit 1000 --exclude-drafts --exclude-pre-releases --json tagName,publishedAt >"$work/releases.json"
for tag in $(jq --raw-output '.[].tagName' "$work/releases.json"); do
  gh release download "$tag" --pattern "${chart##*/}-*.tgz" --dir "$work/$tag"
done
[[ -e $work/$TAG ]] || { echo "GitHub doesn't list the release $TAG: run this job again" >&2 && exit 1; }
helm repo index "$work" --url "$repository/releases/download"
mkdir -p "$folder"
# helm writes the present time as the time of each chart.
gojq --yaml-input --yaml-output --slurpfile releases "$work/releases.json" '
  ($releases[0] | map({key: .tagName, value: .publishedAt}) | from_entries) as $published
  | .entries[][] |= (.created = $published["v\(.version)"])' "$work/index.yaml" >"$folder/index.yaml"
