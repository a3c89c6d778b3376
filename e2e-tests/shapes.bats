# Objects of unusual shape. A malformed object that is examined is rejected with the path of the mistake.
# Unknown fields, most nulls and large objects are accepted. No object crashes the module.

load lib

# broken KIND FILTER ROW [SETTINGS]: checks that an object that FILTER makes malformed is rejected because of this.
broken() {
  row="$1 $2"
  workload "$1" 'init i app:1, app a app:1, app b app:2, ephemeral e app:1, volume v app:1' "$2"
  evaluate "${4-}"
  rejected "$3"
  [[ $findings == '[]' && -z $warnings ]] || fail "findings or warnings"
}

@test "a malformed object is rejected in every mode and with every value of templates" {
  for given in '{"mode":"Fix"}' '{"mode":"Reject"}' '{"mode":"Warn"}' '{"templates":"Warn"}' '{"templates":"Enforce"}'; do
    broken Pod 'del(.object.spec)' 'spec missing' "$given"
    broken Deployment '.object.spec.template.spec.containers = {}' 'spec.template.spec.containers list not object' "$given"
    broken CronJob '.object.metadata.annotations = "x"' 'metadata.annotations object not string' "$given"
  done
}

@test "templates Off: a malformed template is accepted, and a malformed Pod is not" {
  workload Deployment 'app a app:1' '.object.spec.template.spec.containers = {}'
  evaluate '{"templates":"Off"}'
  untouched
  broken Pod 'del(.object.spec)' 'spec missing' '{"templates":"Off"}'
}

# The specification has a random value of another type at any path. These rows have each kind of place once.
@test "a Pod: the path of the mistake, the type that is there and the type that should be there" {
  while IFS='|' read -r filter told; do
    broken Pod "$filter" "$told"
  done <<'ROWS'
.object = 5|object object not number
.object.metadata = []|metadata object not list
.object.metadata.ownerReferences = ["x"]|metadata.ownerReferences[0] object not string
.object.metadata.ownerReferences = [{controller: "true"}]|metadata.ownerReferences[0].controller boolean not string
.object.spec = null|spec object not null
.object.spec.containers = {"a": {image: "b"}}|spec.containers list not object
.object.spec.os = {name: 5}|spec.os.name string not number
.object.spec.containers[1] = "s3cr3t, expected a string at line 1"|spec.containers[1] object not string
.object.spec.initContainers[0].image = {}|spec.initContainers[0].image string not object
del(.object.spec.containers[0].name)|spec.containers[0].name missing
.object.spec.initContainers[0].restartPolicy = true|spec.initContainers[0].restartPolicy string not boolean
.object.spec.volumes[0].image.reference = 1|spec.volumes[0].image.reference string not number
.object.spec.containers[0].volumeMounts = ["s3cr3t"]|spec.containers[0].volumeMounts[0] object not string
ROWS
}

@test "a Pod: pull policies are the three exact words" {
  for word in always ALWAYS ' Always' IfNotpresent Newer Always,Never; do
    broken Pod ".object.spec.containers[1].imagePullPolicy = \"$word\"" \
      'spec.containers[1].imagePullPolicy Always IfNotPresent or Never'
  done
  broken Pod '.object.spec.volumes[0].image.pullPolicy = "always"' 'spec.volumes[0].image.pullPolicy Always IfNotPresent or Never'
  broken Pod '.object.spec.containers[0].imagePullPolicy = true' 'spec.containers[0].imagePullPolicy string not boolean'
}

@test "every kind with a pod template: each step of the path to the template, and the fields in it" {
  for kind in Deployment StatefulSet DaemonSet ReplicaSet ReplicationController Job CronJob PodTemplate; do
    case $kind in
      PodTemplate) steps='template template.spec' ;;
      CronJob) steps='spec spec.jobTemplate spec.jobTemplate.spec spec.jobTemplate.spec.template spec.jobTemplate.spec.template.spec' ;;
      *) steps='spec spec.template spec.template.spec' ;;
    esac
    for path in $steps; do
      broken $kind "del(.object.$path)" "$path missing"
    done
    broken $kind ".object.$path.initContainers[0].image = 5" "$path.initContainers[0].image string not number"
  done
}

@test "null and unknown fields are accepted, as Kubernetes accepts them" {
  while IFS= read -r filter; do
    row=$filter
    pod 'app a app:1' "$filter"
    evaluate '{"mode":"Reject"}'
    untouched
  done <<'ROWS'
del(.object.metadata)
.object.metadata.annotations = null
.object.metadata.labels = 5
.object.spec.initContainers = null
.object.spec.volumes = [{name: "v", emptyDir: {}}, {name: "w", image: null}, {}]
.object.spec.initContainers = [{name: "i", image: "a:1", restartPolicy: null, imagePullPolicy: null, volumeMounts: null}]
.object.spec += {os: null, nodeSelector: null, affinity: null} | .object.status = null
.object.spec.containers[0].unknown = [[{}]]
.object.extra = [1, 2, {"spec": null}]
ROWS
}

@test "a malformed object is accepted if it is not examined: it is being deleted, or has a controller" {
  pod 'app a app:1' '.operation = "UPDATE" | .oldObject = .object | .object.metadata.deletionTimestamp = "2026-01-01T00:00:00Z" | .object.spec = []'
  evaluate
  untouched
  workload ReplicaSet 'app a app:1' '.object.metadata.ownerReferences = [{kind: "Deployment", name: "d", controller: true}] | .object.spec = "x"'
  evaluate
  untouched
  pod 'app a app:1' '.operation = "DELETE" | .oldObject = .object | .object = [] | .oldObject.spec = 5'
  evaluate
  untouched
  pod 'app a app:1' '.kind.group = "example.com" | .object = {spec: {containers: 5}}'
  evaluate
  untouched
}

@test "with a malformed old object the new object is examined" {
  pod 'app a BAD' '.operation = "UPDATE" | .oldObject = .object | .oldObject.spec.containers = {}'
  evaluate
  rejected 'invalid-image a BAD'
}

@test "no secret of a malformed Pod is in the answer" {
  pod 'app a app:1' '.object.spec.containers[0].image = {password: "s3cr3t"} | .object.spec.containers[0].imagePullPolicy = "s3cr3t"'
  evaluate
  rejected 'spec.containers[0].image string not object'
  edit '.object.spec.containers[0].image = "app:1"'
  evaluate
  rejected 'spec.containers[0].imagePullPolicy Always IfNotPresent or Never'
}

@test "a deep, a wide and a long object" {
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always' '.object.metadata.annotations.long = ("x" * 100000)
    | .object.spec.deep = reduce range(30) as $_ ({}; {a: [.]}) | .object.spec.wide = [range(5000)]'
  evaluate
  repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
}
