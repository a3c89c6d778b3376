# Lookups through the host's own client, at real registries. rows/registry*.yaml has what this policy makes of the
# answers; here is what hosts make of registries, and the options of their command line.

load lib
load registry/lib

setup_file() {
  export REGISTRY FAULTY TOKENS GONE
  REGISTRY=$(start_registry registry)
  FAULTY=$(start_faulty_registry faulty)
  TOKENS=$(start_faulty_registry tokens private)
  GONE=$(start_registry gone)
  stop gone
  publish "$REGISTRY/app:1"
}

teardown_file() {
  stop_servers
}

# lookup IMAGE [OPTION...]: sends a Pod with this image. Sets `answer`, and `failure`: the class of the failed lookup. No
# text of the host or of the registry may be in the answer.
lookup() {
  local settings='{"registry":{"lookup":"Pin","images":["*"],"onNotFound":"Allow"}}'
  jq -n --arg image "$1" '{uid: "1", kind: {group: "", version: "v1", kind: "Pod"}, operation: "CREATE",
    resource: {group: "", version: "v1", resource: "pods"}, userInfo: {username: "admin"},
    object: {apiVersion: "v1", kind: "Pod", metadata: {name: "test"}, spec: {containers: [{name: "a", image: $image}]}}}' \
    >"$BATS_TEST_TMPDIR/request.json"
  local options=("${@:2}")
  # The embedded host needs no list of the registries that speak HTTP.
  ! real_host || options+=(--sources-path "$BATS_FILE_TMPDIR/sources.yml")
  answer=$("$KWCTL" run "${options[@]}" --request-path "$BATS_TEST_TMPDIR/request.json" --settings-json "$settings" "$POLICY" \
    2>"$BATS_TEST_TMPDIR/stderr" </dev/null) || fail "the host failed: $(cat "$BATS_TEST_TMPDIR/stderr")"
  failure=$(gojq -r '.auditAnnotations.lookups // "[]" | fromjson | map(.failure) | join(" ")' <<<"$answer")
  raw=$(gojq -r 'del(.patch) | tostring
    | [match("https?://|caused by|os error|error (sending|following)|callback|host error|envelope|code: [0-9]|/v2/|backtrace|gone|\\x1b|\\\\u001b"; "gi").string]
    | join(", ")' <<<"$answer")
  [[ -z $raw ]] || fail "a text of the host or of the registry is in the answer: $raw"
}

# pinned IMAGE: the last answer pins the image to the digest that skopeo computes.
pinned() {
  same digest "$1@sha256:$(manifest "$1" | sha256sum | cut -d ' ' -f 1)" \
    "$(gojq -r '.patch | @base64d | fromjson[] | select(.path == "/spec/containers/0/image").value' <<<"$answer")"
}

@test "each failure of a registry has its class, and its sentence" {
  while read -r class image words; do
    row=$image
    image=${image/REAL/$REGISTRY} image=${image/GONE/$GONE} image=${image/TOKENS/$TOKENS} image=${image/PORT/${FAULTY#*:}}
    lookup "${image/FAULTY/$FAULTY}"
    same class "$class" "$failure"
    # Before 0.18, oci-client drops the words beside an error code that isn't one of OCI's, such as Harbor's.
    { real_host && [[ $row == */412/* ]]; } || [[ $(gojq -r '.warnings[0]' <<<"$answer") == *" $words"* ]] || fail "the warning lacks '$words': $answer"
  done <<'ROWS'
    notFound    REAL/app:none                does not exist
    notFound    REAL/nowhere/app:1           does not exist
    notFound    FAULTY/no-such-repository:1  does not exist
    notFound    FAULTY/page-404/app:1        does not exist
    notFound    FAULTY/lies/app:1            does not exist
    notFound    FAULTY/404-no-message/app:1  does not exist
    denied      FAULTY/401/app:1             the token server of its registry failed
    denied      FAULTY/403/app:1             the policy server's credentials
    denied      FAULTY/403-page/app:1        the policy server's credentials
    denied      FAULTY/403-permission/app:1  the policy server's credentials
    denied      FAULTY/404-login/app:1       the policy server's credentials
    denied      TOKENS/app:1                 the token server of its registry failed
    unavailable FAULTY/429/app:1             limits the rate
    unavailable FAULTY/429-text/app:1        limits the rate
    unavailable GONE/app:1                   gets no usable answer
    unavailable FAULTY/500/app:1             gets no usable answer
    unavailable FAULTY/503/app:1             gets no usable answer
    unavailable FAULTY/reset/app:1           gets no usable answer
    unavailable FAULTY/no-http/app:1         gets no usable answer
    unavailable FAULTY/nowhere/app:1         gets no usable answer
    denied      FAULTY/400/app:1             for a reason
    denied      FAULTY/410/app:1             for a reason
    denied      FAULTY/412/app:1             because of a scan
    denied      FAULTY/451/app:1             for a reason
    unavailable [::1]:PORT/works/app:1       can't read its name
    unavailable FAULTY/loop/app:1            gets no usable answer
    denied      FAULTY/bad-digest/app:1      for a reason
ROWS
}

# If an answer has status 200 but no digest header, hosts compute the digest of its body, whatever the body is. A node
# can't pull that digest, so the Pod fails early and visibly.
@test "the digest is skopeo's: with a header or without, after a redirect, of an index" {
  publish_index "$REGISTRY/app:1" index
  for image in "$REGISTRY"/app:{1,index} "$FAULTY"/{works,redirect,no-digest,page}/app:1; do
    row=$image
    lookup "$image"
    pinned "$image"
  done
}

@test "an allow-list of host capabilities" {
  real_host || skip "KWCTL=kwctl runs this: xtask has no such list"
  while read -r granted outcome; do
    row=$granted
    lookup "$REGISTRY/app:1" --allowed-host-capabilities ${granted/none/}
    same outcome "$outcome" "${failure:-pinned}"
    [[ $outcome != pinned ]] || pinned "$REGISTRY/app:1"
  done <<'ROWS'
    net/*                    denied
    oci/v1/oci_manifest      denied
    none                     denied
    oci/v1/manifest_digest   pinned
    oci/*                    pinned
ROWS
}

@test "a registry with a password: without the right one lookups are denied, and with it images are pinned" {
  local private image config
  private=$(start_registry private reader 'pass word')
  image=$private/app:1
  # docker_config NAME PASSWORD: writes credentials for the private registry.
  docker_config() {
    mkdir -p "$BATS_TEST_TMPDIR/$1"
    jq -n --arg registry "$private" --arg auth "reader:$2" '{auths: {($registry): {auth: ($auth | @base64)}}}' >"$BATS_TEST_TMPDIR/$1/config.json"
  }
  docker_config right 'pass word'
  docker_config wrong guessed
  DOCKER_CONFIG=$BATS_TEST_TMPDIR/right publish "$image"
  for config in none wrong right; do
    row="credentials: $config"
    DOCKER_CONFIG=$BATS_TEST_TMPDIR/$config lookup "$image"
    if [[ $config == right ]]; then empty class "$failure"; else same class denied "$failure"; fi
    ! grep -qsE 'pass ?word|guessed' - "$BATS_TEST_TMPDIR/stderr" <<<"$answer" || fail "the password was told"
  done
  DOCKER_CONFIG=$BATS_TEST_TMPDIR/right
  [[ $(gojq -r '.patch | @base64d' <<<"$answer") == *"$image@sha256:"* ]] || fail "not pinned"
}

@test "a request that lacks a field of every AdmissionRequest is refused, with the name of the field" {
  lookup "$REGISTRY/app:1"
  for row in uid kind resource operation userInfo; do
    gojq "del(.$row)" "$BATS_TEST_TMPDIR/request.json" >"$BATS_TEST_TMPDIR/incomplete.json"
    run "$KWCTL" run --request-path "$BATS_TEST_TMPDIR/incomplete.json" "$POLICY"
    [[ $status != 0 && $output =~ (lacks|missing\ field)\ .?$row ]] || fail "it is taken" "$output"
  done
}
