#!/usr/bin/env bash
# Prints the median latency over HTTP of the agent-stack Pod in policy-server, which has one worker and one
# connection: a policy that does nothing, this policy (the Pod as it is made, and as this policy repaired it),
# and each MODULE. Each of seven rounds sends 1,000 requests to each of them in turn.
#
#   hack/measure/policy-server-latency.sh [NAME=MODULE[=SETTINGS]...]    (after `make annotated-policy.wasm`)
. "$(dirname "$0")/lib.sh"
review=test_data/reviews/agent-stack-pod-create.json
nothing
policy nothing "$tmp/nothing.wasm"
policy this "$module" '{"imageChecks": {"coverage": "Off"}}'
for other; do
  IFS='=' read -r name path settings <<<"$other"
  policy "$name" "$path" "${settings:-"{}"}"
done
serve
url=http://127.0.0.1:$port/validate
send() { curl -fsS -H 'Content-Type: application/json' -d "@$2" "$url/$1"; } # NAME REVIEW

send this "$review" >"$tmp/answer"
patched "$review" "$tmp/answer" >"$tmp/accepted"
send this "$tmp/accepted" | jq -e '.response | .allowed and .patch == null' >/dev/null
variants=("nothing, $review" "nothing, $tmp/accepted" "this, $review" "this, $tmp/accepted")
for other; do variants+=("${other%%=*}, $review"); done
for _ in {1..7}; do
  for variant in "${variants[@]}"; do
    ab -q -k -c 1 -n "${REQUESTS:-1000}" -T application/json -p "${variant#*, }" -e "$tmp/csv" "$url/${variant%, *}" >"$tmp/ab" ||
      { cat "$tmp/ab" >&2; exit 1; }
    grep -q '^Non-2xx' "$tmp/ab" && exit 1
    awk -F, '$1 == 50 { print $2 }' "$tmp/csv" >>"$tmp/${variant//\//_}"
  done
done
"$policy_server" --version | head -n 1
p50() { median <"$tmp/${1//\//_}"; } # VARIANT
for variant in "${variants[@]}"; do
  read -r name request <<<"$variant"
  awk -v name="${name%,}" -v request="$(basename "$request" .json)" -v time="$(p50 "$variant")" \
    -v nothing="$(p50 "nothing, $request")" \
    'BEGIN { printf "%-14s %-24s %.2f ms, %.2f times nothing\n", name, request, time, time / nothing }'
done
