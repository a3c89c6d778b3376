# What the page says about Pods in incidents (site/tests/pods-in-incident.ts), beside a node whose registry stops. It needs
# NODE_CTR (incidents.bats).
load lib

teardown_file() { remove_presets; }

presets=(agent-stack-k8s jobs)

# Filters for `manifest`: a Pod with the first or the second preset, and one of a Job with an image volume of its author.
# shellcheck disable=SC2034 # create_all reads them
first=. second=$job
volume="$job"' | .spec.volumes += [{name: "data", image: {reference: (.spec.initContainers[0].image), pullPolicy: "Always"}}]
  | .spec.containers[0].volumeMounts += [{name: "data", mountPath: "/data"}]'

# create_all: each Pod with and without its preset.
create_all() {
  local name filter places
  while read -r name filter places; do
    create "$name-with" "$places" "${!filter}"
    create "$name-without" "$places" "${!filter} | $unselected"
  done <<PODS
weak-check first init copy-agent agent:v1 IfNotPresent, init imagecheck-0 app:v1 IfNotPresent, app main app:v1 Always, app agent agent:v1 IfNotPresent
no-check first init copy-agent agent:v1 IfNotPresent, app main app:v1 IfNotPresent, app side side:v1 Always
by-digest first init copy-agent agent:v1 IfNotPresent, app main side:v1@$digest IfNotPresent, app agent agent:v1 IfNotPresent
two-apps second app one app:v1 Always, app two side:v1 IfNotPresent
never second init first side:v1 IfNotPresent, app one app:v1 IfNotPresent, app two side:v1 Never
init second init first side:v1 IfNotPresent, app one app:v1 Always
sidecar second sidecar first side:v1 Always, app one app:v1 IfNotPresent, app two app:v1 IfNotPresent
volume volume init first side:v1 IfNotPresent, app one app:v1 IfNotPresent, app two app:v1 IfNotPresent
PODS
}

all_run() {
  kube get pods --output json | jq --exit-status '[.items[].status.phase == "Running"] | all'
}

settled() {
  kube get pods --output json | python3 e2e-tests/cluster/miniature.py compare "$BATS_TEST_TMPDIR"
}

# incident WHAT NAME MOMENT: creates the Pods again, and compares them with the page's answer about this incident.
incident() {
  kube delete pods --all >/dev/null
  create_all
  jq --null-input --compact-output '{incident: {what: $what, name: $name, moment: $moment}, files: $ARGS.positional}' \
    --arg what "$1" --arg name "$2" --arg moment "$3" --args "${presets[@]}" >"$BATS_TEST_TMPDIR/question"
  (cd site && node --input-type=module --eval 'import { runnerImport } from "vite";
    await runnerImport("./tests/pods-in-incident.ts")' "$(<"$BATS_TEST_TMPDIR/question")") \
    <"$BATS_TEST_TMPDIR/cluster.json" >"$BATS_TEST_TMPDIR/expected.json"
  eventually settled
  sleep 15 # Nothing more starts.
  settled
  echo "# $*: $(<"$BATS_TEST_TMPDIR/output")" >&3
}

@test "in an incident, the same containers start and wait on a node and in the page" {
  local preset digest
  [[ -v NODE_CTR ]] || skip "NODE_CTR is not set (see incidents.bats)"
  for preset in "${presets[@]}"; do apply_preset "$preset"; done
  image agent:v1 app:v1 side:v1
  digest=$(digest side:v1)
  create_all
  eventually all_run
  kube get pods --output json | jq '.items |= map(select(.metadata.name | endswith("-with")))' >"$BATS_TEST_TMPDIR/cluster.json"

  delete_image app:v1
  incident image "registry.test/$NS/app:v1" meanwhile
  touch "$RUN/stopped"
  incident registries "" meanwhile
  kube delete pods --all >/dev/null
  # shellcheck disable=SC2046 # a list of words
  $NODE_CTR images remove $($NODE_CTR images list --quiet | grep "/$NS/")
  incident registries "" empty
}
