# stuck-pull: an audit sends existing Pods with their status. If a container waits for its image, the
# audit has a finding.

load lib

after_check='stuck-pull container-0 127.0.0.1:5000/my-app:v1 ImagePullBackOff imagecheck-0 passed Always'
weak='weak-check imagecheck-0 127.0.0.1:5000/my-app:v1 IfNotPresent Always container-0'

# A jq filter for the status of a waiting container. The filter needs $name and $reason.
waiting='{name: $name, image: "x", imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: $reason, message: "Back-off from https://user:s3cr3t@10.0.0.1/"}}}'

# waits LIST NAME REASON: makes the request an audit, which names no user. In the Pod's status, the
# container NAME waits with the reason REASON. LIST is containerStatuses or initContainerStatuses.
waits() {
  edit '.userInfo = {} | .object.status = {conditions: [
        {type: "Initialized", status: "False", lastTransitionTime: "2026-01-02T03:04:05Z"},
        {type: "ContainersReady", status: "False", lastTransitionTime: "2026-05-06T07:08:09Z"}]}
    | .object.status[$list] = ['"$waiting"']' --arg list "$1" --arg name "$2" --arg reason "$3"
}

@test "captured: a Pod that waits although its check has passed, in every mode" {
  review audit-pod-stuck-after-check
  evaluate '{"mode":"Reject"}'
  rejected "$after_check IfNotPresent since 2026-11-21T09:06:17Z" "$weak"
  evaluate '{"mode":"Warn"}'
  accepted "$after_check" "$weak"
  # In mode Fix, this policy doesn't read the status.
  evaluate
  [[ $allowed == true && $findings != *stuck-pull* ]] || fail "Fix looks at the status"
}

@test "captured: a running Pod gives no finding" {
  review audit-pod-running
  for mode in Reject Warn Fix; do
    row=$mode
    evaluate "{\"mode\":\"$mode\"}"
    [[ $findings != *stuck-pull* && $allowed == true && -z $patch ]] || fail "found"
  done
}

@test "each reason about an image gives a finding, and other reasons give none" {
  while fields reason words; do
    pod 'app a app:1 IfNotPresent'
    waits containerStatuses a "$reason"
    evaluate '{"mode":"Reject"}'
    if [[ -z $words ]]; then untouched; else rejected "stuck-pull a app:1 $reason IfNotPresent since 2026-05-06T07:08:09Z $words"; fi
  done <<'ROWS'
    ErrImagePull                | image registry
    ImagePullBackOff            | image registry
    ErrImageNeverPull           | node set IfNotPresent
    InvalidImageName            | image
    ImageInspectError           | node
    RegistryUnavailable         | registry
    SignatureValidationFailed   | sign
    ContainerCreating           |
    PodInitializing             |
    CrashLoopBackOff            |
    CreateContainerConfigError  |
ROWS
}

@test "a finished Pod waits for nothing, whatever the states of its containers say" {
  for phase in Succeeded Failed; do
    row=$phase
    pod 'init i x:1, app a app:1 IfNotPresent'
    waits containerStatuses a ImagePullBackOff
    edit '.object.status.phase = $phase' --arg phase $phase
    evaluate '{"mode":"Reject"}'
    untouched
  done
  row=Pending
  edit '.object.status.phase = "Pending"'
  evaluate '{"mode":"Reject"}'
  [[ $allowed == false ]] || fail "accepted"
}

@test "each image that may be missing is told once" {
  pod 'app a app:1 IfNotPresent, volume v app:1 IfNotPresent, volume w other:1, volume z other:1' \
    '.object.spec.containers[0].volumeMounts = [.object.spec.volumes[] | {name, mountPath: "/\(.name)"}]'
  waits containerStatuses a ImagePullBackOff
  evaluate '{"mode":"Reject","imageChecks":{"coverage":"Off"}}'
  rejected 'stuck-pull a app:1 or other:1 IfNotPresent ImagePullBackOff'
}

@test "init containers: the time is that of the condition Initialized, and no check has passed" {
  pod 'init imagecheck-0 app:1 Always, init setup app:1 IfNotPresent, app a app:1 IfNotPresent'
  waits initContainerStatuses imagecheck-0 ErrImagePull
  evaluate '{"mode":"Reject"}'
  rejected 'stuck-pull imagecheck-0 app:1 Always ErrImagePull since 2026-01-02T03:04:05Z'
  waits initContainerStatuses setup ErrImagePull
  edit '.object.status.initContainerStatuses += [{name: "imagecheck-0", state: {terminated: {exitCode: 0}}}]'
  evaluate '{"mode":"Reject"}'
  rejected 'stuck-pull setup app:1 IfNotPresent ErrImagePull since 2026-01-02T03:04:05Z'
}

@test "a check volume has passed after its first carrier has started, an init container after it has ended without an error" {
  while IFS='|' read -r state passed; do
    for places_row in 'init setup x:1 IfNotPresent, app a app:1 IfNotPresent, volume imagecheck-0 app:1 Always' \
      'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'; do
      row="$state $places_row"
      pod "$places_row" '.object.spec.initContainers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/.imagecheck/imagecheck-0"}]'
      waits containerStatuses a ImagePullBackOff
      edit '.object.status.initContainerStatuses = [{name: .object.spec.initContainers[0].name, state: $state}]' --argjson state "$state"
      evaluate '{"mode":"Reject","imageChecks":{"coverage":"Off"}}'
      rejected 'stuck-pull a app:1 ImagePullBackOff'
      if [[ $passed == "${places_row%% *}"* || ( $passed == volume && $places_row == *volume* ) ]]; then
        rejected 'stuck-pull a app:1 imagecheck-0 passed Always'
      else
        [[ $message != *passed* ]] || fail "$message"
      fi
    done
  done <<'ROWS'
{"running":{"startedAt":"2026-01-02T03:04:05Z"}}|volume
{"terminated":{"exitCode":1}}|volume
{"terminated":{"exitCode":0}}|init
{"waiting":{"reason":"PodInitializing"}}|
ROWS
}

# Anyone can write a status into the manifest of a new Pod. So this policy ignores the status in a
# request that names a user. The request of an audit names no user.
@test "a status counts only in a request that names no user" {
  while IFS='|' read -r is_found filter; do
    row="$is_found $filter"
    pod 'app a app:1 IfNotPresent'
    waits containerStatuses a ImagePullBackOff
    edit "$filter"
    for mode in Reject Warn Fix; do
      evaluate "{\"mode\":\"$mode\"}"
      if [[ $is_found == found && $mode != Fix ]]; then
        [[ $findings == *stuck-pull* ]] || fail "not found"
      else
        untouched
      fi
    done
  done <<'ROWS'
found|.
found|.userInfo = {groups: ["system:authenticated"]}
unread|.userInfo = {username: "admin"}
unread|.userInfo = {username: "system:serviceaccount:kubewarden:audit-scanner", groups: []}
ROWS
}

# If the kubelet's message has, in double quotes, one of the images that the container may wait for, the
# finding names only this image. Otherwise the finding names all of these images.
@test "a container that waits for an image volume: the finding has the image that the message names" {
  while IFS='|' read -r message_of_kubelet told; do
    row=$message_of_kubelet
    pod 'init copy-agent agent:1 IfNotPresent, app a app:1 IfNotPresent, volume imagecheck-0 tools:v1 Always, volume imagecheck-1 ghcr.io/x/more:2 IfNotPresent, volume other unmounted:1' '
      .object.spec.initContainers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/0"}, {name: "imagecheck-1", mountPath: "/1"}]'
    waits initContainerStatuses copy-agent ImagePullBackOff
    edit '.object.status.initContainerStatuses[0].state.waiting.message = $text' --arg text "$message_of_kubelet"
    evaluate '{"mode":"Reject","imageChecks":{"coverage":"Off"}}'
    rejected "stuck-pull $told copy-agent ImagePullBackOff"
  done <<'ROWS'
Back-off pulling image "tools:v1": ErrImagePull: rpc error: code = NotFound|imagecheck-0 tools:v1 Always
failed to pull and unpack image "ghcr.io/x/more:2": not found|imagecheck-1 ghcr.io/x/more:2 IfNotPresent
Back-off pulling image "agent:1"|copy-agent agent:1 IfNotPresent
Back-off pulling image "unmounted:1"|copy-agent agent:1 or tools:v1 or ghcr.io/x/more:2 IfNotPresent
Back-off pulling image tools:v1|copy-agent agent:1 or tools:v1 or ghcr.io/x/more:2 IfNotPresent
Back-off pulling image "tools:v10"|copy-agent agent:1 or tools:v1 or ghcr.io/x/more:2 IfNotPresent
ROWS
}

@test "the message of the kubelet is never repeated" {
  pod 'init copy-agent agent:1 IfNotPresent, app a app:1 IfNotPresent, volume imagecheck-0 tools:v1 Always' '
    .object.spec.initContainers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/0"}]'
  waits initContainerStatuses copy-agent ImagePullBackOff
  edit '.object.status.initContainerStatuses[0].state.waiting.message = "pulling image \"tools:v1\" from \"https://user:s3cr3t@10.0.0.1/\": i/o timeout"'
  # `evaluate` fails if the answer has the secret or a phrase of a network error.
  evaluate '{"mode":"Reject","imageChecks":{"coverage":"Off"}}'
  rejected 'stuck-pull imagecheck-0 tools:v1 copy-agent Always'
  [[ $message != *10.0.0.1* ]] || fail "$message"
}

@test "an exempt container that mounts image volumes is looked at because of these volumes" {
  pod 'app a app:1 IfNotPresent, volume tools tools:v1 Always' '.object.spec.containers[0].volumeMounts = [{name: "tools", mountPath: "/t"}]'
  waits containerStatuses a ImagePullBackOff
  edit '.object.status.containerStatuses[0].state.waiting.message = "Back-off pulling image \"tools:v1\""'
  evaluate '{"mode":"Reject","exempt":{"containers":["a"]},"imageChecks":{"coverage":"Off"}}'
  rejected 'stuck-pull tools tools:v1 a Always'
  # The container waits for its own image, which is exempt. The volume has the same image.
  edit '.object.spec.containers[0].image = "tools:v1"'
  evaluate '{"mode":"Reject","exempt":{"containers":["a"]},"imageChecks":{"coverage":"Off"}}'
  untouched
}

@test "a time that can't be parsed is left out" {
  for time in '""' '"yesterday"' '"2026-05-06T07:08:09Z connection refused"' null 5; do
    row=$time
    pod 'app a app:1 IfNotPresent'
    waits containerStatuses a ErrImagePull
    edit '.object.status.conditions[1].lastTransitionTime = $time' --argjson time "$time"
    evaluate '{"mode":"Reject"}'
    rejected "stuck-pull a app:1 IfNotPresent ErrImagePull"
    [[ $message != *since* ]] || fail "$message"
  done
}
