# templates: what happens to a pod template with a finding, in every mode and for each kind.

load lib

before='init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
weak='weak-check imagecheck-0 app:1 IfNotPresent Always a'

@test "Off, Warn and Enforce in each mode" {
  for kind in Deployment StatefulSet DaemonSet ReplicaSet ReplicationController Job CronJob PodTemplate; do
    workload $kind "$before"
    while fields templates mode answer; do
      row="$kind $row"
      evaluate "{\"mode\":\"$mode\",\"templates\":\"$templates\"}"
      case $answer in
        untouched) untouched ;;
        warned) accepted "$weak" ;;
        rejected) rejected "$weak" ;;
        repaired) repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent' ;;
        *) fail "no such answer" ;;
      esac
    done <<'ROWS'
    Off     | Fix    | untouched
    Off     | Reject | untouched
    Off     | Warn   | untouched
    Warn    | Fix    | warned
    Warn    | Reject | warned
    Warn    | Warn   | warned
    Enforce | Fix    | repaired
    Enforce | Reject | rejected
    Enforce | Warn   | warned
ROWS
  done
}

@test "a missing check gives a warning and is never added, because nothing would remove it again" {
  missing='missing-check b b:1 IfNotPresent'
  workload Deployment 'init imagecheck-0 app:1, app b b:1'
  while fields coverage mode answer; do
    evaluate "{\"mode\":\"$mode\",\"templates\":\"Enforce\",\"imageChecks\":{\"coverage\":\"$coverage\"}}"
    if [[ $answer == warned ]]; then accepted "$missing"; else rejected "$missing"; fi
  done <<'ROWS'
    Warn   | Fix    | warned
    Fix    | Fix    | warned
    Fix    | Reject | warned
    Fix    | Warn   | warned
    Reject | Fix    | rejected
    Reject | Reject | rejected
    Reject | Warn   | warned
ROWS
  row=
  # No check is added, neither as a volume nor from the check template, when another finding is repaired.
  workload CronJob 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always, app b b:1'
  for as in InitContainer ImageVolume; do
    row=$as
    evaluate "{\"templates\":\"Enforce\",\"imageChecks\":{\"coverage\":\"Fix\",\"everyPod\":true,\"as\":\"$as\",\"template\":{\"command\":[\"/x\"]}}}"
    repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent, app b b:1'
    # The settings ask for checks in every Pod, so the pod template gets no warning about missing checks.
    warned "$weak"
    same 'rules of the findings' 'missing-check weak-check' "$(in_jq -r '[.[].rule] | sort | join(" ")' <<<"$findings")"
  done
}

@test "in mode Fix a pod template gets no warning for repairs that the settings ask for in every Pod; the annotation has them" {
  while fields settings_row warnings_of_fix rules_found places_before; do
    for kind in Deployment Job CronJob; do
      workload $kind "$places_before"
      for templates in Warn Enforce; do
        row="$templates $kind $settings_row"
        evaluate "$(in_jq -c --arg templates $templates '.templates = $templates' <<<"$settings_row")"
        [[ $allowed == true ]] || fail "rejected"
        same 'number of warnings' "$warnings_of_fix" "$(grep -c . <<<"$warnings")"
        same 'rules of the findings' "$rules_found" "$(in_jq -r '[.[].rule] | unique | join(" ")' <<<"$findings")"
      done
      for mode in Reject Warn; do
        row="$mode $kind $settings_row"
        evaluate "$(in_jq -c --arg mode $mode '.mode = $mode' <<<"$settings_row")"
        accepted_with_warnings=$(grep -c . <<<"$warnings")
        [[ $allowed == true && $accepted_with_warnings -ge 1 ]] || fail "no warning"
      done
    done
  done <<'ROWS'
    {"defaults":{"imagePullPolicy":"Always"}}                                 | 0 | default       | app a app:1, app b b:1
    {"imageChecks":{"coverage":"Fix","everyPod":true,"as":"ImageVolume"}}     | 0 | missing-check | app a app:1, app b app:1
    {"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"]}}} | 0 | missing-check | app a app:1, app b app:1
    {"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"],"volumeMounts":[{"name":"t","mountPath":"/t"}]}}} | 1 | missing-check | app a app:1, app b app:1
    {"imageChecks":{"coverage":"Fix"}}                                        | 1 | missing-check | init imagecheck-0 app:1, app b b:1
    {"imageChecks":{"coverage":"Warn","everyPod":true}}                       | 1 | missing-check | app a app:1, app b app:1
    {"images":{"forbidNever":["*"]}}                                          | 1 | disallowed-policy | app a app:1 Never
ROWS
}

@test "captured: an image that kubectl apply changes gets no further check" {
  review reapply-deployment-image-changed
  evaluate '{"templates":"Enforce","imageChecks":{"coverage":"Fix"}}'
  # The Pods of this pod template get no check.
  accepted 'missing-check web web:v2 copied imageChecks.template'
  evaluate
  accepted 'missing-check web web:v2 IfNotPresent'
}

@test "a finding without a repair: a warning under Warn, a rejection under Enforce" {
  workload StatefulSet 'app a NGINX, app b app:1 Always'
  settings_row='{"images":{"requireAlways":["app"],"forbidAlways":["app"]}}'
  evaluate "$settings_row"
  told=('invalid-image a NGINX' 'disallowed-policy b app:1 images.requireAlways images.forbidAlways')
  accepted "${told[@]}"
  evaluate "$(in_jq -c '.templates = "Enforce"' <<<"$settings_row")"
  rejected "${told[@]}"
  evaluate "$(in_jq -c '.templates = "Off"' <<<"$settings_row")"
  untouched
}

@test "an UPDATE of the template is repaired under Enforce, and not recorded" {
  for kind in Deployment StatefulSet DaemonSet ReplicaSet ReplicationController CronJob PodTemplate; do
    row=$kind
    workload $kind "$before" '.operation = "UPDATE" | .oldObject = .object
      | .kind.kind as $kind | .oldObject |= setpath($kind | spec_path + ["containers", 0, "image"]; "app:0")'
    evaluate '{"templates":"Enforce"}'
    repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
    after '.metadata | has("annotations") | not'
    evaluate
    accepted "$weak"
    evaluate '{"mode":"Reject"}'
    accepted "$weak"
    evaluate '{"mode":"Reject","templates":"Enforce"}'
    rejected "$weak"
  done
}
