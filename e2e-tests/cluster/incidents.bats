# Incidents on a node, with the presets as they are. These variables have commands for what happens outside of Kubernetes.
# A test without its command is skipped:
#
#   NODE_CTR             `ctr` of the only node, such as `docker exec --interactive kind-control-plane ctr --namespace k8s.io`
#   RESTART_NODE         ends the kubelet, all containers and containerd, then starts containerd and the kubelet
#   STOP_POLICY_SERVER   kills the policy server, and waits until its process and its port are gone
#   START_POLICY_SERVER  starts it, and waits until it is ready
load lib

teardown_file() { remove_presets; }

# end_on_node POD LABEL VALUE: kills the container with this label.
end_on_node() {
  local labels="labels.\"io.kubernetes.pod.namespace\"==$NS,labels.\"io.kubernetes.pod.name\"==$1,labels.\"$2\"==$3"
  $NODE_CTR tasks kill --signal SIGKILL "$($NODE_CTR containers list --quiet "$labels")"
}

# held_up POD IMAGE: nothing runs, and events name the image. (After a lost sandbox, the status still has the first run
# of each init container.)
held_up() {
  eventually eval "kube get events --field-selector involvedObject.name=$1 |
    grep 'Failed to pull image \"registry.test/$NS/$2\"'"
  is "$1" nothing_runs
}

repaired='(.metadata.annotations // {} | has("consistent-pull-policy/changes"))'

@test "a Pod that runs forever gets no volumes: a container restarts while the registry of another one is unreachable" {
  local policy places="app one app:v1 IfNotPresent, app two other:v1 Always"
  needs NODE_CTR
  apply jobs "del(.spec.objectSelector, .spec.matchConditions)
    | .spec.namespaceSelector.matchExpressions = [{key: \"kubernetes.io/metadata.name\", operator: \"In\", values: [\"$NS\"]}]"
  image app:v1 other:v1
  for policy in Always OnFailure; do create "${policy,,}" "$places" ".spec.restartPolicy = \"$policy\""; done
  is always "$repaired | not"
  for policy in always onfailure; do comes "$policy" 'running("one") and running("two")'; done
  touch "$RUN/stopped"
  for policy in always onfailure; do end_on_node "$policy" io.kubernetes.container.name one; done
  comes always 'running("one") and status("one").restartCount == 1'
  comes onfailure 'waits_for_image("one")'
}

@test "the node restarts: the checks run again, and hold up the whole Pod while the registry is unreachable" {
  local pod filter places="init copy-agent agent:v1 IfNotPresent, app one app:v1 Always, app two agent:v1 IfNotPresent"
  needs RESTART_NODE
  apply agent-stack-k8s,jobs
  image agent:v1 app:v1
  for pod in init volume without; do
    filter=$(case $pod in init) echo . ;; volume) echo "$job" ;; without) echo "$unselected" ;; esac)
    create "$pod" "$places" "$filter | .spec.restartPolicy = \"OnFailure\""
  done
  create never "$places" '.spec.restartPolicy = "Never"'
  for pod in init volume without never; do comes "$pod" 'running("one") and running("two")'; done
  $RESTART_NODE 3>&-
  for pod in init volume without; do comes "$pod" 'running("one") and status("two").restartCount == 1'; done
  comes never '.status.phase == "Failed"' # its Job makes a new one
  touch "$RUN/stopped"
  $RESTART_NODE 3>&-
  comes without 'running("two") and waits_for_image("one")'
  for pod in init volume; do held_up "$pod" app:v1; done
}

@test "kubectl set image, and later a lost sandbox: the warning named the old check, and the Pod waits for it" {
  needs NODE_CTR
  apply agent-stack-k8s "$updates"
  image agent:v1 app:v1 app:v2
  create pod "init copy-agent agent:v1 IfNotPresent, app main app:v1 Always" '.spec.restartPolicy = "OnFailure"'
  comes pod 'running("main")'
  output=$(kube set image pod/pod "main=registry.test/$NS/app:v2" 2>&1)
  [[ $output == *"imagecheck-0 pulls registry.test/$NS/app:v1, which nothing else in the Pod names in this way"* ]]
  comes pod 'running("main") and (status("main").image | endswith("/app:v2"))'
  delete_image app:v1
  end_on_node pod io.cri-containerd.kind sandbox
  held_up pod app:v1
}

ten_repaired_pods() {
  kube get pods --output json | jq --exit-status "[.items[] | select($repaired)] | length == 10"
}

@test "the policy server is down for seconds while ten Jobs are created: soon all Pods are there, repaired" {
  local start=$SECONDS places="init copy-agent agent:v1 IfNotPresent, app main app:v1 IfNotPresent"
  needs STOP_POLICY_SERVER START_POLICY_SERVER
  apply agent-stack-k8s
  $STOP_POLICY_SERVER 3>&-
  for i in {1..10}; do workload Job "job-$i" "$places" "$ends"; done | kube create --filename -
  sleep 3
  $START_POLICY_SERVER 3>&-
  eventually ten_repaired_pods
  echo "# after $((SECONDS - start)) s" >&3
}
