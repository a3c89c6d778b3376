# shellcheck shell=bash
# What the scripts of this folder share. They need bash, curl, jq, openssl and ab (Debian: apache2-utils).
#
#   POLICY_SERVER  the program policy-server (else the one on the PATH)
#   PORT           a free port for it (else 3111), and the next one for its readiness
#   ADDRESS        this machine's address, as the API server reaches it (else 127.0.0.1)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
policy_server=${POLICY_SERVER:-policy-server} port=${PORT:-3111} address=${ADDRESS:-127.0.0.1}
module=$PWD/annotated-policy.wasm
tmp=$(mktemp -d)
server=
trap 'cleanup' EXIT
cleanup() { # a script that makes more than a policy server defines this again, and calls stop_server
  stop_server
  rm -rf "$tmp"
}
stop_server() {
  [[ -z $server ]] || { kill "$server" && wait "$server" || true; } 2>/dev/null
  server=
}

# The module of the policy that does nothing. `make annotated-policy.wasm` built xtask.
nothing() {
  local target=${CARGO_TARGET_DIR:-target}
  cargo build --locked --quiet --release --target wasm32-unknown-unknown --package baseline --example accept_sdk
  "$target/xtask/xtask" annotate --metadata-path metadata.yml --usage-path README.md --output-path "$tmp/nothing.wasm" \
    "$target/wasm32-unknown-unknown/release/examples/accept_sdk.wasm"
}

# policy NAME MODULE [SETTINGS]: a policy of the policy server.
policy() {
  jq -n --arg name "$1" --arg file "file://$(realpath "$2")" --argjson settings "${3:-"{}"}" \
    '{($name): {module: $file, allowedToMutate: true, settings: $settings}}' >>"$tmp/policies"
}

# serve [OPTION...]: starts policy-server, and waits until it is ready.
serve() {
  jq -s add "$tmp/policies" >"$tmp/policies.yml"
  KUBECONFIG=/nonexistent "$policy_server" --addr 0.0.0.0 --port "$port" --readiness-probe-port $((port + 1)) --workers 1 \
    --policies "$tmp/policies.yml" --policies-download-dir "$tmp" --sigstore-cache-dir "$tmp" \
    --ignore-kubernetes-connection-failure --log-level error "$@" >"$tmp/log" 2>&1 &
  server=$!
  until curl -fs "http://127.0.0.1:$((port + 1))/readiness" >/dev/null; do
    kill -0 "$server" || { cat "$tmp/log" >&2; exit 1; }
    sleep 0.2
  done
}

# The median of the numbers on the standard input.
median() { sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'; }

# Applies the JSON patch of an answer (replacements and additions to objects alone) to a review.
patched() { # REVIEW ANSWER
  jq --slurpfile answer "$2" 'reduce ($answer[0].response.patch | @base64d | fromjson[]) as $change (.;
    (["request", "object"] + ($change.path | ltrimstr("/") / "/" | map(gsub("~1"; "/") | gsub("~0"; "~")
      | if test("^[0-9]+$") then tonumber else . end))) as $path | setpath($path; $change.value))' "$1"
}
