# The rule *registry* verifies tags and digests, or pins tags. The registry is a real one on the loopback.
# registry-failures.bats has more failed lookups.

load lib
load registry/lib

setup_file() {
  export REGISTRY APP MULTI OTHER APP_DIGEST MULTI_DIGEST OTHER_DIGEST
  REGISTRY=$(start_registry registry)
  APP=$REGISTRY/app:1 MULTI=$REGISTRY/multi:1 OTHER=$REGISTRY/other:1
  publish "$APP" app
  publish "$MULTI" multi amd64 arm64
  publish "$OTHER" other
  publish "$REGISTRY/untagged:latest" untagged
  APP_DIGEST=$(digest_of "$APP")
  MULTI_DIGEST=$(digest_of "$MULTI")
  OTHER_DIGEST=$(digest_of "$OTHER")
}

teardown_file() {
  stop_servers
}

# update PLACES: makes the UPDATE request that replaces the places of the last request's Pod with PLACES.
update() {
  cp "$request" "$request.old"
  pod "$1" '.operation = "UPDATE" | .oldObject = $old[0].object' --slurpfile old "$request.old"
}

@test "a check and its container get the same digest as from skopeo, and the tag stays in the reference" {
  pod "init imagecheck-0 $APP IfNotPresent, app main $APP Always, init other $OTHER"
  consult "$pin"
  repaired "init imagecheck-0 $APP@$APP_DIGEST IfNotPresent, init other $OTHER@$OTHER_DIGEST, app main $APP@$APP_DIGEST IfNotPresent"
  warned
  failed
  asked_for "$APP" "$OTHER"
  # skopeo finds the image by its repository and the digest.
  same digests "$APP_DIGEST" "$(digest_of "$REGISTRY/app@$APP_DIGEST")"
}

@test "a recorded session replays without its registry" {
  pod "init imagecheck-0 $APP Always, app main $APP Always, app none $REGISTRY/app:none Always"
  for settings_recorded in "$(with '"onNotFound":"KeepTag"')" "$pin"; do
    replay=
    consult "$settings_recorded"
    asked_for "$APP" "$REGISTRY/app:none"
    recorded="$message|$warnings|$places|$lookups"
    cp "$BATS_TEST_TMPDIR/answer.json.session" "$BATS_TEST_TMPDIR/kept.session"
    replay=$BATS_TEST_TMPDIR/kept.session
    BATS_FILE_TMPDIR=$BATS_TEST_TMPDIR/no-sources consult "$settings_recorded"
    same answers "$recorded" "$message|$warnings|$places|$lookups"
  done
}

@test "an image of several platforms is pinned to its index, never to one platform" {
  pod "init imagecheck-0 $MULTI Always, app main $MULTI Always"
  consult "$pin"
  repaired "init imagecheck-0 $MULTI@$MULTI_DIGEST IfNotPresent, app main $MULTI@$MULTI_DIGEST IfNotPresent"
  asked_for "$MULTI"
  manifest=$(skopeo inspect --tls-verify=false --raw "docker://$REGISTRY/multi@$MULTI_DIGEST")
  in_jq -e --arg digest "$MULTI_DIGEST" '
    .mediaType == "application/vnd.oci.image.index.v1+json" and (.manifests | length) == 2
    and all(.manifests[]; .digest != $digest)' <<<"$manifest" >/dev/null || fail "no index: $manifest"
}

@test "after a tag has moved, a new Pod gets the new digest, and a pinned Pod keeps the old one" {
  moving=$REGISTRY/moving:1
  publish "$moving" before
  first=$(digest_of "$moving")
  pod "init imagecheck-0 $moving Always, app main $moving Always"
  consult "$pin"
  repaired "init imagecheck-0 $moving@$first IfNotPresent, app main $moving@$first IfNotPresent"
  cp "$request" "$request.first"
  cp "$request.second" "$request.pinned"

  publish "$moving" after
  second=$(digest_of "$moving")
  [[ $first != "$second" ]] || fail "the tag did not move"
  consult "$pin"
  repaired "init imagecheck-0 $moving@$second IfNotPresent, app main $moving@$second IfNotPresent"

  cp "$request.pinned" "$request"
  consult "$pin"
  untouched
  asked_for

  # kubectl applies the manifest with its tag again. The stored digest stays, so the container does
  # not restart.
  in_jq --slurpfile pinned "$request.pinned" '.operation = "UPDATE" | .oldObject = $pinned[0].object' \
    "$request.first" >"$request"
  cp "$request" "$request.again"
  consult "$pin"
  repaired "init imagecheck-0 $moving@$first IfNotPresent, app main $moving@$first IfNotPresent"
  warned
  changed '[]'
  asked_for
  # Without a record in the stored object, this policy restores the digests, but not the pull policies.
  in_jq 'del(.oldObject.metadata.annotations)' "$request.again" >"$request"
  consult "$pin"
  repaired "init imagecheck-0 $moving@$first Always, app main $moving@$first Always"
  asked_for
}

# An image may be deleted from its registry while it runs in the cluster. So Verify checks digests too.
@test "Verify asks for a digest by its repository, and rejects a digest that is no longer there" {
  verify='{"registry":{"images":["*"],"lookup":"Verify"},"pullOnce":false,"imageChecks":{"coverage":"Off"}}'
  pod "init imagecheck-0 $APP@$APP_DIGEST Always, app main $APP@$APP_DIGEST IfNotPresent, app b $OTHER Always"
  for mode in Fix Reject Warn; do
    row=$mode
    consult "$(in_jq -c --arg mode $mode '.mode = $mode' <<<"$verify")"
    untouched
    asked_for "$REGISTRY/app@$APP_DIGEST" "$OTHER"
  done
  row=
  # References to one digest of a repository are one lookup, whatever their tags are.
  pod "app a $APP@$APP_DIGEST, app b $REGISTRY/app:other@$APP_DIGEST, app c $REGISTRY/app@$APP_DIGEST"
  consult "$verify"
  untouched
  asked_for "$REGISTRY/app@$APP_DIGEST"
  # registry.images names one of the tags only.
  consult "$(in_jq -c '.registry.images = ["*:other"]' <<<"$verify")"
  asked_for "$REGISTRY/app@$APP_DIGEST"
  gone=$APP@sha256:$(printf '%064d' 1)
  pod "app main $gone IfNotPresent"
  consult "$verify"
  rejected "registry main $gone ${told[notFound]}"
  asked_for "$REGISTRY/app@${gone#*@}"
  consult "$(in_jq -c '.registry.onNotFound = "KeepTag"' <<<"$verify")"
  kept
  told_of "$REGISTRY/app@${gone#*@}" notFound KeepTag
  # An image that every container pulls with Never is not looked up.
  pod "app main $gone Never"
  consult "$verify"
  untouched
  asked_for
}

@test "a missing tag is written as latest" {
  pod "app a $REGISTRY/untagged, app b $REGISTRY/untagged:latest IfNotPresent"
  digest=$(digest_of "$REGISTRY/untagged:latest")
  consult "$pin"
  repaired "app a $REGISTRY/untagged:latest@$digest IfNotPresent, app b $REGISTRY/untagged:latest@$digest IfNotPresent"
  asked_for "$REGISTRY/untagged:latest"
}

@test "containers, sidecars and volumes are pinned, and each image is looked up once" {
  pod "init imagecheck-0 $APP Always, sidecar side $OTHER Always, app a $APP, app b $APP Always, app c $MULTI Never, app d $MULTI, volume v $OTHER Always, volume w $APP"
  settings_pin=$(with '' '"imageChecks":{"coverage":"Off"}')
  consult "$settings_pin"
  repaired "init imagecheck-0 $APP@$APP_DIGEST IfNotPresent, sidecar side $OTHER@$OTHER_DIGEST IfNotPresent, app a $APP@$APP_DIGEST, app b $APP@$APP_DIGEST IfNotPresent, app c $MULTI@$MULTI_DIGEST Never, app d $MULTI@$MULTI_DIGEST, volume v $OTHER@$OTHER_DIGEST IfNotPresent, volume w $APP@$APP_DIGEST"
  same 'number of lookups' 3 "$(wc -l <<<"$asked")"
  same lookups "$(sort -u <<<"$asked")" "$(sort <<<"$asked")"
  # The order of the lookups has to be the same in each run, because a session replays only in its order.
  order=$asked
  consult "$settings_pin"
  same 'lookups of another run' "$order" "$asked"
}

@test "registry.images names a registry whose port is written with a leading zero" {
  image=${APP/:/:0}
  pod "app a $image Always"
  consult "$(with "\"images\":[\"$REGISTRY/*\"]")"
  repaired "app a $image@$APP_DIGEST IfNotPresent"
}

@test "an image ID is not looked up, because no registry has it" {
  pod "app a sha256:${APP_DIGEST#*:} Always, app b $APP Always"
  for lookup in Verify Pin; do
    consult "$(with '"platform":"Reject"')"
    asked_for "$APP"
    [[ $allowed == true ]] || fail "rejected"
  done
}

@test "the check of one tag covers a container with another tag of the same digest" {
  publish "$REGISTRY/app:same" app
  pod "init imagecheck-0 $APP Always, app a $REGISTRY/app:same Always"
  same digests "$APP_DIGEST" "$(digest_of "$REGISTRY/app:same")"
  consult "$pin"
  repaired "init imagecheck-0 $APP@$APP_DIGEST IfNotPresent, app a $REGISTRY/app:same@$APP_DIGEST IfNotPresent"
  warned
}

@test "in Reject and in Warn, each sentence has the whole digest to write" {
  pod "init imagecheck-0 $APP Always, app main $APP Always"
  consult "$(with '' '"mode":"Reject"')"
  rejected "registry imagecheck-0 $APP $APP@$APP_DIGEST IfNotPresent" "registry main $APP $APP@$APP_DIGEST IfNotPresent"
  asked_for "$APP"
  [[ $changes == '[]' ]] || fail "$changes"
  # A warning has it too, although it is cut to 120 characters.
  consult "$(with '' '"mode":"Warn"')"
  [[ $allowed == true && -z $patch && $changes == '[]' ]] || fail "not only warned"
  same 'number of warnings' 2 "$(wc -l <<<"$warnings")"
  while read -r warning; do
    [[ $warning == *"$APP_DIGEST"* ]] || fail "the digest is not in the warning: $warning"
  done <<<"$warnings"
}

@test "only an invalid image, or settings that contradict each other for an image, leave out the lookups" {
  while fields asks others before; do
    [[ -n $asks ]] || break
    pod "${before//APP/$APP}"
    consult "$(with '' "${others//HOST/$REGISTRY}")"
    [[ $allowed == false ]] || fail "accepted"
    if [[ $asks == yes ]]; then asked_for "$APP"; else asked_for; fi
  done <<ROWS
    no  |                                                                    | app a APP Always, app b Bad Always
    no  | "mode":"Reject"                                                    | app a APP Always, app b Bad Always
    no  | "images":{"requireAlways":["HOST/app"],"forbidAlways":["HOST/a*"]} | app a APP Always
    yes | "imageChecks":{"coverage":"Reject"}                                | init imagecheck-0 x@$APP_DIGEST, app a APP Always
    yes | "mode":"Reject","images":{"requireAlways":["x"]}                   | init imagecheck-0 x@$APP_DIGEST IfNotPresent, app a APP Always
    yes | "mode":"Reject","pullOnce":false                                   | init imagecheck-0 APP IfNotPresent, app a APP Always
ROWS
}

# The request of an audit names no user. An audit reports everything that is wrong with a Pod.
@test "an audit looks up the images whatever its other findings are" {
  for user in '.userInfo = {}' '.userInfo = {groups: ["x"]}'; do
    row=$user
    pod "app a $REGISTRY/app:none Always, app b Bad Always, app c $APP Always" "$user"
    consult "$(with '' '"mode":"Reject"')"
    asked_for "$REGISTRY/app:none" "$APP"
    rejected 'invalid-image b Bad' "registry a $REGISTRY/app:none ${told[notFound]}" "registry c $APP $APP@$APP_DIGEST IfNotPresent"
    in_jq -e '.status.code == 422' "$BATS_TEST_TMPDIR/answer.json" >/dev/null || fail "another code"
  done
}

@test "Pod UPDATE: Reject refuses a tag in place of its stored digest without a lookup of it, and the copy accepts it" {
  pod "app a $APP@$APP_DIGEST IfNotPresent, app b $MULTI IfNotPresent"
  update "app a $APP IfNotPresent, app b $OTHER IfNotPresent"
  consult "$(with '' '"mode":"Reject"')"
  rejected "registry a $APP $APP@$APP_DIGEST IfNotPresent" "registry b $OTHER $OTHER@$OTHER_DIGEST IfNotPresent"
  asked_for "$OTHER"
  consult "$(with '' '"mode":"Reject","validatingCopy":true')"
  untouched
}

@test "Pod UPDATE: the message of Reject has the digest to write, and no pull policy" {
  pod "app a $OTHER Always"
  update "app a $APP Always"
  consult "$(with '' '"mode":"Reject"')"
  rejected "registry a $APP $APP@$APP_DIGEST Always"
  asked_for "$APP"
}

@test "a registry with a password: without the right one lookups are denied, and with it images are pinned" {
  private=$(start_registry private reader 'pass word')
  image=$private/app:1
  CREDENTIALS='reader:pass word' publish "$image" app
  digest=$(CREDENTIALS='reader:pass word' digest_of "$image")
  # docker_config DIR PASSWORD: writes DIR/config.json with the credentials for the private registry.
  docker_config() {
    mkdir -p "$1"
    jq -n --arg registry "$private" --arg auth "reader:$2" '{auths: {($registry): {auth: ($auth | @base64)}}}' >"$1/config.json"
  }
  # untold: fails if a password is in the last answer or the last log. It runs after each `consult`
  # that may tell a password, because the next `consult` overwrites both.
  untold() {
    ! grep -rqE 'pass ?word|guessed' "$BATS_TEST_TMPDIR"/answer.json* "$BATS_TEST_TMPDIR/stderr" ||
      fail "the password was told"
  }
  docker_config "$BATS_TEST_TMPDIR/right" 'pass word'
  docker_config "$BATS_TEST_TMPDIR/wrong" 'guessed'

  pod "init imagecheck-0 $image Always, app main $image Always"
  for config in '' wrong; do
    row="credentials: ${config:-none}"
    export DOCKER_CONFIG=$BATS_TEST_TMPDIR/${config:-none}
    consult "$(with '' '"pullOnce":false')"
    kept
    told_of "$image" denied KeepTag
    asked_for "$image"
    untold
    consult "$(with '"onDenied":"Reject"')"
    rejected "registry main $image ${told[denied]}"
    untold
  done
  row=
  export DOCKER_CONFIG=$BATS_TEST_TMPDIR/right
  consult "$pin"
  repaired "init imagecheck-0 $image@$digest IfNotPresent, app main $image@$digest IfNotPresent"
  warned
  untold
}
