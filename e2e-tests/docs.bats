# The commands of pages, as they are written, and the outputs that pages show. Here, helm renders the chart of this clone, and
# kubectl is a stub; cluster/operations.bats runs the commands of docs/install.md in a cluster.

load lib

# block PAGE START LANGUAGE: the first code block of this language after the line that matches START.
block() {
  awk -v start="$2" -v fence="\`\`\`$3" '
    inside && /^```$/ { exit }
    inside
    $0 ~ start { found = 1 }
    found && $0 == fence { inside = 1 }' "$1"
}

@test "Try your own Pod: kwctl prints what the page shows" {
  real_host || skip "KWCTL=kwctl runs this"
  page=docs/try.md start='^## With kwctl'
  mkdir "$BATS_TEST_TMPDIR/examples"
  block "$page" "$start" yaml >"$BATS_TEST_TMPDIR/pod.yaml"
  sed "s#module: registry://.*#module: file://$PWD/$POLICY#" examples/jobs.yaml \
    >"$BATS_TEST_TMPDIR/examples/jobs.yaml"
  commands=$(block "$page" "$start" console) output=$(block "$page" "$start" text)
  cd "$BATS_TEST_TMPDIR"
  kwctl() { command "$KWCTL" "$@"; }
  same output "$output" "$(eval "$commands" 2>/dev/null)"
}

@test "In an incident: only Pods that wait for an image are deleted, and none of which a container works" {
  cd "$BATS_TEST_TMPDIR"
  jq --null-input '
    def pod($name; $phase; $init; $containers): {metadata: {$name}, status: ({$phase} + {initContainerStatuses: $init, containerStatuses: $containers})};
    def waits($reason): {state: {waiting: {$reason}}, restartCount: 0};
    {items: [
      pod("volume"; "Pending"; null; [waits("ErrImagePull"), waits("ErrImagePull")]),
      pod("check"; "Pending"; [{state: {terminated: {}}}, waits("ImagePullBackOff")]; [waits("PodInitializing")]),
      pod("works"; "Pending"; null; [{state: {running: {}}}, waits("ImagePullBackOff")]),
      pod("worked"; "Pending"; null; [{state: {terminated: {}}}, waits("ErrImagePull")]),
      pod("crashed"; "Pending"; null; [waits("ErrImagePull") + {restartCount: 1}]),
      pod("starts"; "Pending"; null; [waits("ContainerCreating")]),
      pod("queued"; "Pending"; null; null),
      pod("runs"; "Running"; null; [{state: {running: {}}}])]}' >pods.json
  mkdir bin
  printf '%s\n' '#!/bin/sh' 'if [ "$1" = get ]; then cat pods.json; else echo "$*"; fi' >bin/kubectl
  chmod +x bin/kubectl
  same command 'delete pods -n NAMESPACE volume check' \
    "$(PATH=$PWD/bin:$PATH bash -c "$(block "$OLDPWD/docs/install.md" '^\*\*Pods that wait already' console)")"
}

# records: texts that somebody can write into the annotations of a Pod, each as a JSON text on a line.
records() {
  jq --compact-output '.[]' <<'JSON'
["nonsense", "", "null", "12", "\"text\"", "{\"more\": 12}", "[{\"more\": 12}]", "[1, null, [], {}, \"two\\nlines\\u202e\"]",
 "[{\"path\": 3}, {\"path\": \"spec\", \"from\": null}, {\"path\": \"metadata.name\", \"from\": \"z\"}]",
 "[{\"path\": \"spec.containers[999999].image\", \"from\": \"z\"}, {\"path\": \"spec.containers[0].image.reference\", \"from\": \"z\"}]",
 "[{\"path\": \"spec.containers[0]\", \"from\": {}, \"to\": 1}, {\"path\": \"spec.containers[7]\", \"from\": null, \"to\": \"x\"}]"]
JSON
}

# The Pods of these texts, between two Pods that this policy repaired. No Pod but the first has other annotations.
cluster() {
  jq --null-input --slurpfile texts <(records) '
    def pod($name; $text): {
      metadata: {namespace: "ci", $name, annotations: {"consistent-pull-policy/changes": $text, "consistent-pull-policy/warnings": $text}},
      spec: {containers: [{name: "web", image: "app:1", imagePullPolicy: "IfNotPresent"}]}, status: {phase: "Pending"}};
    def repaired($name): pod($name; [{path: "spec.containers[0].imagePullPolicy", from: "Always", to: "IfNotPresent", rule: "pull-once"}] | tojson)
      | .metadata.annotations["consistent-pull-policy/warnings"] = "[\"web is late\"]";
    {items: [repaired("first"), ($texts | to_entries[] | pod("hostile-\(.key)"; .value)), (pod("none"; "") | del(.metadata.annotations)), repaired("last")]}'
}

@test "Watch it: whatever annotations somebody writes, the lists have the other Pods" {
  cluster >"$BATS_TEST_TMPDIR/pods.json"
  kubectl() { cat "$BATS_TEST_TMPDIR/pods.json"; }
  output=$(set -o pipefail; eval "$(block docs/install.md '^## Watch it' console)")
  for pod in first last; do
    grep --line-regexp "ci $pod web is late" <<<"$output"
    grep --line-regexp "ci $pod pull-once spec.containers\[0\].imagePullPolicy: Always -> IfNotPresent" <<<"$output"
  done
  # A text of an annotation starts no line of its own.
  empty lines "$(grep --invert-match '^ci [a-z0-9-]* ' <<<"$output")"
  ! grep --quiet null <<<"$output" || fail "$output"
}

@test "In the Pod: whatever annotations somebody writes, the command shows them" {
  kubectl() { jq ".items[$number]" <<<"$pods"; }
  pods=$(cluster)
  for number in $(seq 0 $(($(jq '.items | length' <<<"$pods") - 1))); do
    shown=$(set -o pipefail; eval "$(block docs/answers.md '^## In the Pod' console)") || fail "Pod $number"
    same keys "$(kubectl | jq '.metadata.annotations // {} | keys')" "$(jq keys <<<"$shown")"
  done
  number=0
  same rule pull-once "$(eval "$(block docs/answers.md '^## In the Pod' console)" | jq --raw-output '.["consistent-pull-policy/changes"][0].rule')"
}

# The second block of commands, with an answer of kwctl: $1 is the answer.
printed() {
  page=docs/try.md
  echo "$1" >answer.json
  kubectl() { [[ $1 == patch ]] || return 1; while [[ $1 != --patch ]]; do shift; done; jq --compact-output . <<<"$2"; }
  eval "$(grep --only-matching '^kubectl patch --local .*' "$OLDPWD/$page")"
}

@test "Try your own Pod: a Pod that is rejected or isn't changed is printed as it is" {
  cd "$BATS_TEST_TMPDIR"
  same 'patch of an accepted Pod' '[]' "$(printed '{"uid": "", "allowed": true}')"
  same 'patch of a rejected Pod' '[]' "$(printed '{"uid": "", "allowed": false, "status": {"code": 422}, "patch": null}')"
  same 'patch of a repaired Pod' '[{"op":"test"}]' "$(printed "{\"allowed\": true, \"patch\": \"$(base64 <<<'[{"op": "test"}]')\"}")"
}

@test "Argo CD and Flux: the chart takes the values of the page" {
  local number=0 values
  chart=$(packed)
  while read -r values; do
    number=$((number + 1))
    helm template jobs "$chart" --values <(echo "$values") |
      gojq --yaml-input --exit-status 'select(.kind == "ClusterAdmissionPolicy") | .spec.settings.registry.images == ["registry.example.com/*"]'
  done < <(awk '/^```yaml$/ { print "---"; inside = 1; next } /^```$/ { inside = 0 } inside' docs/gitops.md |
    gojq --yaml-input --compact-output '.spec.source?.helm.valuesObject // .spec.values? // empty')
  [[ $number == 2 ]]
}

# blocks PAGE: each block of commands of a page, ended by a NUL. Some blocks belong to an entry of a list.
blocks() {
  awk '{ text = $0; sub(/^ +/, "", text) }
    inside && text == "```" { inside = 0; printf "%c", 0; next }
    inside { print substr($0, indent) }
    text == "```console" { inside = 1; indent = length($0) - length(text) + 1 }' "$1"
}

# The programs that the commands of README.md and docs/install.md call, in place of a cluster. The file `calls` counts them.
stubs() {
  helm() {
    echo helm >>calls
    case "$1 ${*: -1}" in
    repo\ * | install\ kubewarden/admission-controller) ;;
    uninstall\ *) [[ $2 == jobs ]] ;;
    install\ * | upgrade\ *)
      [[ $2 == jobs && ($3 == oci://ghcr.io/consistent-pull-policy/charts/consistent-pull-policy || $3 == "${chart##*/}") ]]
      [[ $3 != oci://* ]] || set -- "${@:1:3}" "${@:6}" # --version
      command helm template jobs "$chart" "${@:4}" --set policyServer.image=registry.test/policy-server:v1 >rendered.yaml
      gojq --yaml-input --raw-output 'select(.kind == "ClusterAdmissionPolicy").metadata.name' rendered.yaml |
        grep --quiet --line-regexp consistent-pull-policy-jobs
      ;;
    *) return 1 ;;
    esac
  }
  kubectl() {
    echo kubectl >>calls
    case $* in
    *clusteradmissionpolicy*) [[ $* == *consistent-pull-policy-jobs* ]] ;;
    create\ --filename\ -) gojq --yaml-input --exit-status '.spec.template.spec.containers | length > 1' ;;
    get\ cronjobs\ *) echo '{"kind": "List", "items": [{"kind": "CronJob", "metadata": {"namespace": "ci", "name": "nightly", "uid": "1"}}]}' ;;
    create\ --dry-run=server\ --filename\ -) gojq --exit-status '.items[0].metadata == {namespace: "ci", labels: null, name: "nightly-lookup"}' ;;
    get\ pods\ *--output\ json) echo '{"items": []}' ;;
    logs\ *) [[ $* == *kubewarden/policy-server=jobs* ]] && echo 'monitor mode' ;;
    create\ job\ * | delete\ *webhookconfiguration\ kw.cap.consistent-pull-policy-jobs-guard\ kw.cap.consistent-pull-policy-jobs\ clusterwide-consistent-pull-policy-jobs-guard\ clusterwide-consistent-pull-policy-jobs) ;;
    get\ pods\ * | label\ * | rollout\ * | wait\ *) ;;
    *) return 1 ;;
    esac
  }
  make() { echo make >>calls && grep --quiet "^$1:" "$OLDPWD/Makefile"; }
}

@test "README.md and docs/install.md: each block of commands runs, with the chart's values of the page, and with the guard too" {
  local commands guard number=0
  chart=$(packed)
  stubs
  cd "$BATS_TEST_TMPDIR"
  for guard in false true; do
    block "$OLDPWD/docs/install.md" '^## The chart' yaml >values.yaml
    echo "guard: {enabled: $guard}" >>values.yaml
    while IFS= read -r -u 4 -d '' commands; do
      number=$((number + 1)) row=$commands
      rm -f calls
      eval "$commands" >/dev/null
      [[ -s calls ]] || fail "no stub was called"
    done 4< <(blocks "$OLDPWD/README.md"; blocks "$OLDPWD/docs/install.md")
  done
  ((number > 28)) || fail "$number blocks"
}

@test "README.md: the policy without settings changes the Pod as the page shows" {
  local before after settings
  block README.md '^A check is' diff >"$BATS_TEST_TMPDIR/diff"
  before=$(sed -n 's/^[ -]//p' "$BATS_TEST_TMPDIR/diff")
  after=$(grep -v '^-' "$BATS_TEST_TMPDIR/diff" | sed 's/^[ +]//')
  settings=$(block README.md '^This does it for' yaml | gojq --yaml-input --compact-output .spec.settings)
  gojq --yaml-input '{uid: "1", kind: {group: "", version: "v1", kind: "Pod"},
    resource: {group: "", version: "v1", resource: "pods"}, operation: "CREATE", userInfo: {}, object: (. + {apiVersion: "v1"})}' \
    <<<"$before" >"$BATS_TEST_TMPDIR/request.json"
  "$KWCTL" run --request-path "$BATS_TEST_TMPDIR/request.json" --settings-json "$settings" "$POLICY" >"$BATS_TEST_TMPDIR/answer.json"
  jq --raw-output '.patch | @base64d' "$BATS_TEST_TMPDIR/answer.json" >"$BATS_TEST_TMPDIR/patch.json"
  [[ $(jq --compact-output '[.[] | select(.path | startswith("/spec")) | [.path, .value]]' "$BATS_TEST_TMPDIR/patch.json") == \
    '[["/spec/containers/0/imagePullPolicy","IfNotPresent"],["/spec/initContainers/0/imagePullPolicy","Always"]]' ]]
  same spec "$(gojq --yaml-input --compact-output .spec <<<"$after")" "$(gojq --yaml-input --compact-output '.spec
    | .containers[0].imagePullPolicy = "IfNotPresent" | .initContainers[0].imagePullPolicy = "Always"' <<<"$before")"
}

@test "README.md: the preset jobs refuses the Job with the sentence of the page" {
  local shown
  jq --null-input '{uid: "1", kind: {group: "batch", version: "v1", kind: "Job"},
    resource: {group: "batch", version: "v1", resource: "jobs"}, operation: "CREATE", userInfo: {}, object: {
    apiVersion: "batch/v1", kind: "Job", spec: {template: {spec: {restartPolicy: "Never",
      containers: [{name: "refused", image: "docker.io/library/busybox:no-such-tag"}]}}}}}' >"$BATS_TEST_TMPDIR/request.json"
  cat >"$BATS_TEST_TMPDIR/registry.yml" <<'YAML'
- type: Exchange
  request: |
    !OciManifestDigest
    image: docker.io/library/busybox:no-such-tag
  response: {type: Error, message: "Registry error: url x, envelope: OCI API errors: [OCI API error: manifest unknown]"}
YAML
  "$KWCTL" run --request-path "$BATS_TEST_TMPDIR/request.json" --replay-host-capabilities-interactions "$BATS_TEST_TMPDIR/registry.yml" \
    --settings-json "$(gojq --yaml-input 'select(.kind == "ClusterAdmissionPolicy").spec.settings' examples/jobs.yaml)" "$POLICY" >"$BATS_TEST_TMPDIR/answer.json"
  shown=$(block README.md '^The API server refuses this Job' text)
  same sentence "$(jq --raw-output .status.message "$BATS_TEST_TMPDIR/answer.json")" "${shown##*denied the request: }"
}
