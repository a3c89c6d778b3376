#!/usr/bin/env bash
# Prints the median latency over HTTP of the agent-stack Pod in policy-server, which has one worker and one
# connection: a policy that does nothing, this policy (the Pod as it is made, and as this policy repaired it),
# and each MODULE. Also prints the memory of policy-server.
#
#   hack/measure/policy-server-latency.sh [NAME MODULE SETTINGS]...    (after `make annotated-policy.wasm`)
. "$(dirname "$0")/lib.sh"
review=test_data/reviews/agent-stack-pod-create.json
url=http://127.0.0.1:$port/validate
policies=$(nothing && policy this "$module" '{imageChecks: {coverage: "Off"}}')
variants=(nothing-repaired "$url/nothing" "$review" nothing-accepted "$url/nothing" "$tmp/accepted"
  repaired "$url/this" "$review" accepted "$url/this" "$tmp/accepted")
while (($#)); do
  policies+=$'\n'$(policy "$1" "$2" "$3")
  variants+=("$1" "$url/$1" "$review")
  shift 3
done
serve "$policies"
send() { curl -fsS -H 'Content-Type: application/json' -d "@$1" "$url/this"; }
send "$review" >"$tmp/answer"
# Applies the JSON patch of the answer (replacements and additions to objects alone) to the review.
jq --slurpfile answer "$tmp/answer" 'reduce ($answer[0].response.patch | @base64d | fromjson[]) as $change (.;
  (["request", "object"] + ($change.path | ltrimstr("/") / "/" | map(gsub("~1"; "/") | gsub("~0"; "~")
    | if test("^[0-9]+$") then tonumber else . end))) as $path | setpath($path; $change.value))' "$review" \
  >"$tmp/accepted"
send "$tmp/accepted" | jq -e '.response | .allowed and .patch == null' >/dev/null
rounds "${variants[@]}"

"$policy_server" --version | head -n 1
# The memory of the policy server now, and its peak, which it had while it compiled the modules.
awk '/^Vm(RSS|HWM)/ { printf "%s %.0f MiB\n", $1, $2 / 1024 }' "/proc/$!/status"
for ((i = 0; i < ${#variants[@]}; i += 3)); do
  name=${variants[i]} nothing=nothing-repaired
  [[ $name != *accepted ]] || nothing=nothing-accepted
  ratio=$(paste "$tmp/$name.times" "$tmp/$nothing.times" | awk '{ print $1 / $2 }' | median) # of the same round
  printf '%-18s %6.2f ms, %.2f times as long as nothing\n' "$name" "$(time_of "$name")" "$ratio"
done
