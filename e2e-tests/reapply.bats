# Re-apply: the manifest of a repaired object is applied once more. Without a cure the API server
# answers 422, as the policies that it brings are immutable in a Pod and in a Job.

load lib

annotation=consistent-pull-policy/changes
created='init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
stored='init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
record_of_created='[{"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Always","to":"IfNotPresent","rule":"pull-once"},{"path":"spec.initContainers[0].imagePullPolicy","container":"imagecheck-0","from":"IfNotPresent","to":"Always","rule":"weak-check"}]'

# again RECORD [FILTER]: the Pod of $created is stored as $stored with this record, and applied
# again. FILTER edits the request.
again() {
  pod "$created" '.operation = "UPDATE"
    | .oldObject = (.object | .spec.initContainers[0].imagePullPolicy = "Always" | .spec.containers[0].imagePullPolicy = "IfNotPresent"
      | if $record == "" then . else .metadata.annotations[$key] = $record end)
    | .object.metadata.annotations = .oldObject.metadata.annotations | '"${2:-.}" \
    --arg key "$annotation" --arg record "$1"
}

# as_stored: repaired, silently, and its Pod spec is the stored one.
as_stored() {
  [[ $allowed == true && -n $patch ]] || fail "not restored"
  warned
  found '[]'
  changed '[]'
  jq -e '(.object.spec == .oldObject.spec) and (.object.metadata == .oldObject.metadata or .kind.kind == "Job")' \
    "$request.second" >/dev/null || fail "not as stored: $patch"
}

@test "captured: a Pod and Jobs that kubectl applies again come back with their spec as stored" {
  while fields name settings_row; do
    review "$name"
    evaluate "$settings_row"
    as_stored
    # No other mode changes anything.
    for mode in Reject Warn; do
      evaluate "$(jq -c --arg mode $mode '.mode = $mode' <<<"$settings_row")"
      untouched
    done
  done <<'ROWS'
    reapply-pod             | {}
    reapply-pod             | {"imageChecks":{"coverage":"Fix"},"defaults":{"imagePullPolicy":"Always"}}
    reapply-pod             | {"recordChanges":false}
    reapply-job-client-side | {"templates":"Enforce"}
    reapply-job-client-side | {}
    reapply-job-server-side | {"templates":"Off","recordChanges":false}
ROWS
}

@test "what the policy made is restored: create, then apply the same again" {
  while fields settings_row places_before; do
    for kind in Pod Job; do
      workload $kind "$places_before"
      its_settings=$(jq -c '.templates = "Enforce"' <<<"$settings_row")
      evaluate "$its_settings"
      [[ -n $patch ]] || fail "not changed"
      # kubectl merges: annotations that the manifest doesn't have stay.
      jq -n --slurpfile created "$request" --slurpfile stored "$request.second" '$created[0]
        | .operation = "UPDATE" | .oldObject = $stored[0].object
        | .object.metadata.annotations = .oldObject.metadata.annotations' >"$request.update"
      mv "$request.update" "$request"
      evaluate "$its_settings"
      as_stored
    done
  done <<'ROWS'
    {}                                        | init imagecheck-0 app:1 IfNotPresent, app a app:1 Always
    {"defaults":{"imagePullPolicy":"Always"}} | init i x:1 IfNotPresent, sidecar s y:1, app a app:1, app b b:1 IfNotPresent, volume v v:1 IfNotPresent
    {"images":{"forbidNever":["*"]}}          | init i x:1 Never, app a app:1 Never
ROWS
}

@test "without a record, or with one that is none, nothing is restored" {
  for value in '' x '{}' '[]' '[1]' '[{"more":2}]' 'null' '[{"path":"spec.containers[0].imagePullPolicy","container":"a"}]'; do
    row=$value
    again "$value"
    evaluate
    untouched
  done
  # Of the stored object, not the one that the request brings.
  row='only in the request'
  again "$record_of_created" 'del(.oldObject.metadata.annotations)'
  evaluate
  untouched
}

@test "a forged record gains nothing: only values that are stored already come back" {
  while IFS='|' read -r forged; do
    row=$forged
    again "$forged"
    evaluate
    untouched
  done <<'ROWS'
[{"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Always","to":"Never","rule":"x"}]
[{"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Never","to":"IfNotPresent","rule":"x"}]
[{"path":"spec.containers[0].image","container":"a","from":"app:1","to":"evil:1","rule":"x"}]
[{"path":"spec.containers[0].name","container":"a","from":"a","to":"b","rule":"x"}]
[{"path":"spec.containers[0].env","container":"a","from":null,"to":"x","rule":"x"}]
[{"path":"spec.containers[7].imagePullPolicy","container":"b","from":"Always","to":"IfNotPresent","rule":"x"}]
[{"path":"spec.initContainers[0].imagePullPolicy","container":"a","from":"Always","to":"IfNotPresent","rule":"x"}]
[{"path":"metadata.labels[0].x","container":"a","from":"Always","to":"IfNotPresent","rule":"x"}]
ROWS
}

@test "any matching entry will do, whatever stands beside it" {
  junk='{"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Always","to":"Never","rule":"x"},5,null,{"more":3}'
  again "[$junk,${record_of_created#[}"
  evaluate
  as_stored
}

@test "containers are found by list and name: another webhook may have moved them" {
  # One more container before, in what is stored and in what the same webhook makes of the request.
  injected='{name: "proxy", image: "proxy:1", imagePullPolicy: "IfNotPresent"}'
  again "$record_of_created" "(.object.spec.containers, .oldObject.spec.containers, .object.spec.initContainers, .oldObject.spec.initContainers) |= [$injected] + ."
  evaluate
  as_stored
  # And in what is stored only.
  again "$record_of_created" "(.oldObject.spec.containers) |= [$injected] + ."
  evaluate
  [[ $allowed == true ]] || fail "rejected"
  after '.spec.containers == [{name: "a", image: "app:1", env: [{name: "TOKEN", value: "s3cr3t"}], unknownField: {of: "a"}, imagePullPolicy: "IfNotPresent"}]'
}

@test "a record of version 0.1 has no names: the path counts" {
  again "$(jq -c 'map(del(.container))' <<<"$record_of_created")"
  evaluate
  as_stored
}

@test "what else differs stays as it came, and the API server says what it says" {
  again "$record_of_created" '.object.metadata.labels = {team: "b"} | .object.spec.containers[0].env = []'
  evaluate
  patched '[
    {"op":"replace","path":"/spec/containers/0/imagePullPolicy","value":"IfNotPresent"},
    {"op":"replace","path":"/spec/initContainers/0/imagePullPolicy","value":"Always"}]'
  # What a person changed to another value is not put back.
  again "$record_of_created" '.object.spec.containers[0].imagePullPolicy = "Never"'
  evaluate
  patched '[{"op":"replace","path":"/spec/initContainers/0/imagePullPolicy","value":"Always"}]'
}

@test "a changed image is examined as always, with what was restored" {
  again "$record_of_created" '.object.spec.containers[0].image = "app:2"'
  evaluate '{"images":{"forbidAlways":["app:2"]}}'
  patched '[
    {"op":"replace","path":"/spec/containers/0/imagePullPolicy","value":"IfNotPresent"},
    {"op":"replace","path":"/spec/initContainers/0/imagePullPolicy","value":"Always"}]'
}

@test "only Pods and Jobs, whose policies are immutable, and nothing through a subresource" {
  again "$record_of_created" '.subResource = "status"'
  evaluate
  untouched
  again "$record_of_created" '.object.metadata.deletionTimestamp = "2026-01-01T00:00:00Z"'
  evaluate
  untouched
}
