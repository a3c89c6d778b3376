# The life of workloads, with examples/prefilter.yaml as it is, and with pod templates that are repaired.
load lib

enforced='.metadata.name += "-enforced" | .spec.settings.templates = "Enforce"'

teardown_file() {
  remove_example prefilter
  remove_example prefilter "$enforced"
}

kinds=(Deployment StatefulSet DaemonSet Job CronJob)

# workload KIND TAG: the manifest of a workload with a weak check.
workload() {
  manifest "${1,,}" "init copy-agent agent:v1 IfNotPresent, init imagecheck-0 app:$2 IfNotPresent, \
app main app:$2 Always" |
    jq --arg kind "$1" '
      {metadata: {labels: {app: .metadata.name}},
       spec: (.spec | if $kind | test("Job") then . else del(.restartPolicy) end)} as $template
      | {apiVersion: (if $kind | test("Job") then "batch/v1" else "apps/v1" end), $kind,
         metadata: {name: .metadata.name},
         spec: (if $kind == "Job" then {$template}
           elif $kind == "CronJob" then {schedule: "0 0 1 1 *", jobTemplate: {spec: {$template}}}
           else {$template, selector: {matchLabels: $template.metadata.labels}} end)}
      | if $kind == "StatefulSet" then .spec.serviceName = "none" else . end'
}

# Each rollout of a Deployment makes a ReplicaSet, and of a StatefulSet or a DaemonSet a ControllerRevision.
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

# life_of_workloads PULL-POLICY: the pull policy that the check has in a pod template.
life_of_workloads() {
  local kind pods
  image agent:v1 app:v1 app:v2
  for kind in "${kinds[@]}"; do workload "$kind" v1 | kube apply --filename -; done
  within 90 all_run 4 v1
  rollouts 3
  kube get deployment deployment --output json |
    jq --exit-status "$conditions .spec.template | pulls(\"imagecheck-0\") == \"$1\""
  pods=$(kube get pods --output name)

  for kind in "${kinds[@]}"; do
    workload "$kind" v1 | kube apply --filename -
    workload "$kind" v1 | kube apply --server-side --force-conflicts --filename -
    workload "$kind" v1 | kube apply --filename -
  done
  kube scale deployment/deployment statefulset/statefulset --replicas 2
  within 90 all_run 6 v1
  rollouts 3
  diff <(echo "$pods") <(kube get pods --output name | grep --fixed-strings "$pods")

  for kind in "${kinds[@]}"; do
    [[ $kind == Job ]] || workload "$kind" v2 | kube apply --filename -
  done
  kube label job job some=label
  within 90 all_run 5 v2
  rollouts 6

  kube delete deployments,statefulsets,daemonsets,jobs,cronjobs --all
  within 60 eval '[[ -z $(kube get pods,jobs,replicasets --output name) ]]'
}

@test "workloads, with pod templates that are only warned about" {
  apply_example prefilter
  life_of_workloads IfNotPresent
  remove_example prefilter
}

@test "workloads, with pod templates that are repaired" {
  apply_example prefilter "$enforced"
  life_of_workloads Always
}
