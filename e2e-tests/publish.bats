# Policies in registries: push, pull and run, and their failures. xtask and the host also exchange
# modules through a registry. The host is the embedded one of xtask, or kwctl with KWCTL=kwctl.

load lib
load registry/lib

setup_file() {
  export REGISTRY LOCKED FAULTY
  REGISTRY=$(start_registry registry)
  LOCKED=$(start_registry locked alice secret)
  FAULTY=$(start_faulty_registry)
  # Right and wrong credentials for the registry that needs a password.
  local name password
  for name in right:secret wrong:guess; do
    password=${name#*:}
    mkdir -p "$BATS_FILE_TMPDIR/${name%:*}"
    jq -n --arg registry "$LOCKED" --arg auth "$(printf 'alice:%s' "$password" | base64)" \
      '{auths: {($registry): {auth: $auth}}}' >"$BATS_FILE_TMPDIR/${name%:*}/config.json"
  done
}

teardown_file() {
  stop_servers
}

setup() {
  target=$BATS_TEST_TMPDIR/pulled.wasm
}

# fails_with TEXT COMMAND...: the command fails, prints one line on stderr that has this text, and
# neither changes nor adds a file.
fails_with() {
  local text=$1 status=0 before
  shift
  echo 'was here before' >"$target"
  before=$(ls -A "$BATS_TEST_TMPDIR")
  "$@" >"$BATS_FILE_TMPDIR/stdout" 2>"$BATS_FILE_TMPDIR/stderr" || status=$?
  [[ $status == 1 ]] || fail "$*: exit code $status" "$(cat "$BATS_FILE_TMPDIR/stderr")"
  same 'lines on stderr' 1 "$(wc -l <"$BATS_FILE_TMPDIR/stderr")$(sed -n '2,$p' "$BATS_FILE_TMPDIR/stderr")"
  grep -qF -- "$text" "$BATS_FILE_TMPDIR/stderr" || fail "$*: $(cat "$BATS_FILE_TMPDIR/stderr")"
  same 'the file that was there' 'was here before' "$(cat "$target")"
  same 'files' "$before" "$(ls -A "$BATS_TEST_TMPDIR")"
}

push() { "$XTASK" push "${@:2}" "$POLICY" "registry://$1"; }
pull() { "$XTASK" pull "${@:2}" --output-path "$target" "registry://$1"; }

# raw_manifest IMAGE: prints the manifest as the registry has it.
raw_manifest() { skopeo inspect --raw --tls-verify=false "docker://$1"; }

# the_host COMMAND ARGUMENT...: runs the host with the sources file that kwctl needs for a registry
# without TLS.
the_host() { "$KWCTL" "$1" --sources-path "$BATS_FILE_TMPDIR/sources.yml" "${@:2}" 2>"$BATS_TEST_TMPDIR/stderr"; }

@test "a pushed module comes back byte for byte, by its tag and by its digest" {
  reference=$(push "$REGISTRY/policies/roundtrip:v1.2.3")
  [[ $reference == "registry://$REGISTRY/policies/roundtrip@sha256:"* ]] || fail "$reference"
  same digest "${reference#*@}" "sha256:$(raw_manifest "$REGISTRY/policies/roundtrip:v1.2.3" | sha256sum | cut -d ' ' -f 1)"
  for source in "$REGISTRY/policies/roundtrip:v1.2.3" "${reference#registry://}"; do
    rm -f "$target"
    pull "$source"
    cmp "$POLICY" "$target"
  done
  # The file has the permissions of any other new file.
  touch "$BATS_TEST_TMPDIR/new"
  same permissions "$(stat -c %a "$BATS_TEST_TMPDIR/new")" "$(stat -c %a "$target")"
}

@test "the manifest is Kubewarden's, and nothing in it is random" {
  reference=$(push "$REGISTRY/policies/manifest:v1" --output json | jq -r .immutable_ref)
  same 'second push' "registry://$reference" "$(push "$REGISTRY/policies/manifest:v1")"
  same 'another tag' "registry://$reference" "$(push "$REGISTRY/policies/manifest:v2")"
  manifest=$(raw_manifest "$REGISTRY/policies/manifest:v1")
  same manifest "$(jq -ncS --arg digest "sha256:$(sha256sum <"$POLICY" | cut -d ' ' -f 1)" \
    --argjson size "$(wc -c <"$POLICY")" '{
      schemaVersion: 2,
      config: {
        mediaType: "application/vnd.wasm.config.v1+json",
        digest: "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", size: 2},
      layers: [{mediaType: "application/vnd.wasm.content.layer.v1+wasm", digest: $digest, size: $size}]}')" \
    "$(jq -cS 'del(.annotations)' <<<"$manifest")"
  # The manifest has the annotations of metadata.yml, the source once more under OCI's own key, and the tool
  # that annotated the module.
  source=$(sed -n 's/^  io\.kubewarden\.policy\.source: *//p' metadata.yml)
  same annotations "$(sed -n '/^annotations:/,$s/^  \([^ #][^:]*\): *\(.*\)$/\1=\2/p' metadata.yml |
    cat - <(echo "org.opencontainers.image.source=$source") | sort)" \
    "$(jq -r '.annotations | del(.["io.kubewarden.kwctl"]) | to_entries[] | "\(.key)=\(.value)"' <<<"$manifest" | sort)"
  same 'the annotated module names its tool' true \
    "$(jq '.annotations["io.kubewarden.kwctl"] | length > 0' <<<"$manifest")"
}

@test "the host runs a module that xtask pushed, and xtask runs a module that the host pushed" {
  here=$(push "$REGISTRY/policies/here:v1")
  there=$(the_host push --output json "$POLICY" "registry://$REGISTRY/policies/there:v1" | jq -r .immutable_ref)
  same digests "${here#*@}" "${there#*@}"

  the_host pull --output-path "$target" "registry://$REGISTRY/policies/here:v1"
  cmp "$POLICY" "$target"
  pull "$REGISTRY/policies/there:v1"
  cmp "$POLICY" "$target"

  review=$REVIEWS/agent-stack-pod-create.json
  expected=$("$XTASK" run --request-path "$review" "$POLICY" | jq -S .)
  same 'run by the host' "$expected" \
    "$(the_host run --request-path "$review" "registry://$REGISTRY/policies/here:v1" | jq -S .)"
  same 'run here' "$expected" \
    "$("$XTASK" run --request-path "$review" "registry://${there}" | jq -S .)"
}

@test "a registry with a password accepts only this password" {
  push "$LOCKED/policies/locked:v1" --docker-config-json-path "$BATS_FILE_TMPDIR/right"
  pull "$LOCKED/policies/locked:v1" --docker-config-json-path "$BATS_FILE_TMPDIR/right"
  cmp "$POLICY" "$target"
  # DOCKER_CONFIG can name the folder of config.json too.
  DOCKER_CONFIG=$BATS_FILE_TMPDIR/right pull "$LOCKED/policies/locked:v1"

  wrong=(--docker-config-json-path "$BATS_FILE_TMPDIR/wrong")
  fails_with "$LOCKED refuses the credentials of alice: check them with \`docker login $LOCKED\`" \
    pull "$LOCKED/policies/locked:v1" "${wrong[@]}"
  fails_with "$LOCKED refuses the credentials of alice" push "$LOCKED/policies/other:v1" "${wrong[@]}"
  fails_with "$LOCKED wants credentials, and there are none for it" pull "$LOCKED/policies/locked:v1"
  fails_with "$LOCKED wants credentials, and there are none for it" push "$LOCKED/policies/other:v1"
  # The refused pushes have stored no tag.
  fails_with 'there is no tag v1' \
    pull "$LOCKED/policies/other:v1" --docker-config-json-path "$BATS_FILE_TMPDIR/right"
}

@test "pull fails with a message if the image is missing or is no policy" {
  push "$REGISTRY/policies/known:v1"
  fails_with "there is no tag v9 in $REGISTRY/policies/known" pull "$REGISTRY/policies/known:v9"
  fails_with "there is no tag v1 in $REGISTRY/policies/unknown" pull "$REGISTRY/policies/unknown:v1"
  fails_with 'there is no sha256:0' pull "$REGISTRY/policies/known@sha256:$(printf '0%.0s' {1..64})"
  fails_with 'there is no tag v9' "$XTASK" run --request-path "$REVIEWS/pod-create.json" "registry://$REGISTRY/policies/known:v9"
  publish "$REGISTRY/image:1" image
  fails_with 'what is there is no policy: its layer is application/vnd.oci.image.layer.v1.tar+gzip' \
    pull "$REGISTRY/image:1"
  fails_with 'names no place in a registry' pull "$REGISTRY/UPPER:v1"
}

@test "push refuses a file that is no policy" {
  fails_with 'the module is not annotated' "$XTASK" push policy.wasm "registry://$REGISTRY/policies/plain:v1"
  fails_with 'not a WebAssembly module' "$XTASK" push --force metadata.yml "registry://$REGISTRY/policies/plain:v1"
  fails_with 'cannot read module' "$XTASK" push nothing.wasm "registry://$REGISTRY/policies/plain:v1"
  fails_with 'there is no tag v1' pull "$REGISTRY/policies/plain:v1"
  "$XTASK" push --force policy.wasm "registry://$REGISTRY/policies/plain:v1"
  pull "$REGISTRY/policies/plain:v1"
  cmp policy.wasm "$target"
}

@test "push and pull fail with a message if the registry is unreachable" {
  away=$(start_registry away)
  push "$away/policies/away:v1"
  stop away
  fails_with "$away can't be reached" pull "$away/policies/away:v1"
  fails_with "$away can't be reached" push "$away/policies/away:v2"
}

@test "a full disk leaves the existing file as it was" {
  push "$REGISTRY/policies/full:v1"
  # The limit for a file is 16 KiB. The kernel refuses to write beyond this limit, as on a full disk.
  limited() { (trap '' XFSZ && ulimit -f 16 && pull "$REGISTRY/policies/full:v1"); }
  fails_with "cannot write $target" limited
  # A missing folder is not created.
  fails_with 'cannot write' "$XTASK" pull --output-path "$BATS_TEST_TMPDIR/no/such" "registry://$REGISTRY/policies/full:v1"
}

@test "an interrupted pull leaves no file" {
  fails_with "$FAULTY failed in the middle" pull "$FAULTY/half/policy:v1"
  fails_with "$FAULTY failed in the middle" push "$FAULTY/half/policy:v1"
  fails_with "$FAULTY sent other bytes than the manifest says" pull "$FAULTY/other-bytes/policy:v1"
  fails_with 'no answer' pull "$FAULTY/stall/policy:v1" --oci-timeout-seconds 1

  interrupted() {
    local pid status=0
    # bash makes a background command ignore SIGINT, so `env` restores the default.
    env --default-signal=INT "$XTASK" pull --output-path "$target" "registry://$FAULTY/stall/policy:v2" &
    pid=$!
    until grep -q 'stall/policy/blobs/.*8b$' "$BATS_FILE_TMPDIR/servers/faulty.log"; do sleep 0.05; done
    kill -INT "$pid"
    wait "$pid" || status=$?
    return "$status"
  }
  : >"$BATS_FILE_TMPDIR/servers/faulty.log"
  fails_with 'interrupted' interrupted
}
