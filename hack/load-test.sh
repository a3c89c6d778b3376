#!/usr/bin/env bash
# Sends mixed reviews to this policy for a number of seconds. This policy runs in a real policy-server if
# there is one on the PATH, else in the embedded host. Prints the number of requests, p50 and p99 of the
# latency, and the memory. An error ends the test.
#
#   hack/load-test.sh [seconds]     (after `make annotated-policy.wasm`)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
port=${PORT:-3111}
module=$PWD/annotated-policy.wasm

if ! command -v policy-server >/dev/null 2>&1; then
  echo "There is no policy-server on the PATH: the embedded host is used" >&2
  exec cargo xtask soak --load "$seconds" --module "$module"
fi

dir=$(mktemp -d)
cat >"$dir/policies.yml" <<EOF
pull-policy:
  module: file://$module
  allowedToMutate: true
  settings: {imageChecks: {coverage: Fix}, templates: Enforce}
EOF
policy-server --ignore-kubernetes-connection-failure --addr 127.0.0.1 --port "$port" \
  --policies "$dir/policies.yml" --workers 1 --log-level error >"$dir/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$dir"' EXIT

memory() { awk '/^VmRSS:/ { print $2 " KiB" }' "/proc/$server/status"; }
url=http://127.0.0.1:$port/validate/pull-policy

for _ in $(seq 120); do
  (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
  kill -0 "$server" 2>/dev/null || { cat "$dir/log" >&2; exit 1; }
  sleep 1
done
cargo xtask soak --load 5 --server "$url" >/dev/null
echo "memory of the policy-server: $(memory) after 5 seconds"
cargo xtask soak --load "$seconds" --server "$url"
echo "memory of the policy-server: $(memory) at the end"
