# Checks that are image volumes, on a node: examples/agent-stack-k8s-volumes.yaml.
load lib

setup_file() { apply_example agent-stack-k8s-volumes; }
teardown_file() { remove_examples; }

@test "images that exist: the job ends" {
  image agent:v1 app:v1 step:v1
  # A volume with Always asks once more at each look at the Pod (docs/other-webhooks.md), so the containers have
  # IfNotPresent here, and the volumes get it too.
  create with "init copy-agent agent:v1 Always, app container-0 app:v1 IfNotPresent, \
app container-1 step:v1 IfNotPresent, app agent agent:v1 IfNotPresent" "$ends"
  comes with '.status.phase == "Succeeded"'
  is with '[places[] | select(.image.reference?) | .image.pullPolicy] == ["IfNotPresent", "IfNotPresent"]'
  is with '[.spec.initContainers[0].volumeMounts[].mountPath | startswith("/.imagecheck/")] | any'
  diff <(asked_by_tag | sort) <(printf '%s v1\n' agent app step)
}
