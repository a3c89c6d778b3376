# imageChecks.replaceExisting: a controller has made image checks, and check volumes replace them.

load lib

replace='{"imageChecks":{"as":"ImageVolume","replaceExisting":true}}'
alone='{"pullOnce":false,"imageChecks":{"as":"ImageVolume","replaceExisting":true,"coverage":"Off"}}'
owner='.object.metadata.ownerReferences = [{apiVersion: "batch/v1", kind: "Job", name: "x", uid: "1", controller: true}]'

# of_a_job PLACES [FILTER...]: the CREATE request of a Pod whose controller is a Job.
of_a_job() {
  pod "$1" "$owner | ${2:-.}" "${@:3}"
}

# mounted CONTAINER VOLUMES: no other container mounts check volumes, and this container mounts exactly
# these check volumes in this order.
mounted() {
  after '[.spec.initContainers[]?, .spec.containers[] | .name as $name | .volumeMounts[]? | select(.mountPath | startswith("/.imagecheck/"))
      | . + {in: $name}] == [$volumes[] | {name: ., mountPath: "/.imagecheck/\(.)", readOnly: true, in: $container}]' \
    --arg container "$1" --argjson volumes "$2"
}

@test "captured: agent-stack's checks become volumes on copy-agent, except one that has the Pod's only requests" {
  # Without imagecheck-0 the Pod would be BestEffort, so this check stays.
  review agent-stack-pod-create
  evaluate "$replace"
  repaired 'init copy-agent ghcr.io/buildkite/agent:3.92.1 Always, init imagecheck-0 my-app:v1.2.3 Always, app container-0 my-app:v1.2.3 IfNotPresent, app sidecar-0 postgres:16 IfNotPresent, app agent ghcr.io/buildkite/agent:3.92.1 IfNotPresent, app checkout ghcr.io/buildkite/agent:3.92.1 IfNotPresent, volume imagecheck-1 docker.io/library/postgres:16 IfNotPresent'
  mounted copy-agent '["imagecheck-1"]'
  # If the agent has a cpu request, no check needs to stay.
  edit '(.object.spec.containers[] | select(.name == "agent")).resources.requests.cpu = "100m"'
  evaluate "$replace"
  repaired 'init copy-agent ghcr.io/buildkite/agent:3.92.1 Always, app container-0 my-app:v1.2.3 IfNotPresent, app sidecar-0 postgres:16 IfNotPresent, app agent ghcr.io/buildkite/agent:3.92.1 IfNotPresent, app checkout ghcr.io/buildkite/agent:3.92.1 IfNotPresent, volume imagecheck-0 my-app:v1.2.3 Always, volume imagecheck-1 docker.io/library/postgres:16 IfNotPresent'
  mounted copy-agent '["imagecheck-0","imagecheck-1"]'
  after '.spec.initContainers[0].volumeMounts[0] == {name: "workspace", mountPath: "/workspace"} and .spec.volumes[0].name == "workspace"'
  changed '[
    {"path":"spec.containers[0].imagePullPolicy","container":"container-0","from":"Always","to":"IfNotPresent","rule":"pull-once"},
    {"path":"spec.initContainers[1]","container":"imagecheck-0","from":{"name":"imagecheck-0","image":"my-app:v1.2.3","imagePullPolicy":"IfNotPresent"},"to":null,"rule":"replace-check"},
    {"path":"spec.initContainers[2]","container":"imagecheck-1","from":{"name":"imagecheck-1","image":"docker.io/library/postgres:16","imagePullPolicy":"IfNotPresent"},"to":null,"rule":"replace-check"},
    {"path":"spec.volumes[1]","container":"imagecheck-0","from":null,"to":{"name":"imagecheck-0","image":{"reference":"my-app:v1.2.3","pullPolicy":"Always"}},"rule":"replace-check"},
    {"path":"spec.volumes[2]","container":"imagecheck-1","from":null,"to":{"name":"imagecheck-1","image":{"reference":"docker.io/library/postgres:16","pullPolicy":"IfNotPresent"}},"rule":"replace-check"}]'
  after '.metadata.annotations[record] | fromjson | length == 5'
}

@test "replace-check is a saving: it gives no finding and no warning in any mode" {
  of_a_job 'init i x:1, init imagecheck-0 app:1, app a app:1'
  for mode in Reject Warn; do
    evaluate "$(in_jq -c --arg mode $mode '.mode = $mode' <<<"$replace")"
    untouched
  done
  evaluate "$replace"
  repaired 'init i x:1, app a app:1, volume imagecheck-0 app:1 IfNotPresent'
  warned
  found '[]'
}

@test "checks are replaced only at CREATE of a Pod that has a controller and is no Windows Pod, and never in a template" {
  pod 'init i x:1, init imagecheck-0 app:1, app a app:1'
  evaluate "$replace"
  untouched
  edit '.object.metadata.ownerReferences = [{kind: "Job", name: "x", uid: "1", controller: false}, {kind: "Y", name: "y", uid: "2"}]'
  evaluate "$replace"
  untouched
  for windows in '.object.spec.os.name = "windows"' '.object.spec.nodeSelector["kubernetes.io/os"] = "windows"'; do
    row=$windows
    of_a_job 'init i x:1, init imagecheck-0 app:1, app a app:1' "$windows"
    evaluate "$replace"
    untouched
  done
  row=
  of_a_job 'init i x:1, init imagecheck-0 app:1, app a app:1' '.operation = "UPDATE" | .oldObject = .object'
  evaluate "$replace"
  untouched
  workload Job 'init i x:1, init imagecheck-0 app:1, app a app:1'
  evaluate "$(in_jq -c '.templates = "Enforce"' <<<"$replace")"
  untouched
}

@test "which checks are replaced, which stay, and which container mounts the volumes" {
  while fields before carrier volumes after; do
    of_a_job "$before"
    evaluate "$alone"
    if [[ $after == same ]]; then untouched; continue; fi
    repaired "$after"
    mounted "$carrier" "$volumes"
  done <<'ROWS'
    init imagecheck-0 a:1, init i x:1, init imagecheck-1 b:1, app a a:1 | i | ["imagecheck-0","imagecheck-1"] | init i x:1, app a a:1, volume imagecheck-0 a:1 IfNotPresent, volume imagecheck-1 b:1 IfNotPresent
    init imagecheck-0 a:1, init imagecheck-1 b, app a a:1              | imagecheck-0 | ["imagecheck-1"]      | init imagecheck-0 a:1, app a a:1, volume imagecheck-1 b Always
    init imagecheck-0 a:1, app a a:1                                   | | | same
    sidecar s x:1, init imagecheck-0 a:1, init i y:1, app a a:1        | i | ["imagecheck-0"]                 | sidecar s x:1, init i y:1, app a a:1, volume imagecheck-0 a:1 IfNotPresent
    sidecar s x:1, init imagecheck-0 a:1, app a a:1                    | s | ["imagecheck-0"]                 | sidecar s x:1, app a a:1, volume imagecheck-0 a:1 IfNotPresent
    init i x:1, sidecar imagecheck-0 a:1, app a a:1                    | | | same
    init i x:1, init imagecheck-0 a:1 Never, app a a:1 Never           | i | ["imagecheck-0"]                 | init i x:1, app a a:1 Never, volume imagecheck-0 a:1 Never
ROWS
}

@test "a check stays if a volume already has its name" {
  of_a_job 'init i x:1, init imagecheck-0 a:1, init imagecheck-1 b:1, app a a:1' '.object.spec.volumes = [{name: "imagecheck-0", emptyDir: {}}]'
  evaluate "$alone"
  repaired 'init i x:1, init imagecheck-0 a:1, app a a:1, volume imagecheck-1 b:1 IfNotPresent'
}

@test "a check stays if the carrier already uses its mount path" {
  of_a_job 'init i x:1, init imagecheck-0 a:1, init imagecheck-1 b:1, app a a:1' \
    '.object.spec.volumes = [{name: "v", emptyDir: {}}] | .object.spec.initContainers[0].volumeMounts = [{name: "v", mountPath: "/.imagecheck/imagecheck-0"}]'
  evaluate "$alone"
  repaired 'init i x:1, init imagecheck-0 a:1, app a a:1, volume imagecheck-1 b:1 IfNotPresent'
}

@test "a check stays if a device of the carrier already uses its mount path" {
  of_a_job 'init i x:1, init imagecheck-0 a:1, init imagecheck-1 b:1, app a a:1' \
    '.object.spec.volumes = [{name: "v", persistentVolumeClaim: {claimName: "c"}}] | .object.spec.initContainers[0].volumeDevices = [{name: "v", devicePath: "/.imagecheck/imagecheck-0"}]'
  evaluate "$alone"
  repaired 'init i x:1, init imagecheck-0 a:1, app a a:1, volume imagecheck-1 b:1 IfNotPresent'
}

# Each row sets resources of the checks (initContainers[1] and [2]), of the containers i and a, or of the
# Pod.
@test "the first check with a request or limit stays if the Pod would become BestEffort" {
  while IFS='|' read -r filter stays; do
    row=$filter
    of_a_job 'init i x:1, init imagecheck-0 a:1, init imagecheck-1 b:1, app a a:1' "$filter"
    evaluate "$alone"
    case $stays in
      none) repaired 'init i x:1, app a a:1, volume imagecheck-0 a:1 IfNotPresent, volume imagecheck-1 b:1 IfNotPresent' ;;
      0) repaired 'init i x:1, init imagecheck-0 a:1, app a a:1, volume imagecheck-1 b:1 IfNotPresent' ;;
      1) repaired 'init i x:1, init imagecheck-1 b:1, app a a:1, volume imagecheck-0 a:1 IfNotPresent' ;;
    esac
  done <<'ROWS'
.|none
.object.spec.initContainers[1].resources.requests.cpu = "1m"|0
.object.spec.initContainers[1].resources.limits.memory = "1Mi"|0
.object.spec.initContainers[2].resources.requests.memory = 1048576|1
.object.spec.initContainers[2].resources.limits.cpu = "0.5"|1
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m"|0
.object.spec.initContainers[1].resources.requests.cpu = "0" | .object.spec.initContainers[2].resources.requests.cpu = "1m"|1
.object.spec.initContainers[1].resources.requests.cpu = "0"|none
.object.spec.initContainers[1].resources.limits.memory = "0Mi"|none
.object.spec.initContainers[1].resources.requests.cpu = 0|none
.object.spec.initContainers[1].resources.requests["ephemeral-storage"] = "1Mi"|none
.object.spec.initContainers[1].resources.limits["example.com/gpu"] = "1"|none
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m" | .object.spec.containers[0].resources.requests.cpu = "1m"|none
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m" | .object.spec.containers[0].resources.limits.memory = "1Mi"|none
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m" | .object.spec.initContainers[0].resources.limits.memory = "1Mi"|none
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m" | .object.spec.containers[0].resources.requests.cpu = "0"|0
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m" | .object.spec.containers[0].resources.requests["ephemeral-storage"] = "1Mi"|0
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m" | .object.spec.resources.requests.cpu = "1"|none
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m" | .object.spec.resources.limits.memory = "1Gi"|none
.object.spec.initContainers[1:3][].resources.requests.cpu = "1m" | .object.spec.resources = {}|0
ROWS
}

@test "a check stays if an AppArmor annotation or a resourceFieldRef names it" {
  while IFS='|' read -r filter; do
    row=$filter
    of_a_job 'init i x:1, init imagecheck-0 a:1, init imagecheck-1 b:1, app a a:1' "$filter"
    evaluate "$alone"
    repaired 'init i x:1, init imagecheck-0 a:1, app a a:1, volume imagecheck-1 b:1 IfNotPresent'
  done <<'ROWS'
.object.metadata.annotations["container.apparmor.security.beta.kubernetes.io/imagecheck-0"] = "runtime/default"
.object.spec.containers[0].env = [{name: "X", value: "x"}, {name: "CPU", valueFrom: {resourceFieldRef: {containerName: "imagecheck-0", resource: "limits.cpu"}}}]
.object.spec.initContainers[0].env = [{name: "CPU", valueFrom: {resourceFieldRef: {containerName: "imagecheck-0", resource: "limits.cpu"}}}]
.object.spec.volumes = [{name: "v", downwardAPI: {items: [{path: "cpu", resourceFieldRef: {containerName: "imagecheck-0", resource: "limits.cpu"}}]}}]
.object.spec.volumes = [{name: "v", projected: {sources: [{secret: {name: "s"}}, {downwardAPI: {items: [{path: "cpu", resourceFieldRef: {containerName: "imagecheck-0", resource: "limits.cpu"}}]}}]}}]
ROWS
  # A label, a plain value, or an annotation or field about another container doesn't make a check
  # stay.
  for filter in '.object.metadata.annotations["container.apparmor.security.beta.kubernetes.io/imagecheck-01"] = "runtime/default"' \
    '.object.metadata.labels["container.apparmor.security.beta.kubernetes.io/imagecheck-0"] = "x"' \
    '.object.spec.containers[0].env = [{name: "CPU", valueFrom: {resourceFieldRef: {containerName: "a", resource: "limits.cpu"}}}]' \
    '.object.spec.containers[0].env = [{name: "X", value: "imagecheck-0"}]'; do
    row=$filter
    of_a_job 'init i x:1, init imagecheck-0 a:1, init imagecheck-1 b:1, app a a:1' "$filter"
    evaluate "$alone"
    repaired 'init i x:1, app a a:1, volume imagecheck-0 a:1 IfNotPresent, volume imagecheck-1 b:1 IfNotPresent'
  done
}

@test "a check with a name of 63 characters is replaced, and one with a longer name stays" {
  for length in 63 64; do
    row=$length
    name=imagecheck-$(printf "%$((length - 11))s" | tr ' ' x)
    of_a_job "init i x:1, init $name a:1, app a a:1"
    evaluate "$alone"
    if ((length == 63)); then
      repaired "init i x:1, app a a:1, volume $name a:1 IfNotPresent"
      mounted i "[\"$name\"]"
    else
      untouched
    fi
  done
}

@test "volumeMounts and volumes may be missing, null or empty" {
  for mounts in 'del(.object.spec.initContainers[0].volumeMounts)' '.object.spec.initContainers[0].volumeMounts = null' '.object.spec.initContainers[0].volumeMounts = [ ]'; do
    for volumes in 'del(.object.spec.volumes)' '.object.spec.volumes = null' '.object.spec.volumes = [ ]'; do
      row="$mounts | $volumes"
      of_a_job 'init i x:1, init imagecheck-0 app:1, app a app:1' "$row"
      evaluate "$alone"
      repaired 'init i x:1, app a app:1, volume imagecheck-0 app:1 IfNotPresent'
      mounted i '["imagecheck-0"]'
    done
  done
}

@test "the mounts of a removed check move to the new carrier" {
  of_a_job 'init imagecheck-0 a:1, init i x:1, app a a:1, app b b:1, volume imagecheck-1 b:1' \
    '.object.spec.initContainers[0].volumeMounts = [{name: "imagecheck-1", mountPath: "/.imagecheck/imagecheck-1", readOnly: true}]'
  evaluate "$alone"
  repaired 'init i x:1, app a a:1, app b b:1, volume imagecheck-1 b:1, volume imagecheck-0 a:1 IfNotPresent'
  after '[.spec.initContainers[0].volumeMounts[].name] | sort == ["imagecheck-0", "imagecheck-1"]'
}

@test "with the other rules: a weak check is raised first, and a missing check is added as a volume" {
  of_a_job 'init i x:1, init imagecheck-0 a:1 IfNotPresent, app a a:1 Always, app b b:1'
  evaluate '{"imageChecks":{"as":"ImageVolume","replaceExisting":true,"coverage":"Fix"}}'
  repaired 'init i x:1, app a a:1 IfNotPresent, app b b:1, volume imagecheck-1 b:1 IfNotPresent, volume imagecheck-0 a:1 Always'
  mounted i '["imagecheck-1","imagecheck-0"]'
  evaluate '{"imageChecks":{"as":"ImageVolume","replaceExisting":true},"exempt":{"containers":["imagecheck-0"]}}'
  [[ -z $patch ]] || fail "an exempt check is changed"
}

@test "100 checks" {
  of_a_job "init i x:1, $(series 100 'init imagecheck-# c:# Always'), $(series 100 'app c# c:# Always')"
  evaluate "$replace"
  repaired "init i x:1, $(series 100 'app c# c:# IfNotPresent'), $(series 100 'volume imagecheck-# c:# Always')"
}
