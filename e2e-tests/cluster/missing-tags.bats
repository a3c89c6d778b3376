# Tags that their registry doesn't have are rejected at once: examples/tekton.yaml for Pods, and
# examples/agent-stack-k8s-fail-fast.yaml for Jobs. It needs POLICY_SERVER, whose source of images is HTTP.
load lib

setup_file() {
  [[ -n ${POLICY_SERVER:-} ]] || skip "the PolicyServers of the files don't read this test's images over HTTP"
  apply_example tekton
  apply_example agent-stack-k8s-fail-fast
}
teardown_file() { remove_examples; }

of_tekton='.metadata.labels = {"tekton.dev/taskRun": "run"}'

# creates NAME IMAGE: a Pod of Tekton, and a Job of agent-stack-k8s.
creates() {
  create "$1" "app step-main $2 IfNotPresent" "$of_tekton | $ends" &&
    workload Job "$1" "app container-0 $2 IfNotPresent" "$ends" | kube create --filename - 2>&1
}

@test "a tag that doesn't exist: the Pod and the Job are rejected, and the message names the image" {
  use_address
  image app:v1
  creates right app:v1
  comes right '.status.phase == "Succeeded"'
  not create wrong "app step-main gone:v1 IfNotPresent" "$of_tekton"
  [[ $output == *"denied the request: "*"$IN/gone:v1 does not exist in its registry"* ]]
  run kube create --filename - < <(workload Job wrong "app container-0 gone:v1 IfNotPresent")
  [[ $status != 0 && $output == *"denied the request: "*"$IN/gone:v1 does not exist in its registry"* ]]
}

@test "the registry, or the policy server, is away: both are created" {
  use_address
  touch "$RUN/stopped"
  creates away never-asked:v1
  rm "$RUN/stopped"
  [[ -v STOP_POLICY_SERVER && -v START_POLICY_SERVER ]] || return 0
  $STOP_POLICY_SERVER 3>&-
  creates unexamined gone:v1
  $START_POLICY_SERVER 3>&-
}
