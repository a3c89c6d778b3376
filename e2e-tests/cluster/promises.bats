# Repaired objects at the API server: the corpus and the captured requests, with the settings of every preset.
load lib

# The objects, as Pod Security's level "restricted" and a quota demand them.
objects() {
  { gojq --yaml-input --compact-output . test_data/pods/*.yaml
    jq --compact-output '.request | select(.operation == "CREATE") | .object' test_data/reviews/*.json; } |
    jq --compact-output '
      def hardened:
        del(.hostNetwork, .hostPID, .hostIPC, .hostUsers)
        | .securityContext = {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: "RuntimeDefault"}}
        | (.containers[], .initContainers[]?) |= (
            .securityContext = {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}
            | .resources = {requests: {cpu: "50m", memory: "32Mi"}, limits: {cpu: "100m", memory: "64Mi"}}
            | del(.ports[]?.hostPort));
      '"$foreign"' | del(.metadata.ownerReferences) | (.. | objects | select(has("containers"))) |= hardened'
}

# namespace PRESET: a namespace with the policy of this preset, Pod Security's level "restricted", a quota and limits.
namespace() {
  kubectl create namespace "$NS-$1"
  kubectl label namespace "$NS-$1" "cluster-tests=$NS" "promises=$1" pod-security.kubernetes.io/enforce=restricted
  kubectl create quota all --namespace "$NS-$1" \
    --hard=pods=9,requests.cpu=9,requests.memory=99Gi,limits.cpu=9,limits.memory=99Gi
  kubectl create --namespace "$NS-$1" --filename - <<'YAML'
{apiVersion: v1, kind: LimitRange, metadata: {name: all}, spec: {limits: [{type: Container,
  max: {cpu: 8, memory: 16Gi}, default: {cpu: 2, memory: 2Gi}, defaultRequest: {cpu: 100m, memory: 64Mi}}]}}
YAML
}

@test "the API server accepts what this policy has repaired, if it accepted it before" {
  local preset presets=()
  mapfile -t presets < <(gojq --yaml-input --raw-output 'select(.kind == "ClusterAdmissionPolicy" and .spec.mutating)
    | .metadata.name | ltrimstr("consistent-pull-policy-")' examples/*.yaml)
  namespace none
  for preset in "${presets[@]}"; do
    namespace "$preset"
    webhook "kw.cap.$preset" "$WEBHOOKS/validate/consistent-pull-policy-$preset" '.webhooks[0] |= (.rules = [
        {apiGroups: ["", "apps", "batch"], apiVersions: ["v1"], resources: ["*"], operations: ["CREATE"]}]
      | .namespaceSelector.matchLabels = {promises: "'"$preset"'"})'
  done
  eventually eval 'kubectl get resourcequotas --all-namespaces --output json |
    jq --exit-status "[.items[] | .status.hard != null] | all"'

  objects >"$RUN/objects"
  proxy
  run python3 e2e-tests/cluster/promises.py "http://127.0.0.1:$((PORT + 2))" "$RUN/objects" "$NS" "${presets[@]}"
  kill "$proxy"
  echo "$output" >&3
  [[ $status == 0 ]]
}
