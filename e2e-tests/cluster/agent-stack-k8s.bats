# The jobs of agent-stack-k8s, on a node: examples/agent-stack-k8s.yaml.
load lib

setup_file() { apply_example agent-stack-k8s; }
teardown_file() { remove_examples; }

@test "a weak check, an image on the node, a tag that has left the registry" {
  local places="init copy-agent agent:v1 Always, init imagecheck-0 app:v1 IfNotPresent, \
app container-0 app:v1 Always, app agent agent:v1 IfNotPresent"
  image agent:v1 app:v1
  create on-node "app main app:v1 IfNotPresent" "$unselected"
  comes on-node 'running("main")'
  delete_image app:v1

  create without "$places" "$unselected"
  comes without 'ended("imagecheck-0") and running("agent") and waits_for_image("container-0")'

  create with "$places"
  [[ $output == *"imagecheck-0 now pulls"* ]]
  comes with 'ended("copy-agent") and waits_for_image("imagecheck-0") and nothing_started'
}

@test "a step's image that was never pushed" {
  local places="init copy-agent agent:v1 Always, app container-0 gone:v1 IfNotPresent, \
app agent agent:v1 IfNotPresent"
  image agent:v1

  create without "$places" "$unselected"
  comes without 'running("agent") and waits_for_image("container-0")'

  create with "$places"
  comes with 'waits_for_image("imagecheck-0") and nothing_started'
  is with 'status("imagecheck-0").image | endswith("/gone:v1")'
}

@test "images that exist: the job ends, after one request by tag for each image" {
  image agent:v1 app:v1 step:v1
  # Without this policy, the step's image has no check, and the check and the container ask twice for app:v1.
  create with "init copy-agent agent:v1 Always, init imagecheck-0 app:v1 Always, \
app container-0 app:v1 Always, app container-1 step:v1 Always, app agent agent:v1 IfNotPresent" "$ends"
  comes with '.status.phase == "Succeeded"'
  is with 'ended("imagecheck-1") and ([pulls("container-0", "container-1")] | . == ["IfNotPresent", "IfNotPresent"])'
  diff <(asked_by_tag | sort) <(printf '%s v1\n' agent app step)
}
