#!/usr/bin/env bash
# Checks monitoring/ with promtool: the alerts, what they say about known series, and the queries of the dashboard.
# promtool is in Debian's package prometheus, which also starts a server. So it is taken out of the package if it is
# not installed.
#
#   hack/check-monitoring.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
promtool=$(command -v promtool) || {
  (cd "$work" && apt-get download prometheus >/dev/null && dpkg --fsys-tarfile prometheus_*.deb | tar -x ./usr/bin/promtool)
  promtool=$work/usr/bin/promtool
}
# promtool reads the part of the PrometheusRule that Prometheus itself reads.
gojq --yaml-input --yaml-output .spec monitoring/alerts.yaml >"$work/alerts.yaml"
cp monitoring/alerts.test.yaml "$work"
"$promtool" check rules "$work/alerts.yaml"
"$promtool" test rules "$work/alerts.test.yaml"
jq '{groups: [{name: "dashboard", rules: [.panels[] | .id as $id | .targets[] | {record: "panel:\($id):\(.refId)", expr}]}]}' \
  monitoring/dashboard.json >"$work/dashboard.yaml"
"$promtool" check rules "$work/dashboard.yaml"
# The dashboard counts what the alerts count: the expressions without their sums and limits.
hidden=$(gojq --yaml-input --raw-output --slurpfile dashboard monitoring/dashboard.json '
  def counted: sub("^sum by [^)]*[)] "; "") | sub(" > [0-9]+$"; "") | gsub("\\s+"; " ");
  ($dashboard[0] | [.panels[].targets[].expr | counted] | join("\n")) as $shown
  | .groups[].rules[] | select(.expr | counted | inside($shown) | not).alert' "$work/alerts.yaml")
[[ -z $hidden ]] || { echo "monitoring/dashboard.json doesn't count what these alerts count: $hidden" >&2 && exit 1; }
