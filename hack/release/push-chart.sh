#!/usr/bin/env bash
# Packs the chart with the digest of the pushed module, pushes it beside the module, and signs it. If the registry has this
# version, nothing is packed or pushed: the chart is pulled, and has to name the module. The archive's digest is added
# to SHA256SUMS. The reference and its parts become outputs of the workflow's step.
#
#   TAG=v<version> hack/release/push-chart.sh <digest of the module>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/lib.sh

archive=${chart##*/}-${TAG#v}.tgz
digest=$(published "$chart:${TAG#v}")
if [[ -z $digest ]]; then
  mkdir -p target
  ${CHART_SCHEMA:-cargo --locked run --quiet --profile xtask --package chart-schema} >target/values.schema.json
  hack/chart.sh target/values.schema.json . "$1"
  helm push "$archive" "oci://${chart%/*}"
  digest=$(published "$chart:${TAG#v}")
else
  helm pull "oci://$chart" --version "${TAG#v}"
fi
named=$(helm show values "$archive" | gojq --yaml-input --raw-output .module.digest)
[[ $named == "$1" ]] || {
  echo "$chart:${TAG#v} names the module $named, and not $1" >&2
  exit 1
}
sign "$chart@$digest"
sha256sum "$archive" >>SHA256SUMS
outputs "name=$chart" "digest=$digest" "reference=$chart@$digest"
