#!/usr/bin/env bash
# Writes a Helm repository: index.yaml and one packed chart. Rancher's UI makes policies from this chart.
# The repository becomes the folder `charts` of the project's website. It is made from artifacthub-pkg.yml,
# questions-ui.yml, README.md and LICENSE.
#
# The chart has no templates: Rancher's UI creates the `ClusterAdmissionPolicy` itself, from the annotations, the
# values and the questions.
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
yaml() { gojq --yaml-input --yaml-output "$@"; }
IFS=$'\t' read -r name version image < <(gojq --yaml-input --raw-output \
  '[.name, .version, .containersImages[0].image] | @tsv' artifacthub-pkg.yml)
chart=$work/$name
archive=$name-$version.tgz
# registry/repository:tag
registry=${image%%/*} repository=${image#*/} tag=${image##*:}
repository=${repository%:*}

mkdir "$chart"
# If Rancher's setting system-default-registry is set, its value replaces this registry.
cat >"$chart/values.yaml" <<YAML
global:
  cattle:
    systemDefaultRegistry: $registry
module:
  repository: $repository
  tag: $tag
YAML
# Rancher's UI lists the charts of the type kubewarden-policy as policies. It doesn't list a hidden chart as an
# app, which Helm would install: Helm would create no objects from this chart. Some versions of the UI take the
# module's address from the annotations. Other versions take the address from the values.
yaml --arg registry "$registry" --arg repository "$repository" --arg tag "$tag" '{
  apiVersion: "v2", name, version, appVersion: .version, description, home: .homeURL, icon: .logoURL,
  keywords, sources: [.homeURL], maintainers,
  annotations: (.annotations + {
    "catalog.cattle.io/type": "kubewarden-policy",
    "catalog.cattle.io/ui-component": "kubewarden",
    "catalog.cattle.io/hidden": "true",
    "kubewarden/displayName": .displayName,
    "kubewarden/registry": $registry,
    "kubewarden/repository": $repository,
    "kubewarden/tag": $tag} | del(.["kubewarden/questions-ui"]))}' artifacthub-pkg.yml >"$chart/Chart.yaml"
cp questions-ui.yml "$chart/questions.yaml"
cp LICENSE "$chart"
hack/absolute-links.sh "v$version" <README.md >"$chart/README.md"
rm -f "$folder"/*.tgz
(cd "$work" && tar -cf - "$name"/{Chart.yaml,values.yaml,questions.yaml,README.md,LICENSE}) |
  gzip -n >"$folder/$archive"

# An entry has the fields of Chart.yaml, and the archive's address, creation time and digest. The address is
# absolute, because versions of Rancher resolve relative addresses differently. A pre-release gets no entry,
# because Rancher hides a policy whose newest version is a pre-release.
yaml --arg archive "$archive" --arg digest "$(sha256 <"$folder/$archive" | cut -d ' ' -f 1)" \
  --argjson created "$(gojq --yaml-input .createdAt artifacthub-pkg.yml)" '
  (.home | capture("^https://github.com/(?<owner>[^/]+)/(?<project>.+)$")
    | "https://\(.owner).github.io/\(.project)/charts/\($archive)") as $address
  | {apiVersion: "v1", generated: $created,
    entries: (if .version | contains("-") then {} else
      {(.name): [. + {urls: [$address], $created, $digest}]} end)}' "$chart/Chart.yaml" >"$folder/index.yaml"
