# missing-check: imageChecks.coverage, and the checks that `Fix` adds.

load lib

fix='{"imageChecks":{"coverage":"Fix"}}'
# pull-once is off, so that the result shows only the added checks.
fix_alone='{"pullOnce":false,"imageChecks":{"coverage":"Fix"}}'
template='{"command":["/tool/true"],"args":["x"]}'
every_pod="{\"pullOnce\":false,\"imageChecks\":{\"coverage\":\"Fix\",\"everyPod\":true,\"template\":$template}}"

@test "an image that replaces one in an agent-stack Pod gets a check that can run" {
  # The controller makes the checks first, and the image is replaced afterwards.
  review agent-stack-pod-create '.object.spec.containers[0].image = "override:9"'
  evaluate "$fix"
  repaired 'init copy-agent ghcr.io/buildkite/agent:3.92.1 Always, init imagecheck-0 my-app:v1.2.3 IfNotPresent, init imagecheck-1 docker.io/library/postgres:16 IfNotPresent, init imagecheck-2 override:9 Always, init imagecheck-3 postgres:16 IfNotPresent, app container-0 override:9 IfNotPresent, app sidecar-0 postgres:16 IfNotPresent, app agent ghcr.io/buildkite/agent:3.92.1 IfNotPresent, app checkout ghcr.io/buildkite/agent:3.92.1 IfNotPresent'
  warned 'missing-check container-0 override:9 imagecheck-2 Always' \
    'missing-check sidecar-0 postgres:16 imagecheck-3 IfNotPresent docker.io/library/postgres:16 imagecheck-3 added'
  # The two new checks have a command and mounts, and differ only in name, image and pull policy.
  after '.spec.initContainers as $all | ($all[2] | length > 3 and (.command | length) > 0 and (.volumeMounts | length) > 0)
    and ($all[3] | del(.name, .image, .imagePullPolicy)) == ($all[2] | del(.name, .image, .imagePullPolicy))'
}

@test "coverage Off, Warn, Reject and Fix, in each mode" {
  pod 'init imagecheck-0 app:1, app a app:1, app b db:2 Always'
  while fields coverage mode answer; do
    evaluate "{\"mode\":\"$mode\",\"imageChecks\":{\"coverage\":\"$coverage\"}}"
    case $answer in
      untouched) untouched ;;
      fixed)
        repaired 'init imagecheck-0 app:1, init imagecheck-1 db:2 Always, app a app:1, app b db:2 IfNotPresent'
        warned 'missing-check b db:2 imagecheck-1 Always'
        ;;
      'warned '*) accepted "${answer#* }" ;;
      'rejected '*) rejected "${answer#* }" ;;
      *) fail "no such answer" ;;
    esac
  done <<'ROWS'
    Off    | Fix    | untouched
    Off    | Reject | untouched
    Off    | Warn   | untouched
    Warn   | Fix    | warned missing-check b db:2 Always
    Warn   | Reject | warned missing-check b db:2 Always
    Warn   | Warn   | warned missing-check b db:2 Always
    Reject | Fix    | rejected missing-check b db:2 Always
    Reject | Reject | rejected missing-check b db:2 Always
    Reject | Warn   | warned missing-check b db:2 Always
    Fix    | Fix    | fixed
    Fix    | Reject | rejected missing-check b db:2 imagecheck-1 Always
    Fix    | Warn   | warned missing-check b db:2 imagecheck-1 Always
ROWS
}

@test "a covered image gets no check" {
  outcomes '{"pullOnce":false,"imageChecks":{"coverage":"Reject"}}' <<'ROWS'
    init imagecheck-0 app:1 Always, app a app:1 IfNotPresent
    init imagecheck-0 nginx, app a nginx:latest
    init imagecheck-0 docker.io/nginx:1, init copy nginx:1, app a nginx:1
    init imagecheck-0 app:1, init copy tool:1 Always, app a app:1, app t tool:1 Always
    init imagecheck-0 app:1, init copy tool:1 IfNotPresent, app a app:1, app t tool:1 IfNotPresent
    init imagecheck-0 app:1, sidecar s side:1 Always, app a app:1
    init imagecheck-0 app:1, app a app:1, volume v data:1 Always
    init imagecheck-0 app:1, app a app:1, ephemeral e debug:1 Always
ROWS
}

@test "each image that is not covered gets a check with the pull policy that its containers need" {
  outcomes "$fix_alone" <<'ROWS'
    init imagecheck-0 app:1, app a app:1, app b b:1 IfNotPresent   | init imagecheck-0 app:1, init imagecheck-1 b:1 IfNotPresent, app a app:1, app b b:1 IfNotPresent
    init imagecheck-0 app:1, app b b:1 Never                       | init imagecheck-0 app:1, init imagecheck-1 b:1 Never, app b b:1 Never
    init imagecheck-0 app:1, app b b:1 Never, app c b:1 Always, app d b:1 | init imagecheck-0 app:1, init imagecheck-1 b:1 Always, app b b:1 Never, app c b:1 Always, app d b:1
    init imagecheck-0 app:1, app b b:1, app c c:1, app d docker.io/library/b:1 | init imagecheck-0 app:1, init imagecheck-1 b:1 IfNotPresent, init imagecheck-2 c:1 IfNotPresent, init imagecheck-3 docker.io/library/b:1 IfNotPresent, app b b:1, app c c:1, app d docker.io/library/b:1
    init imagecheck-0 app:1, init copy tool:1 IfNotPresent, app t tool:1 Always | init imagecheck-0 app:1, init imagecheck-1 tool:1 Always, init copy tool:1 IfNotPresent, app t tool:1 Always
    app a app:1, app b b:1                                         | same
ROWS
}

@test "added checks come right after the last check of the Pod" {
  outcomes "$fix_alone" <<'ROWS'
    init first x:1, init imagecheck-0 app:1, init last y:1, app b b:1 | init first x:1, init imagecheck-0 app:1, init imagecheck-1 b:1 IfNotPresent, init last y:1, app b b:1
    init imagecheck-0 app:1, init between x:1, init imagecheck-1 d:1, sidecar s y:1, init last z:1, app b b:1, app c c:1 | init imagecheck-0 app:1, init between x:1, init imagecheck-1 d:1, init imagecheck-2 b:1 IfNotPresent, init imagecheck-3 c:1 IfNotPresent, sidecar s y:1, init last z:1, app b b:1, app c c:1
    init imagecheck-0 app:1, sidecar imagecheck-1 d:1, app b b:1 | init imagecheck-0 app:1, init imagecheck-2 b:1 IfNotPresent, sidecar imagecheck-1 d:1, app b b:1
ROWS
}

# added FIELDS: each added init container has exactly these fields beside name, image and pull policy.
added() {
  after '[.spec.initContainers[] | select(.name | IN($names[])) | del(.name, .image, .imagePullPolicy)] | unique == [$fields]' \
    --argjson names "$(in_jq -c '[.[] | select(.to | type == "object") | .container]' <<<"$changes")" --argjson fields "$1"
}

@test "an added check is a copy of the last check of the Pod, with only the fields that a check needs" {
  pod 'init imagecheck-0 a:1, init imagecheck-1 b:1 Never, init later x:1, app c c:1 Always, app d d:1' '
    .object.spec.initContainers[0].command = ["/check/first"]
    | .object.spec.initContainers[1] += {command: ["/v/last"], args: ["x"], workingDir: "/", volumeMounts: [{name: "v", mountPath: "/v"}],
        resources: {limits: {cpu: "1m"}, requests: {memory: "1Mi"}, claims: [{name: "gpu"}]}, securityContext: {runAsUser: 7},
        terminationMessagePath: "/t", terminationMessagePolicy: "File",
        envFrom: [{secretRef: {name: "s"}}], ports: [{containerPort: 80}], volumeDevices: [{name: "d", devicePath: "/d"}],
        livenessProbe: {exec: {command: ["x"]}}, readinessProbe: {tcpSocket: {port: 1}}, startupProbe: {grpc: {port: 1}},
        lifecycle: {postStart: {exec: {command: ["x"]}}}, resizePolicy: [{resourceName: "cpu", restartPolicy: "NotRequired"}],
        stdin: true, tty: true, future: [{}, null, 1.50]}
    | .object.spec.initContainers[1] |= with_entries(select(.key != "name")) + {name: "imagecheck-1"}'
  evaluate "$fix"
  repaired 'init imagecheck-0 a:1, init imagecheck-1 b:1 Never, init imagecheck-2 c:1 Always, init imagecheck-3 d:1 IfNotPresent, init later x:1, app c c:1 IfNotPresent, app d d:1'
  added '{"command":["/v/last"],"args":["x"],"workingDir":"/","volumeMounts":[{"name":"v","mountPath":"/v"}],
    "resources":{"limits":{"cpu":"1m"},"requests":{"memory":"1Mi"}},"securityContext":{"runAsUser":7},
    "terminationMessagePath":"/t","terminationMessagePolicy":"File"}'
}

@test "the environment is copied only if a variable may be used: a dollar sign in command, args or subPathExpr" {
  while IFS='|' read -r fields is_copied; do
    row=$fields
    pod 'init imagecheck-0 a:1, app b b:1' '.object.spec.initContainers[0] += '"$fields"'
      | .object.spec.initContainers[0] += {env: [{name: "DIR", value: "/$(X)"}], envFrom: [{configMapRef: {name: "c"}}]}'
    evaluate "$fix"
    after '(.spec.initContainers[1] | [has("env", "envFrom")] | unique) == [$copied]' --argjson copied "$is_copied"
  done <<'ROWS'
{}|false
{"command":["/check/sh","-c","echo $DIR"]}|true
{"args":["5$"]}|true
{"volumeMounts":[{"name":"check","mountPath":"/check","subPathExpr":"$(DIR)"}]}|true
{"volumeMounts":[{"name":"check","mountPath":"/check","subPath":"$(DIR)"}]}|false
{"volumeMounts":[{"name":"check","mountPath":"/check"},{"name":"v","mountPath":"/$(DIR)"}]}|false
ROWS
}

# not_added [CONTAINER...]: the request is accepted unchanged. For each of these containers, one warning
# says why the container's image gets no check.
not_added() {
  local name rows=()
  for name; do rows+=("missing-check $name $name:1 copied imageChecks.template"); done
  accepted "${rows[@]}"
}

@test "a check without a program of a mount is never copied: a warning says so, in every mode and in the copy" {
  for command in 'del(.object.spec.initContainers[0].command)' '.object.spec.initContainers[0].command = []' \
    '.object.spec.initContainers[0].command = ["redis-server", "--version"]' \
    'del(.object.spec.initContainers[0].command) | .object.spec.initContainers[0].args = ["/check/true"]'; do
    pod 'init imagecheck-0 nginx, app b b:1, app c c:1 Always' "$command"
    row=$command
    everywhere "$fix" not_added b c
  done
  row=Reject
  evaluate '{"imageChecks":{"coverage":"Reject"}}'
  rejected 'missing-check b b:1 IfNotPresent' 'missing-check c c:1 Always'
}

@test "a check can be copied if its program is an absolute path at or below one of its mount paths" {
  while IFS='|' read -r program paths is_copied; do
    row="$program $paths"
    pod 'init imagecheck-0 a:1, app b b:1' '.object.spec.initContainers[0]
      |= . + {command: [$program], volumeMounts: [$paths[] | {name: "check", mountPath: .}]}' \
      --arg program "$program" --argjson paths "$paths"
    evaluate "$fix"
    if [[ $is_copied == yes ]]; then
      repaired 'init imagecheck-0 a:1, init imagecheck-1 b:1 IfNotPresent, app b b:1'
    else
      not_added b
    fi
  done <<'ROWS'
/tools/true|["/tools"]|yes
/tools/true|["/x","/tools/"]|yes
/tools/true|["/tools/true"]|yes
/tools//./true|["//tools/."]|yes
/tools/true|["/"]|no
/tools/true|["/tool"]|no
tools/true|["/tools"]|no
/tools/../bin/true|["/tools"]|no
/tools/$(NAME)|["/tools"]|no
ROWS
}

@test "the last check that can be copied is copied, and the added check comes after the last check of all" {
  pod 'init imagecheck-0 a:1, init imagecheck-1 nginx, init later x:1, app b b:1' \
    '.object.spec.initContainers[0].command = ["/check/first"] | .object.spec.initContainers[1].command = ["/bin/true"]'
  evaluate "$fix_alone"
  repaired 'init imagecheck-0 a:1, init imagecheck-1 nginx, init imagecheck-2 b:1 IfNotPresent, init later x:1, app b b:1'
  added '{"command":["/check/first"],"volumeMounts":[{"name":"check","mountPath":"/check"}]}'
}

@test "without a check that can be copied, a check is made from the template, in the same position" {
  pod 'init imagecheck-0 nginx, init later x:1, app b b:1' 'del(.object.spec.initContainers[0].command)'
  evaluate "{\"imageChecks\":{\"coverage\":\"Fix\",\"after\":[\"later\"],\"template\":$template}}"
  repaired 'init imagecheck-0 nginx, init imagecheck-1 b:1 IfNotPresent, init later x:1, app b b:1'
  added "$template"
}

@test "a check whose copied fields have a field or a value that Kubernetes doesn't know is not copied" {
  while IFS='|' read -r fields is_copied; do
    row=$fields
    pod 'init imagecheck-0 a:1, app b b:1' '.object.spec.initContainers[0] *= $fields' --argjson fields "$fields"
    evaluate "$fix"
    if [[ $is_copied == yes ]]; then added "$(in_jq -c '.object.spec.initContainers[0] | del(.name, .image, .imagePullPolicy, .env, .future, .unknownField, .resources.claims)' "$request")"; else not_added b; fi
  done <<'ROWS'
{"securityContext":{"future":true}}|no
{"securityContext":{"runAsUser":"0"}}|no
{"volumeMounts":[{"name":"check","mountPath":"/check","future":1}]}|no
{"args":["x",5]}|no
{"terminationMessagePath":5}|no
{"resources":{"limits":{"cpu":true}}}|no
{"resources":{"limits":{"cpu":"1m"},"claims":[{"name":"gpu","future":1}]}}|yes
{"env":[{"name":"X","future":1}]}|yes
{"args":["$(X)"],"env":[{"name":"X","future":1}]}|no
{"future":{"a":1},"volumeMounts":[{"name":"check","mountPath":"/check","recursiveReadOnly":"Disabled"}]}|yes
ROWS
  # An older check, which Kubernetes knows whole, is copied in its place.
  pod 'init imagecheck-0 a:1, init imagecheck-1 a:1, app b b:1' \
    '.object.spec.initContainers[0].args = ["older"] | .object.spec.initContainers[1].securityContext = {future: true}'
  evaluate "$fix_alone"
  added '{"command":["/check/true"],"args":["older"],"volumeMounts":[{"name":"check","mountPath":"/check"}]}'
}

@test "a check with an AppArmor annotation is not copied, because its copy would run without the profile" {
  apparmor='.object.metadata.annotations["container.apparmor.security.beta.kubernetes.io/imagecheck-1"] = "localhost/x"'
  pod 'init imagecheck-0 a:1, init imagecheck-1 x:1, app b b:1' "$apparmor | .object.spec.initContainers[0].command = [\"/check/first\"]"
  evaluate "$fix_alone"
  repaired 'init imagecheck-0 a:1, init imagecheck-1 x:1, init imagecheck-2 b:1 IfNotPresent, app b b:1'
  added '{"command":["/check/first"],"volumeMounts":[{"name":"check","mountPath":"/check"}]}'
  pod 'init imagecheck-1 a:1, app b b:1' "$apparmor"
  evaluate "$fix_alone"
  not_added b
  # An AppArmor profile in a field is copied. An annotation about another container has no effect.
  pod 'init imagecheck-0 a:1, app b b:1' "$apparmor"' | .object.spec.initContainers[0].securityContext = {appArmorProfile: {type: "RuntimeDefault"}}'
  evaluate "$fix_alone"
  added '{"command":["/check/true"],"volumeMounts":[{"name":"check","mountPath":"/check"}],"securityContext":{"appArmorProfile":{"type":"RuntimeDefault"}}}'
}

@test "beside spec.resources with cpu, memory or huge pages, an added check has no requests and no limits" {
  mounts='"volumeMounts":[{"name":"check","mountPath":"/check"}]'
  while IFS='|' read -r resources of_check of_template fields; do
    row="$resources $of_check $of_template"
    pod 'init imagecheck-0 a:1, app b b:1' '.object.spec.resources = $resources | .object.spec.initContainers[0] += $of_check' \
      --argjson resources "$resources" --argjson of_check "$of_check"
    evaluate "$(in_jq -c --argjson of_template "$of_template" '.imageChecks.template = $of_template' <<<"$fix")"
    repaired 'init imagecheck-0 a:1, init imagecheck-1 b:1 IfNotPresent, app b b:1'
    added "$fields"
  done <<ROWS
{"limits":{"cpu":"1"}}|{"resources":{"requests":{"cpu":"1m"},"limits":{"memory":"1Mi"}}}|null|{"command":["/check/true"],$mounts}
{"requests":{"hugepages-2Mi":"2Mi"}}|{"resources":{"limits":{"cpu":"1m"}}}|null|{"command":["/check/true"],$mounts}
{"limits":{"ephemeral-storage":"1Gi"}}|{"resources":{"limits":{"cpu":"1m"}}}|null|{"command":["/check/true"],"resources":{"limits":{"cpu":"1m"}},$mounts}
{"limits":{}}|{"resources":{"limits":{"cpu":"1m"}}}|null|{"command":["/check/true"],"resources":{"limits":{"cpu":"1m"}},$mounts}
{"limits":{"memory":"1Gi"}}|{"command":null}|{"command":["/x"],"resources":{"requests":{"cpu":"1m"}}}|{"command":["/x"]}
ROWS
}

@test "a template that mounts a volume which the Pod doesn't have is not used, and a warning names the volume" {
  needs='{"mode":"Fix","imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/tools/true"],"volumeMounts":[{"name":"tools","mountPath":"/tools"}]}}}'
  pod 'init i x:1, app a app:1' '.object.spec.volumes = [{name: "tools", emptyDir: {}}]'
  evaluate "$needs"
  repaired 'init imagecheck-0 app:1 IfNotPresent, init i x:1, app a app:1'
  device='{"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"],"volumeDevices":[{"name":"tools","devicePath":"/dev/x"}]}}}'
  for settings_row in "$needs" "$device"; do
    pod 'init i x:1, app a app:1' '.object.spec.volumes = [{name: "tool", emptyDir: {}}]'
    everywhere "$settings_row" accepted 'missing-check a app:1 tools imageChecks.template'
  done
  # A check of the Pod is copied all the same, and a check volume leads to another check volume.
  pod 'init imagecheck-0 z:1, app a app:1'
  evaluate "$needs"
  repaired 'init imagecheck-0 z:1, init imagecheck-1 app:1 IfNotPresent, app a app:1'
  pod 'init i x:1, app a app:1, volume imagecheck-0 z:1' '.object.spec.initContainers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/x"}]'
  evaluate "$needs"
  repaired 'init i x:1, app a app:1, volume imagecheck-0 z:1, volume imagecheck-1 app:1 IfNotPresent'
  # The Pods of a StatefulSet get a volume for each claim template.
  for claim in tools other; do
    row=$claim
    workload StatefulSet 'init i x:1, app a app:1' '.object.spec.volumeClaimTemplates = [{metadata: {name: $claim}}]' --arg claim $claim
    evaluate "$needs"
    if [[ $claim == tools ]]; then
      accepted
    else
      accepted 'missing-check a app:1 tools imageChecks.template'
    fi
  done
}

@test "a Pod with one app container, and nothing that is pulled before it, needs no check" {
  volume='{"pullOnce":false,"imageChecks":{"as":"ImageVolume","coverage":"Fix","everyPod":true}}'
  while fields exempt before is_covered; do
    pod "$before"
    for settings_row in "$every_pod" "$volume"; do
      evaluate "$(in_jq -c --argjson exempt "$exempt" '.exempt.containers = $exempt' <<<"$settings_row")"
      [[ $is_covered == yes ]] && untouched
      [[ $is_covered == yes || $(in_jq '[.[] | select(.container | startswith("imagecheck"))] | length' <<<"$changes") -gt 0 ]] || fail "no check"
    done
  done <<'ROWS'
    []         | app a a:1                                | yes
    []         | sidecar s x:1, app a a:1                 | yes
    []         | app a a:1, ephemeral e debug:1           | yes
    ["b"]      | app a a:1, app b b:1                     | yes
    ["i"]      | init i x:1, app a a:1                    | yes
    ["v"]      | app a a:1, volume v data:1               | yes
    []         | app a a:1, app b b:1                     | no
    []         | init i x:1, app a a:1                    | no
    []         | app a a:1, volume v data:1               | no
ROWS
  # Another webhook may have added the init container after the first installation ran. So the copy only warns.
  pod 'init mesh mesh:1, app a a:1'
  for coverage in Fix Reject; do
    evaluate "$(copy_of "$every_pod" | in_jq -c --arg coverage $coverage '.imageChecks.coverage = $coverage')"
    accepted 'missing-check a a:1 IfNotPresent'
  done
  pod 'app a a:1, app mesh mesh:1'
  evaluate "$(copy_of "$every_pod")"
  rejected 'missing-check a a:1 imagecheck-0 IfNotPresent' 'missing-check mesh mesh:1 imagecheck-1 IfNotPresent'
}

# Without the limit of 1 MiB, a Pod of 0.25 MB could lead to an answer of 268 MB.
@test "at most 1 MiB is added: beyond that nothing is added, and each image is a finding without a repair" {
  # arguments N: gives the check an argument of N bytes.
  arguments() { edit '.object.spec.initContainers[0].args = ["x" * $bytes]' --argjson bytes "$1"; }
  pod "init imagecheck-0 a:1, $(series 100 'app c# c:#')"
  arguments 10000
  evaluate "$fix_alone"
  [[ $allowed == true && $(count "$changes") == 100 ]] || fail "not 100 checks"
  pod "init imagecheck-0 a:1, $(series 110 'app c# c:#')"
  arguments 10000
  for mode in Fix Reject; do
    row=$mode
    evaluate "$(in_jq -c --arg mode $mode '.mode = $mode' <<<"$fix_alone")"
    [[ $allowed == false ]] || fail "accepted"
    same 'number of sentences' 21 "$(wc -l <<<"$sentences")"
    [[ $sentences == 'c1 pulls c:1 '*$'\nand 90 more '* ]] || fail "$sentences"
    same 'number of findings' 110 "$(count "$findings")"
  done
  row=
  # The check in another spelling has to be strong enough all the same.
  pod "init imagecheck-0 a:1, init imagecheck-1 docker.io/library/c1:1 IfNotPresent, $(series 110 'app c# c#:1 Always')" \
    '.object.spec.initContainers[1].args = ["x" * 10000]'
  evaluate "$fix_alone"
  same 'first rule and number of findings' 'weak-check 111' "$(in_jq -r .[0].rule <<<"$findings") $(count "$findings")"
  # An argument counts with its size in the request. JSON escapes are part of this size.
  pod "init imagecheck-0 a:1, $(series 100 'app c# c:#')" '.object.spec.initContainers[0].args = ["\"" * 10000]'
  evaluate "$fix_alone"
  [[ $allowed == false ]] || fail "accepted"
}

@test "the name of an added check is the first prefix and the lowest free number" {
  while fields settings_row before names; do
    pod "$before"
    evaluate "$settings_row"
    same names "$names" "$(in_jq -r '[.[] | .to | objects | .name] | join(" ")' <<<"$changes")"
  done <<ROWS
    $fix | init imagecheck-0 a:1, app b b:1                                                    | imagecheck-1
    $fix | init imagecheck-0 a:1, init imagecheck-2 a:1, init imagecheck-5 a:1, app b b:1, app c c:1, app d d:1 | imagecheck-1 imagecheck-3 imagecheck-4
    $fix | init imagecheck-01 a:1, app b b:1, app c c:1                                        | imagecheck-0 imagecheck-1
    $fix | init imagecheck-0 a:1, app imagecheck-1 b:1                                         | imagecheck-2
    $fix | init imagecheck-0 a:1, app b b:1, ephemeral imagecheck-1 x:1                        | imagecheck-2
    $fix | init imagecheck-0 a:1, app b b:1, volume imagecheck-1 x:1                           | imagecheck-1
    {"imageChecks":{"coverage":"Fix","namePrefixes":["probe-","imagecheck-"]}} | init imagecheck-0 a:1, app b b:1 | probe-0
ROWS
}

@test "everyPod: Pods without any check get them from the template" {
  pod 'app a a:1, app b b'
  evaluate "$every_pod"
  repaired 'init imagecheck-0 a:1 IfNotPresent, init imagecheck-1 b Always, app a a:1, app b b'
  after '.spec.initContainers == [
    {name: "imagecheck-0", image: "a:1", imagePullPolicy: "IfNotPresent", command: ["/tool/true"], args: ["x"]},
    {name: "imagecheck-1", image: "b", imagePullPolicy: "Always", command: ["/tool/true"], args: ["x"]}]'
  # In a Pod with a check, the check is copied, and the template is not used.
  pod 'init imagecheck-0 a:1, app a a:1, app b b:1'
  evaluate "$every_pod"
  after '.spec.initContainers[1].command == ["/check/true"]'
  # All images are covered.
  pod 'init i a:1, app a a:1'
  evaluate "$every_pod"
  untouched
}

@test "everyPod: an empty, null or missing list of init containers" {
  for filter in . '.object.spec.initContainers = []' '.object.spec.initContainers = null' '.object.spec = {containers: .object.spec.containers, initContainers: [ ]}'; do
    row=$filter
    pod 'app a a:1, app b a:1' "$filter"
    evaluate "$every_pod"
    repaired 'init imagecheck-0 a:1 IfNotPresent, app a a:1, app b a:1'
  done
}

@test "imageChecks.after: checks from the template come after the last init container that matches" {
  outcomes "$every_pod" '.imageChecks.after = $value' <<'ROWS'
    ["copy-agent"] | init copy-agent x:1, init user y:1, app a a:1              | init copy-agent x:1, init imagecheck-0 a:1 IfNotPresent, init user y:1, app a a:1
    ["copy-*"]     | init copy-1 x:1, init user y:1, init copy-2 z:1, init last y:1, app a a:1, app b b:1 | init copy-1 x:1, init user y:1, init copy-2 z:1, init imagecheck-0 a:1 IfNotPresent, init imagecheck-1 b:1 IfNotPresent, init last y:1, app a a:1, app b b:1
    []             | init copy-agent x:1, app a a:1                             | init imagecheck-0 a:1 IfNotPresent, init copy-agent x:1, app a a:1
    ["user"]       | init imagecheck-0 z:1, init user x:1, app a a:1            | init imagecheck-0 z:1, init imagecheck-1 a:1 IfNotPresent, init user x:1, app a a:1
ROWS
}

@test "pull-once applies to a new check too" {
  pod 'init imagecheck-0 app:1, app a app:1, app b b:1 Always, app c b:1 Always, app d d:1 Always'
  evaluate "$fix"
  repaired 'init imagecheck-0 app:1, init imagecheck-1 b:1 Always, init imagecheck-2 d:1 Always, app a app:1, app b b:1 IfNotPresent, app c b:1 IfNotPresent, app d d:1 IfNotPresent'
  evaluate '{"imageChecks":{"coverage":"Fix"},"images":{"requireAlways":["b"]}}'
  repaired 'init imagecheck-0 app:1, init imagecheck-1 b:1 Always, init imagecheck-2 d:1 Always, app a app:1, app b b:1 Always, app c b:1 Always, app d d:1 IfNotPresent'
}

@test "an added check follows the other rules, so that a second run changes nothing" {
  outcomes "$fix_alone" '. + $value' <<'ROWS'
    {"images":{"requireAlways":["b"]}}                 | init imagecheck-0 a:1, app b b:1 Never | init imagecheck-0 a:1, init imagecheck-1 b:1 Always, app b b:1 Always
    {"images":{"forbidNever":["b"]}}                   | init imagecheck-0 a:1, app b b:1 Never | init imagecheck-0 a:1, init imagecheck-1 b:1 IfNotPresent, app b b:1 IfNotPresent
    {"images":{"forbidAlways":["b"]}}                  | init imagecheck-0 a:1, app b b         | init imagecheck-0 a:1, init imagecheck-1 b IfNotPresent, app b b IfNotPresent
    {"defaults":{"imagePullPolicy":"Always"}}          | init imagecheck-0 a:1 Never, app b b:1 | init imagecheck-0 a:1 Never, init imagecheck-1 b:1 Always, app b b:1 Always
    {"defaults":{"imagePullPolicy":"IfNotPresent"}}    | init imagecheck-0 a:1 Always, app b b Always | init imagecheck-0 a:1 Always, init imagecheck-1 b IfNotPresent, app b b IfNotPresent
ROWS
}
