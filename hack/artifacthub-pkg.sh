#!/usr/bin/env bash
# Writes artifacthub-pkg.yml, the package for Artifact Hub and Rancher, from metadata.yml, questions-ui.yml and
# CHANGELOG.md; and from the package chart/Chart.yaml. With --check, it writes nothing, and fails if a file is out of date.
#
# `kwctl scaffold artifacthub` writes a similar package. That package always names `kubewarden` as the
# provider, and lacks the changes, the logo and the screenshots.
#
#   hack/artifacthub-pkg.sh [--check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=artifacthub-pkg.yml
field() { gojq --yaml-input --raw-output "$1" "$2"; }

# The same files give the same package: the time changes only when the version changes.
created=$(date -u +%FT%TZ)
version=$(field '.annotations["io.kubewarden.policy.version"]' metadata.yml)
[[ $(field .version "$package") != "$version" ]] || created=$(field .createdAt "$package")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
  echo "# What Artifact Hub and Rancher show. Written by \`make artifacthub-pkg.yml\` from metadata.yml,
# questions-ui.yml and CHANGELOG.md; \`make lint\` compares. The release publishes it on the branch
# artifacthub, which is the one that Artifact Hub reads."
  gojq --yaml-input --yaml-output --rawfile metadata metadata.yml --rawfile questions questions-ui.yml \
    --rawfile changelog CHANGELOG.md --arg created "$created" --from-file hack/artifacthub-pkg.jq metadata.yml
} >"$work/$package"
{
  echo "# Written by \`make artifacthub-pkg.yml\`; \`make lint\` compares."
  gojq --yaml-input --yaml-output --from-file hack/chart.jq "$work/$package"
} >"$work/Chart.yaml"

status=0
for file in "$package" chart/Chart.yaml; do
  if [[ ${1:-} != --check ]]; then
    cp "$work/${file##*/}" "$file"
  elif ! diff "$file" "$work/${file##*/}" >&2; then
    echo "$file is out of date: run make $package" >&2
    status=1
  fi
done
exit "$status"
