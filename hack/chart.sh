#!/usr/bin/env bash
# Packs the Helm chart, which `helm install` and Rancher's UI read: consistent-pull-policy-<version>.tgz in the
# folder that is named. The chart is made from chart/, examples/, artifacthub-pkg.yml, questions-ui.yml,
# monitoring/alerts.yaml, README.md, LICENSE and the schema of the settings.
#
# Rancher's UI ignores the templates. It creates the `ClusterAdmissionPolicy` itself, from the annotations, the
# values and the questions.
#
#   hack/chart.sh <schema of the settings> <folder>
set -euo pipefail
schema=$(realpath "$1") folder=$(realpath "$2")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

yaml() { gojq --yaml-input --yaml-output "$@"; }
chart=$work/$(gojq --yaml-input --raw-output .name artifacthub-pkg.yml)
version=$(gojq --yaml-input --raw-output .version artifacthub-pkg.yml)

cp -R chart "$chart"
mkdir "$chart/examples"
# The chart has the files with a policy for this module, and examples/pairs.yaml.
grep --files-with-matches '^kind: ClusterAdmissionPolicy$' examples/*.yaml | xargs -I {} cp {} "$chart/examples"
cp -R examples/pods examples/pairs.yaml LICENSE "$chart"
cp monitoring/alerts.yaml "$chart/alerts.yaml"
cp questions-ui.yml "$chart/questions.yaml"
hack/absolute-links.sh "v$version" <README.md >"$chart/README.md"
gojq --slurpfile settings "$schema" '.properties.settings = $settings[0]' chart/values.schema.json >"$chart/values.schema.json"

# Rancher's UI lists the charts of the type kubewarden-policy as policies. It doesn't list a hidden chart as an app:
# the answers of the form would be taken for the values of the chart. Some versions of the UI take the module's
# address from the annotations. Other versions take it from the values.
yaml --slurpfile values <(gojq --yaml-input . chart/values.yaml) '$values[0] as $values | {
  apiVersion: "v2", name, version, appVersion: .version, description, home: .homeURL, icon: .logoURL,
  keywords, sources: [.homeURL], maintainers,
  annotations: (.annotations + {
    "catalog.cattle.io/type": "kubewarden-policy",
    "catalog.cattle.io/ui-component": "kubewarden",
    "catalog.cattle.io/hidden": "true",
    "kubewarden/displayName": .displayName,
    "kubewarden/registry": $values.global.cattle.systemDefaultRegistry,
    "kubewarden/repository": $values.module.repository,
    "kubewarden/tag": $values.module.tag} | del(.["kubewarden/questions-ui"]))}' artifacthub-pkg.yml >"$chart/Chart.yaml"

helm package "$chart" --destination "$folder" >/dev/null
echo "$folder/${chart##*/}-$version.tgz"
