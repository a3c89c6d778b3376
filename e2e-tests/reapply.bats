# Re-apply: the manifest of a repaired object is applied once more. The pull policies of the manifest
# differ from the stored pull policies. Pull policies are immutable in a Pod and in a Job. So if this
# policy did not put the stored pull policies back, the API server would answer 422.

load lib

annotation=consistent-pull-policy/changes
created='init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
stored='init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
record_of_created='[{"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Always","to":"IfNotPresent","rule":"pull-once"},{"path":"spec.initContainers[0].imagePullPolicy","container":"imagecheck-0","from":"IfNotPresent","to":"Always","rule":"weak-check"}]'

# again RECORD [FILTER]: makes the request that applies the Pod $created again. The stored Pod is $stored
# with RECORD as its record, or without a record if RECORD is empty. FILTER edits the request.
again() {
  pod "$created" '.operation = "UPDATE"
    | .oldObject = (.object | .spec.initContainers[0].imagePullPolicy = "Always" | .spec.containers[0].imagePullPolicy = "IfNotPresent"
      | if $record == "" then . else .metadata.annotations[$key] = $record end)
    | .object.metadata.annotations = .oldObject.metadata.annotations | '"${2:-.}" \
    --arg key "$annotation" --arg record "$1"
}

# as_stored: the answer has a patch. The patched object has the stored spec and, unless it is a Job, the
# stored metadata. There is no warning, and the audit annotations have no finding and no change.
as_stored() {
  [[ $allowed == true && -n $patch ]] || fail "not restored"
  warned
  found '[]'
  changed '[]'
  in_jq -e '(.object.spec == .oldObject.spec) and (.object.metadata == .oldObject.metadata or .kind.kind == "Job")' \
    "$request.second" >/dev/null || fail "not as stored: $patch"
}

@test "captured: a Pod and Jobs that kubectl applies again get their stored spec" {
  while fields name settings_row; do
    review "$name"
    evaluate "$settings_row"
    as_stored
    # In the other modes, the request is accepted and the object does not change.
    for mode in Reject Warn; do
      evaluate "$(in_jq -c --arg mode $mode '.mode = $mode' <<<"$settings_row")"
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

@test "values that this policy has changed come back: create, then apply the same again" {
  while fields settings_row places_before; do
    for kind in Pod Job; do
      workload $kind "$places_before"
      its_settings=$(in_jq -c '.templates = "Enforce"' <<<"$settings_row")
      evaluate "$its_settings"
      [[ -n $patch ]] || fail "not changed"
      # kubectl keeps annotations that the manifest doesn't have, so the new object has the stored ones.
      in_jq -n --slurpfile created "$request" --slurpfile stored "$request.second" '$created[0]
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

@test "without a valid record no value comes back" {
  for value in '' x '{}' '[]' '[1]' '[{"more":2}]' 'null' '[{"path":"spec.containers[0].imagePullPolicy","container":"a"}]'; do
    row=$value
    again "$value"
    evaluate
    untouched
  done
  # Only the record of the stored object counts.
  row='only in the request'
  again "$record_of_created" 'del(.oldObject.metadata.annotations)'
  evaluate
  untouched
}

@test "with a forged record only stored values come back" {
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

# Anybody can write a record. So a tenant could undo the image that another person sets.
@test "a forged record brings back no other image, only a digest of the requested one" {
  digest=sha256:$(printf '1%.0s' {1..64})
  while fields requested stored after; do
    pod "app a ${requested//SHA/$digest} IfNotPresent" '.operation = "UPDATE" | .oldObject = .object
      | .object.spec.containers[0].image as $from | .oldObject.spec.containers[0].image = $stored
      | .oldObject.metadata.annotations[$key]
        = ([{path: "spec.containers[0].image", container: "a", from: $from, to: $stored, rule: "registry"}] | tojson)' \
      --arg key "$annotation" --arg stored "${stored//SHA/$digest}"
    evaluate
    if [[ $after == same ]]; then untouched; else repaired "app a ${stored//SHA/$digest} IfNotPresent"; fi
  done <<'ROWS'
    fixed:2     | evil:1           | same
    app:2       | app:1            | same
    app:2       | app:1@SHA        | same
    app:1       | evil:1@SHA       | same
    app:1       | x.io/app:1@SHA   | same
    app:1@SHA   | app:1            | same
    app:1@SHA   | app:2@SHA        | same
    app:1       | app:1@SHA        | restored
    app         | app:latest@SHA   | restored
    app:latest  | app:latest@SHA   | restored
ROWS
}

@test "one matching entry is enough, whatever the other entries are" {
  junk='{"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Always","to":"Never","rule":"x"},5,null,{"more":3}'
  again "[$junk,${record_of_created#[}"
  evaluate
  as_stored
}

@test "a container is found by its list and name, because another webhook may have changed its index" {
  # The webhook has inserted a container into the stored object and into the request's new object.
  injected='{name: "proxy", image: "proxy:1", imagePullPolicy: "IfNotPresent"}'
  again "$record_of_created" "(.object.spec.containers, .oldObject.spec.containers, .object.spec.initContainers, .oldObject.spec.initContainers) |= [$injected] + ."
  evaluate
  as_stored
  # The webhook has inserted a container into the stored object only.
  again "$record_of_created" "(.oldObject.spec.containers) |= [$injected] + ."
  evaluate
  [[ $allowed == true ]] || fail "rejected"
  after '.spec.containers == [{name: "a", image: "app:1", env: [{name: "TOKEN", value: "s3cr3t"}], unknownField: {of: "a"}, imagePullPolicy: "IfNotPresent"}]'
}

@test "the path of an entry counts if it has no container name" {
  again "$(in_jq -c 'map(del(.container))' <<<"$record_of_created")"
  evaluate
  as_stored
  # The record is the stored object's, so the index in the path is an index in the stored object.
  again "$(in_jq -c 'map(del(.container))' <<<"$record_of_created")" \
    '.object.spec.containers |= [{name: "proxy", image: "proxy:1", imagePullPolicy: "Always"}] + .'
  evaluate
  after '[.spec.containers[].imagePullPolicy] == ["Always", "IfNotPresent"]'
}
