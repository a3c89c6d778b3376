#!/usr/bin/env bash
# Writes a policy server's configuration with the policies of all examples, for `make cluster-tests`. Their lookups are
# for all images. `always-by-digest-use-cached` is pre-pull.bats':
#
#   e2e-tests/cluster/policies.sh annotated-policy.wasm >policies.yml
#   policy-server --policies policies.yml --ignore-kubernetes-connection-failure
set -euo pipefail
module=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

gojq --yaml-input --slurp --arg module "file://$module" '
  [.[] | select(type == "object" and .kind == "ClusterAdmissionPolicy")
    | ., (select(.metadata.name | endswith("-always-by-digest"))
        | .metadata.name += "-use-cached" | .spec.settings.registry.onUnavailable = "UseCached")
    | {(.metadata.name): {
        module: $module, allowedToMutate: (.spec.mutating // false), hostCapabilities: ["oci/*"],
        timeoutEvalSeconds: .spec.timeoutEvalSeconds,
        settings: (.spec.settings | (.registry.images, .images.preferAlways | values) = ["*"])}}] | add
' examples/*.yaml
