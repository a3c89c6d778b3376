# Digests from admission, on a node: examples/always-by-digest.yaml, which with `lookup: Pin` pins every tag. bursts.bats
# measures many Pods at once. It needs POLICY_SERVER, whose source of images is HTTP.
load lib

teardown_file() { remove_presets; }

# starts_from POD TAG: the Pod runs the image that this tag has in the registry.
starts_from() {
  comes "$1" 'running("stop") and (status("stop").imageID | endswith("'"$2"'"))'
}

@test "the tag moves: a Pod keeps its image when it starts again, and a new Pod gets the new one" {
  needs POLICY_SERVER
  local preset policy first
  use_address
  for row in "always-by-digest Always" "always-by-digest-pin IfNotPresent"; do
    read -r preset policy <<<"$row"
    apply "$preset"
    image "$preset:v1"
    first=$(digest "$preset:v1")
    create "$preset-first" "app stop $preset:v1 $policy" '.spec.restartPolicy = "Always"'
    starts_from "$preset-first" "$first"
    is "$preset-first" 'pulls("stop") == "IfNotPresent"'
    image "$preset:v1"
    resume "$preset-first"
    comes "$preset-first" 'status("stop").restartCount > 0 and (status("stop").imageID | endswith("'"$first"'"))'
    sleep 61 # The policy server forgets the digest.
    create "$preset-second" "app stop $preset:v1 $policy"
    starts_from "$preset-second" "$(digest "$preset:v1")"
  done
}

@test "the registry is unreachable, or has lost the tag: a pinned Pod starts again, and a new one keeps its tag and waits" {
  needs POLICY_SERVER
  local preset policy
  use_address
  for row in "always-by-digest Always" "always-by-digest-pin IfNotPresent"; do
    read -r preset policy <<<"$row"
    apply "$preset"
    image "$preset:v1" "$preset:v2"
    for tag in v1 v2; do create "$preset-$tag" "app stop $preset:$tag $policy" '.spec.restartPolicy = "Always"'; done
    for tag in v1 v2; do comes "$preset-$tag" 'running("stop")'; done
    delete_image "$preset:v2"
    sleep 61
    create "$preset-lost" "app main $preset:v2 $policy"
    comes "$preset-lost" 'waits_for_image("main")'
    touch "$RUN/stopped"
    resume "$preset-v1"
    comes "$preset-v1" 'status("stop").restartCount > 0 and (waits_for_image("stop") | not)'
    create "$preset-unreachable" "app main $preset:v1 $policy"
    comes "$preset-unreachable" 'waits_for_image("main")'
    is "$preset-unreachable" 'pulls("main") == "'"$policy"'"'
    rm "$RUN/stopped"
  done
}

# Velero's data movers take the image of node-agent with Never, and trivy-operator's file system scan that of a workload.
@test "a Pod with Never that uses another Pod's tag: it fails beside a pinned Pod, and starts where skipImages has the image" {
  needs POLICY_SERVER
  local row name image
  use_address
  apply always-by-digest-pin
  image team/app:v1 velero/velero:v1
  for row in "pinned team/app:v1" "skipped velero/velero:v1"; do
    read -r name image <<<"$row"
    create "$name-agent" "app main $image IfNotPresent"
    comes "$name-agent" 'running("main")'
    create "$name-mover" "app main $image Never" "$ends"
  done
  comes pinned-mover 'status("main").state.waiting.reason == "ErrImageNeverPull"'
  comes skipped-mover '.status.phase == "Succeeded"'
}

@test "kubectl debug" {
  needs POLICY_SERVER
  use_address
  apply always-by-digest
  image app:v1
  create with "app main app:v1 IfNotPresent"
  comes with 'running("main")'
  kube debug with --image "$IN/app:v1" --container debugger --image-pull-policy Always -- /bin/busybox sleep 3600
  comes with 'running("debugger") and (status("debugger").imageID | endswith("'"$(digest app:v1)"'"))'
  is with 'pulls("debugger") == "IfNotPresent"'

  run kube patch pod with --subresource ephemeralcontainers \
    --patch '{"spec": {"ephemeralContainers": [{"name": "invalid", "image": "INVALID"}]}}'
  [[ $status != 0 && $output == *'invalid has the invalid image "INVALID" in spec.ephemeralContainers'* ]]
}
