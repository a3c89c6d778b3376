# Outputs that pages show, from the pages' own commands. The commands that need a cluster are in cluster/operations.bats.

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
  page=docs/operations.md start='^[*][*]With [[]kwctl'
  mkdir "$BATS_TEST_TMPDIR/examples"
  block "$page" "$start" yaml >"$BATS_TEST_TMPDIR/pod.yaml"
  sed "s#module: registry://.*#module: file://$PWD/$POLICY#" examples/agent-stack-k8s.yaml \
    >"$BATS_TEST_TMPDIR/examples/agent-stack-k8s.yaml"
  commands=$(block "$page" "$start" console) output=$(block "$page" "$start" text)
  cd "$BATS_TEST_TMPDIR"
  kwctl() { command "$KWCTL" "$@"; }
  same output "$output" "$(eval "$commands" 2>/dev/null)"
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

@test "hack/original-pod.jq prints a repaired Pod as it was, and any other Pod unchanged" {
  number=0
  cluster | jq --compact-output '.items[]' | while read -r pod; do
    jq --from-file hack/original-pod.jq <<<"$pod" >"$BATS_TEST_TMPDIR/original" || fail "$pod"
    policy=IfNotPresent
    [[ $(jq --raw-output .metadata.name <<<"$pod") == hostile-* || $pod != *pull-once* ]] || policy=Always
    same Pod "$(jq --arg policy "$policy" 'del(.status, .metadata.annotations) | .spec.containers[0].imagePullPolicy = $policy' <<<"$pod")" \
      "$(<"$BATS_TEST_TMPDIR/original")"
  done
  # Added init containers and volumes, and all that held only them, are gone.
  same 'the Pod' '{"spec":{"containers":[{"name":"web","image":"app:1"}]},"metadata":{"name":"added"}}' "$(jq --compact-output --from-file hack/original-pod.jq <<'JSON'
{"spec": {"initContainers": [{"name": "imagecheck-0"}], "volumes": [{"name": "imagecheck-1"}],
  "containers": [{"name": "web", "image": "app:1", "volumeMounts": [{"name": "imagecheck-1", "mountPath": "/.imagecheck/imagecheck-1"}]}]},
 "metadata": {"name": "added", "annotations": {"consistent-pull-policy/changes":
  "[{\"path\": \"spec.initContainers[0]\", \"from\": null, \"to\": {\"name\": \"imagecheck-0\"}}, {\"path\": \"spec.volumes[0]\", \"from\": null, \"to\": {\"name\": \"imagecheck-1\"}}, {\"more\": 12}]"}}}
JSON
  )"
}

# The second block of commands, with an answer of kwctl: $1 is the answer.
printed() {
  page=docs/operations.md
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
  local number values
  "${XTASK%/*}/chart-schema" >"$BATS_TEST_TMPDIR/schema.json"
  hack/chart.sh "$BATS_TEST_TMPDIR/schema.json" "$BATS_TEST_TMPDIR"
  number=0
  while read -r values; do
    number=$((number + 1))
    helm template jobs "$BATS_TEST_TMPDIR"/*.tgz --values <(echo "$values") |
      gojq --yaml-input --exit-status 'select(.kind == "ClusterAdmissionPolicy") | .spec.settings.registry.images == ["registry.example.com/*"]'
  done < <(sed -n '/^## Argo CD and Flux/,/^## Rancher/p' docs/operations.md | awk '/^```yaml$/ { print "---"; inside = 1; next } /^```$/ { inside = 0 } inside' |
    gojq --yaml-input --compact-output '.spec.source.helm.valuesObject // .spec.values // empty')
  [[ $number == 2 ]]
}
