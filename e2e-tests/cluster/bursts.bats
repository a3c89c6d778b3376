# Bursts of Jobs on a node that has all images, with the presets that add checks and those that pin. It needs POLICY_SERVER,
# and
#
#   BURSTS  the numbers of Jobs, such as "12 30"
#
# A kubelet with its defaults (registryPullQPS 5, registryBurst 10) asks for at most 5 images a second. An Always counts
# although the node has the image. A Pod is "throttled" if one of its events says so.
load lib

teardown_file() { remove_presets; }

# places KIND PULL-POLICY TAG: the places of a Job's Pod: with two containers, with a program for init containers that are
# checks, or of a captured Pod of agent-stack-k8s (a step with `image:`), which has pull policies of its own.
places() {
  case $1 in
  job) echo "app one app:$3 $2, app two other:$3 $2" ;;
  tools) echo "init copy-tools app:$3 $2, app one app:$3 $2, app two other:$3 $2" ;;
  agent)
    jq --raw-output --arg tag "$3" '
      .request.object.spec | (.initContainers[] | ["init", .]), (.containers[] | ["app", .])
        | "\(.[0]) \(.[1].name) \(if .[1].image | test("buildkite/agent") then "other" else "app" end):\($tag) \(.[1].imagePullPolicy)"
    ' test_data/reviews/agent-stack-0.47-real-step-image-pod-create.json | paste --serial --delimiters , | sed 's/,/, /g'
    ;;
  esac
}

# filter KIND: what else such a Pod has.
filter() {
  case $1 in
  job) echo "$job_label | $ends" ;;
  tools)
    echo "$job_label | walk(if . == \"workspace\" then \"tools\" elif . == \"/workspace\" then \"/tools\" else . end)
      | .spec.initContainers[0].args = [\"cp\", \"/bin/busybox\", \"/tools/busybox\"] | $ends"
    ;;
  agent) echo "$ends" ;;
  esac
}
job_label='.metadata.labels = {"batch.kubernetes.io/job-name": .metadata.name}'

all_ended() {
  kube get jobs --output json | jq --exit-status 'all(.items[]; .status.succeeded == 1)'
}

# burst NUMBER KIND POLICY TAG: prints the seconds until the last Job has ended, the throttled Pods, and the requests.
burst() {
  local start
  workload Job NAME "$(places "$2" "$3" "$4")" "$(filter "$2")" >"$BATS_TEST_TMPDIR/job.json"
  for ((i = 1; i <= $1; i++)); do sed "s/NAME/job-$i/g" "$BATS_TEST_TMPDIR/job.json"; done >"$BATS_TEST_TMPDIR/jobs.json"
  : >"$RUN/requests"
  start=$SECONDS
  kube create --filename "$BATS_TEST_TMPDIR/jobs.json" >/dev/null
  eventually all_ended >/dev/null || true
  echo "$((SECONDS - start)) $(end_burst)"
}

# A kind of Pod, its pull policy, and presets.
mapfile -t rows <<'ROWS'
job Always none
job IfNotPresent none
job Always jobs
job IfNotPresent jobs
job Always always-by-digest
job IfNotPresent always-by-digest
job Always always-by-digest-pin
job IfNotPresent always-by-digest-pin
tools Always none
tools Always jobs-init-containers
tools Always jobs-init-containers,always-by-digest
agent captured none
agent captured agent-stack-k8s
agent captured agent-stack-k8s-volumes
agent captured agent-stack-k8s-volumes-off
ROWS

# The node pulls both images, by their tags and by their digests.
warm_up() {
  image app:v1 other:v1
  create tags "app one app:v1 Always, app two other:v1 Always" "$unselected"
  create digests "app one app:v1@$(digest app:v1) Always, app two other:v1@$(digest other:v1) Always" "$unselected"
  comes tags 'running("one") and running("two")'
  comes digests 'running("one") and running("two")'
  kube delete pods --all --now >/dev/null
}

# new_tag: writes a new tag of both images into `tag`, which the cache of the policy server doesn't have.
new_tag() {
  local name
  tag=t$((++tags))
  for name in app other; do
    skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false "$(in_registry "$name:v1")" "$(in_registry "$name:$tag")"
  done
}

@test "in a burst, no preset throttles more Pods than no policy" {
  needs BURSTS
  local number row kind policy presets tag tags=0 slowest throttled requests worse=0
  declare -A without
  use_address
  warm_up
  for number in $BURSTS; do
    for row in "${rows[@]}"; do
      read -r kind policy presets <<<"$row"
      apply "$presets"
      tag=v1
      case $policy,$presets in
      IfNotPresent,always-by-digest | IfNotPresent,jobs) ;; # It pins nothing here, so the tag has to be on the node.
      *digest* | *,agent-stack-k8s-volumes | Always,jobs) new_tag ;;
      esac
      read -r slowest throttled requests <<<"$(burst "$number" "$kind" "$policy" "$tag")"
      echo "# $number $kind $policy $presets: $slowest s, $throttled throttled, $requests requests" >&3
      if [[ $presets == none ]]; then
        without[$kind,$policy]=$throttled
      elif ((throttled > without[$kind,$policy] || slowest >= 300)); then # Or not all Jobs have ended.
        echo "# worse than no policy" >&3
        worse=1
      fi
    done
  done
  ((worse == 0))
}
