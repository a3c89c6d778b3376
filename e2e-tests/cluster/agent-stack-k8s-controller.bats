# Twelve jobs of two images at once through Buildkite's controller itself, on a node that has all images. It needs
# POLICY_SERVER, and
#
#   AGENT_STACK_K8S  the program agent-stack-k8s (github.com/buildkite/agent-stack-k8s)
#
# buildkite.py stands in for Buildkite, and a script for buildkite-agent. As the agent does, it waits until all
# containers of the Pod run. PORT + 3 is the stand-in's.
load lib

# The controller's skip-image-check-containers, the pull policy of the jobs' containers, and presets.
mapfile -t rows <<'ROWS'
false unset none
false unset agent-stack-k8s
true unset none
true unset agent-stack-k8s-volumes
true unset agent-stack-k8s-volumes-off
true Always none
true Always agent-stack-k8s-volumes
ROWS

setup_file() {
  pods_reach_this_machine
}

teardown_file() {
  [[ ! -e $BATS_FILE_TMPDIR/pids ]] || xargs kill <"$BATS_FILE_TMPDIR/pids" || true
  remove_presets
}

# The agent's image: a shell, the programs that the controller's commands use, and scripts for its own two.
agent_image() {
  local root=$BATS_TEST_TMPDIR/root program
  mkdir -p "$BATS_TEST_TMPDIR/image" "$root"/{bin,usr/bin,usr/local/bin}
  cp "$RUN/root/bin/busybox" "$root/bin/busybox"
  for program in sh mkdir chmod cp; do ln -s busybox "$root/bin/$program"; done
  cat >"$root/usr/bin/tini-static" <<'SCRIPT'
#!/bin/busybox sh
[ "$1" = --version ] || { shift && exec "$@"; }
SCRIPT
  cat >"$root/usr/local/bin/buildkite-agent" <<'SCRIPT'
#!/bin/busybox sh
case $1 in
kubernetes-bootstrap) >"/workspace/connected-$BUILDKITE_CONTAINER_ID" ;;
start)
  call() { busybox wget -q -O - --post-data '{}' "$BUILDKITE_AGENT_ENDPOINT/jobs/$BUILDKITE_AGENT_ACQUIRE_JOB/$1"; }
  call start || exit 1
  while set -- /workspace/connected-*; [ ! -e "$1" ] || [ "$#" -lt "$BUILDKITE_CONTAINER_COUNT" ]; do busybox sleep 0.1; done
  call finish
  ;;
esac
SCRIPT
  chmod 755 "$root/usr/bin/tini-static" "$root/usr/local/bin/buildkite-agent"
  ln -s buildkite-agent "$root/usr/local/bin/buildkite-agent-entrypoint"
  tar --create --file "$BATS_TEST_TMPDIR/image/layer.tar" --owner 0 --group 0 --directory "$root" bin usr
  jq --arg layer "$(sha256sum <"$BATS_TEST_TMPDIR/image/layer.tar" | cut -d ' ' -f 1)" '
    .rootfs.diff_ids = ["sha256:" + $layer]
    | .config = {Entrypoint: ["buildkite-agent-entrypoint"], Env: ["PATH=/usr/local/bin:/usr/bin:/bin"]}
  ' "$RUN/config.json" >"$BATS_TEST_TMPDIR/config.json"
  cp "$RUN/image/manifest.json" "$BATS_TEST_TMPDIR/image"
  RUN=$BATS_TEST_TMPDIR image agent:v1
}

# start_controller SKIP: with its own image checks, or without them.
start_controller() {
  if [[ -n ${controller:-} ]]; then
    kill "$controller"
    wait "$controller" || true
  fi
  jq --null-input --arg endpoint "$BUILDKITE" --argjson skip "$1" \
    '{"agent-config": {$endpoint}, "skip-image-check-containers": $skip}' >"$BATS_TEST_TMPDIR/config.yaml"
  "$AGENT_STACK_K8S" --config "$BATS_TEST_TMPDIR/config.yaml" --namespace "$NS" --id "$NS" --image "$IN/agent:v1" \
    >>"$BATS_TEST_TMPDIR/controller.log" 2>&1 3>&- &
  controller=$!
  echo "$controller" >>"$BATS_FILE_TMPDIR/pids"
}

jobs_end() {
  curl --silent --fail "$BUILDKITE/test/jobs" | jq --exit-status 'all(has("seconds"))'
}

# burst PULL-POLICY: prints how many jobs passed, the seconds of the slowest, the throttled Pods, and the requests.
burst() {
  : >"$RUN/requests"
  jq --null-input --arg in "$IN" --arg policy "$1" '
    ["app", "other"] | map({image: "\($in)/\(.):v1"}) | {number: 12, plugin: {podSpec: {containers: .}}}
    # The controller lowers Always in podSpec, not in podSpecPatch.
    | if $policy == "Always" then
        .plugin.podSpecPatch.containers = [{name: ("container-0", "container-1"), imagePullPolicy: $policy}] else . end
  ' | curl --silent --fail --data @- "$BUILDKITE/test/jobs" >/dev/null
  eventually jobs_end
  curl --silent --fail "$BUILDKITE/test/jobs" >"$BATS_TEST_TMPDIR/jobs.json"
  echo "$(jq 'map(select(.state == "passed")) | length' "$BATS_TEST_TMPDIR/jobs.json")" \
    "$(jq 'map(.seconds) | max' "$BATS_TEST_TMPDIR/jobs.json") $(end_burst)"
}

# Without a pin, twelve requests for the agent's image alone can be too many: copy-agent has Always.
@test "twelve jobs at once: none fails, no preset asks the registry more often than no policy, and a pin throttles no Pod" {
  needs AGENT_STACK_K8S
  local machine name row skip policy presets passed slowest throttled requests bad=0
  declare -A without
  use_address
  machine=${WEBHOOKS#https://}
  BUILDKITE=http://${machine%:*}:$((PORT + 3))
  python3 e2e-tests/cluster/buildkite.py "$((PORT + 3))" >"$BATS_TEST_TMPDIR/buildkite.log" 2>&1 3>&- &
  echo "$!" >>"$BATS_FILE_TMPDIR/pids"
  eventually curl --silent --fail "$BUILDKITE/test/jobs"
  kube create secret generic buildkite-agent-token --from-literal BUILDKITE_AGENT_TOKEN=token >/dev/null
  agent_image
  image app:v1 other:v1
  for name in agent:v1 app:v1 other:v1; do
    create "${name%:*}-tag" "app main $name Always" "$unselected"
    create "${name%:*}-digest" "app main $name@$(digest "$name") Always" "$unselected"
  done
  for name in agent app other; do comes "$name-tag" 'running("main")' && comes "$name-digest" 'running("main")'; done
  kube delete pods --all --now >/dev/null

  for row in "${rows[@]}"; do
    read -r skip policy presets <<<"$row"
    start_controller "$skip"
    apply "$presets"
    [[ $presets != *volumes ]] || sleep 61 # The policy server forgets the digests.
    read -r passed slowest throttled requests <<<"$(burst "$policy")"
    echo "# skip-image-check-containers $skip, $policy, $presets: $passed passed, slowest $slowest s, $throttled throttled," \
      "$requests requests" >&3
    if [[ $presets == none ]]; then
      without[$skip,$policy]=$requests
    elif ((passed < 12 || requests > without[$skip,$policy])) || [[ $presets == *volumes && $throttled != 0 ]]; then
      bad=1
    fi
  done
  ((bad == 0))
}
