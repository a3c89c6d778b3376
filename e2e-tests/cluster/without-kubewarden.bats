# agent-stack-k8s with the API server's own means: examples/beside/without-kubewarden.yaml, on Pods that the controller made.
load lib

policy=examples/beside/without-kubewarden.yaml

setup_file() {
  kubectl get mutatingadmissionpolicies >/dev/null 2>&1 || skip "this cluster has no MutatingAdmissionPolicy: it needs Kubernetes 1.36"
  kubectl apply --filename "$policy"
}
teardown_file() { kubectl delete --ignore-not-found --filename "$policy"; }

# mutated NAME: prints the containers of a captured Pod, as the API server would store them.
mutated() {
  jq ".request.object | $foreign" "test_data/reviews/agent-stack-0.47-real-$1-pod-create.json" |
    kube create --dry-run=server --output json --filename - |
    jq --raw-output '.spec | .initContainers[], .containers[] | "\(.name) \(.image) \(.imagePullPolicy)"'
}

@test "weak checks are raised, and their containers lowered; the image of a step gets a check" {
  local agent=ghcr.io/buildkite/agent:3.136.2
  eventually eval 'mutated weak-checks | grep "^imagecheck-0 .* Always$"'
  diff <(mutated weak-checks) - <<END
copy-agent $agent Always
imagecheck-0 redis:7 Always
imagecheck-1 my-app:v1.2.3 Always
sidecar-0 postgres:16 IfNotPresent
container-0 my-app:v1.2.3 IfNotPresent
container-1 redis:7 IfNotPresent
agent $agent IfNotPresent
checkout $agent IfNotPresent
END
  diff <(mutated step-image) - <<END
copy-agent $agent Always
imagecheck-container-0 node:22-alpine IfNotPresent
container-0 node:22-alpine IfNotPresent
agent $agent IfNotPresent
checkout $agent IfNotPresent
END
}
