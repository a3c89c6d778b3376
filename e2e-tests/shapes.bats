# Objects of unusual shape. A malformed object that is examined is rejected with the path of the mistake.
# Unknown fields, most nulls and large objects are accepted. No object crashes the module.

load lib

# broken KIND FILTER MESSAGE [SETTINGS]: checks that an object that FILTER makes malformed is rejected
# with this message.
broken() {
  row="$1 $2"
  workload "$1" 'init i app:1, app a app:1, app b app:2, ephemeral e app:1, volume v app:1' "$2"
  evaluate "${4-}"
  rejected "$3"
  [[ $findings == '[]' && -z $warnings ]] || fail "findings or warnings"
}

@test "a malformed object is rejected in every mode and with every value of templates" {
  for given in '{"mode":"Fix"}' '{"mode":"Reject"}' '{"mode":"Warn"}' '{"templates":"Warn"}' '{"templates":"Enforce"}'; do
    broken Pod 'del(.object.spec)' 'spec is missing' "$given"
    broken Deployment '.object.spec.template.spec.containers = {}' 'spec.template.spec.containers must be a list, not an object' "$given"
    broken CronJob '.object.metadata.annotations = "x"' 'metadata.annotations must be an object, not a string' "$given"
  done
}

@test "templates Off: a malformed template is accepted, and a malformed Pod is not" {
  workload Deployment 'app a app:1' '.object.spec.template.spec.containers = {}'
  evaluate '{"templates":"Off"}'
  untouched
  broken Pod 'del(.object.spec)' 'spec is missing' '{"templates":"Off"}'
}

@test "a Pod: the spec and its lists" {
  while IFS='|' read -r filter sentence; do
    broken Pod "$filter" "$sentence"
  done <<'ROWS'
del(.object.spec)|spec is missing
.object.spec = null|spec must be an object, not null
.object.spec = []|spec must be an object, not a list
.object.spec = "x"|spec must be an object, not a string
.object.spec = 5|spec must be an object, not a number
.object.spec = true|spec must be an object, not a boolean
.object.spec.containers = {}|spec.containers must be a list, not an object
.object.spec.containers = {"a": {image: "b"}}|spec.containers must be a list, not an object
.object.spec.containers = "nginx"|spec.containers must be a list, not a string
.object.spec.initContainers = {}|spec.initContainers must be a list, not an object
.object.spec.initContainers = 0|spec.initContainers must be a list, not a number
.object.spec.ephemeralContainers = true|spec.ephemeralContainers must be a list, not a boolean
.object.spec.volumes = {}|spec.volumes must be a list, not an object
.object.spec.os = false|spec.os must be an object, not a boolean
.object.spec.os = {name: 5}|spec.os.name must be a string, not a number
ROWS
}

@test "a Pod: containers" {
  while IFS='|' read -r filter sentence; do
    broken Pod "$filter" "$sentence"
  done <<'ROWS'
.object.spec.containers[1] = "s3cr3t, expected a string at line 1"|spec.containers[1] must be an object, not a string
.object.spec.containers[1] = null|spec.containers[1] must be an object, not null
.object.spec.containers[1] = []|spec.containers[1] must be an object, not a list
.object.spec.initContainers[0] = [[]]|spec.initContainers[0] must be an object, not a list
.object.spec.ephemeralContainers[0] = 1|spec.ephemeralContainers[0] must be an object, not a number
.object.spec.containers[0].image = 5|spec.containers[0].image must be a string, not a number
.object.spec.containers[1].image = ["nginx"]|spec.containers[1].image must be a string, not a list
.object.spec.initContainers[0].image = {}|spec.initContainers[0].image must be a string, not an object
.object.spec.containers[0].name = 5|spec.containers[0].name must be a string, not a number
del(.object.spec.containers[0].name)|spec.containers[0].name is missing
.object.spec.initContainers[0].restartPolicy = true|spec.initContainers[0].restartPolicy must be a string, not a boolean
ROWS
}

@test "a Pod: pull policies are the three exact words" {
  for word in always ALWAYS ' Always' IfNotpresent Newer Always,Never; do
    broken Pod ".object.spec.containers[1].imagePullPolicy = \"$word\"" \
      'spec.containers[1].imagePullPolicy must be Always, IfNotPresent or Never'
  done
  broken Pod '.object.spec.initContainers[0].imagePullPolicy = "always"' 'spec.initContainers[0].imagePullPolicy must be Always, IfNotPresent or Never'
  broken Pod '.object.spec.ephemeralContainers[0].imagePullPolicy = "always"' 'spec.ephemeralContainers[0].imagePullPolicy must be Always, IfNotPresent or Never'
  broken Pod '.object.spec.volumes[0].image.pullPolicy = "always"' 'spec.volumes[0].image.pullPolicy must be Always, IfNotPresent or Never'
  broken Pod '.object.spec.containers[0].imagePullPolicy = true' 'spec.containers[0].imagePullPolicy must be a string, not a boolean'
  broken Pod '.object.spec.containers[0].imagePullPolicy = ["Always"]' 'spec.containers[0].imagePullPolicy must be a string, not a list'
}

@test "a Pod: volumes" {
  while IFS='|' read -r filter sentence; do
    broken Pod "$filter" "$sentence"
  done <<'ROWS'
.object.spec.volumes[0] = "v"|spec.volumes[0] must be an object, not a string
.object.spec.volumes[0].image = "app:1"|spec.volumes[0].image must be an object, not a string
.object.spec.volumes[0].image.reference = 1|spec.volumes[0].image.reference must be a string, not a number
.object.spec.volumes[0].image.pullPolicy = {}|spec.volumes[0].image.pullPolicy must be a string, not an object
del(.object.spec.volumes[0].name)|spec.volumes[0].name is missing
.object.spec.containers[0].volumeMounts = "s3cr3t"|spec.containers[0].volumeMounts must be a list, not a string
.object.spec.containers[0].volumeMounts = ["s3cr3t"]|spec.containers[0].volumeMounts[0] must be an object, not a string
.object.spec.containers[0].volumeMounts = [{name: null}]|spec.containers[0].volumeMounts[0].name must be a string, not null
ROWS
}

@test "the object and its metadata" {
  for kind in Pod Deployment CronJob; do
    while IFS='|' read -r filter sentence; do
      broken $kind "$filter" "$sentence"
    done <<'ROWS'
.object = []|object must be an object, not a list
.object = "x"|object must be an object, not a string
.object = 5|object must be an object, not a number
.object.metadata = []|metadata must be an object, not a list
.object.metadata.annotations = []|metadata.annotations must be an object, not a list
.object.metadata.ownerReferences = {}|metadata.ownerReferences must be a list, not an object
.object.metadata.ownerReferences = ["x"]|metadata.ownerReferences[0] must be an object, not a string
.object.metadata.ownerReferences = [{controller: "true"}]|metadata.ownerReferences[0].controller must be a boolean, not a string
ROWS
  done
}

@test "every kind with a pod template: each step of the path to the template, and the fields in it" {
  for kind in Deployment StatefulSet DaemonSet ReplicaSet ReplicationController Job CronJob PodTemplate; do
    case $kind in
      PodTemplate) steps='template template.spec' ;;
      CronJob) steps='spec spec.jobTemplate spec.jobTemplate.spec spec.jobTemplate.spec.template spec.jobTemplate.spec.template.spec' ;;
      *) steps='spec spec.template spec.template.spec' ;;
    esac
    for path in $steps; do
      broken $kind "del(.object.$path)" "$path is missing"
    done
    broken $kind ".object.$path = []" "$path must be an object, not a list"
    broken $kind ".object.$path = null" "$path must be an object, not null"
    broken $kind ".object.$path.containers = {}" "$path.containers must be a list, not an object"
    broken $kind ".object.$path.containers[0] = \"nginx\"" "$path.containers[0] must be an object, not a string"
    broken $kind ".object.$path.initContainers[0].image = 5" "$path.initContainers[0].image must be a string, not a number"
    broken $kind ".object.$path.containers[0].imagePullPolicy = \"Newer\"" "$path.containers[0].imagePullPolicy must be Always, IfNotPresent or Never"
  done
}

@test "null and unknown fields are accepted, as Kubernetes accepts them" {
  while IFS= read -r filter; do
    row=$filter
    pod 'app a app:1' "$filter"
    evaluate '{"mode":"Reject"}'
    untouched
  done <<'ROWS'
.object.metadata = null
del(.object.metadata)
.object.metadata.annotations = null
.object.metadata.ownerReferences = null
.object.metadata.labels = 5
.object.spec.initContainers = null
.object.spec.ephemeralContainers = null
.object.spec.volumes = null
.object.spec.volumes = [{name: "v", emptyDir: {}}, {name: "w", image: null}, {}]
.object.spec.initContainers = [{name: "i", image: "a:1", restartPolicy: null, imagePullPolicy: null, volumeMounts: null}]
.object.spec += {os: null, nodeSelector: null, affinity: null} | .object.status = null
.userInfo = null | .subResource = null
.object.spec.hostNetwork = "x"
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
  [[ $allowed == false && $message == 'a has no valid image'* ]] || fail "accepted"
}

@test "no secret of a malformed Pod is in the answer" {
  pod 'app a app:1' '.object.spec.containers[0].image = {password: "s3cr3t"} | .object.spec.containers[0].imagePullPolicy = "s3cr3t"'
  evaluate
  rejected 'spec.containers[0].image must be a string, not an object'
  edit '.object.spec.containers[0].image = "app:1"'
  evaluate
  rejected 'spec.containers[0].imagePullPolicy must be Always, IfNotPresent or Never'
}

@test "a deep, a wide and a long object" {
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always' '.object.metadata.annotations.long = ("x" * 100000)
    | .object.spec.deep = reduce range(30) as $_ ({}; {a: [.]}) | .object.spec.wide = [range(5000)]'
  evaluate
  repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
}
