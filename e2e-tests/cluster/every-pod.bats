# Pods whose author made no checks, on a node: examples/every-pod-volumes.yaml.
load lib

setup_file() { apply_example every-pod-volumes; }
teardown_file() { remove_example every-pod-volumes; }

@test "with and without init containers, and a native sidecar: a Pod starts, and a missing image holds it up" {
  local row first
  image app:v1 other:v1
  for row in "init first other:v1 IfNotPresent, " "" "sidecar first other:v1 IfNotPresent, "; do
    first="${row}app one app:v1 IfNotPresent, app two"
    create starts "$first other:v1 IfNotPresent"
    comes starts 'running("one") and running("two")'
    create without "$first gone:v1 IfNotPresent" "$unselected"
    comes without 'running("one") and waits_for_image("two")'
    create held-up "$first gone:v1 IfNotPresent"
    comes held-up '[(status("first", "one", "two").state.waiting.message // "") | contains("/gone:v1")] | any'
    # With an init container nothing starts. Without one, each app container carries the checks.
    comes held-up '[.status.containerStatuses[].state | has("running")] | any | not'
    kube delete pod --all --wait >/dev/null
  done
}

@test "a webhook that drops volumes[].image: no container was lowered" {
  webhook zz-old-types "$WEBHOOKS/old-types"
  image app:v1
  create with "init first app:v1 IfNotPresent, app one app:v1 Always, app two gone:v1 Always"
  is with '[places[] | select(has("emptyDir") and (.name | startswith("imagecheck-")))] != []'
  is with 'pulls("one") == "Always" and pulls("two") == "Always"'
}

@test "an image ID with Never" {
  local id
  # A kubelet lets a Pod take an image by its ID only if no kubelet has pulled it, as the sandbox's image of a node.
  id=sha256:$(skopeo inspect --tls-verify=false --config --raw "docker://$SANDBOX" | sha256sum | cut -d ' ' -f 1)
  create with "app one =$id Never, app two =$id Never" 'del(.spec.containers[] | .command, .args)'
  comes with 'running("one") and running("two")'
}

@test "kubectl debug" {
  image app:v1
  create with "app main app:v1 IfNotPresent"
  comes with 'running("main")'
  kube debug with --image "registry.test/$NS/app:v1" --container debugger --image-pull-policy IfNotPresent \
    -- /bin/busybox sleep 3600
  comes with 'running("debugger")'

  run kube patch pod with --subresource ephemeralcontainers \
    --patch '{"spec": {"ephemeralContainers": [{"name": "invalid", "image": "INVALID"}]}}'
  [[ $status != 0 && $output == *"invalid has no valid image in spec.ephemeralContainers"* ]]
}

@test "a Pod with a finalizer that is being deleted" {
  image app:v1
  create with "app one app:v1 Always" '.metadata.finalizers = ["cluster.test/hold"]'
  comes with 'running("one")'
  kube delete pod with --wait=false
  is with '.metadata.deletionTimestamp'
  kube set image pod/with one=INVALID
  kube patch pod with --patch '{"metadata": {"finalizers": null}}'
  within 30 not kube get pod with
}

@test "the copy accepts what a mesh adds before or after this policy, and rejects other containers" {
  local name
  image app:v1
  remove_example every-pod-volumes
  apply_example every-pod-volumes-istio
  for name in aa-mesh zz-mesh; do
    webhook "$name" "$WEBHOOKS/mesh/docker.io/istio/proxyv2:1"
    create "$name" "app one app:v1 Always, app two app:v1 IfNotPresent"
    is "$name" '[.spec.volumes[] | .name | startswith("imagecheck-")] | any'
    is "$name" '[places[] | .name == "proxy"] | any'
    kubectl delete mutatingwebhookconfiguration "$name"
  done

  webhook zz-mesh "$WEBHOOKS/mesh/other.test/proxy:1"
  not create other "app one app:v1 Always, app two app:v1 IfNotPresent"
  [[ $output == *"proxy pulls other.test/proxy:1 but no image check pulls it first"* ]]
  remove_example every-pod-volumes-istio
}
