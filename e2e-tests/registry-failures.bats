# registry: failed lookups. In the tables, REAL is a running registry, GONE is a stopped one, and FAULTY
# fails on demand (e2e-tests/faulty-registry).

load lib
load registry/lib

setup_file() {
  export REGISTRY FAULTY GONE APP
  REGISTRY=$(start_registry registry)
  FAULTY=$(start_faulty_registry)
  GONE=$(start_registry gone)
  stop gone
  APP=$REGISTRY/app:1
  publish "$APP" app
}

teardown_file() {
  stop_servers
}

# places_of IMAGE [PULL-POLICY]: prints a check and a container of this image. The default pull policy is
# Always, because UseCached changes no other pull policy.
places_of() {
  echo "init imagecheck-0 $1 ${2:-Always}, app main $1 ${2:-Always}"
}
alone='"pullOnce":false'

# named IMAGE: prints the image with the address of its registry in place of REAL, FAULTY or GONE.
named() {
  local name=${1/#REAL/$REGISTRY}
  name=${name/#FAULTY/$FAULTY}
  echo "${name/#GONE/$GONE}"
}

# Each row sets another action for all other classes, so that the action reveals a wrong class.
@test "each class of failure leads to the action that is set for it" {
  while fields lookup class setting image; do
    [[ -n $class ]] || break
    image=$(named "$image")
    pod "$(places_of "$image")"
    for action in Reject KeepTag UseCached; do
      row="$lookup $class $action"
      not_taken=Reject others=
      [[ $action != Reject ]] || not_taken=KeepTag
      for other in onNotFound onDenied onRateLimited onUnreachable onUnknown; do
        [[ $other == "$setting" ]] || others+=",\"$other\":\"$not_taken\""
      done
      consult "$(with "\"$setting\":\"$action\"$others" "$alone")"
      asked_for "$image"
      failed "$image" "$class" true $action
      case $action in
        Reject)
          rejected "registry main $image ${told[$class]}"
          warned
          ;;
        KeepTag)
          kept
          told_of "$image" "$class" KeepTag
          ;;
        UseCached)
          repaired "$(places_of "$image" IfNotPresent)"
          told_of "$image" "$class" UseCached
          ;;
      esac
    done
  done <<'ROWS'
    Pin    | notFound    | onNotFound    | REAL/app:none
    Pin    | denied      | onDenied      | FAULTY/403/app:1
    Pin    | rateLimited | onRateLimited | FAULTY/429/app:1
    Pin    | unreachable | onUnreachable | GONE/app:1
    Pin    | unknown     | onUnknown     | FAULTY/400/app:1
    Verify | notFound    | onNotFound    | REAL/nowhere:1
    Verify | unreachable | onUnreachable | FAULTY/503/app:1
ROWS
}

@test "each kind of failure has its class, and by default only a missing image is rejected" {
  while fields class image; do
    [[ -n $class ]] || break
    image=$(named "$image")
    pod "app main $image Always"
    consult "$pin"
    asked_for "$image"
    if [[ $class == notFound ]]; then
      rejected "registry main $image ${told[$class]}"
      failed "$image" "$class" true Reject
    else
      kept
      told_of "$image" "$class" KeepTag
    fi
  done <<'ROWS'
    notFound    | REAL/app:none
    notFound    | REAL/nowhere/app:1
    notFound    | FAULTY/no-such-repository:1
    notFound    | FAULTY/page-404/app:1
    denied      | FAULTY/403/app:1
    rateLimited | FAULTY/429/app:1
    rateLimited | FAULTY/429-text/app:1
    unreachable | GONE/app:1
    unreachable | FAULTY/500/app:1
    unreachable | FAULTY/503/app:1
    unreachable | FAULTY/reset/app:1
    unreachable | FAULTY/no-http/app:1
    unreachable | FAULTY/nowhere/app:1
    unknown     | FAULTY/400/app:1
    unknown     | FAULTY/loop/app:1
    unknown     | FAULTY/bad-digest/app:1
ROWS
}

@test "the text of a registry can't change the class of its failure, and is in no answer" {
  image=$FAULTY/lies/app:1
  pod "$(places_of "$image")"
  for action in Reject KeepTag UseCached; do
    consult "$(with "\"onNotFound\":\"$action\"")"
    failed "$image" notFound true $action
    # `consult` also looks for words of the registry's text in the answer.
    [[ $message$warnings != *gone* ]] || fail "$message$warnings"
    case $action in
      Reject) rejected "registry main $image ${told[notFound]}" ;;
      *) told_of "$image" notFound "$action" ;;
    esac
  done
}

@test "a redirect is followed, and the digest of a manifest without a header is computed" {
  for fault in works redirect no-digest; do
    row=$fault
    image=$FAULTY/$fault/app:1
    digest=sha256:$(skopeo inspect --tls-verify=false --raw "docker://$image" | sha256sum | cut -d ' ' -f 1)
    pod "$(places_of "$image")"
    consult "$pin"
    repaired "$(places_of "$image@$digest" IfNotPresent)"
    asked_for "$image"
  done
}

# If an answer has status 200 but no digest header, the hosts compute the digest of its body, whatever the
# body is, and return only this digest. A node can't pull the digest, so the check fails early and visibly.
@test "the hosts accept any page with status 200 as a manifest" {
  image=$FAULTY/page/app:1
  pod "$(places_of "$image")"
  consult "$pin"
  digest=sha256:$(skopeo inspect --tls-verify=false --raw "docker://$image" | sha256sum | cut -d ' ' -f 1)
  repaired "$(places_of "$image@$digest" IfNotPresent)"
}

@test "the host stops waiting for a slow registry at its time limit" {
  "$KWCTL" run --help | grep -q -- --oci-timeout-seconds || skip "$KWCTL has no time limit for registries"
  image=$FAULTY/slow/app:1
  host_flags=(--oci-timeout-seconds 1)
  pod "$(places_of "$image")"
  consult "$(with '' "$alone")"
  kept
  told_of "$image" unreachable KeepTag
  consult "$(with '"onUnreachable":"Reject"')"
  rejected "registry main $image ${told[unreachable]}"
}

@test "five images of an unreachable registry cost one lookup" {
  for registry in "$GONE" "$FAULTY/500" "$FAULTY/reset"; do
    row=$registry
    pod "$(series 5 "app c# $registry/app:#")"
    before=$(requests)
    consult "$pin"
    asked_for "$registry/app:1"
    [[ $registry == "$GONE" || $(($(requests) - before)) == 1 ]] || fail "$(($(requests) - before)) lookups reached it"
    kept
    told_of "$registry/app:1" unreachable KeepTag \
      "$registry/app:2" down KeepTag "$registry/app:3" down KeepTag \
      "$registry/app:4" down KeepTag "$registry/app:5" down KeepTag

    consult "$(with '"onUnreachable":"Reject"')"
    asked_for "$registry/app:1"
    rejected "registry c1 $registry/app:1 ${told[unreachable]}" "registry c2 $registry/app:2 ${told[down]}" "registry c3 $registry/app:3 ${told[down]}" "registry c4 $registry/app:4 ${told[down]}" "registry c5 $registry/app:5 ${told[down]}"
  done
}

# code EXPECTED: the last answer is a rejection with this code.
code() {
  in_jq -e --argjson code "$1" '.allowed == false and .status.code == $code' "$BATS_TEST_TMPDIR/answer.json" >/dev/null || fail "another code than $1"
}

@test "the code of a rejection: 422 if another try doesn't help, 400 if it may, and 422 for both" {
  reject='"onDenied":"Reject","onRateLimited":"Reject","onUnreachable":"Reject","onUnknown":"Reject"'
  lookup=Verify
  while fields expected first second; do
    [[ -n $first ]] || break
    first=$(named "$first") second=$(named "$second")
    pod "app a $first Always${second:+, app b $second Always}"
    consult "$(with "$reject" "$alone")"
    code "$expected"
    # At UPDATE, `kubectl apply --force` would delete the Pod after a 422.
    edit '.operation = "UPDATE" | .oldObject = .object | .oldObject.spec.containers[].image = "x"'
    consult "$(with "$reject" "$alone")"
    code 400
  done <<'ROWS'
    422 | REAL/app:none    |
    400 | FAULTY/403/app:1 |
    400 | FAULTY/429/app:1 |
    400 | GONE/app:1       |
    400 | FAULTY/503/app:1 |
    400 | FAULTY/400/app:1 |
    400 | GONE/app:1       | GONE/b:1
    400 | GONE/app:1       | FAULTY/429/app:1
    422 | GONE/app:1       | REAL/app:none
    422 | FAULTY/429/app:1 | REAL/app:none
ROWS
  # Another try would reach the limit of lookups again.
  pod "app a $APP Always, app b $APP-too Always"
  consult "$(with "$reject,\"maxLookups\":1" "$alone")"
  code 422
  # The weak check is repaired, so it is no reason for the rejection.
  pod "init imagecheck-0 $GONE/app:1 IfNotPresent, app a $GONE/app:1 Always"
  consult "$(with "$reject" "$alone")"
  code 400
  # An audit in mode Reject repairs nothing, so the weak check is a second reason for the rejection.
  edit '.userInfo = {}'
  consult "$(with "$reject" "$alone,\"mode\":\"Reject\"")"
  code 422
  pod "app a $GONE/app:1 Always"
  host_flags=(--allowed-host-capabilities 'net/*')
  consult "$(with "$reject" "$alone")"
  rejected "registry a $GONE/app:1 ${told[notGranted]}"
  code 400
}

@test "maxLookups: further images are not looked up, and the answer says so" {
  pod "app a $APP Always, app b $APP-also Always, app c $APP-too Always, app d $APP-more Always"
  publish "$APP-also" also
  lookup=Verify
  consult "$(with '"maxLookups":2')"
  asked_for "$APP" "$APP-also"
  kept
  told_of "$APP-too" limit KeepTag "$APP-more" limit KeepTag
  consult "$(with '"maxLookups":2,"onUnreachable":"UseCached"')"
  repaired "app a $APP Always, app b $APP-also Always, app c $APP-too IfNotPresent, app d $APP-more IfNotPresent"
  told_of "$APP-too" limit UseCached "$APP-more" limit UseCached
  for lookup in Verify Pin; do
    consult "$(with '"maxLookups":2,"onUnreachable":"Reject"')"
    asked_for "$APP" "$APP-also"
    rejected "registry c $APP-too ${told[limit]}" "registry d $APP-more ${told[limit]}"
  done
}

@test "by default ten images are looked up; there are at most ten warnings, and the audit annotation has all" {
  pod "$(series 22 "app c# $FAULTY/429/app:#")"
  consult "$pin"
  same 'number of lookups' 10 "$(wc -l <<<"$asked")"
  same 'number of warnings' 10 "$(wc -l <<<"$warnings")"
  [[ $warnings == *$'\nand 13 more '* ]] || fail "$warnings"
  in_jq -e --arg image "$FAULTY/429/app:" '
    length == 22 and (map(.image) | unique | length) == 22 and (map(select(.asked)) | length) == 10
    and (map({failure, asked, action}) | unique) == [
      {failure: "unreachable", asked: false, action: "KeepTag"}, {failure: "rateLimited", asked: true, action: "KeepTag"}]
    ' <<<"$lookups" >/dev/null || fail "$lookups"
}

@test "requireAlways goes before UseCached" {
  require="\"images\":{\"requireAlways\":[\"$GONE/kept\"]},\"imageChecks\":{\"coverage\":\"Off\"}"
  pod "$(places_of "$GONE/kept:1"), app other $GONE/other:1 Always"
  consult "$(with '"onUnreachable":"UseCached"' "$require")"
  repaired "$(places_of "$GONE/kept:1"), app other $GONE/other:1 IfNotPresent"
  told_of "$GONE/kept:1" unreachable KeepTag \
    "$GONE/other:1" down UseCached

  pod "$(places_of "$GONE/kept:1" IfNotPresent)"
  consult "$(with '"onUnreachable":"UseCached"' "$require")"
  repaired "$(places_of "$GONE/kept:1")"
  told_of "disallowed-policy imagecheck-0 $GONE/kept:1 IfNotPresent Always" \
    "disallowed-policy main $GONE/kept:1 IfNotPresent Always" "$GONE/kept:1" unreachable KeepTag
}

@test "a refused host capability: the message names hostCapabilities" {
  works=$FAULTY/works/app:1
  pod "$(places_of "$APP"), app b $works Always"
  for granted in 'net/*' 'oci/v1/verify' ''; do
    row="granted: $granted"
    host_flags=(--allowed-host-capabilities ${granted:+"$granted"})
    before=$(requests)
    consult "$(with '' "$alone,\"imageChecks\":{\"coverage\":\"Off\"}")"
    kept
    told_of "$APP" notGranted KeepTag "$works" notGranted KeepTag
    same 'requests to the registry' "$before" "$(requests)"
  done
  # The registry did not fail, so the setting onUnknown applies.
  consult "$(with '"onUnknown":"Reject","onUnreachable":"KeepTag","onDenied":"KeepTag"' "$alone")"
  rejected "registry main $APP ${told[notGranted]}" "registry b $works ${told[notGranted]}"

  host_flags=(--allowed-host-capabilities 'oci/v1/manifest_digest')
  consult "$(with '' '"imageChecks":{"coverage":"Off"}')"
  asked_for "$APP" "$works"
}

# A host doesn't record a call that it refuses. So the test reads the audit annotation.
@test "a refused host capability is called once" {
  pod "app a $FAULTY/works/app:1 Always, app b $FAULTY/works/app:2 Always"
  host_flags=(--allowed-host-capabilities 'net/*')
  consult "$pin"
  kept
  failed "$FAULTY/works/app:1" notGranted true KeepTag "$FAULTY/works/app:2" notGranted false KeepTag
}

@test "overrides: the first entry that matches the image decides, and its missing keys come from registry" {
  while fields entries action; do
    pod "app a $FAULTY/429/app:1 Always"
    consult "$(with "\"overrides\":[${entries//HOST/$FAULTY}]" "$alone")"
    failed "$FAULTY/429/app:1" rateLimited true "$action"
    case $action in
      Reject) rejected "registry a $FAULTY/429/app:1 ${told[rateLimited]}" ;;
      KeepTag) kept ;;
      UseCached) repaired "app a $FAULTY/429/app:1 IfNotPresent" ;;
    esac
  done <<'ROWS'
    {"images":["HOST/*"],"onRateLimited":"Reject"}                                                      | Reject
    {"images":["HOST/*"],"onRateLimited":"UseCached"}                                                   | UseCached
    {"images":["HOST/*"],"onDenied":"Reject"}                                                           | KeepTag
    {"images":["other"],"onRateLimited":"Reject"}                                                       | KeepTag
    {"images":["HOST/429/app"],"onRateLimited":"UseCached"},{"images":["HOST/*"],"onRateLimited":"Reject"} | UseCached
    {"images":["HOST/429/app"],"onDenied":"UseCached"},{"images":["HOST/*"],"onRateLimited":"Reject"}   | KeepTag
    {"images":["other","HOST/429/*"],"onRateLimited":"Reject"}                                          | Reject
ROWS
}
