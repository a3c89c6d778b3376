# Jobs, whose authors made no checks, on a node: examples/jobs.yaml. Lookups need POLICY_SERVER, whose source of images is
# HTTP. Where somebody ends what waits: examples/beside/descheduler-values.yaml, with
#
#   DESCHEDULER  the program `descheduler` (github.com/kubernetes-sigs/descheduler)
load lib

setup_file() { apply_preset jobs; }
teardown_file() {
  kubectl delete node --ignore-not-found cluster-tests-second
  remove_presets
}

@test "with and without init containers, and a native sidecar: a Pod starts, and a missing image holds it up" {
  local row first
  image app:v1 other:v1
  for row in "init first other:v1 IfNotPresent, " "" "sidecar first other:v1 IfNotPresent, "; do
    first="${row}app one app:v1 IfNotPresent, app two"
    create starts "$first other:v1 IfNotPresent" "$job"
    comes starts 'running("one") and running("two")'
    create without "$first gone:v1 IfNotPresent" "$unselected"
    comes without 'running("one") and waits_for_image("two")'
    create held-up "$first gone:v1 IfNotPresent" "$job"
    comes held-up '[(status("first", "one", "two").state.waiting.message // "") | contains("/gone:v1")] | any'
    # With an init container nothing starts. Without one, each app container carries the checks.
    comes held-up nothing_runs
    kube delete pod --all --wait >/dev/null
  done
}

# a_job NAME PLACES [FILTER]: a Job without labels of its own.
a_job() {
  workload Job "$1" "$2" "del(.metadata.labels) | ${3:-.}"
}

# cron_job PLACES [FILTER]: a CronJob that nobody starts but `kubectl create job --from`.
cron_job() {
  a_job nightly "$@" | jq '{apiVersion, kind: "CronJob", metadata: {name: "nightly"},
    spec: {schedule: "0 0 1 1 *", jobTemplate: {spec}}}'
}

# of_job NAME: prints the Pod of this Job.
of_job() {
  kube get pods --selector "batch.kubernetes.io/job-name=$1" --output name | sed 's#pod/##'
}

@test "a wrong tag: the Job and the CronJob are refused, and a tag that goes later holds up the whole Pod" {
  local pod
  needs POLICY_SERVER
  use_address
  image app:v1 late:v1 step:v1
  a_job wrong "app one app:v1 IfNotPresent, app two gone:v1 IfNotPresent" >"$BATS_TEST_TMPDIR/job.json"
  refused kube apply --filename "$BATS_TEST_TMPDIR/job.json"
  cron_job "app one app:v1 IfNotPresent, app two gone:v1 Always" >"$BATS_TEST_TMPDIR/wrong.json"
  refused kube apply --filename "$BATS_TEST_TMPDIR/wrong.json"
  cron_job "init first app:v1 IfNotPresent, app one step:v1 Always, app two late:v1 Always" "$ends" >"$BATS_TEST_TMPDIR/right.json"
  kube apply --filename "$BATS_TEST_TMPDIR/right.json"
  refused kube apply --filename "$BATS_TEST_TMPDIR/wrong.json"

  kube create job first --from cronjob/nightly
  eventually eval 'kube wait --for condition=Complete job/first --timeout 1s'
  is "$(of_job first)" '.metadata.annotations["consistent-pull-policy/changes"] | contains("sha256:")'

  delete_image late:v1
  sleep 61 # The policy server forgets the digest.
  kube create job second --from cronjob/nightly
  eventually eval '[[ -n $(of_job second) ]]'
  pod=$(of_job second)
  # The node has the image under its digest alone.
  comes "$pod" 'waits_for_image("first") and nothing_started'
  is "$pod" 'status("first").state.waiting.message | contains("/late:v1")'
}

@test "the label on a Job or CronJob excludes this object, and in its pod template also its Pods" {
  local row name kind path
  needs POLICY_SERVER
  use_address
  image app:v1
  a_job both "app one app:v1 IfNotPresent, app two gone:v1 IfNotPresent" >"$BATS_TEST_TMPDIR/job.json"
  cron_job "app one app:v1 IfNotPresent, app two gone:v1 IfNotPresent" >"$BATS_TEST_TMPDIR/cronjob.json"
  refused kube create --filename "$BATS_TEST_TMPDIR/job.json"
  for row in "on-job job .metadata" "in-template job .spec.template.metadata" \
    "on-cronjob cronjob .metadata" "in-its-template cronjob .spec.jobTemplate.spec.template.metadata"; do
    read -r name kind path <<<"$row"
    jq --arg name "$name" "$path.labels[\"consistent-pull-policy/ignore\"] = \"\" | .metadata.name = \$name" \
      "$BATS_TEST_TMPDIR/$kind.json" | kube create --filename -
  done
  for name in on-job in-template; do eventually eval '[[ -n $(of_job '"$name"') ]]'; done
  comes "$(of_job on-job)" '(waits_for_image("one") or waits_for_image("two")) and nothing_runs'
  comes "$(of_job in-template)" 'running("one") and waits_for_image("two")'
}

@test "the registry is unreachable: a Job is created, and starts from the node's images unless it has Always" {
  needs POLICY_SERVER
  use_address
  image app:v1 other:v1
  create before "app one app:v1 Always, app two other:v1 Always" "$unselected"
  comes before 'running("one") and running("two")'
  touch "$RUN/stopped"
  a_job starts "app one app:v1 IfNotPresent, app two other:v1 IfNotPresent" "$ends" | kube create --filename -
  eventually eval 'kube wait --for condition=Complete job/starts --timeout 1s'
  a_job waits "app one app:v1 Always, app two other:v1 IfNotPresent" | kube create --filename -
  eventually eval '[[ -n $(of_job waits) ]]'
  comes "$(of_job waits)" 'waits_for_image("one") and nothing_runs'
  rm "$RUN/stopped"
  comes "$(of_job waits)" 'running("one") and running("two")'
}

@test "the policy server is down: a Job and its Pod are created as they are written" {
  needs STOP_POLICY_SERVER START_POLICY_SERVER
  image app:v1 other:v1
  $STOP_POLICY_SERVER 3>&-
  a_job job "app one app:v1 IfNotPresent, app two other:v1 IfNotPresent" | kube create --filename -
  eventually eval '[[ -n $(of_job job) ]]'
  $START_POLICY_SERVER 3>&-
  comes "$(of_job job)" 'running("one") and running("two")'
  is "$(of_job job)" '.metadata | has("annotations") | not'
}

# deschedule SECONDS: runs the descheduler once, with the values of the file, and with fewer seconds to wait. It does nothing
# with fewer than two nodes, and takes one without a status for ready.
deschedule() {
  gojq --yaml-input --argjson seconds "$1" '.deschedulerPolicy + {apiVersion: "descheduler/v1alpha2", kind: "DeschedulerPolicy"}
    | (.. | objects | select(has("minTimeSinceLastTransitionSeconds"))).minTimeSinceLastTransitionSeconds = $seconds
  ' examples/beside/descheduler-values.yaml >"$BATS_TEST_TMPDIR/policy.json"
  kubectl delete node --ignore-not-found cluster-tests-second
  kubectl create --filename - <<<'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "cluster-tests-second"}, "spec": {"unschedulable": true}}'
  "$DESCHEDULER" --policy-config-file "$BATS_TEST_TMPDIR/policy.json" --kubeconfig "${KUBECONFIG:-$HOME/.kube/config}" \
    --secure-port 0 --v 1 >"$BATS_TEST_TMPDIR/descheduler.log" 2>&1 3>&-
  not grep "requires >=2 nodes" "$BATS_TEST_TMPDIR/descheduler.log"
}

# failed JOB REASON
failed() {
  kube get job "$1" --output json |
    jq --exit-status --arg reason "$2" 'any(.status.conditions[]?; .type == "Failed" and .reason == $reason)'
}

@test "README.md's Job: its Pod waits as a whole, and its deadline ends it" {
  image docker.io/library/busybox:1.37
  awk '/^kubectl create --filename - <</ { inside = 1; next } /^END$/ { inside = 0 } inside' README.md | kube create --filename -
  eventually eval '[[ -n $(of_job waits) ]]'
  comes "$(of_job waits)" 'waits_for_image("report") and waits_for_image("upload")'
  [[ $(kube get pods --no-headers) =~ 0/2\ +(ErrImagePull|ImagePullBackOff) ]]
  eventually failed waits DeadlineExceeded
  eventually eval '[[ -z $(of_job waits) ]]'
}

@test "a Job that waits for an image, ends: the descheduler evicts its Pod until backoffLimit is reached" {
  local filter places="app one app:v1 IfNotPresent, app two gone:v1 IfNotPresent"
  needs DESCHEDULER
  image app:v1
  for name in app init volume; do
    filter=$([[ $name != volume ]] || echo '| .spec.template.spec |= (.volumes += [{name: "data", image: {reference:
      (.containers[1].image), pullPolicy: "IfNotPresent"}}] | .containers[1].image = .containers[0].image
      | .containers[1].volumeMounts += [{name: "data", mountPath: "/data"}])')
    a_job "$name" "$([[ $name != init ]] || echo "init first app:v1 IfNotPresent, ")$places" |
      jq ".spec.backoffLimit = 1 $filter" | kube create --filename -
  done
  create other "$places" "$unselected"
  for name in app init volume; do
    eventually eval '[[ -n $(of_job '"$name"') ]]'
    comes "$(of_job "$name")" '[status("first", "one", "two").state.waiting.reason // ""] | any(test("ImagePull"))'
  done
  deschedule 600 # Nobody has waited for so long.
  not grep "Evicted pod" "$BATS_TEST_TMPDIR/descheduler.log"
  for name in app init volume; do
    eventually eval "deschedule 3 && failed $name BackoffLimitExceeded"
    echo "# $name: $(kube get job "$name" --output json | jq '.status.failed') Pods" >&3
  done
  is other 'running("one") and waits_for_image("two")'
}
