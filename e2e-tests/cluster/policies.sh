#!/usr/bin/env bash
# Writes a policy server's configuration with the policies of all presets and their variants, for `make cluster-tests`.
# Their lookups are for all images:
#
#   e2e-tests/cluster/policies.sh annotated-policy.wasm >policies.yml
#   policy-server --policies policies.yml --ignore-kubernetes-connection-failure
set -euo pipefail
module=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

gojq --yaml-input --slurp --arg module "file://$module" "$(<e2e-tests/cluster/variants.jq)"'
  [.[] | select(.kind == "ClusterAdmissionPolicy") | variants
    | {(.metadata.name): {
        module: $module, allowedToMutate: (.spec.mutating // false), hostCapabilities: ["oci/*"],
        timeoutEvalSeconds: .spec.timeoutEvalSeconds,
        settings: (.spec.settings | (.registry.images | values) = ["*"])}}] | add
' examples/*.yaml
