# Checks that are image volumes, on a node: examples/agent-stack-k8s-volumes.yaml, with and without its lookups.
load lib

teardown_file() { remove_presets; }

@test "without lookups, images that exist: the job ends" {
  apply agent-stack-k8s-volumes-off
  image agent:v1 app:v1 step:v1
  create with "init copy-agent agent:v1 Always, app container-0 app:v1 IfNotPresent, \
app container-1 step:v1 IfNotPresent, app agent agent:v1 IfNotPresent" "$ends"
  comes with '.status.phase == "Succeeded"'
  is with '[places[] | select(.image.reference?) | .image.pullPolicy] == ["IfNotPresent", "IfNotPresent"]'
  is with '[.spec.initContainers[0].volumeMounts[].mountPath | startswith("/.imagecheck/")] | any'
}

# captured NAME: the containers of a Pod of agent-stack-k8s, as `manifest` wants them. The images keep their last names.
# Their tags are the Pod's own, because the policy server keeps the digest of a tag for a minute.
captured() {
  jq --raw-output --arg pod "$1" '
    def place($kind): "\($kind) \(.name) \(.image | split("/") | last)-\($pod) \(.imagePullPolicy)";
    .request.object.spec
    | [(.initContainers[] | place(if .restartPolicy == "Always" then "sidecar" else "init" end)), (.containers[] | place("app"))]
    | join(", ")' "test_data/reviews/agent-stack-0.47-real-$1-pod-create.json"
}

# images_of POD: the digest that each container started from: NAME DIGEST.
images_of() {
  kube get pod "$1" --output json | jq --raw-output '.status | .initContainerStatuses[], .containerStatuses[]
    | "\(.name) \(.imageID | split("@")[1])"'
}

@test "which image a job starts from, if the node has the old one: the registry's" {
  local job places names name
  declare -A registry
  needs POLICY_SERVER
  use_address
  apply agent-stack-k8s-volumes
  for job in step-image skip-image-check-containers podspecpatch-image native-sidecar-and-step-image; do
    places=$(captured "$job")
    names=$(grep --only-matching '[a-z-]*:[^ ]*' <<<"$places" | sort --unique)
    # shellcheck disable=SC2086 # a list of words
    image $names
    create "$job-old" "${places//Always/IfNotPresent}" "$unselected"
    comes "$job-old" '.status.phase == "Running"'
    # shellcheck disable=SC2086
    image $names
    for name in $names; do registry[$name]=$(digest "$name"); done

    create "$job-without" "$places" "$unselected"
    comes "$job-without" '[.status.containerStatuses[].state | has("running")] | all'
    not grep "^container-0 ${registry[$(grep --only-matching 'container-0 [^ ]*' <<<"$places" | cut -d ' ' -f 2)]}" <(images_of "$job-without")

    create "$job-with" "$places"
    comes "$job-with" '[.status.containerStatuses[].state | has("running")] | all'
    while read -r name digest; do
      echo "$job: $name has $digest"
      [[ $digest == "${registry[$(grep --only-matching " $name [^ ]*" <<<"$places" | cut -d ' ' -f 3)]}" ]]
    done < <(images_of "$job-with" | grep -v ^imagecheck-)
  done
}
