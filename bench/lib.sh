# shellcheck shell=bash
# What the scripts of this folder share. They need bash, curl, jq, gojq, openssl and ab (Debian: apache2-utils).
#
#   POLICY_SERVER  the program policy-server (else the one on the PATH)
#   PORT           a free port for it (else 3111), and the next one for its readiness
#   ADDRESS        this machine's address, as the API server reaches it (else 127.0.0.1)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
policy_server=${POLICY_SERVER:-policy-server} port=${PORT:-3111} address=${ADDRESS:-127.0.0.1}
module=$PWD/annotated-policy.wasm
tmp=$(mktemp -d)
made=() # objects of the cluster, which are deleted at the end, as are all programs in the background
trap 'cleanup' EXIT
cleanup() {
  jobs -p | xargs --no-run-if-empty kill 2>/dev/null || true
  wait || true
  ((${#made[@]} == 0)) || kubectl delete --ignore-not-found --wait=false "${made[@]}" >&2
  rm -rf "$tmp"
}

# nothing: prints the policy that does nothing. `make annotated-policy.wasm` built xtask.
nothing() {
  local target=${CARGO_TARGET_DIR:-target}
  cargo build --locked --quiet --release --target wasm32-unknown-unknown --package nothing
  "$target/xtask/xtask" annotate --metadata-path metadata.yml --usage-path README.md \
    --output-path "$tmp/nothing.wasm" "$target/wasm32-unknown-unknown/release/nothing.wasm" >&2
  policy nothing "$tmp/nothing.wasm" '{}'
}

# policy NAME MODULE SETTINGS: prints a policy of the policy server. The settings are YAML or JSON.
policy() {
  printf '%s:\n  module: file://%s\n' "$1" "$(realpath "$2")"
  printf '  %s\n' 'allowedToMutate: true' 'hostCapabilities: ["oci/v1/*"]' settings:
  sed 's/^/    /' <<<"$3"
}

# serve POLICIES [OPTION...]: starts policy-server with WORKERS workers (else one), and waits until it is ready.
serve() {
  echo "$1" >"$tmp/policies.yml"
  KUBECONFIG=/nonexistent "$policy_server" --addr 0.0.0.0 --port "$port" \
    --readiness-probe-port $((port + 1)) --workers "${WORKERS:-1}" --policies "$tmp/policies.yml" \
    --policies-download-dir "$tmp" --sigstore-cache-dir "$tmp" \
    --ignore-kubernetes-connection-failure --log-level error "${@:2}" >"$tmp/log" 2>&1 &
  until curl -fs "http://127.0.0.1:$((port + 1))/readiness" >/dev/null; do
    kill -0 "$!" || { cat "$tmp/log" >&2; exit 1; }
    sleep 0.2
  done
  "$policy_server" --version | head -n 1
}

# rounds NAME URL BODY...: five rounds of REQUESTS requests (else 1,000), over CONNECTIONS connections (else one), to each
# URL in turn. $tmp/NAME.times gets the median of each round, in milliseconds, and $tmp/NAME.rates the requests a second.
rounds() {
  local round i
  for round in {1..5}; do
    for ((i = 1; i < $#; i += 3)); do
      ab -q -k -c "${CONNECTIONS:-1}" -n "${REQUESTS:-1000}" -T application/json -p "${@:i+2:1}" -e "$tmp/csv" "${@:i+1:1}" >"$tmp/ab"
      ! grep '^Non-2xx' "$tmp/ab" || { echo "${*:i:1}, round $round" >&2; exit 1; }
      awk -F, '$1 == 50 { print $2 }' "$tmp/csv" >>"$tmp/${*:i:1}.times"
      awk '/^Requests per second/ { print $4 }' "$tmp/ab" >>"$tmp/${*:i:1}.rates"
    done
  done
}

# The median of the numbers on the standard input, and of the rounds of NAME.
median() { sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'; }
time_of() { median <"$tmp/$1.times"; }
# ratio NAME OTHER times|rates: the median of the ratios of the same rounds.
ratio() { paste "$tmp/$1.$3" "$tmp/$2.$3" | awk '{ print $1 / $2 }' | median; }

# namespace NAME: makes it in the cluster.
namespace() {
  kubectl create namespace "$1" >&2
  made+=("namespace/$1")
  until kubectl -n "$1" get serviceaccount default >/dev/null 2>&1; do sleep 0.2; done
}
