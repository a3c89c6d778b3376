# Registries for the end-to-end tests, on free ports of 127.0.0.1, and checks of lookups.
#
# `start_registry` starts Debian's docker-registry. `start_faulty_registry` starts a registry that
# fails on demand (e2e-tests/faulty-registry). `publish` pushes an image to a registry. A test file
# starts servers in setup_file, and stops all of them with `stop_servers` in teardown_file.
#
# `consult` is `evaluate` for requests that lead to lookups. `consult` records or replays the host
# calls. It checks that no raw error of a host is in the answer.

# All programs connect to the loopback without a proxy. Hosts have no credentials, unless a test gives
# them some.
export no_proxy=127.0.0.1,localhost NO_PROXY=127.0.0.1,localhost
export DOCKER_CONFIG=$BATS_FILE_TMPDIR/no-credentials
# With this variable the real kwctl adds a backtrace to its errors, and this policy has to classify such
# errors too. The embedded host removes the backtrace.
export RUST_BACKTRACE=1

# ---- servers --------------------------------------------------------------------------------

# start NAME COMMAND...: runs a server in the background until `stop NAME`, or until the bats process
# that started the server has ended.
start() {
  local server=$BATS_FILE_TMPDIR/servers/$1
  mkdir -p "${server%/*}"
  (
    "${@:2}" &
    echo $! >"$server.pid"
    while kill -0 $$ && kill -0 $!; do sleep 0.2; done
    kill $!
  ) >"$server.log" 2>&1 </dev/null 3>&- &
}

# stop NAME: stops the server, and returns when its port is closed.
stop() {
  local server=$BATS_FILE_TMPDIR/servers/$1
  [[ -e $server.pid ]] || return 0
  kill "$(<"$server.pid")" 2>/dev/null || true
  rm "$server.pid"
  while [[ -e $server.address ]] && is_registry "$(<"$server.address")"; do sleep 0.02; done
}

stop_servers() {
  local pid_file
  for pid_file in "$BATS_FILE_TMPDIR"/servers/*.pid; do
    pid_file=${pid_file##*/}
    stop "${pid_file%.pid}"
  done
}

# port_of NAME SED-EXPRESSION: waits until the server's log has its port, and prints the port.
port_of() {
  local try port log=$BATS_FILE_TMPDIR/servers/$1.log
  for ((try = 0; try < 250; try++)); do
    port=$(sed -n "$2" "$log" | head -n 1)
    [[ -z $port ]] || break
    sleep 0.02
  done
  if [[ -z $port ]]; then
    { echo "$1 did not start:" && cat "$log"; } >&2
    return 1
  fi
  echo "$port"
}

# Whether a registry listens at HOST:PORT.
is_registry() {
  local status
  # If the server stops meanwhile, the write ends only this subshell, and not the test.
  status=$(
    exec 9<>"/dev/tcp/${1%:*}/${1#*:}" || exit
    printf 'GET /v2/ HTTP/1.0\r\n\r\n' >&9
    read -r _ status _ <&9
    echo "$status"
  ) 2>/dev/null || return 1
  [[ $status == 200 || $status == 401 ]]
}

# start_registry NAME [USER PASSWORD]: starts docker-registry, and prints its address.
start_registry() {
  local dir=$BATS_FILE_TMPDIR/$1 port
  mkdir -p "$dir"
  cat >"$dir/config.yml" <<YAML
version: 0.1
storage:
  filesystem:
    rootdirectory: $dir/storage
http:
  addr: 127.0.0.1:0
YAML
  if [[ -n ${2:-} ]]; then
    htpasswd -Bbn -C 4 "$2" "$3" >"$dir/htpasswd"
    printf '%s\n' auth: '  htpasswd:' '    realm: test' "    path: $dir/htpasswd" >>"$dir/config.yml"
  fi
  # docker-registry also reads settings from the environment, so it gets only PATH.
  start "$1" env -i PATH="$PATH" docker-registry serve "$dir/config.yml"
  port=$(port_of "$1" 's/.*listening on 127\.0\.0\.1:\([0-9]*\).*/\1/p') &&
    started "$1" "127.0.0.1:$port"
}

# start_faulty_registry: starts the registry that fails on demand, and prints its address.
start_faulty_registry() {
  local port
  start faulty "${XTASK%/*}/faulty-registry"
  port=$(port_of faulty '1s/^\([0-9]*\)$/\1/p') &&
    started faulty "127.0.0.1:$port"
}

# requests: prints the number of lookups at the faulty registry. Each lookup begins with one HEAD.
requests() {
  grep -c '^HEAD ' "$BATS_FILE_TMPDIR/servers/faulty.log" || true
}

# started NAME ADDRESS: lets hosts use the registry without TLS. Prints its address.
started() {
  local sources=$BATS_FILE_TMPDIR/sources.yml
  is_registry "$2" || return 1
  [[ -e $sources ]] || echo 'insecure_sources:' >"$sources"
  echo "  - '$2'" >>"$sources"
  echo "$2" | tee "$BATS_FILE_TMPDIR/servers/$1.address"
}

# ---- images ---------------------------------------------------------------------------------

# descriptor DIR TYPE: stores standard input as a blob, and prints its descriptor.
descriptor() {
  local content digest
  content=$(mktemp -p "$1")
  cat >"$content"
  digest=$(sha256sum <"$content" | cut -d ' ' -f 1)
  in_jq -nc --arg type "application/vnd.oci.image.$2" --arg digest "sha256:$digest" \
    --argjson size "$(wc -c <"$content")" '{mediaType: $type, digest: $digest, size: $size}'
  mv "$content" "$1/blobs/sha256/$digest"
}

# image DIR PLATFORM CONTENT: makes an image with one empty layer and the label CONTENT. The platform
# is an architecture of Linux, or OS/ARCHITECTURE. Prints the descriptor of the image.
image() {
  local config layer diff_id os=linux arch=${2#*/}
  [[ $2 != */* ]] || os=${2%/*}
  layer=$(head -c 1024 /dev/zero | gzip -n | descriptor "$1" layer.v1.tar+gzip)
  diff_id=sha256:$(head -c 1024 /dev/zero | sha256sum | cut -d ' ' -f 1)
  config=$(in_jq -nc --arg os "$os" --arg arch "$arch" --arg content "$3" --arg diff_id "$diff_id" '
    {architecture: $arch, os: $os, config: {Labels: {content: $content}},
     rootfs: {type: "layers", diff_ids: [$diff_id]}}' | descriptor "$1" config.v1+json)
  in_jq -nc --argjson config "$config" --argjson layer "$layer" '
    {schemaVersion: 2, mediaType: "application/vnd.oci.image.manifest.v1+json",
     config: $config, layers: [$layer]}' | descriptor "$1" manifest.v1+json |
    in_jq -c --arg os "$os" --arg arch "$arch" '.platform = {architecture: $arch, os: $os}'
}

# publish IMAGE CONTENT [PLATFORM...]: pushes an index if two or more platforms are given, else an image for
# amd64.
publish() {
  local dir root architectures=("${@:3}")
  dir=$(mktemp -d -p "$BATS_FILE_TMPDIR")
  mkdir -p "$dir/blobs/sha256"
  echo '{"imageLayoutVersion":"1.0.0"}' >"$dir/oci-layout"
  if ((${#architectures[@]} > 1)); then
    root=$(for architecture in "${architectures[@]}"; do image "$dir" "$architecture" "$2"; done |
      in_jq -sc '{schemaVersion: 2, mediaType: "application/vnd.oci.image.index.v1+json", manifests: .}' |
      descriptor "$dir" index.v1+json)
  else
    root=$(image "$dir" amd64 "$2")
  fi
  jq -nc --argjson root "$root" '{schemaVersion: 2, manifests: [$root]}' >"$dir/index.json"
  skopeo copy --quiet --insecure-policy --preserve-digests --all --dest-tls-verify=false \
    ${CREDENTIALS:+--dest-creds "$CREDENTIALS"} "oci:$dir" "docker://$1"
}

# digest_of IMAGE: prints skopeo's digest, which has to be the SHA-256 of the manifest.
digest_of() {
  local inspect=(skopeo inspect --tls-verify=false ${CREDENTIALS:+--creds "$CREDENTIALS"}) digest raw
  digest=$("${inspect[@]}" --no-tags --format '{{.Digest}}' "docker://$1")
  raw=sha256:$("${inspect[@]}" --raw "docker://$1" | sha256sum | cut -d ' ' -f 1)
  same "skopeo's digests" "$digest" "$raw"
  echo "$digest"
}

# ---- the policy -----------------------------------------------------------------------------

# Words by which a sentence tells why there is no answer: a class of failures, or an image that was not looked up.
declare -gA told=(
  [notFound]='exist'
  [denied]='pull secret'
  [rateLimited]='rate limit'
  [unreachable]='gives no answer'
  [unknown]='not understood'
  [down]='just gave no answer'
  [limit]='registry.maxLookups'
  [notGranted]='hostCapabilities'
)
# Words by which a warning tells what was done.
declare -gA done=([KeepTag]=kept [UseCached]=cached)

# Further flags for the host. A test may set them.
host_flags=()
# A recorded session that replaces the registries.
replay=

# ask REQUEST SETTINGS ANSWER: replaces `ask` of lib.bash, and also records or replays the host calls.
ask() {
  local calls=(--record-host-capabilities-interactions "$3.session")
  [[ -z $replay ]] || calls=(--replay-host-capabilities-interactions "$replay")
  # The embedded host needs no list of the registries that speak HTTP.
  ! real_host || [[ ! -e $BATS_FILE_TMPDIR/sources.yml ]] || calls+=(--sources-path "$BATS_FILE_TMPDIR/sources.yml")
  "$KWCTL" run --request-path "$1" --settings-json "$2" "${host_flags[@]}" "${calls[@]}" "${transcript[@]}" "$POLICY" \
    >"$3" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null
}

# with [SETTINGS-OF-REGISTRY [OTHER-SETTINGS]]: prints settings. The arguments have no braces around
# them. All images are looked up, unless the first argument begins with the key `images`.
lookup=Pin
with() {
  local images='"images":["*"],'
  [[ $1 != '"images"'* ]] || images=
  echo "{\"registry\":{$images\"lookup\":\"$lookup\"${1:+,$1}}${2:+,$2}}"
}
pin=$(with '')

# The images of a recorded session, one on each line.
images_of() {
  sed -n 's/^    image: //p' "$1"
}

# consult [SETTINGS]: sends the request. Sets the variables of `evaluate`, and also `lookups` (JSON) and
# `asked` (the images that were looked up, one on each line).
consult() {
  local answer=$BATS_TEST_TMPDIR/answer.json raw
  rm -f "$answer".*session
  evaluate "$@"
  asked=
  [[ -n $replay ]] || asked=$(images_of "$answer.session")
  { read -r lookups && read -r raw; } < <(in_jq -r '
    (.auditAnnotations.lookups // "[]"),
    (if .patch then .patch |= @base64d else . end | tostring
      | [match("https?:|caused by|os error|error (sending|following)|callback|host error|envelope|code: [0-9]|\\burl\\b|/v2/|stack backtrace|\\x1b|\\\\u001b"; "gi").string]
      | join(", "))' "$answer")
  [[ -z $raw ]] || fail "something of the host's own text is in the answer: $raw"
}

# asked_for [IMAGE...]: exactly these images were looked up, in this order.
asked_for() {
  local IFS=$'\n'
  same lookups "$*" "$asked"
}

# failed [IMAGE FAILURE ASKED ACTION]...: the audit annotation `lookups` has exactly these lookups.
failed() {
  local expected=()
  while (($# > 0)); do
    expected+=("{\"image\":\"$1\",\"failure\":\"$2\",\"asked\":$3,\"action\":\"$4\"}")
    shift 4
  done
  same 'failed lookups' "$(printf '%s\n' "${expected[@]}" | sort)" "$(sed 's/^\[//; s/\]$//; s/},{/}\n{/g' <<<"$lookups" | sort)"
}

# kept: accepted unchanged. It may have warnings and findings.
kept() {
  [[ $allowed == true && -z $patch ]] || fail "not kept"
}

# told_of [ROW...] [IMAGE REASON ACTION]...: there are exactly these warnings, about findings and about failed
# lookups. REASON is a key of `told`. ACTION is one of the settings, with words of the warning if it doesn't tell
# this action. The warnings about lookups come last, sorted by image.
told_of() {
  local rows=() lookups=() failure action
  while [[ ${1:-} == *' '* ]]; do
    rows+=("$1")
    shift
  done
  while (($# > 0)); do
    failure=$2 action=$3
    [[ $failure != down && $failure != limit ]] || failure=unreachable
    [[ $action == *' '* ]] || action+=" ${done[$action]}"
    lookups+=("lookup $1 $failure $action ${told[$2]}")
    shift 3
  done
  ((${#lookups[@]} == 0)) || mapfile -t -O "${#rows[@]}" rows < <(printf '%s\n' "${lookups[@]}" | LC_ALL=C sort)
  warned "${rows[@]}"
}
