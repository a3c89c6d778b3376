# bats file_tags=promises
# Repaired objects at the API server: the corpus and the captured requests, with the settings of every example.
load lib

setup_file() {
  [[ -n ${POLICY_SERVER:-} ]] || skip "needs POLICY_SERVER, because the examples select other objects"
}

teardown_file() {
  kill "$(<"$RUN/proxy.pid")"
  kubectl delete namespaces --selector promises --wait=false >/dev/null
}

# The objects as they are, and once more as Pod Security's level "restricted" and a quota demand them. Service
# accounts, priority classes and the like are those of other clusters.
objects() {
  { gojq --yaml-input --compact-output . test_data/pods/*.yaml
    jq --compact-output '.request | select(.operation == "CREATE") | .object' test_data/reviews/*.json; } |
    jq --compact-output '
      def hardened:
        del(.hostNetwork, .hostPID, .hostIPC, .hostUsers)
        | .securityContext = {runAsNonRoot: true, runAsUser: 1000, seccompProfile: {type: "RuntimeDefault"}}
        | if .volumes then .volumes |= map(select(has("hostPath") | not)) else . end
        | (.volumes // [] | map(.name)) as $volumes
        | (.containers[], .initContainers[]?) |= (
            .securityContext = {allowPrivilegeEscalation: false, capabilities: {drop: ["ALL"]}}
            | .resources = {requests: {cpu: "50m", memory: "32Mi"}, limits: {cpu: "100m", memory: "64Mi"}}
            | del(.ports[]?.hostPort)
            | if .volumeMounts then .volumeMounts |= map(select(.name | IN($volumes[]))) else . end);
      del(.metadata | .resourceVersion, .uid, .creationTimestamp, .managedFields, .generation, .ownerReferences)
      | (.. | objects | select(has("containers"))) |=
          del(.serviceAccountName, .serviceAccount, .priorityClassName, .priority, .nodeName)
      | ., (.. | objects | select(has("containers"))) |= hardened'
}

# A namespace for each example and each restriction, and one without a policy.
namespaces() {
  jq --null-input --compact-output --arg ns "$NS" '
    $ARGS.positional[] as $example
    | ({restricted: {"pod-security.kubernetes.io/enforce": "restricted"}, quota: {}, limits: {},
        baseline: {"pod-security.kubernetes.io/enforce": "baseline"}} | to_entries[]) as $kind
    | "\($ns)-\($example)-\($kind.key)" as $name
    | def object($kind; $spec): {apiVersion: "v1", $kind, metadata: {name: "all", namespace: $name}, $spec};
    {apiVersion: "v1", kind: "Namespace", metadata: {$name, labels: ($kind.value + {promises: "\($ns)-\($example)"})
    }},
      (select($kind.key == "quota") | object("ResourceQuota"; {hard: {
        pods: 9, "requests.cpu": 9, "requests.memory": "99Gi", "limits.cpu": 9, "limits.memory": "99Gi"}})),
      (select($kind.key == "limits") | object("LimitRange"; {limits: [{
        type: "Container", max: {cpu: 8, memory: "16Gi"}, default: {cpu: 2, memory: "2Gi"},
        defaultRequest: {cpu: "100m", memory: "64Mi"}}]}))' --args "$@"
}

rejects_invalid() {
  local NS=$1
  not create invalid "app main =INVALID Always" && [[ $output == *"no valid image"* ]]
}

@test "the API server accepts what this policy has repaired, if it accepted it before" {
  local name names=()
  while read -r name; do
    names+=("${name#consistent-pull-policy-}")
    webhook "kw.cap.$name" "$WEBHOOKS/validate/$name" '.webhooks[0] |= (.rules = [
        {apiGroups: ["", "apps", "batch"], apiVersions: ["v1"], resources: ["*"], operations: ["CREATE"]}]
      | .namespaceSelector.matchLabels = {promises: "'"$NS-${name#consistent-pull-policy-}"'"})'
  done < <(gojq --yaml-input --raw-output \
    'select(.kind == "ClusterAdmissionPolicy" and .spec.mutating) | .metadata.name' examples/*.yaml)
  namespaces none "${names[@]}" | kubectl apply --filename - >/dev/null
  within 60 eval 'kubectl get resourcequotas --all-namespaces --output json |
    jq --exit-status "[.items[] | .status.hard != null] | all"'

  kubectl proxy --port "$((PORT + 2))" >/dev/null 3>&- &
  echo "$!" >"$RUN/proxy.pid"
  objects >"$RUN/objects"
  for name in "${names[@]}"; do # until each webhook is called
    within 30 rejects_invalid "$NS-$name-limits"
  done
  run python3 e2e-tests/cluster/promises.py "http://127.0.0.1:$((PORT + 2))" "$RUN/objects" "$NS" "${names[@]}"
  echo "$output" >&3
  [[ $status == 0 ]]
}
