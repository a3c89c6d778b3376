# The jobs of agent-stack-k8s, on a node: examples/agent-stack-k8s.yaml.
load lib

setup_file() { apply_example agent-stack-k8s; }
teardown_file() { remove_example agent-stack-k8s; }

@test "a weak check, an image on the node, a tag that has left the registry" {
  local places="init copy-agent agent:v1 Always, init imagecheck-0 app:v1 IfNotPresent,
app container-0 app:v1 Always, app agent agent:v1 IfNotPresent"
  places=${places/$'\n'/ }
  image agent:v1
  image app:v1
  on_node app:v1
  delete_image app:v1

  create "pod without" "$places" unselected
  comes without 'ended("imagecheck-0") and running("agent") and waits_for_image("container-0")'

  create "pod with" "$places"
  [[ $output == *"imagecheck-0 now pulls"* ]]
  comes with 'ended("copy-agent") and waits_for_image("imagecheck-0") and nothing_started'
}

@test "a step's image that was never pushed" {
  local places="init copy-agent agent:v1 Always, app container-0 gone:v1 IfNotPresent, app agent agent:v1 IfNotPresent"
  image agent:v1

  create "pod without" "$places" unselected
  comes without 'running("agent") and waits_for_image("container-0")'

  create "pod with" "$places"
  comes with 'waits_for_image("imagecheck-0") and (status("imagecheck-0").image | endswith("/gone:v1")) and nothing_started'
}

@test "images that exist: the job ends, after one request by tag for each image" {
  image agent:v1
  image app:v1
  image step:v1
  # Without this policy, the step's image has no check, and the check and the container ask twice for app:v1.
  create "pod with" "init copy-agent agent:v1 Always, init imagecheck-0 app:v1 Always, app container-0 app:v1 Always, \
app container-1 step:v1 Always, app agent agent:v1 IfNotPresent" "$ends"
  comes with '.status.phase == "Succeeded"'
  is with 'ended("imagecheck-1") and pulls("container-0") == "IfNotPresent" and pulls("container-1") == "IfNotPresent"'
  diff <(asked_by_tag | sort) <(printf '%s v1\n' agent app step)
}

@test "pull-once: the registry stops between the check and the container" {
  local name
  # The init container "stop" waits, so that the registry can stop meanwhile.
  local places="init copy-agent agent:v1 Always, init imagecheck-0 app:v1 Always, init stop agent:v1 IfNotPresent,
app container-0 app:v1 Always"
  local wait='(.spec.initContainers[] | select(.name == "stop").args) = ["sleep", "5"]'
  places=${places/$'\n'/ }
  image agent:v1
  image app:v1
  for name in without with; do
    rm -f "$RUN/stopped"
    create "pod $name" "$places" "$wait$([[ $name == with ]] || echo " | $unselected")"
    comes "$name" 'ended("imagecheck-0") and running("stop")'
    touch "$RUN/stopped"
    if [[ $name == without ]]; then
      comes without 'waits_for_image("container-0")'
    else
      comes with 'running("container-0")'
    fi
  done
}
