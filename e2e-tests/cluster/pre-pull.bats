# Fresh, fast, and through an outage, on a node: examples/beside/pre-pull.yaml beside always-by-digest.yaml with
# `onUnavailable: UseCached`. It needs POLICY_SERVER, whose source of images is HTTP.
load lib

teardown_file() { remove_presets; }

# pre_pull NAME:TAG NAME:TAG: the DaemonSet of the file with these two images.
pre_pull() {
  gojq --yaml-input --arg in "$IN" '.spec.template.spec |= (
      .volumes = [[.volumes, $ARGS.positional] | transpose[] | .[0].image.reference = "\($in)/\(.[1])" | .[0]]
      | .containers[0] |= (.image = "\($in)/\($ARGS.positional[0])" | .command = ["/bin/busybox", "sleep", "3600"]))
  ' --args "$@" <examples/beside/pre-pull.yaml
}

pulled() {
  kube get events --output json | jq --exit-status --arg pod "$1" \
    '[.items[] | select(.involvedObject.name == $pod and .reason == "Pulling")] | length > 0'
}

@test "fresh while the registry is up, without a pull; and while it is unreachable, the copy under the tag" {
  needs POLICY_SERVER
  use_address
  apply always-by-digest-use-cached
  image app:v1 other:v1 pinned:v1
  pre_pull app:v1 other:v1 | kube apply --filename -
  eventually eval '[[ $(kube get daemonset pre-pull --output jsonpath={.status.numberReady}) == 1 ]]'
  create up "app one app:v1 Always, app two other:v1 Always"
  comes up 'running("one") and running("two")'
  is up '[places[] | select(.name == "one" or .name == "two") | .image | contains("@sha256:")] | all'
  not pulled up
  create only-pinned "app main pinned:v1 Always"
  comes only-pinned 'running("main")'

  sleep 61 # The policy server forgets the digests.
  touch "$RUN/stopped"
  create unreachable "app one app:v1 Always, app two other:v1 Always"
  comes unreachable 'running("one") and running("two") and ([pulls("one", "two")] == ["IfNotPresent", "IfNotPresent"])'
  is unreachable '[places[] | .image? | strings | contains("@")] | any | not'
  create waits "app main pinned:v1 Always"
  comes waits 'waits_for_image("main")'
  rm "$RUN/stopped"

  # The tag moves, and the DaemonSet starts again: the node has the new image.
  image app:v1
  kube rollout restart daemonset/pre-pull
  kube rollout status daemonset/pre-pull --timeout 60s
  sleep 61
  touch "$RUN/stopped"
  create moved "app one app:v1 Always"
  comes moved 'running("one") and (status("one").imageID | endswith("'"$(digest app:v1)"'"))'
}
