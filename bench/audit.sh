#!/usr/bin/env bash
# Prints how long a request to another policy waits in policy-server, which has one worker: alone, and during an
# audit of 10 Pods that this policy looks up in a registry that answers after a second. Needs socat.
#
#   bench/audit.sh    (after `make annotated-policy.wasm`)
. "$(dirname "$0")/lib.sh"
registry=127.0.0.1:$((port + 2))
serve "$(nothing && policy this "$module" "{mode: Reject, registry: {lookup: Verify, images: ['$registry/*']}}")" \
  --sources-path <(echo "insecure_sources: ['$registry']")
socat "TCP-LISTEN:${registry#*:},fork,reuseaddr" \
  SYSTEM:'sleep 1; printf "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"' 2>/dev/null &
json='Content-Type: application/json'
review=test_data/reviews/agent-stack-pod-create.json
wait_of_other() {
  curl -fsS -o /dev/null -w '%{time_total}' -H "$json" -d "@$review" "http://127.0.0.1:$port/validate/nothing"
}
echo "alone $(wait_of_other) s"
for pod in {1..10}; do # the requests of an audit name no user
  jq --arg image "$registry/app-$pod:1" '.request.userInfo = {} |
    .request.object.spec |= {containers: [.containers[0] + {$image}]}' "$review" >"$tmp/$pod.json"
  curl -fsS -o "$tmp/$pod.answer" -H "$json" -d "@$tmp/$pod.json" "http://127.0.0.1:$port/audit/this" &
  audits+=($!)
done
sleep 1
echo "during the audit $(wait_of_other) s"
wait "${audits[@]}"
jq -r '.response.status.message' "$tmp"/*.answer | sort | uniq -c | sort -rn | head -n 2
