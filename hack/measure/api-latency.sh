#!/usr/bin/env bash
# Prints the median latency of a dry-run creation of the agent-stack Pod with weak checks at the API server of the
# current context: without admission, with a webhook that does nothing, with this policy, and with the
# MutatingAdmissionPolicy of examples/without-kubewarden.yaml. `kubectl proxy` is in between.
#
#   ADDRESS=<of this machine> hack/measure/api-latency.sh    (after `make annotated-policy.wasm`)
. "$(dirname "$0")/lib.sh"
example=examples/without-kubewarden.yaml
cleanup() {
  [[ -z $proxy ]] || kill "$proxy"
  kubectl delete mutatingwebhookconfiguration measure-nothing measure-this --ignore-not-found >&2
  kubectl delete mutatingadmissionpolicy,mutatingadmissionpolicybinding measure-map --ignore-not-found >&2
  kubectl delete namespace measure-{none,nothing,this,map} --ignore-not-found --wait=false >&2
  stop_server
  rm -rf "$tmp"
}
proxy=
policies=$(nothing && policy this "$module" "$(<examples/settings/agent-stack-k8s.yaml)")
serve_tls "$policies"
for namespace in none nothing this map; do namespace "measure-$namespace"; done
webhook nothing measure-nothing
webhook this measure-this
kubectl create --dry-run=client -o json -f "$example" |
  jq '.metadata.name = "measure-map" | (select(.kind == "MutatingAdmissionPolicyBinding").spec)
    = {policyName: "measure-map", matchResources: {namespaceSelector: {matchLabels:
      {"kubernetes.io/metadata.name": "measure-map"}}}}' |
  kubectl apply -f - >&2
kubectl proxy --port $((port + 2)) >"$tmp/proxy" &
proxy=$!
pod_of agent-stack-0.47-real-weak-checks-pod-create >"$tmp/pod.json"
create() { echo "http://127.0.0.1:$((port + 2))/api/v1/namespaces/measure-$1/pods?dryRun=All"; }
checks() { # how the Pod's checks pull in a namespace
  curl -fsS -H 'Content-Type: application/json' -d "@$tmp/pod.json" "$(create "$1")" |
    jq -c '[.spec.initContainers[] | select(.name | startswith("imagecheck-")) | .imagePullPolicy] | unique'
}
# A webhook acts a moment after it was registered.
for namespace in this map; do until [[ $(checks "$namespace") == '["Always"]' ]]; do sleep 1; done; done
for namespace in none nothing; do [[ $(checks "$namespace") == '["IfNotPresent"]' ]]; done

for namespace in none nothing this map; do variants+=("$namespace" "$(create "$namespace")" "$tmp/pod.json"); done
rounds "${variants[@]}"
kubectl version -o json | jq -r '"kube-apiserver \(.serverVersion.gitVersion)"'
"$policy_server" --version | head -n 1
printf '%-40s %6.2f ms\n' 'no admission' "$(time_of none)" 'a webhook that does nothing' "$(time_of nothing)" \
  'this policy with agent-stack-k8s.yaml' "$(time_of this)" without-kubewarden.yaml "$(time_of map)"
