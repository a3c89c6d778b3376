# stuck-pull: audits send Pods that exist, with their status. A Pod that waits for an image gives a
# finding.

load lib

after_check='container-0 waits for 127.0.0.1:5000/my-app:v1 (ImagePullBackOff since 2026-11-21T09:06:17Z) although imagecheck-0 passed with IfNotPresent: the registry no longer has it or can'"'"'t be reached; set imagecheck-0 to Always'
weak='imagecheck-0 pulls 127.0.0.1:5000/my-app:v1 with IfNotPresent but container-0 pulls it with Always: set imagecheck-0 to Always'
stuck_finding='{"rule":"stuck-pull","path":"status.containerStatuses[1].state.waiting.reason","container":"container-0","image":"127.0.0.1:5000/my-app:v1","found":"ImagePullBackOff","expected":null}'

# The status of a container NAME in LIST that waits with this REASON.
waiting='{name: $name, image: "x", imageID: "", ready: false, restartCount: 0, state: {waiting: {reason: $reason, message: "Back-off from https://user:s3cr3t@10.0.0.1/"}}}'

# waits LIST NAME REASON: gives the Pod of the request such a status.
waits() {
  edit '.object.status = {conditions: [
        {type: "Initialized", status: "False", lastTransitionTime: "2026-01-02T03:04:05Z"},
        {type: "ContainersReady", status: "False", lastTransitionTime: "2026-05-06T07:08:09Z"}]}
    | .object.status[$list] = ['"$waiting"']' --arg list "$1" --arg name "$2" --arg reason "$3"
}

@test "captured: a Pod that waits although its check has passed, in every mode" {
  review audit-pod-stuck-after-check
  evaluate '{"mode":"Reject"}'
  rejected "$after_check; $weak"
  jq -e --argjson stuck "$stuck_finding" '.[-1] == $stuck' <<<"$findings" >/dev/null || fail "$findings"
  evaluate '{"mode":"Warn"}'
  [[ $allowed == true && -z $patch ]] || fail "not only warned"
  [[ $warnings == 'container-0 waits for 127.0.0.1:5000/my-app:v1 (ImagePullBackOff), yet imagecheck-0 passed: set imagecheck-0 to Always'$'\n'"imagecheck-0 pulls "* ]] || fail "$warnings"
  # Fix doesn't read the status.
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

@test "each reason about an image gives a finding, and no other reason" {
  while fields reason way_out; do
    pod 'app a app:1 IfNotPresent'
    waits containerStatuses a "$reason"
    evaluate '{"mode":"Reject"}'
    if [[ -z $way_out ]]; then
      untouched
    else
      rejected "a waits for app:1 with IfNotPresent ($reason since 2026-05-06T07:08:09Z): $way_out"
      found "[{\"rule\":\"stuck-pull\",\"path\":\"status.containerStatuses[0].state.waiting.reason\",\"container\":\"a\",\"image\":\"app:1\",\"found\":\"$reason\",\"expected\":null}]"
    fi
  done <<'ROWS'
    ErrImagePull                | correct its image, or see to its registry
    ImagePullBackOff            | correct its image, or see to its registry
    ErrImageNeverPull           | its node doesn't have the image, set it to IfNotPresent
    InvalidImageName            | correct its image
    ImageInspectError           | see to its node
    RegistryUnavailable         | see to its registry
    SignatureValidationFailed   | sign its image
    ContainerCreating           |
    PodInitializing             |
    CrashLoopBackOff            |
    CreateContainerConfigError  |
ROWS
}

@test "init containers: the time is that of the condition Initialized, and no check has passed" {
  pod 'init imagecheck-0 app:1 Always, init setup app:1 IfNotPresent, app a app:1 IfNotPresent'
  waits initContainerStatuses imagecheck-0 ErrImagePull
  evaluate '{"mode":"Reject"}'
  rejected 'imagecheck-0 waits for app:1 with Always (ErrImagePull since 2026-01-02T03:04:05Z): correct its image, or see to its registry'
}

@test "a check volume has passed after its first carrier has started" {
  while IFS='|' read -r state passed; do
    row=$state
    pod 'init setup x:1 IfNotPresent, app a app:1 IfNotPresent, volume imagecheck-0 app:1 Always' \
      '.object.spec.initContainers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/.imagecheck/imagecheck-0"}]'
    waits containerStatuses a ImagePullBackOff
    edit '.object.status.initContainerStatuses = [{name: "setup", state: $state}]' --argjson state "$state"
    evaluate '{"mode":"Reject","imageChecks":{"coverage":"Off"}}'
    [[ $message == 'a waits for app:1 '* && $findings == *stuck-pull* ]] || fail "not found"
    if [[ $passed == yes ]]; then
      [[ $message == *'although imagecheck-0 passed with Always'* ]] || fail "$message"
    else
      [[ $message != *passed* ]] || fail "$message"
    fi
  done <<'ROWS'
{"running":{"startedAt":"2026-01-02T03:04:05Z"}}|yes
{"terminated":{"exitCode":1}}|yes
{"waiting":{"reason":"PodInitializing"}}|no
ROWS
}

@test "exempt containers, templates, UPDATEs and malformed statuses give no finding" {
  pod 'app a app:1 IfNotPresent'
  waits containerStatuses a ImagePullBackOff
  evaluate '{"mode":"Reject","exempt":{"containers":["a"]}}'
  untouched
  evaluate '{"mode":"Reject","exempt":{"images":["app"]}}'
  untouched
  edit '.operation = "UPDATE" | .oldObject = .object'
  evaluate '{"mode":"Reject"}'
  untouched
  for status in null '[]' '"x"' '{}' '{"containerStatuses":{}}' '{"containerStatuses":[null,5,{"name":"a"},{"name":"a","state":null},{"name":"b","state":{"waiting":{"reason":"ErrImagePull"}}}]}'; do
    row=$status
    pod 'app a app:1 IfNotPresent' '.object.status = $status' --argjson status "$status"
    evaluate '{"mode":"Reject"}'
    untouched
  done
}
