# Always, or the node's copy, on a node: examples/always-if-available.yaml. It needs POLICY_SERVER, whose source of images
# is HTTP.
load lib

teardown_file() { remove_presets; }

# warm_up NAME...: the node pulls these images by their tags, and the policy server doesn't ask for them. (It would keep
# their digests for a minute.)
warm_up() {
  local name
  use_address
  image "$@"
  for name; do create "before-${name%:*}" "app main $name Always" "$unselected"; done
  for name; do comes "before-${name%:*}" 'running("main")'; done
}

@test "the registry refuses, or has lost the tag: a new Pod starts from the node's copy, and elsewhere it waits" {
  needs POLICY_SERVER
  apply always-if-available
  warm_up app:v1 deleted:v1
  delete_image deleted:v1
  create deleted "app main deleted:v1 Always"
  comes deleted 'running("main")'
  is deleted 'pulls("main") == "IfNotPresent"'

  touch "$RUN/stopped"
  create refused "app main app:v1 Always"
  comes refused 'running("main")'
  is refused 'pulls("main") == "IfNotPresent" and (.metadata.annotations["consistent-pull-policy/warnings"] | contains("app:v1"))'
  create elsewhere "app main never-seen:v1 Always"
  comes elsewhere 'waits_for_image("main")'
}

@test "the registry is frozen: the Pod is created as it is written, after ten seconds, and waits" {
  needs POLICY_SERVER
  apply always-if-available
  warm_up app:v1
  touch "$RUN/frozen"
  local start=$SECONDS
  create frozen "app main app:v1 Always"
  echo "# created after $((SECONDS - start)) s" >&3
  is frozen 'pulls("main") == "Always"'
  rm "$RUN/frozen"
  comes frozen 'running("main")'
}
