#!/usr/bin/env bash
# Prints the median latency of a dry-run creation of the agent-stack Pod with weak checks at the API server of the
# current context: without admission, with a webhook that does nothing, with this policy, and with the
# MutatingAdmissionPolicy of examples/without-kubewarden.yaml. `kubectl proxy` is in between.
#
#   ADDRESS=<of this machine> bench/api-server.sh    (after `make annotated-policy.wasm`)
. "$(dirname "$0")/lib.sh"
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=measure -addext "subjectAltName=IP:$address" \
  -keyout "$tmp/tls.key" -out "$tmp/tls.crt" 2>/dev/null
serve "$(nothing && policy this "$module" "$(gojq --yaml-input --compact-output .spec.settings examples/agent-stack-k8s.yaml)")" \
  --cert-file "$tmp/tls.crt" --key-file "$tmp/tls.key"
for name in none nothing this map; do namespace "measure-$name"; done
for name in nothing this; do
  made+=("mutatingwebhookconfiguration/measure-$name")
  jq -n --arg name "measure-$name" --arg url "https://$address:$port/validate/$name" \
    --arg ca "$(base64 -w 0 "$tmp/tls.crt")" '{apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration", metadata: {$name}, webhooks: [{name: "\($name).example.com",
      admissionReviewVersions: ["v1"], sideEffects: "None", clientConfig: {url: $url, caBundle: $ca},
      namespaceSelector: {matchLabels: {"kubernetes.io/metadata.name": $name}}, reinvocationPolicy: "IfNeeded",
      rules: [{operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"]}]}]}' |
    kubectl apply -f - >&2
done
made+=(mutatingadmissionpolicy/measure-map mutatingadmissionpolicybinding/measure-map)
kubectl create --dry-run=client -o json -f examples/without-kubewarden.yaml |
  jq '.metadata.name = "measure-map" | (select(.kind == "MutatingAdmissionPolicyBinding").spec)
    = {policyName: "measure-map", matchResources: {namespaceSelector: {matchLabels:
      {"kubernetes.io/metadata.name": "measure-map"}}}}' |
  kubectl apply -f - >&2
kubectl proxy --port $((port + 2)) >"$tmp/proxy" &
# The Pod of the captured review, as somebody creates it.
jq '.request.object | .metadata |= {name: "measured", labels, annotations}' \
  test_data/reviews/agent-stack-0.47-real-weak-checks-pod-create.json >"$tmp/pod.json"
create() { echo "http://127.0.0.1:$((port + 2))/api/v1/namespaces/measure-$1/pods?dryRun=All"; }
checks() { # how the Pod's checks pull in a namespace
  curl -fsS -H 'Content-Type: application/json' -d "@$tmp/pod.json" "$(create "$1")" |
    jq -c '[.spec.initContainers[] | select(.name | startswith("imagecheck-")) | .imagePullPolicy] | unique'
}
# A webhook acts a moment after it was registered.
for name in this map; do until [[ $(checks "$name") == '["Always"]' ]]; do sleep 1; done; done
for name in none nothing; do [[ $(checks "$name") == '["IfNotPresent"]' ]]; done

for name in none nothing this map; do variants+=("$name" "$(create "$name")" "$tmp/pod.json"); done
rounds "${variants[@]}"
kubectl version -o json | jq -r '"kube-apiserver \(.serverVersion.gitVersion)"'
printf '%-40s %6.2f ms\n' 'no admission' "$(time_of none)" 'a webhook that does nothing' "$(time_of nothing)" \
  'this policy with agent-stack-k8s.yaml' "$(time_of this)" without-kubewarden.yaml "$(time_of map)"
