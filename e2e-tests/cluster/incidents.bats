# Incidents on a node, with the examples as they are. In each test, a Pod without this policy, or other settings, show
# what would happen else. The commands in NODE_CTR and the like are in CONTRIBUTING.md.
load lib

teardown_file() { remove_examples; }

# use NAME [FILTER]: applies this example in place of those of the tests before.
use() {
  remove_examples
  apply_example "$@"
}

needs() {
  local name
  for name; do [[ -v $name ]] || skip "$name is not set (CONTRIBUTING.md, Cluster tests)"; done
}

# end_on_node POD LABEL VALUE: kills the container with this label.
end_on_node() {
  local labels="labels.\"io.kubernetes.pod.namespace\"==$NS,labels.\"io.kubernetes.pod.name\"==$1,labels.\"$2\"==$3"
  $NODE_CTR tasks kill --signal SIGKILL "$($NODE_CTR containers list --quiet "$labels")"
}

# held_up POD IMAGE: nothing runs, and events name the image. (After a lost sandbox, the status still has the first run
# of each init container.)
held_up() {
  within 60 eval "kube get events --field-selector involvedObject.name=$1 |
    grep 'Failed to pull image \"registry.test/$NS/$2\"'"
  is "$1" nothing_runs
}

repaired='(.metadata.annotations // {} | has("consistent-pull-policy/changes"))'

@test "two init containers, and the image of the second one is missing: nothing begins" {
  local places="init first app:v1 IfNotPresent, init second gone:v1 IfNotPresent, app main app:v1 IfNotPresent"
  use every-pod-volumes
  image app:v1
  create without "$places" "$unselected"
  comes without 'ended("first") and waits_for_image("second")'
  create with "$places" "$job"
  comes with 'waits_for_image("first") and nothing_started'
  is with 'status("first").state.waiting.message | contains("/gone:v1")'
}

@test "a Pod that runs for ever gets no volumes: a container restarts while the registry of another one is away" {
  local policy places="app one app:v1 IfNotPresent, app two other:v1 Always"
  needs NODE_CTR
  use every-pod-volumes "del(.spec.objectSelector)
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

@test "the node restarts: the checks run again, and hold up the whole Pod while the registry is away" {
  local pod filter places="init copy-agent agent:v1 IfNotPresent, app one app:v1 Always, app two agent:v1 IfNotPresent"
  needs RESTART_NODE
  use agent-stack-k8s
  apply_example every-pod-volumes
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
  local pod places="init copy-agent agent:v1 IfNotPresent, app main app:v1 Always"
  needs NODE_CTR
  use agent-stack-k8s "$updates"
  image agent:v1 app:v1 app:v2
  create without "$places" "$unselected | .spec.restartPolicy = \"OnFailure\""
  create with "$places" '.spec.restartPolicy = "OnFailure"'
  for pod in without with; do
    comes "$pod" 'running("main")'
    output=$(kube set image "pod/$pod" "main=registry.test/$NS/app:v2" 2>&1)
    comes "$pod" 'running("main") and (status("main").image | endswith("/app:v2"))'
  done
  [[ $output == *"imagecheck-0 pulls registry.test/$NS/app:v1, which nothing else in the Pod uses"* ]]
  delete_image app:v1
  for pod in without with; do end_on_node "$pod" io.cri-containerd.kind sandbox; done
  comes without 'running("main") and status("main").restartCount == 2'
  held_up with app:v1
}

@test "an image is removed from the node between check and container: the container pulls it again" {
  local pod
  needs NODE_CTR
  use agent-stack-k8s
  image agent:v1 app:v1 other:v1
  create kept "init copy-agent agent:v1 Always, init stop agent:v1 IfNotPresent, app main app:v1 Always"
  create removed "init copy-agent agent:v1 Always, init stop agent:v1 IfNotPresent, app main other:v1 Always"
  for pod in kept removed; do comes "$pod" 'ended("imagecheck-0") and running("stop")'; done
  $NODE_CTR images remove "registry.test/$NS/other:v1"
  touch "$RUN/stopped"
  for pod in kept removed; do resume "$pod"; done
  comes kept 'running("main")'
  comes removed 'waits_for_image("main")'
  rm "$RUN/stopped"
  comes removed 'running("main")'
}

# all_pods_are true|false: the ten Pods are repaired, or not.
all_pods_are() {
  kube get pods --output json | jq --exit-status "[.items[] | $repaired] == [range(10) | $1]"
}

@test "the policy server is away for seconds while ten Jobs are created: within 20 s all Pods are there, repaired" {
  local policy start places="init copy-agent agent:v1 IfNotPresent, app main app:v1 IfNotPresent"
  needs STOP_POLICY_SERVER START_POLICY_SERVER
  image agent:v1 app:v1
  for policy in Ignore Fail; do
    use agent-stack-k8s ".spec.failurePolicy = \"$policy\""
    $STOP_POLICY_SERVER 3>&-
    start=$SECONDS
    for i in {1..10}; do workload Job "${policy,,}-$i" "$places" "$ends"; done | kube create --filename -
    sleep 3
    $START_POLICY_SERVER 3>&-
    within $((start + 20 - SECONDS)) all_pods_are "$([[ $policy == Fail ]] && echo true || echo false)"
    echo "# $policy: $((SECONDS - start)) s" >&3
    kube delete jobs --all --wait
  done
}

@test "the policy server is killed six times while four clients create a thousand Pods: none is stored unrepaired" {
  local policy client clients stored unrepaired pod url="http://127.0.0.1:$((PORT + 2))/api/v1/namespaces/$NS/pods"
  needs STOP_POLICY_SERVER START_POLICY_SERVER
  kubectl proxy --port "$((PORT + 2))" >/dev/null 3>&- &
  for policy in Ignore Fail; do
    use agent-stack-k8s ".spec.failurePolicy = \"$policy\""
    kube delete pods --all >/dev/null
    pod=$(manifest NAME "init imagecheck-0 app:v1 IfNotPresent, app main app:v1 Always" '.spec.schedulerName = "none"')
    clients=()
    for client in {1..4}; do
      for i in {1..250}; do
        curl --silent --output /dev/null --write-out '%{http_code}\n' --header 'Content-Type: application/json' \
          --data "${pod//NAME/pod-$client-$i}" "$url"
        sleep 0.2
      done >"$BATS_TEST_TMPDIR/codes-$client" 3>&- &
      clients+=("$!")
    done
    for i in {1..6}; do
      sleep 2
      $STOP_POLICY_SERVER 3>&-
      $START_POLICY_SERVER 3>&-
    done
    kill -0 "${clients[@]}" # They are all at work still.
    wait "${clients[@]}"
    read -r stored unrepaired < <(kube get pods --output json |
      jq --raw-output "[.items[] | $repaired] | \"\(length) \(map(select(not)) | length)\"")
    echo "# $policy: $(sort "$BATS_TEST_TMPDIR"/codes-* | uniq -c | paste -s); $stored stored, $unrepaired unrepaired" >&3
    (($(cat "$BATS_TEST_TMPDIR"/codes-* | grep -c 201) == stored))
    if [[ $policy == Fail ]]; then ((unrepaired == 0 && stored < 1000)); else ((unrepaired > 0)); fi
  done
  kill %1
}

@test "a second policy beside webhooks: it warns of an image that one of them has uncovered, and denies an invalid one" {
  local second hook expected
  image app:v1
  use every-pod-volumes
  for second in "" second-policy; do
    ${second:+apply_example "$second"}
    while read -r hook expected; do
      webhook zz-other "$WEBHOOKS/$hook"
      sleep 1 # A webhook acts a moment after it was registered.
      create "pod-$RANDOM" "app one app:v1 Always, app two app:v1 IfNotPresent" "$job" || [[ $second$expected == *denied ]]
      [[ $(grep --only-matching 'but no image check\|denied' <<<"$output") == "${second:+$expected}" ]]
      kubectl delete mutatingwebhookconfiguration zz-other
    done <<'HOOKS'
mesh/docker.io/istio/proxyv2:1
mesh/other.test/proxy:1 but no image check
pin but no image check
old-types but no image check
mesh/INVALID denied
HOOKS
  done
  is "$(kube get pods --output name | head -n 1 | cut -d / -f 2)" 'pulls("one") == "Always"' # lowered by no volume
}

@test "a check volume beside AfterAnyCheck: the registry stops between the volume and the container" {
  local pod places="init stop other:v1 IfNotPresent, app main app:v1 Always"
  image app:v1 other:v1
  use every-pod-volumes
  create without "$places" "$job"
  use every-pod-volumes '.metadata.name += "-any-check" | .spec.settings.pullOnce = "AfterAnyCheck"'
  create with "$places" "$job"
  for pod in without with; do comes "$pod" 'running("stop")'; done
  touch "$RUN/stopped"
  for pod in without with; do resume "$pod"; done
  comes without 'waits_for_image("main")'
  comes with 'running("main")'
}
