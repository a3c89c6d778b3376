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

@test "two init containers, and the image of the second one is missing: nothing begins" {
  apply jobs
  image app:v1
  create pod "init first app:v1 IfNotPresent, init second gone:v1 IfNotPresent, app main app:v1 IfNotPresent" "$job"
  comes pod 'waits_for_image("first") and nothing_started'
  is pod 'status("first").state.waiting.message | contains("/gone:v1")'
}

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

@test "the registry stops between check and container: it starts, unless its image was removed from the node" {
  local pod places="init copy-agent agent:v1 Always, init stop agent:v1 IfNotPresent, app main"
  needs NODE_CTR
  apply agent-stack-k8s
  image agent:v1 app:v1 other:v1
  create kept "$places app:v1 Always"
  create removed "$places other:v1 Always"
  for pod in kept removed; do comes "$pod" 'ended("imagecheck-0") and running("stop")'; done
  $NODE_CTR images remove "registry.test/$NS/other:v1"
  touch "$RUN/stopped"
  for pod in kept removed; do resume "$pod"; done
  comes kept 'running("main")'
  comes removed 'waits_for_image("main")'
  rm "$RUN/stopped"
  comes removed 'running("main")'
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

# client NUMBER: creates Pods that no scheduler sees, until the file "enough" exists, and prints the API server's codes.
client() {
  local pod i=0
  pod=$(manifest NAME "init imagecheck-0 app:v1 IfNotPresent, app main app:v1 Always" '.spec.schedulerName = "none"')
  until [[ -e $BATS_TEST_TMPDIR/enough ]]; do
    curl --silent --output /dev/null --write-out '%{http_code}\n' --header 'Content-Type: application/json' \
      --data "${pod//NAME/pod-$1-$((i++))}" "http://127.0.0.1:$((PORT + 2))/api/v1/namespaces/$NS/pods"
    sleep 0.2
  done
}

@test "the policy server is killed six times while four clients create Pods: some are refused, none is stored unrepaired" {
  local codes stored unrepaired clients=()
  needs STOP_POLICY_SERVER START_POLICY_SERVER
  proxy
  apply agent-stack-k8s
  for i in {1..4}; do
    client "$i" >"$BATS_TEST_TMPDIR/$i" 3>&- &
    clients+=("$!")
  done
  for i in {1..6}; do
    sleep 2
    $STOP_POLICY_SERVER 3>&-
    $START_POLICY_SERVER 3>&-
  done
  touch "$BATS_TEST_TMPDIR/enough"
  wait "${clients[@]}"
  kill "$proxy"
  codes=$(sort "$BATS_TEST_TMPDIR"/[1-4] | uniq --count | xargs)
  read -r stored unrepaired < <(kube get pods --output json |
    jq --raw-output "[.items[] | $repaired] | \"\(length) \(map(select(not)) | length)\"")
  echo "# answers: $codes; $stored Pods stored, $unrepaired unrepaired" >&3
  [[ $codes == "$stored 201 "* && $unrepaired == 0 ]]
}

@test "the guard beside webhooks: it warns of an image that one of them has uncovered, and denies an invalid one" {
  local hook expected
  apply jobs,jobs-guard
  while read -r hook expected; do
    webhook zz-other "$WEBHOOKS/$hook"
    create "${hook%%/*}" "app one app:v1 Always, app two app:v1 IfNotPresent" "$job" || [[ $expected == denied ]]
    if [[ -n $expected ]]; then
      grep "$expected" <<<"$output"
    else
      not grep 'but no image check\|denied' <<<"$output"
    fi
    unregister "cluster-tests=$NS"
  done <<'HOOKS'
mesh/docker.io/istio/proxyv2:1
pin but no image check
old-types but no image check
broken-mesh/INVALID denied
HOOKS
  is old-types 'pulls("one") == "Always"' # A volume that can be lost lowers no container.
}
