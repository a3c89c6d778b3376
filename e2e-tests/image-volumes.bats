# Tests of check volumes, which imageChecks.as: ImageVolume adds, and of image volumes that need a check. A check
# volume proves nothing for pull-once.

load lib

as='{"imageChecks":{"as":"ImageVolume","coverage":"Fix"}}'
every='{"imageChecks":{"as":"ImageVolume","coverage":"Fix","everyPod":true}}'
every_alone='{"pullOnce":false,"imageChecks":{"as":"ImageVolume","coverage":"Fix","everyPod":true}}'

# mounts CONTAINERS VOLUMES: asserts that exactly these containers mount check volumes, and that exactly
# these volumes are mounted, read-only, in the directory /.imagecheck.
mounts() {
  after '[.spec.initContainers[]?, .spec.containers[] | select(any(.volumeMounts[]?; .mountPath | startswith("/.imagecheck/"))) | .name] == $containers
    and ([.spec.initContainers[]?, .spec.containers[] | .volumeMounts[]? | select(.mountPath | startswith("/.imagecheck/"))] | unique
      == [$volumes[] | {name: ., mountPath: "/.imagecheck/\(.)", readOnly: true}])' \
    --argjson containers "$1" --argjson volumes "$2"
}

@test "an added check is an image volume, mounted on the first init container" {
  pod 'init imagecheck-0 app:1, init last x:1, app a app:1, app b b:1 Always' '.object.spec.volumes = [{name: "v", emptyDir: {}}]'
  evaluate "$as"
  repaired 'init imagecheck-0 app:1, init last x:1, app a app:1, app b b:1 Always, volume imagecheck-1 b:1 Always'
  mounts '["imagecheck-0"]' '["imagecheck-1"]'
  after '.spec.volumes == [{name: "v", emptyDir: {}}, {name: "imagecheck-1", image: {reference: "b:1", pullPolicy: "Always"}}]'
  warned 'missing-check b b:1 imagecheck-1 Always'
}

@test "the carrier: the first init container that is no native sidecar and not exempt, else every app container" {
  while fields exempt before carriers; do
    pod "$before"
    evaluate "$(in_jq -c --argjson exempt "$exempt" '.exempt.containers = $exempt' <<<"$every")"
    mounts "$carriers" "$(in_jq -c '[.object.spec.volumes[].name]' "$request.second")"
  done <<'ROWS'
    []      | init i x:1, init j y:1, app a app:1                  | ["i"]
    []      | sidecar s x:1, sidecar t x:1, init i x:1, app a app:1 | ["i"]
    []      | sidecar s x:1, sidecar t y:1, app a app:1, app b b:1 | ["a","b"]
    ["i"]   | init i x:1, init j y:1, app a app:1                  | ["j"]
    ["i"]   | sidecar s x:1, init i x:1, app a app:1, app b b:1    | ["a","b"]
    ["b"]   | app a app:1, app b b:1, app c c:1                    | ["a","b","c"]
ROWS
}

# Another webhook may drop the `image` of a volume. Then nothing is pulled before the app containers.
@test "a check volume proves nothing for pull-once, whoever mounts it" {
  pod 'app a app:1 Always, app b b:1'
  evaluate "$every"
  repaired 'app a app:1 Always, app b b:1, volume imagecheck-0 app:1 Always, volume imagecheck-1 b:1 IfNotPresent'
  pod 'init i x:1, app a app:1 Always, app b b:1'
  evaluate "$every"
  repaired 'init i x:1, app a app:1 Always, app b b:1, volume imagecheck-0 app:1 Always, volume imagecheck-1 b:1 IfNotPresent'
}

@test "a Pod whose nodes may be unable to mount image volumes gets none: a warning says so, in every mode and in the copy" {
  while IFS='|' read -r filter field; do
    pod 'init i x:1, app a app:1' "$filter"
    row=$filter
    everywhere "$every" accepted "missing-check a app:1 volume $field"
    row="Reject $filter"
    evaluate "$(in_jq -c '.imageChecks.coverage = "Reject"' <<<"$every")"
    rejected 'missing-check a app:1 IfNotPresent'
    row="InitContainer $filter"
    # An init container doesn't take the place of an image volume, unless it was asked for.
    evaluate '{"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"]}}}'
    repaired 'init imagecheck-0 app:1 IfNotPresent, init i x:1, app a app:1'
    # A check volume that is there counts, and no other is added.
    pod 'init i x:1, app a app:1, app b b:1, volume imagecheck-0 app:1' "$filter"' | .object.spec.initContainers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/x"}]'
    evaluate '{"imageChecks":{"coverage":"Fix"}}'
    accepted "missing-check b b:1 volume $field"
  done <<'ROWS'
.object.spec.hostUsers = false|hostUsers: false
.object.spec.runtimeClassName = "kata"|runtimeClassName
ROWS
  for filter in '.object.spec.hostUsers = true' '.object.spec.runtimeClassName = ""' '.object.spec.runtimeClassName = null'; do
    row=$filter
    pod 'init i x:1, app a app:1' "$filter"
    evaluate "$every"
    repaired 'init i x:1, app a app:1, volume imagecheck-0 app:1 IfNotPresent'
  done
}

@test "volumeMounts and volumes may be missing, null or empty" {
  for mounts in 'del(.object.spec.initContainers[0].volumeMounts)' '.object.spec.initContainers[0].volumeMounts = null' \
    '.object.spec.initContainers[0].volumeMounts = [ ]' '.object.spec.initContainers[0].volumeMounts = [{name: "v", mountPath: "/v"}]'; do
    for volumes in 'del(.object.spec.volumes)' '.object.spec.volumes = null' '.object.spec.volumes = [ ]' '.object.spec.volumes = [{name: "v", emptyDir: {}}]'; do
      row="$mounts | $volumes"
      pod 'init i x:1, app a app:1' "$row"
      evaluate "$every"
      repaired 'init i x:1, app a app:1, volume imagecheck-0 app:1 IfNotPresent'
      mounts '["i"]' '["imagecheck-0"]'
    done
  done
}

@test "the number of an added check is free among containers, volumes and mount paths" {
  while IFS='|' read -r name filter; do
    row=$filter
    pod 'init i x:1, app a app:1' "$filter"
    evaluate "$every"
    same names "$name" "$(in_jq -r '[.[].container] | join(" ")' <<<"$changes")"
  done <<'ROWS'
imagecheck-0|.
imagecheck-1|.object.spec.volumes = [{name: "imagecheck-0", emptyDir: {}}]
imagecheck-1|.object.spec.containers[0].name = "imagecheck-0"
imagecheck-1|.object.spec.ephemeralContainers = [{name: "imagecheck-0", image: "y:1"}]
imagecheck-1|.object.spec.volumes = [{name: "v", emptyDir: {}}] | .object.spec.initContainers[0].volumeMounts = [{name: "v", mountPath: "/.imagecheck/imagecheck-0"}]
imagecheck-1|.object.spec.volumes = [{name: "v", persistentVolumeClaim: {claimName: "c"}}] | .object.spec.initContainers[0].volumeDevices = [{name: "v", devicePath: "/.imagecheck/imagecheck-0"}]
ROWS
}

@test "a Windows Pod gets a warning and no check, in every mode" {
  pod 'init i x:1, app a app:1' '.object.spec.os.name = "windows"'
  for settings_row in "$every" '{"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"]}}}'; do
    in_each_mode "$settings_row" accepted 'missing-check a app:1 Windows'
    # Under `Reject`, this policy adds no check to any Pod, and the author can add one.
    evaluate "$(in_jq -c '.imageChecks.coverage = "Reject"' <<<"$settings_row")"
    rejected 'missing-check a app:1 IfNotPresent'
  done
  row=linux
  edit '.object.spec.os.name = "linux"'
  evaluate "$every"
  repaired 'init i x:1, app a app:1, volume imagecheck-0 app:1 IfNotPresent'
}

# affinity TERM...: prints a jq filter that sets a required node affinity. Each TERM is a list of expressions.
affinity() {
  echo ".object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms = $(in_jq -sc 'map({matchExpressions: .})' <<<"$*")"
}
in_windows='{"key":"kubernetes.io/os","operator":"In","values":["windows"]}'
in_linux='{"key":"kubernetes.io/os","operator":"In","values":["linux"]}'

@test "whether a Pod is a Windows Pod: os.name, else the node selector, else the required affinity" {
  while IFS='^' read -r is_windows filter; do
    row="$is_windows $filter"
    pod 'init i x:1, app a app:1' "$filter"
    evaluate "$every"
    if [[ $is_windows == yes ]]; then
      accepted 'missing-check a app:1 Windows'
      evaluate "$(copy_of "$every")"
      accepted 'missing-check a app:1 Windows'
    else
      repaired 'init i x:1, app a app:1, volume imagecheck-0 app:1 IfNotPresent'
    fi
  done <<ROWS
yes^.object.spec.nodeSelector["kubernetes.io/os"] = "windows"
yes^.object.spec.nodeSelector["beta.kubernetes.io/os"] = "windows"
no^.object.spec.nodeSelector["kubernetes.io/os"] = "linux"
yes^$(affinity "[$in_windows]")
yes^$(affinity '[{"key":"beta.kubernetes.io/os","operator":"In","values":["windows"]}]')
yes^$(affinity "[{\"key\":\"pool\",\"operator\":\"Exists\"},$in_windows]" "[$in_windows,{\"key\":\"pool\",\"operator\":\"In\",\"values\":[\"b\"]}]")
no^$(affinity "[$in_windows]" "[$in_linux]")
no^$(affinity "[$in_windows]" '[{"key":"pool","operator":"Exists"}]')
no^$(affinity '[{"key":"kubernetes.io/os","operator":"In","values":["windows","linux"]}]')
no^$(affinity '[{"key":"kubernetes.io/os","operator":"NotIn","values":["linux"]}]')
no^.object.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution = [{weight: 1, preference: {matchExpressions: [$in_windows]}}]
no^.object.spec.os.name = "linux" | .object.spec.nodeSelector["kubernetes.io/os"] = "windows"
yes^.object.spec.os.name = "windows" | .object.spec.nodeSelector["kubernetes.io/os"] = "linux"
no^.object.spec.nodeSelector["kubernetes.io/os"] = "linux" | $(affinity "[$in_windows]")
yes^.object.spec.nodeSelector["kubernetes.io/os"] = "windows" | $(affinity "[$in_linux]")
ROWS
}

# jq filters that mount the Pod's first volume on its first init container, or on its first app container.
on_init='.object.spec.initContainers[0].volumeMounts += [{name: .object.spec.volumes[0].name, mountPath: "/x"}]'
on_app='.object.spec.containers[0].volumeMounts = [{name: .object.spec.volumes[0].name, mountPath: "/x"}]'

@test "an image volume with the name of a check is a check in all rules" {
  # weak-check raises the check volume.
  pod 'init i x:1, app a app:1 Always, volume imagecheck-0 app:1 IfNotPresent' "$on_init"
  evaluate
  repaired 'init i x:1, app a app:1 Always, volume imagecheck-0 app:1 Always'
  warned 'weak-check imagecheck-0 app:1 IfNotPresent Always a'
  evaluate '{"mode":"Reject"}'
  rejected 'weak-check imagecheck-0 app:1 IfNotPresent Always a'
  # The check volume covers app:1, so missing-check has no finding.
  pod 'init i x:1, app a app:1, volume imagecheck-0 app:1' "$on_init"
  evaluate '{"imageChecks":{"coverage":"Reject"}}'
  untouched
  # If an image has both kinds of checks, weak-check raises the init container and not the volume.
  pod 'init imagecheck-1 app:1, app a app:1 Always, volume imagecheck-0 app:1 IfNotPresent' "$on_init"
  evaluate
  repaired 'init imagecheck-1 app:1 Always, app a app:1 IfNotPresent, volume imagecheck-0 app:1 IfNotPresent'
}

@test "an image volume is a check if an init container mounts it, or each app container that pulls its image" {
  while IFS='|' read -r places_before carriers after; do
    row="$places_before $carriers"
    pod "$places_before" '(.object.spec | .initContainers[]?, .containers[] | select(.name | IN($carriers[]))).volumeMounts
      = [{name: "imagecheck-0", mountPath: "/x"}]' --argjson carriers "$carriers"
    evaluate '{"imageChecks":{"coverage":"Off"}}'
    # If the volume is a check, weak-check raises it.
    if [[ $after == same ]]; then untouched; else repaired "${places_before%IfNotPresent}Always"; fi
  done <<'ROWS'
init i x:1, app a app:1 Always, volume imagecheck-0 app:1 IfNotPresent|[]|same
app a app:1 Always, volume imagecheck-0 app:1 IfNotPresent|["a"]|raised
init i x:1, app a app:1 Always, volume imagecheck-0 app:1 IfNotPresent|["a"]|raised
init i x:1, app a app:1 Always, app b app:1 Always, volume imagecheck-0 app:1 IfNotPresent|["a"]|same
init i x:1, app a app:1 Always, app b app:1 Always, volume imagecheck-0 app:1 IfNotPresent|["a","b"]|raised
init i x:1, app a app:1 Always, app b b:1, volume imagecheck-0 app:1 IfNotPresent|["b"]|same
init i x:1, app a app:1 Always, volume imagecheck-0 app:1 IfNotPresent|["i"]|raised
sidecar s x:1, app a app:1 Always, volume imagecheck-0 app:1 IfNotPresent|["s"]|same
ROWS
  # The volume is a check although the exempt app container b doesn't mount it.
  pod 'app a app:1 Always, app b app:1 Always, volume imagecheck-0 app:1 IfNotPresent' \
    '.object.spec.containers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/x"}]'
  evaluate '{"imageChecks":{"coverage":"Off"},"exempt":{"containers":["b"]}}'
  repaired 'app a app:1 Always, app b app:1 Always, volume imagecheck-0 app:1 Always'
  # If an image of a repository is looked up, an answer could show that another tag is the same image. So b would have
  # to mount the volume too. An exempt image is not looked up.
  pod 'init i app:3 Never, app a app:1 Always, app b app:2 Always, volume imagecheck-0 app:1 IfNotPresent' \
    '.object.spec.containers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/x"}]'
  lookups='"imageChecks":{"coverage":"Off"},"registry":{"lookup":"Verify","images":["app:3"]}'
  evaluate "{$lookups}"
  untouched
  evaluate "{$lookups,\"exempt\":{\"images\":[\"app:3\"]}}"
  repaired 'init i app:3 Never, app a app:1 Always, app b app:2 Always, volume imagecheck-0 app:1 Always'
}

# Every app container mounts every check volume: 100 volumes on 100 containers are 10,000 mounts.
@test "the mounts on app containers count towards the 1 MiB that is added at most" {
  pod "$(series 80 'app c# c:#')"
  evaluate "$every_alone"
  [[ $allowed == true && $(count "$changes") == 80 ]] || fail "not 80 checks"
  pod "$(series 130 'app c# c:#')"
  evaluate "$every_alone"
  [[ $allowed == false ]] || fail "accepted"
  same 'number of findings' 130 "$(count "$findings")"
  # If one init container mounts the 130 volumes, there are only 130 mounts, which fit into the 1 MiB.
  pod "init i x:1, $(series 130 'app c# c:#')"
  evaluate "$every_alone"
  [[ $allowed == true && $(count "$changes") == 130 ]] || fail "not 130 checks"
}

@test "an image volume that only app containers mount gets a check volume, and pull-once leaves it alone" {
  pod 'init i x:1, app a app:1, volume data data:1 Always' "$on_app"
  evaluate "$every"
  repaired 'init i x:1, app a app:1, volume data data:1 Always, volume imagecheck-0 app:1 IfNotPresent, volume imagecheck-1 data:1 Always'
  mounts '["i"]' '["imagecheck-0","imagecheck-1"]'
  # A volume that an init container mounts needs no check: if its pull fails, no app container starts.
  pod 'init i x:1, app a app:1, volume data data:1 Always' "$on_init"
  evaluate "$every"
  repaired 'init i x:1, app a app:1, volume data data:1 Always, volume imagecheck-0 app:1 IfNotPresent'
  # With imageChecks.as: InitContainer, image volumes need no check.
  pod 'init imagecheck-0 app:1, app a app:1, volume data data:1 Always' "$on_app"
  evaluate '{"imageChecks":{"coverage":"Fix"}}'
  untouched
}

@test "under InitContainer, a Pod whose checks are all volumes gets a check volume, unless there is a template" {
  pod 'init i x:1, app a app:1, app b b:1, volume imagecheck-0 app:1' "$on_init"
  evaluate '{"imageChecks":{"coverage":"Fix"}}'
  repaired 'init i x:1, app a app:1, app b b:1, volume imagecheck-0 app:1, volume imagecheck-1 b:1 IfNotPresent'
  evaluate '{"imageChecks":{"coverage":"Fix","template":{"command":["/x"]}}}'
  repaired 'init imagecheck-0 b:1 IfNotPresent, init i x:1, app a app:1, app b b:1, volume imagecheck-0 app:1'
  # The new check, an init container, doesn't mount the volume that the app containers mount.
  pod 'app a app:1 Always, app b b:1 Always, volume imagecheck-0 app:1 Always' \
    '.object.spec.containers[].volumeMounts = [{name: "imagecheck-0", mountPath: "/x"}]'
  evaluate '{"imageChecks":{"coverage":"Fix","template":{"command":["/x"]}}}'
  repaired 'init imagecheck-0 b:1 Always, app a app:1 Always, app b b:1 IfNotPresent, volume imagecheck-0 app:1 Always'
  same 'fields of the check' '["command","image","imagePullPolicy","name"]' "$(in_jq -c '.object.spec.initContainers[0] | keys' "$request.second")"
}
