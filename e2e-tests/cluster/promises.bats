# Repaired objects at the API server: the corpus and the captured requests, with the settings of every preset.
load lib

# objects: the objects, as Pod Security's level "restricted" and a quota demand them, with names of their own.
objects() {
  { gojq --yaml-input --compact-output . test_data/pods/*.yaml
    jq --compact-output '.request | select(.operation == "CREATE") | .object' test_data/reviews/*.json; } |
    jq '
      def hardened:
        del(.hostNetwork, .hostPID, .hostIPC, .hostUsers)
        | .securityContext = {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: "RuntimeDefault"}}
        | (.containers[], .initContainers[]?) |= (
            .securityContext = {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}
            | .resources = {requests: {cpu: "50m", memory: "32Mi"}, limits: {cpu: "100m", memory: "64Mi"}}
            | del(.ports[]?.hostPort));
      '"$foreign"' | del(.metadata.ownerReferences) | .metadata.name = "object-\(input_line_number)"
      | (.. | objects | select(has("containers"))) |= hardened'
}

# namespace PRESET: a namespace for this preset, with Pod Security's level "restricted", a quota and limits.
namespace() {
  kubectl create namespace "$NS-$1"
  kubectl label namespace "$NS-$1" "cluster-tests=$NS" "promises=$1" pod-security.kubernetes.io/enforce=restricted
  kubectl create quota all --namespace "$NS-$1" \
    --hard=pods=9,requests.cpu=9,requests.memory=99Gi,limits.cpu=9,limits.memory=99Gi
  kubectl create --namespace "$NS-$1" --filename - <<'YAML'
{apiVersion: v1, kind: LimitRange, metadata: {name: all}, spec: {limits: [{type: Container,
  max: {cpu: 8, memory: 16Gi}, default: {cpu: 2, memory: 2Gi}, defaultRequest: {cpu: 100m, memory: 64Mi}}]}}
YAML
  eventually eval "kubectl get resourcequota all --namespace $NS-$1 --output json | jq --exit-status '.status.hard != null'"
}

# created PRESET OBJECTS: prints what the API server would store in the namespace of this preset. The answers are in `errors`.
created() {
  kubectl create --namespace "$NS-$1" --dry-run=server --output json --filename "$2" 2>"$BATS_TEST_TMPDIR/errors" || true
}

@test "the API server accepts what this policy has repaired, if it accepted it before" {
  local preset presets repaired total=0
  mapfile -t presets < <(gojq --yaml-input --raw-output 'select(.kind == "ClusterAdmissionPolicy" and .spec.mutating)
    | .metadata.name | ltrimstr("consistent-pull-policy-")' examples/*.yaml)
  objects >"$BATS_TEST_TMPDIR/all"
  namespace none
  created none "$BATS_TEST_TMPDIR/all" >"$BATS_TEST_TMPDIR/stored"
  jq --slurpfile stored "$BATS_TEST_TMPDIR/stored" 'select(.metadata.name | IN($stored[].metadata.name))' \
    "$BATS_TEST_TMPDIR/all" >"$BATS_TEST_TMPDIR/accepted"
  for preset in "${presets[@]}"; do
    namespace "$preset"
    webhook "kw.cap.$preset" "$WEBHOOKS/validate/consistent-pull-policy-$preset" '.webhooks[0] |= (.rules = [
        {apiGroups: ["", "apps", "batch"], apiVersions: ["v1"], resources: ["*"], operations: ["CREATE"]}]
      | .namespaceSelector.matchLabels = {promises: "'"$preset"'"})'
    repaired=$(created "$preset" "$BATS_TEST_TMPDIR/accepted" | grep --count '"consistent-pull-policy/changes"' || true)
    echo "# $preset: $repaired repaired, $(grep --count 'kw\.cap\.' "$BATS_TEST_TMPDIR/errors" || true) rejected" >&3
    not grep --invert-match '^Warning: \|admission webhook "kw\.cap\.' "$BATS_TEST_TMPDIR/errors"
    total=$((total + repaired))
  done
  ((total > 0))
}
