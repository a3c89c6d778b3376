# Tags that their registry doesn't have are refused: examples/missing-tags.yaml, with the Pods of each controller of which the
# project has a manifest. It needs POLICY_SERVER, whose source of images is HTTP.
load lib

setup_file() {
  needs POLICY_SERVER
  apply_preset missing-tags
}
teardown_file() { remove_presets; }

# A namespace that the preset selects.
labelled() {
  kubectl label namespace "$NS" consistent-pull-policy/missing-tags= >/dev/null
  use_address
}

# The controllers' Pods, by the names of their files in test_data/pods; and a Job of agent-stack-k8s, which was captured.
controllers=(actions-job actions-runner argo-workflow gitlab-runner jenkins-agent kubeflow-pipelines spark-driver tekton-taskrun volcano-worker)

# of_controller NAME IMAGE: the controller's object, where the last app container has this image, and all others have app:v1.
of_controller() {
  if [[ $1 == agent-stack-k8s ]]; then
    jq '.request.object' test_data/reviews/agent-stack-0.47-real-step-image-job-create.json
  else
    gojq --yaml-input . "test_data/pods/$1.yaml"
  fi | jq --arg in "$IN" --arg image "$2" '
    '"$foreign"' | (.. | objects | select(has("containers"))) |= (
        (.containers[], .initContainers[]?).image = "\($in)/app:v1" | .containers[-1].image = "\($in)/\($image)"
        | (.volumes[]? | select(.image)).image.reference = "\($in)/app:v1")'
}

# places: prints each container and image volume of an object, with its image and pull policy.
places() {
  jq --compact-output '.. | objects | select(has("containers"))
    | [.initContainers[]?, .containers[], (.volumes[]? | select(.image)) | [.name, .image, .imagePullPolicy]]'
}

@test "each controller's object: untouched if its tags exist, and refused with a sentence that names the image if not" {
  local name
  image app:v1
  for name in "${controllers[@]}" agent-stack-k8s; do
    echo "$name"
    use_address
    of_controller "$name" gone:v1 >"$BATS_TEST_TMPDIR/wrong.json"
    of_controller "$name" app:v1 >"$BATS_TEST_TMPDIR/right.json"
    # As the API server completes them, without the preset.
    kube create --dry-run=server --output json --filename "$BATS_TEST_TMPDIR/right.json" | places >"$BATS_TEST_TMPDIR/before"
    kube create --dry-run=server --filename "$BATS_TEST_TMPDIR/wrong.json"
    labelled
    kube create --dry-run=server --output json --filename "$BATS_TEST_TMPDIR/right.json" | places >"$BATS_TEST_TMPDIR/after"
    diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
    refused kube create --dry-run=server --filename "$BATS_TEST_TMPDIR/wrong.json"
    kubectl label namespace "$NS" consistent-pull-policy/missing-tags- >/dev/null
  done
}

# waits_in OWNER: a Pod of this owner is there, and waits for its image.
waits_in() {
  kube get pods --output json | jq --exit-status --arg owner "$1" "$conditions"'
    any(.items[] | select(.metadata.ownerReferences[0].name // "" | startswith($owner)); waits_for_image("main"))'
}

@test "the Pods of a Deployment, and of a Job whose tag goes later, are created, and wait" {
  labelled
  image late:v1
  workload Deployment deployment "app main gone:v1 Always" | kube create --filename -
  eventually waits_in deployment

  workload Job late "app main late:v1 Always" | jq '.spec.suspend = true' | kube create --filename -
  delete_image late:v1
  sleep 61 # The policy server forgets the digest.
  kube patch job late --patch '{"spec": {"suspend": false}}'
  eventually waits_in late
}
