# The jobs of agent-stack-k8s, on a node: examples/agent-stack-k8s.yaml.
load lib

setup_file() { apply_preset agent-stack-k8s; }
teardown_file() { remove_presets; }

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

# "Same image" in docs/rules.md: a check with Always, a container with IfNotPresent, and a registry that stops between
# them. X is a repository of docker.io/library. With this policy every container starts, because a check is added that is
# written like the container.
@test "a check and a container with differently written names" {
  local check container expected pod
  declare -A rows=()
  image agent:v1
  while read -r check container expected; do
    for pod in "without-${#rows[@]}" "with-${#rows[@]}"; do
      image "docker.io/library/$NS-$pod:v1"
      create "$pod" "init copy-agent agent:v1 IfNotPresent, init imagecheck-0 =${check/X/$NS-$pod} Always, \
init stop agent:v1 IfNotPresent, app main =${container/X/$NS-$pod} IfNotPresent" \
        "$([[ $pod == with-* ]] && echo . || echo "$unselected")"
      rows[$pod]=$expected
    done
  done <<'ROWS'
X:v1                    X:v1                    running
docker.io/library/X:v1  X:v1                    waits_for_image
X:v1                    docker.io/library/X:v1  waits_for_image
X:v1                    library/X:v1            waits_for_image
ROWS
  for pod in "${!rows[@]}"; do comes "$pod" 'running("stop")'; done
  touch "$RUN/stopped"
  for pod in "${!rows[@]}"; do
    resume "$pod"
    comes "$pod" "$([[ $pod == with-* ]] && echo running || echo "${rows[$pod]}")(\"main\")"
  done
}
