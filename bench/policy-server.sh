#!/usr/bin/env bash
# Prints the median latency over HTTP of the agent-stack Pod in policy-server, which has one worker and one connection:
# of this policy (the Pod as it is made, and as this policy repaired it), and compared with a policy that does nothing
# (the median of five rounds). Then the memory of policy-server, the time of hostile Pods of 400 KB, and how many requests
# a second policy-server answers with a worker for each core and eight connections.
#
#   bench/policy-server.sh    (after `make annotated-policy.wasm`)
. "$(dirname "$0")/lib.sh"
review=test_data/reviews/agent-stack-pod-create.json
url=http://127.0.0.1:$port/validate
serve "$(nothing && policy this "$module" '{imageChecks: {onMissing: "Off"}}' &&
  policy adds "$module" '{imageChecks: {onMissing: Add}, images: {requireAlways: ["*"]}}')"
send() { curl -fsS -H 'Content-Type: application/json' -d "@$1" "$url/this"; }
send "$review" >"$tmp/answer"
# Applies the JSON patch of the answer (replacements and additions to objects alone) to the review.
jq --slurpfile answer "$tmp/answer" 'reduce ($answer[0].response.patch | @base64d | fromjson[]) as $change (.;
  (["request", "object"] + ($change.path | ltrimstr("/") / "/" | map(gsub("~1"; "/") | gsub("~0"; "~")
    | if test("^[0-9]+$") then tonumber else . end))) as $path | setpath($path; $change.value))' "$review" \
  >"$tmp/accepted"
send "$tmp/accepted" | jq -e '.response | .allowed and .patch == null' >/dev/null
rounds nothing-accepted "$url/nothing" "$tmp/accepted" accepted "$url/this" "$tmp/accepted" \
  nothing-repaired "$url/nothing" "$review" repaired "$url/this" "$review"
for name in accepted repaired; do
  printf '%s: %.2f ms, a policy that does nothing %.2f ms, %.2f times as long\n' \
    "$name" "$(time_of "$name")" "$(time_of "nothing-$name")" "$(ratio "$name" "nothing-$name" times)"
done
# The memory now, and at its peak, when policy-server compiled the modules.
awk '/^Vm(RSS|HWM)/ { printf "%s %.0f MiB\n", $1, $2 / 1024 }' "/proc/$!/status"

hostile() { # <name> <jq filter of the Pod spec>
  jq -c ".request.object.spec |= ($2)" "$review" >"$tmp/$1"
  REQUESTS=10 rounds "nothing-$1" "$url/nothing" "$tmp/$1" "$1" "$url/adds" "$tmp/$1"
  printf '%s: %d bytes, %.0f ms, a policy that does nothing %.0f ms\n' "$1" "$(wc -c <"$tmp/$1")" \
    "$(time_of "$1")" "$(time_of "nothing-$1")"
}
hostile smallest-containers '.containers = [range(12000) | {name: "\(.)", image: "\(.)"}]'
hostile images-without-a-check '.containers = [range(4500) | {name: "app-\(.)", image: "app-\(.):1", imagePullPolicy: "Always"}]'
hostile environment '.containers[0].env = [range(12000) | {name: "E\(.)", value: "\(.)"}]'

kill "$!"
wait "$!" || true
WORKERS=$(nproc) serve "$(nothing && policy empty "$module" '{}' &&
  policy agent-stack "$module" "$(gojq --yaml-input .spec.settings examples/agent-stack-k8s.yaml)")"
CONNECTIONS=8 REQUESTS=5000 rounds nothing "$url/nothing" "$review" empty "$url/empty" "$review" \
  agent-stack "$url/agent-stack" "$review"
for name in empty agent-stack; do
  printf '%s: %.0f requests a second, a policy that does nothing %.0f, %.2f times as many\n' \
    "$name" "$(median <"$tmp/$name.rates")" "$(median <"$tmp/nothing.rates")" "$(ratio "$name" nothing rates)"
done
