# Digests from admission, on a node: examples/always-by-digest.yaml and examples/pin-digests.yaml. bursts.bats measures many
# Pods at once. It needs POLICY_SERVER, whose source of images is HTTP.
load lib

teardown_file() { remove_examples; }

# starts_from POD TAG: the Pod runs the image that this tag has in the registry.
starts_from() {
  comes "$1" 'running("stop") and (status("stop").imageID | endswith("'"$2"'"))'
}

@test "the tag moves: a Pod keeps its image when it starts again, and a new Pod gets the new one" {
  needs POLICY_SERVER
  local example policy first
  use_address
  for row in "always-by-digest Always" "pin-digests IfNotPresent"; do
    read -r example policy <<<"$row"
    apply "$example"
    image "$example:v1"
    first=$(digest "$example:v1")
    create "$example-first" "app stop $example:v1 $policy" '.spec.restartPolicy = "Always"'
    starts_from "$example-first" "$first"
    is "$example-first" 'pulls("stop") == "IfNotPresent"'
    image "$example:v1"
    resume "$example-first"
    comes "$example-first" 'status("stop").restartCount > 0 and (status("stop").imageID | endswith("'"$first"'"))'
    sleep 61 # The policy server forgets the digest.
    create "$example-second" "app stop $example:v1 $policy"
    starts_from "$example-second" "$(digest "$example:v1")"
  done
}

@test "the registry is away, or has lost the tag: a pinned Pod starts again, and a new one keeps its tag and waits" {
  needs POLICY_SERVER
  local example policy
  use_address
  for row in "always-by-digest Always" "pin-digests IfNotPresent"; do
    read -r example policy <<<"$row"
    apply "$example"
    image "$example:v1" "$example:v2"
    for tag in v1 v2; do create "$example-$tag" "app stop $example:$tag $policy" '.spec.restartPolicy = "Always"'; done
    for tag in v1 v2; do comes "$example-$tag" 'running("stop")'; done
    delete_image "$example:v2"
    sleep 61
    create "$example-lost" "app main $example:v2 $policy"
    comes "$example-lost" 'waits_for_image("main")'
    touch "$RUN/stopped"
    resume "$example-v1"
    comes "$example-v1" 'status("stop").restartCount > 0 and (waits_for_image("stop") | not)'
    create "$example-away" "app main $example:v1 $policy"
    comes "$example-away" 'waits_for_image("main")'
    is "$example-away" 'pulls("main") == "'"$policy"'"'
    rm "$RUN/stopped"
  done
}

@test "the policy server is away: a Pod is created as it is written" {
  needs STOP_POLICY_SERVER START_POLICY_SERVER
  use_address
  apply pin-digests
  image app:v1
  $STOP_POLICY_SERVER 3>&-
  create pod "app main app:v1 Always"
  $START_POLICY_SERVER 3>&-
  is pod 'pulls("main") == "Always"'
  comes pod 'running("main")'
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
