# A node that reaches its registry only at times: examples/air-gapped.yaml.
load lib

setup_file() { apply_preset air-gapped; }
teardown_file() { remove_presets; }

@test "the registry is unreachable: Pods start from the node's images, and start again; elsewhere they wait" {
  image app:v1
  create before "app main app:v1 Always" "$unselected"
  comes before 'running("main")'
  touch "$RUN/stopped"
  create pod "init first app:v1 Always, app stop app:v1 Always" '.spec.restartPolicy = "Always"'
  comes pod 'running("stop")'
  resume pod
  comes pod 'status("stop").restartCount > 0'
  create without "app main app:v1 Always" "$unselected"
  comes without 'waits_for_image("main")'
  create elsewhere "app main never-seen:v1 Always"
  comes elsewhere 'waits_for_image("main")'
}
