#!/usr/bin/env bash
# Prints the median latency over HTTP of the agent-stack Pod in policy-server, which has one worker and one connection:
# of this policy (the Pod as it is made, and as this policy repaired it), and compared with a policy that does nothing
# (the median of five rounds). Then the memory of policy-server, the time of hostile Pods of 400 KB, and how many requests
# a second policy-server answers with a worker for each core and eight connections.
#
#   bench/policy-server.sh    (after `make annotated-policy.wasm`)
#
# It needs curl, jq, gojq and ab (Debian: apache2-utils).
#
#   POLICY_SERVER  the program policy-server (else the one on the PATH)
#   PORT           a free port for it (else 3111), and the next one for its readiness
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
policy_server=${POLICY_SERVER:-policy-server} port=${PORT:-3111}
module=$PWD/annotated-policy.wasm
tmp=$(mktemp -d)
trap 'jobs -p | xargs --no-run-if-empty kill 2>/dev/null || true; rm -rf "$tmp"' EXIT

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
  printf '%s:\n  module: file://%s\n  allowedToMutate: true\n  settings:\n' "$1" "$(realpath "$2")"
  sed 's/^/    /' <<<"$3"
}

# serve POLICIES WORKERS: starts policy-server, and waits until it is ready.
serve() {
  echo "$1" >"$tmp/policies.yml"
  KUBECONFIG=/nonexistent "$policy_server" --addr 127.0.0.1 --port "$port" \
    --readiness-probe-port $((port + 1)) --workers "$2" --policies "$tmp/policies.yml" \
    --policies-download-dir "$tmp" --sigstore-cache-dir "$tmp" \
    --ignore-kubernetes-connection-failure --log-level error >"$tmp/log" 2>&1 &
  until curl -fs "http://127.0.0.1:$((port + 1))/readiness" >/dev/null; do
    kill -0 "$!" || { cat "$tmp/log" >&2; exit 1; }
    sleep 0.2
  done
  "$policy_server" --version | head -n 1
}

# rounds NAME POLICY BODY...: five rounds of REQUESTS requests (else 1,000), over CONNECTIONS connections (else one), to
# each policy in turn. $tmp/NAME.times gets the median of each round, in milliseconds, and $tmp/NAME.rates the requests a
# second.
rounds() {
  local round i
  for round in {1..5}; do
    for ((i = 1; i < $#; i += 3)); do
      ab -q -k -c "${CONNECTIONS:-1}" -n "${REQUESTS:-1000}" -T application/json -p "${@:i+2:1}" -e "$tmp/csv" \
        "http://127.0.0.1:$port/validate/${*:i+1:1}" >"$tmp/ab"
      ! grep '^Non-2xx' "$tmp/ab" || { echo "${*:i:1}, round $round" >&2; exit 1; }
      awk -F, '$1 == 50 { print $2 }' "$tmp/csv" >>"$tmp/${*:i:1}.times"
      awk '/^Requests per second/ { print $4 }' "$tmp/ab" >>"$tmp/${*:i:1}.rates"
    done
  done
}

# median NAME times|rates: of the rounds.
median() { sort -n "$tmp/$1.$2" | sed -n 3p; }
# ratio NAME OTHER times|rates: the median of the ratios of the same rounds.
ratio() { paste "$tmp/$1.$3" "$tmp/$2.$3" | awk '{ print $1 / $2 }' | sort -n | sed -n 3p; }

review=test_data/reviews/agent-stack-pod-create.json
serve "$(nothing && policy this "$module" '{imageChecks: {onMissing: "Off"}}' &&
  policy adds "$module" '{imageChecks: {onMissing: Add}, images: {requireAlways: ["*"]}}')" 1
send() { curl -fsS -H 'Content-Type: application/json' -d "@$1" "http://127.0.0.1:$port/validate/this"; }
send "$review" >"$tmp/answer"
# Applies the JSON patch of the answer (replacements and additions to objects alone) to the review.
jq --slurpfile answer "$tmp/answer" 'reduce ($answer[0].response.patch | @base64d | fromjson[]) as $change (.;
  (["request", "object"] + ($change.path | ltrimstr("/") / "/" | map(gsub("~1"; "/") | gsub("~0"; "~")
    | if test("^[0-9]+$") then tonumber else . end))) as $path | setpath($path; $change.value))' "$review" \
  >"$tmp/accepted"
send "$tmp/accepted" | jq -e '.response | .allowed and .patch == null' >/dev/null
rounds nothing-accepted nothing "$tmp/accepted" accepted this "$tmp/accepted" \
  nothing-repaired nothing "$review" repaired this "$review"
for name in accepted repaired; do
  printf '%s: %.2f ms, a policy that does nothing %.2f ms, %.2f times as long\n' \
    "$name" "$(median "$name" times)" "$(median "nothing-$name" times)" "$(ratio "$name" "nothing-$name" times)"
done
# The memory now, and at its peak, when policy-server compiled the modules.
awk '/^Vm(RSS|HWM)/ { printf "%s %.0f MiB\n", $1, $2 / 1024 }' "/proc/$!/status"

hostile() { # <name> <jq filter of the Pod spec>
  jq -c ".request.object.spec |= ($2)" "$review" >"$tmp/$1"
  REQUESTS=10 rounds "nothing-$1" nothing "$tmp/$1" "$1" adds "$tmp/$1"
  printf '%s: %d bytes, %.0f ms, a policy that does nothing %.0f ms\n' "$1" "$(wc -c <"$tmp/$1")" \
    "$(median "$1" times)" "$(median "nothing-$1" times)"
}
hostile smallest-containers '.containers = [range(12000) | {name: "\(.)", image: "\(.)"}]'
hostile images-without-a-check '.containers = [range(4500) | {name: "app-\(.)", image: "app-\(.):1", imagePullPolicy: "Always"}]'
hostile environment '.containers[0].env = [range(12000) | {name: "E\(.)", value: "\(.)"}]'

kill "$!"
wait "$!" || true
serve "$(nothing && policy empty "$module" '{}' &&
  policy agent-stack "$module" "$(gojq --yaml-input .spec.settings examples/agent-stack-k8s.yaml)")" "$(nproc)"
CONNECTIONS=8 REQUESTS=5000 rounds nothing nothing "$review" empty empty "$review" \
  agent-stack agent-stack "$review"
for name in empty agent-stack; do
  printf '%s: %.0f requests a second, a policy that does nothing %.0f, %.2f times as many\n' \
    "$name" "$(median "$name" rates)" "$(median nothing rates)" "$(ratio "$name" nothing rates)"
done
