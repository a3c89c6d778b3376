#!/usr/bin/env bash
# Packs the Helm chart, which `helm install` and Rancher's UI read. It is made from chart/,
# examples/, questions-ui.yml, monitoring/alerts.yaml, README.md and LICENSE. The file of the
# archive is named consistent-pull-policy-<version>.tgz.
#
#   hack/chart.sh <values.schema.json> <folder of the archive> [<digest of the module>]
#
# A published chart names its module by digest: sha256: and 64 hex digits. The version is that of chart/Chart.yaml.
set -euo pipefail
schema=$(realpath "$1") folder=$(realpath "$2") digest=${3:-}
[[ $digest =~ ^(sha256:[0-9a-f]{64})?$ ]] || { echo "chart: $digest is no digest" >&2 && exit 1; }
cd "$(dirname "${BASH_SOURCE[0]}")/.."

name=$(sed -n 's/^name: //p' chart/Chart.yaml)
version=$(sed -n 's/^version: //p' chart/Chart.yaml)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

chart=$work/$name
cp -R chart "$chart"
cp "$schema" "$chart/values.schema.json"
sed -i.bak "s/^  digest: \"\"$/  digest: \"$digest\"/" "$chart/values.yaml" && rm "$chart/values.yaml.bak"
grep -qx "  digest: \"$digest\"" "$chart/values.yaml"
# Helm doesn't show values.yaml to the templates, which need it for values that are null.
cp "$chart/values.yaml" "$chart/defaults.yaml"
mkdir "$chart/examples"
# The examples are those with a policy for this module.
grep -l '^kind: ClusterAdmissionPolicy$' examples/*.yaml | while read -r file; do cp "$file" "$chart/examples"; done
cp -R examples/pods examples/pairs.yaml monitoring/alerts.yaml LICENSE "$chart"
cp questions-ui.yml "$chart/questions.yaml"
hack/absolute-links.sh "v$version" <README.md >"$chart/README.md"
tar -czf "$folder/$name-$version.tgz" -C "$work" "$name"
echo "$folder/$name-$version.tgz"
