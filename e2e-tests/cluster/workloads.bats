# The life of workloads with examples/agent-stack-k8s.yaml, which also gets their pod templates here.
load lib

setup_file() {
  apply_preset agent-stack-k8s '.spec.failurePolicy = "Ignore" | .spec.rules += [
    {apiGroups: ["apps", "batch"], apiVersions: ["v1"], resources: ["*"], operations: ["CREATE", "UPDATE"]}]'
}
teardown_file() { remove_presets; }

kinds=(Deployment DaemonSet Job)

# version KIND TAG: a workload with a weak check.
version() {
  workload "$1" "${1,,}" "init copy-agent agent:v1 IfNotPresent, init imagecheck-0 app:$2 IfNotPresent, \
app main app:$2 Always"
}

# Each rollout of a Deployment makes a ReplicaSet, and of a DaemonSet a ControllerRevision.
rollouts() {
  (($(kube get replicasets,controllerrevisions --output name | wc -l) == $1))
}

# all_run NUMBER TAG: that many Pods run with this tag, and each is repaired.
all_run() {
  kube get pods --output json | jq --exit-status --argjson number "$1" --arg tag ":$2" "$conditions"'
    [.items[] | select(.spec.containers[0].image | endswith($tag))] as $pods
    | ($pods | length) == $number
      and all($pods[]; running("main") and pulls("imagecheck-0") == "Always" and pulls("main") == "IfNotPresent")'
}

@test "the life of workloads: their Pods are repaired, and their pod templates stay as they are written" {
  local kind pods
  image agent:v1 app:v1 app:v2
  for kind in "${kinds[@]}"; do version "$kind" v1 | kube apply --filename -; done
  eventually all_run 3 v1
  pods=$(kube get pods --output name)
  for kind in "${kinds[@]}"; do
    version "$kind" v1 | kube apply --filename -
    version "$kind" v1 | kube apply --server-side --force-conflicts --filename -
  done
  kube scale deployment/deployment --replicas 2
  eventually all_run 4 v1
  rollouts 2
  diff <(echo "$pods") <(kube get pods --output name | grep --fixed-strings "$pods")

  for kind in Deployment DaemonSet; do version "$kind" v2 | kube apply --filename -; done
  kube label job job some=label
  eventually all_run 3 v2
  rollouts 4
  kube get deployment deployment --output json |
    jq --exit-status "$conditions .spec.template | pulls(\"imagecheck-0\") == \"IfNotPresent\""
}
