# Pods of Jobs, whose authors made no checks, on a node: examples/every-pod-volumes.yaml.
load lib

setup_file() { apply_example every-pod-volumes "$updates"; }
teardown_file() { remove_examples; }

@test "with and without init containers, and a native sidecar: a Pod starts, and a missing image holds it up" {
  local row first
  image app:v1 other:v1
  for row in "init first other:v1 IfNotPresent, " "" "sidecar first other:v1 IfNotPresent, "; do
    first="${row}app one app:v1 IfNotPresent, app two"
    create starts "$first other:v1 IfNotPresent" "$job"
    comes starts 'running("one") and running("two")'
    create without "$first gone:v1 IfNotPresent" "$unselected"
    comes without 'running("one") and waits_for_image("two")'
    create held-up "$first gone:v1 IfNotPresent" "$job"
    comes held-up '[(status("first", "one", "two").state.waiting.message // "") | contains("/gone:v1")] | any'
    # With an init container nothing starts. Without one, each app container carries the checks.
    comes held-up nothing_runs
    kube delete pod --all --wait >/dev/null
  done
}

@test "kubectl debug" {
  image app:v1
  create with "app main app:v1 IfNotPresent" "$job"
  comes with 'running("main")'
  kube debug with --image "registry.test/$NS/app:v1" --container debugger --image-pull-policy IfNotPresent \
    -- /bin/busybox sleep 3600
  comes with 'running("debugger")'

  run kube patch pod with --subresource ephemeralcontainers \
    --patch '{"spec": {"ephemeralContainers": [{"name": "invalid", "image": "INVALID"}]}}'
  [[ $status != 0 && $output == *'invalid has the invalid image "INVALID" in spec.ephemeralContainers'* ]]
}
