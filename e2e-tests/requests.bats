# Which requests are examined, and which are changed.

load lib

# With these settings, nearly every container that is examined has a finding.
strict='{"mode":"Reject","templates":"Enforce","images":{"requireAlways":["*"]}}'
lenient='{"templates":"Enforce","images":{"requireAlways":["*"]}}'
update='.operation = "UPDATE" | .oldObject = .object'

# passes: the request is accepted untouched in every mode.
passes() {
  in_each_mode "$lenient" untouched
}

# examined: the request is rejected under the strict settings.
examined() {
  evaluate "$strict"
  [[ $allowed == false ]] || fail "not examined"
}

# ---- Pods -----------------------------------------------------------------------------------

@test "Pod UPDATE: nothing is examined unless an image changes" {
  while read -r filter; do
    row=$filter
    pod 'init imagecheck-0 app:1 Never, app a app:1 IfNotPresent, ephemeral e app:1 Never, volume v app:1 Never' "$update | $filter"
    passes
  done <<'ROWS'
.
.object.metadata.labels.team = "a"
.object.spec.tolerations = [{operator: "Exists"}]
.oldObject.metadata.finalizers = ["batch.kubernetes.io/job-tracking"]
.object.status.phase = "Running"
ROWS
}

@test "Pod UPDATE of an image: this image is examined, and no pull policy is ever changed" {
  pod 'init i app:1 IfNotPresent, app a app:2 IfNotPresent, app b app:1 IfNotPresent' "$update | .oldObject.spec.containers[0].image = \"app:1\""
  immutable='disallowed-policy a app:2 IfNotPresent Always images.requireAlways recreate'
  for mode in Fix Reject; do
    row=$mode
    evaluate "{\"mode\":\"$mode\",\"images\":{\"requireAlways\":[\"app\"]}}"
    rejected "$immutable"
  done
  row=
  evaluate '{"mode":"Warn","images":{"requireAlways":["app"]}}'
  accepted "$immutable"
  # default, weak-check, pull-once and missing-check don't act: pull policies are immutable, and the
  # checks have run.
  pod 'init imagecheck-0 app:1 Never, app a app:2 Always, app b app:1 Always' "$update | .oldObject.spec.containers[0].image = \"app:1\""
  in_each_mode '{"imageChecks":{"coverage":"Fix"},"defaults":{"imagePullPolicy":"Always"}}' untouched
}

@test "pods/ephemeralcontainers: new containers are examined and repaired, and existing ones are not" {
  review pod-ephemeralcontainers-update '.object.spec.ephemeralContainers = [
      {name: "old", image: "app:1", imagePullPolicy: "Never"}, {name: "new", image: "app:1", imagePullPolicy: "Never"}]
    | .oldObject.spec.ephemeralContainers = .object.spec.ephemeralContainers[:1]'
  evaluate "$lenient"
  patched '[{"op":"replace","path":"/spec/ephemeralContainers/1/imagePullPolicy","value":"Always"}]'
  warned 'disallowed-policy new app:1 Never Always'
  evaluate "$strict"
  rejected 'disallowed-policy new app:1 Never Always'
  edit '.object.spec.ephemeralContainers[1].image = "BAD"'
  evaluate
  rejected 'invalid-image new BAD spec.ephemeralContainers[1].image'
  # The Pod had no ephemeral container before.
  edit '.object.spec.ephemeralContainers = [{name: "dbg", image: "app:1"}] | del(.oldObject.spec.ephemeralContainers)'
  evaluate "$lenient"
  patched '[{"op":"add","path":"/spec/ephemeralContainers/0/imagePullPolicy","value":"Always"}]'
  # No container is new.
  edit '.object.spec.ephemeralContainers = [{name: "dbg", image: "BAD"}] | .oldObject.spec.ephemeralContainers = .object.spec.ephemeralContainers'
  passes
}

@test "other subresources of a Pod, DELETE and CONNECT are not examined" {
  while IFS='|' read -r filter; do
    row=$filter
    pod 'init imagecheck-0 app:1 Never, app a BAD IfNotPresent' "$filter"
    passes
  done <<'ROWS'
.operation = "UPDATE" | .subResource = "resize" | .oldObject = .object | .oldObject.spec.containers[0].image = "app:1"
.operation = "UPDATE" | .subResource = "status" | .oldObject = .object | .oldObject.spec.containers[0].image = "app:1"
.operation = "CREATE" | .subResource = "binding"
.operation = "CREATE" | .subResource = "eviction"
.operation = "CREATE" | .subResource = "ephemeralcontainers"
.operation = "DELETE" | .oldObject = .object | .object = null
.operation = "DELETE" | .oldObject = .object | del(.object)
.operation = "DELETE" | del(.object, .oldObject)
.operation = "DELETE"
.operation = "CONNECT" | .subResource = "exec" | .object = {kind: "PodExecOptions", apiVersion: "v1"}
.operation = "CONNECT" | del(.object)
ROWS
}

@test "an object that is being deleted is not examined" {
  deleted='.object.metadata.deletionTimestamp = "2026-01-01T00:00:00Z"'
  pod 'app a BAD' "$update | .oldObject.spec.containers[0].image = \"app:1\" | $deleted"
  passes
  pod 'app a BAD' "$update | .oldObject.spec.containers[0].image = \"app:1\""
  examined
  workload Deployment 'app a app:1' "$update | .oldObject.spec.template.spec.containers[0].image = \"app:0\" | $deleted"
  passes
  edit 'del(.object.metadata.deletionTimestamp)'
  examined
  edit '.object.metadata.deletionTimestamp = null'
  examined
}

@test "at CREATE a deletionTimestamp does not count, because anyone can write it" {
  pod 'app a app:1' '.object.metadata.deletionTimestamp = "2026-01-01T00:00:00Z"'
  examined
  evaluate "$lenient"
  repaired 'app a app:1 Always'
  workload Deployment 'app a app:1' '.object.metadata.deletionTimestamp = "2026-01-01T00:00:00Z"'
  examined
}

@test "a mirror Pod is not examined if a node creates it; the annotation alone is not enough" {
  mirror='.object.metadata.annotations["kubernetes.io/config.mirror"] = "0123"'
  node='.userInfo = {username: "system:node:n1", groups: ["system:nodes", "system:authenticated"]}'
  pod 'init imagecheck-0 app:1 Never, app a BAD' "$mirror | $node"
  passes
  while IFS='|' read -r filter; do
    row=$filter
    pod 'app a app:1' "$filter"
    examined
  done <<ROWS
$mirror
$node
$mirror | .userInfo = {username: "system:node:n1", groups: ["system:authenticated"]}
$mirror | .userInfo = {username: "x", groups: ["system:nodes2", "my:system:nodes"]}
$node | .object.metadata.labels["kubernetes.io/config.mirror"] = "0123"
ROWS
}

# An audit names no user. So a controller of kind Node shows that a kubelet made the mirror Pod.
@test "a mirror Pod in an audit is not examined if its controller is a Node" {
  mirror='.object.metadata.annotations["kubernetes.io/config.mirror"] = "0123"'
  of_node='.object.metadata.ownerReferences = [{apiVersion: "v1", kind: "Node", name: "n1", uid: "1", controller: true}]'
  pod 'init imagecheck-0 app:1 Never, app a BAD' "$mirror | $of_node | .userInfo = {}"
  passes
  while IFS='|' read -r filter; do
    row=$filter
    pod 'app a app:1' "$filter"
    examined
  done <<ROWS
$mirror | $of_node
$mirror | .userInfo = {}
$of_node | .userInfo = {}
$mirror | .userInfo = {} | $of_node | .object.metadata.ownerReferences[0].controller = false
$mirror | .userInfo = {} | $of_node | .object.metadata.ownerReferences[0].kind = "ReplicaSet"
ROWS
}

@test "a Pod with an owner is examined, and a workload with a controller is not" {
  owner='.object.metadata.ownerReferences = [{apiVersion: "apps/v1", kind: "ReplicaSet", name: "x", uid: "1", controller: true}]'
  pod 'app a app:1' "$owner"
  examined
  for kind in Deployment StatefulSet DaemonSet ReplicaSet ReplicationController Job CronJob PodTemplate; do
    row=$kind
    workload $kind 'app a BAD' "$owner"
    passes
    workload $kind 'app a BAD' '.object.metadata.ownerReferences = [{kind: "X", name: "x", uid: "1", controller: false}, {kind: "Y", name: "y", uid: "2"}, {controller: null}]'
    examined
  done
  row=
  # One controller among several owners is enough.
  workload ReplicaSet 'app a BAD' '.object.metadata.ownerReferences = [{kind: "X", name: "x", uid: "1"}, {kind: "Y", name: "y", uid: "2", controller: true}]'
  passes
}

# ---- workloads ------------------------------------------------------------------------------

@test "CREATE and UPDATE of every kind with a pod template" {
  for kind in Deployment StatefulSet DaemonSet ReplicaSet ReplicationController Job CronJob PodTemplate; do
    row=$kind
    workload $kind 'app a app:1'
    evaluate "$strict"
    rejected 'disallowed-policy a app:1 IfNotPresent Always'
    edit "$update"'
      | .kind.kind as $kind | .oldObject |= setpath($kind | spec_path + ["containers", 0, "image"]; "app:0")'
    if [[ $kind == Job ]]; then passes; else examined; fi
  done
}

@test "an UPDATE with an unchanged template is not examined: labels, scaling, finalizers" {
  for kind in Deployment StatefulSet DaemonSet ReplicaSet ReplicationController CronJob PodTemplate; do
    for filter in . '.object.metadata.labels.a = "b"' '.object.metadata.finalizers = ["a/b"]' \
      '.object.metadata.generation = 2' '.object.status = {replicas: 1}'; do
      row="$kind $filter"
      workload $kind 'app a BAD' "$update | $filter"
      evaluate "$strict"
      untouched
    done
  done
  for filter in '.object.spec.replicas = 3' '.object.spec.paused = true' '.object.spec.strategy.type = "Recreate"'; do
    row=$filter
    workload Deployment 'app a BAD' "$update | $filter"
    evaluate "$strict"
    untouched
  done
  row=CronJob
  workload CronJob 'app a BAD' "$update | .object.spec.suspend = true | .object.spec.jobTemplate.metadata.labels.a = \"b\""
  evaluate "$strict"
  untouched
}

@test "an UPDATE with a changed template is examined completely" {
  for filter in '.oldObject.spec.template.spec.containers[0].image = "other:1"' \
    '.object.spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"] = "now"' \
    '.object.spec.template.spec.containers[0].env = []' 'del(.oldObject)' '.oldObject = null' \
    'del(.oldObject.spec)' '.oldObject.spec.template = []'; do
    row=$filter
    workload Deployment 'app a app:1, app b app:2' "$update | $filter"
    evaluate "$strict"
    rejected 'disallowed-policy a app:1 IfNotPresent Always' 'disallowed-policy b app:2 IfNotPresent Always'
  done
}

@test "the group decides together with the kind" {
  while fields group kind; do
    pod 'app a BAD' '.kind = {group: $group, version: "v1", kind: $kind} | .requestKind = .kind
      | .object.spec.template.spec = .object.spec | .object.spec.jobTemplate.spec.template.spec = .object.spec' \
      --arg group "$group" --arg kind "$kind"
    passes
  done <<'ROWS'
    batch.volcano.sh              | Job
    apps                          | Job
    core                          | Pod
                                  | Deployment
                                  | Job
    apps.openshift.io             | DeploymentConfig
                                  | ConfigMap
                                  | pod
ROWS
}

@test "kind decides, and requestKind and the kind in the object don't count" {
  pod 'app a app:1' '.requestKind = {group: "x", version: "v1", kind: "Y"} | .object.kind = "ConfigMap" | del(.object.apiVersion)'
  examined
  pod 'app a app:1' '.kind = {group: "", version: "v1", kind: "ConfigMap"}'
  passes
}

@test "a CREATE or UPDATE without an object is rejected" {
  for kind in Pod Deployment Job CronJob PodTemplate; do
    for filter in 'del(.object)' '.object = null' '.operation = "UPDATE" | del(.object)'; do
      row="$kind $filter"
      workload $kind 'app a app:1' "$filter"
      for mode in Fix Reject Warn; do
        evaluate "{\"mode\":\"$mode\"}"
        # A Job is not examined at UPDATE, because its pod template is immutable.
        if [[ $row == 'Job .operation = "UPDATE"'* ]]; then untouched; else rejected 'object missing'; fi
      done
    done
  done
  row=
  workload Deployment 'app a app:1' 'del(.object)'
  evaluate '{"templates":"Off"}'
  untouched
}

# The comparison with the specification compares every code. This test states some codes literally.
# registry-failures.bats states the codes after failed lookups.
@test "the code of a rejection: 422 at CREATE, and 400 at UPDATE" {
  while IFS='|' read -r code kind filter; do
    row="$code $kind $filter"
    workload "$kind" 'app a app:2, ephemeral e app:1' "$filter"
    evaluate "$strict"
    in_jq -e --argjson code "$code" '.allowed == false and .status.code == $code' "$BATS_TEST_TMPDIR/answer.json" >/dev/null || fail "another code"
  done <<ROWS
422|Pod|.
422|Pod|.object.spec.containers[0].image = "BAD"
422|Pod|.object.spec = []
422|CronJob|.
400|Deployment|$update | .oldObject.spec.template.spec.containers[0].image = "app:1"
400|Deployment|$update | .object.spec.template = []
400|Pod|$update | .oldObject.spec.containers[0].image = "app:1"
400|Pod|$update | .subResource = "ephemeralcontainers" | del(.oldObject.spec.ephemeralContainers)
ROWS
}
