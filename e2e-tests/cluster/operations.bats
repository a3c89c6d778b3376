# What docs/operations.md and docs/troubleshooting.md say about Kubewarden's controller, with
# examples/agent-stack-k8s.yaml. The tests go on from each other, because each change of a policy takes a minute.
# Where the controller is no Deployment of Kubewarden's chart, `$CONTROLLER 0` stops it and `$CONTROLLER 1` starts it.
load lib

policy=clusteradmissionpolicy/consistent-pull-policy-agent-stack-k8s
wrong=clusteradmissionpolicy/consistent-pull-policy-wrong
warn='{"spec": {"settings": {"mode": "Warn"}}}'

teardown_file() {
  kubectl uncordon --selector kubernetes.io/os
  controller 1
  kubectl delete --ignore-not-found "$policy" "$wrong"
}

# controller 0|1: stops or starts Kubewarden's controller, here the Deployment of Kubewarden's chart.
controller() {
  ${CONTROLLER:-kubectl scale --namespace kubewarden deployment admission-controller --replicas} "$1" 3>&-
}

# repaired, warned, untouched: what happens to a Pod with a weak check.
weak_check() {
  output=$(manifest "pod-$RANDOM" "init copy-agent agent:v1 Always, init imagecheck-0 app:v1 IfNotPresent, \
app main app:v1 Always" | kube create --output json --filename - 2>"$BATS_TEST_TMPDIR/warnings") || return 1
  check=$(jq --raw-output '.spec.initContainers[1].imagePullPolicy' <<<"$output")
  warnings=$(<"$BATS_TEST_TMPDIR/warnings")
}
repaired() { weak_check && [[ $check == Always && $warnings == *"imagecheck-0 now pulls"* ]]; }
warned() { weak_check && [[ $check == IfNotPresent && $warnings == *"imagecheck-0 "* ]]; }
untouched() { weak_check && [[ $check == IfNotPresent && -z $warnings ]]; }

logged() {
  kubectl logs -n kubewarden --selector kubewarden/policy-server=default --prefix --tail=-1 | grep "$1"
}

@test "the preview: in mode monitor a Pod passes with a warning, and the log has the answer" {
  apply_example agent-stack-k8s '.spec.mode = "monitor" | .spec.failurePolicy = "Ignore"'
  warned
  logged "monitor mode"
}

@test "turned on: a Pod is repaired, and there is no way back to monitor" {
  apply_example agent-stack-k8s
  repaired
  not kubectl patch "$policy" --type merge --patch '{"spec": {"mode": "monitor"}}'
}

@test "wrong settings of another policy: this policy serves on, and no change acts until they are corrected" {
  example agent-stack-k8s '.metadata.name = "consistent-pull-policy-wrong" | .spec.settings = {wrong: true}' |
    kubectl apply --filename -
  within 120 logged 'unknown field `wrong`'
  repaired
  kubectl patch "$policy" --type merge --patch "$warn"
  not kubectl wait --for=condition=PolicyUniquelyReachable --timeout=60s "$policy"
  repaired
  kubectl wait --for=jsonpath='{.status.policyStatus}'=active --timeout=1s "$policy"
  not kubectl wait --for=jsonpath='{.status.policyStatus}'=active --timeout=1s "$wrong"
  kubectl delete "$wrong"
  kubectl wait --for=condition=PolicyUniquelyReachable --timeout=180s "$policy"
  warned
  apply_example agent-stack-k8s
}

@test "a policy server that is away: selected Pods are rejected, and the emergency's command helps" {
  local pod
  weak_check
  pod=$(jq --raw-output .metadata.name <<<"$output")
  # Kubewarden's controller undoes `kubectl scale`, so its new Pod must find no node.
  kubectl cordon --selector kubernetes.io/os
  kubectl delete pods --namespace kubewarden --selector kubewarden/policy-server=default
  within 60 not weak_check
  grep 'failed calling webhook' "$BATS_TEST_TMPDIR/warnings"
  create other "app main app:v1 Always" "$unselected"
  kube label pod "$pod" some=label
  kubectl delete --timeout=60s "$policy"
  within 10 untouched
  kubectl uncordon --selector kubernetes.io/os
}

@test "the emergency while Kubewarden's controller is away: the webhook configuration is deleted" {
  apply_example agent-stack-k8s
  controller 0
  within 60 not kubectl patch "$policy" --dry-run=server --type merge --patch "$warn"
  not kubectl delete --timeout=10s "$policy"
  repaired
  kubectl delete --ignore-not-found mutatingwebhookconfiguration "kw.cap.${policy#*/}" "clusterwide-${policy#*/}"
  within 10 untouched
  controller 1
  kubectl wait --for=delete --timeout=120s "$policy"
}
