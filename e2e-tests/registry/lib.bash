# Registries for the end-to-end tests, on free ports of 127.0.0.1.
#
# `start_registry` starts Debian's docker-registry. `start_faulty_registry` starts a registry that fails on demand
# (faulty.py). A test file starts servers in setup_file, and
# stops all of them with `stop_servers` in teardown_file.

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

# port_of NAME SED-EXPRESSION: waits until the server's log has its port, and prints the port. Fails if the server ends.
port_of() {
  local port='' server=$BATS_FILE_TMPDIR/servers/$1
  until [[ -s $server.pid ]]; do sleep 0.02; done
  while [[ -z $port ]]; do
    kill -0 "$(<"$server.pid")" 2>/dev/null || { echo "$1 did not start:" && cat "$server.log" && return 1; } >&2
    sleep 0.02
    port=$(sed -n "$2" "$server.log" | head -n 1)
  done
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

# start_faulty_registry NAME [private]: starts the registry that fails on demand, and prints its address.
start_faulty_registry() {
  local port
  start "$1" python3 e2e-tests/registry/faulty.py "${@:2}"
  port=$(port_of "$1" '1s/^\([0-9]*\)$/\1/p') &&
    started "$1" "127.0.0.1:$port"
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

# publish IMAGE: pushes an image, with the credentials of $DOCKER_CONFIG.
publish() { "$XTASK" push annotated-policy.wasm "registry://$1"; }

# manifest IMAGE: prints what the registry has.
manifest() { skopeo inspect --tls-verify=false --raw "docker://$1"; }

# publish_index IMAGE TAG: pushes an index of this image, to the same repository.
publish_index() {
  manifest "$1" >"$BATS_FILE_TMPDIR/manifest"
  jq -n --arg digest "sha256:$(sha256sum <"$BATS_FILE_TMPDIR/manifest" | cut -d ' ' -f 1)" --argjson size "$(wc -c <"$BATS_FILE_TMPDIR/manifest")" '
    "application/vnd.oci.image" as $type | {schemaVersion: 2, mediaType: "\($type).index.v1+json",
      manifests: [{mediaType: "\($type).manifest.v1+json", $digest, $size, platform: {architecture: "amd64", os: "linux"}}]}' |
    curl --silent --fail --request PUT --header 'Content-Type: application/vnd.oci.image.index.v1+json' --data-binary @- \
      "http://${1%%/*}/v2/$(sed 's#^[^/]*/##; s#:[^:]*$##' <<<"$1")/manifests/$2"
}
