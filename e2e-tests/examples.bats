# Tests the examples' settings with requests of the kind that each example is made for. The
# reviews agent-stack-0.47-real-* hold Jobs and Pods that the controller of agent-stack-k8s 0.47 made, as an
# API server sent them. Scripts in them are left out. The numbers in the names of the controller's checks
# are random, and so is the order of the checks. So no test looks at them.

load lib
load registry/lib

agent=ghcr.io/buildkite/agent:3.136.2

# settings_of EXAMPLE: prints the settings of the first policy in examples/EXAMPLE.yaml as JSON.
settings_of() {
  gojq --yaml-input --slurp --compact-output '.[0].spec.settings' "examples/$1.yaml"
}

# pulls KIND: the Pod has exactly the places of the row, apart from those that all Pods of agent-stack-k8s have.
# In a row, the name of each check is `check`. KIND is the kind of the added checks.
pulls() {
  local pod expected kind=$1
  pod=$request
  [[ -z $patch ]] || pod=$request.second
  expected=$(printf '%s\n' "init copy-agent $agent Always" "app agent $agent IfNotPresent" "app checkout $agent IfNotPresent" \
    "$(sed 's/, /\n/g' <<<"$apps${checks:+, $checks}")" "$(sed "s/, /\n/g; s/check /$kind check /g" <<<"$added")" | sed '/^$/d' | sort)
  same places "$expected" "$(in_jq -r 'include "lib"; (.request // .).object.spec | places_of_spec | lines' "$pod" |
    sed -E 's/ imagecheck-[0-9]+ / check /' | sort)"
}

# The rows are the Pods of eight Buildkite steps. `step-image` has a step with `image:`. `weak-checks` was made
# with the controller's setting `default-image-check-pull-policy: IfNotPresent`. In `podspecpatch-image`, a
# `podSpecPatch` changed an image. With both examples, each image has a check that is strong enough, and no
# check of the controller is changed otherwise. The examples differ in the kind of the added checks.
@test "agent-stack-k8s*.yaml: the Pods of each step get the checks that they lack" {
  for example in 'agent-stack-k8s init' 'agent-stack-k8s-volumes volume'; do
    settings=$(settings_of "${example% *}")
    while fields name checks added apps; do
      row="$example, $row"
      review "agent-stack-0.47-real-$name-pod-create"
      evaluate "$settings"
      [[ $allowed == true ]] || fail "rejected"
      pulls "${example#* }"
    done <<'ROWS'
    step-image                             | | check node:22-alpine IfNotPresent | app container-0 node:22-alpine IfNotPresent
    weak-checks                            | init check redis:7 Always, init check my-app:v1.2.3 Always, sidecar sidecar-0 postgres:16 IfNotPresent | | app container-0 my-app:v1.2.3 IfNotPresent, app container-1 redis:7 IfNotPresent
    podspecpatch-image                     | init check my-app:v1.2.3 Always, init check redis:7 Always | check my-app:v1.2.4-fix IfNotPresent | app container-0 my-app:v1.2.4-fix IfNotPresent, app container-1 redis:7 IfNotPresent
    native-sidecar-and-step-image          | sidecar sidecar-0 nginx:latest Always | check curlimages/curl:latest IfNotPresent | app container-0 curlimages/curl:latest IfNotPresent
    non-root                               | init check alpine:latest Always | | app container-0 alpine:latest IfNotPresent, app container-1 alpine:latest IfNotPresent, app container-2 alpine:latest IfNotPresent
    pod-resource-class-and-step-image      | | check alpine:latest IfNotPresent | app container-0 alpine:latest IfNotPresent
    podtemplate                            | init check alpine:latest Always | | app templated alpine:latest IfNotPresent
    skip-image-check-containers            | | check alpine:latest IfNotPresent, check buildkite/agent:latest IfNotPresent | app container-0 alpine:latest IfNotPresent, app container-1 buildkite/agent:latest IfNotPresent
ROWS
  done
}

# controlled_pod COPY-AGENT CHECK CONTAINER-0: prints the places of a Pod of agent-stack-k8s whose containers have
# these pull policies. `none` is no check. The controller gives the agent's containers the pull policy of
# `copy-agent`, and lowers `Always` to `IfNotPresent`.
controlled_pod() {
  echo "init copy-agent $agent $1$([[ $2 == none ]] || echo ", init imagecheck-0 $image $2")," \
    "app container-0 $image $3, app agent $agent ${1/Always/IfNotPresent}, app checkout $agent ${1/Always/IfNotPresent}"
}

# The rows are those of the controller's own test `TestImagePullPolicies`. The first cell is the value that is
# set there: the default pull policy of checks, the default of containers, or the pull policy of container-0.
@test "agent-stack-k8s*.yaml: the 24 combinations of pull policies that the controller itself tests" {
  tag=app:1 digest=app:1@sha256:$(printf '%064d' 1)
  volumes=$(settings_of agent-stack-k8s-volumes)
  every_settings=('{}' "$(settings_of agent-stack-k8s)" "$volumes")
  while fields value kind copied check container repaired_check repaired_container; do
    image=${!kind}
    before=$(controlled_pod "$copied" "$check" "$container")
    after=$(controlled_pod "$copied" "$repaired_check" "$repaired_container")
    pod "$before"
    for settings in "${every_settings[@]}"; do
      evaluate "$settings"
      if [[ $after == "$before" ]]; then untouched; else repaired "$after"; fi
    done
    # With skip-image-check-containers the Pod has no check. The controller chooses the other pull policies alike.
    [[ $check != none ]] || continue
    before=$(controlled_pod "$copied" none "$container")
    pod "$before"
    evaluate "$volumes"
    repaired "$before, volume imagecheck-0 $image $container"
  done <<'ROWS'
    nothing                  | agent  | Always       | none         | IfNotPresent | none         | IfNotPresent
    nothing                  | tag    | Always       | Always       | IfNotPresent | Always       | IfNotPresent
    nothing                  | digest | Always       | IfNotPresent | IfNotPresent | IfNotPresent | IfNotPresent
    container-0 Always       | tag    | Always       | Always       | IfNotPresent | Always       | IfNotPresent
    containers Always        | agent  | Always       | none         | IfNotPresent | none         | IfNotPresent
    checks Always            | agent  | Always       | none         | IfNotPresent | none         | IfNotPresent
    containers Always        | tag    | Always       | Always       | IfNotPresent | Always       | IfNotPresent
    checks Always            | tag    | Always       | Always       | IfNotPresent | Always       | IfNotPresent
    containers Always        | digest | Always       | Always       | IfNotPresent | Always       | IfNotPresent
    checks Always            | digest | Always       | Always       | IfNotPresent | Always       | IfNotPresent
    container-0 IfNotPresent | tag    | Always       | IfNotPresent | IfNotPresent | IfNotPresent | IfNotPresent
    containers IfNotPresent  | agent  | IfNotPresent | none         | IfNotPresent | none         | IfNotPresent
    checks IfNotPresent      | agent  | Always       | none         | Always       | none         | Always
    containers IfNotPresent  | tag    | IfNotPresent | IfNotPresent | IfNotPresent | IfNotPresent | IfNotPresent
    checks IfNotPresent      | tag    | Always       | IfNotPresent | Always       | Always       | IfNotPresent
    containers IfNotPresent  | digest | IfNotPresent | IfNotPresent | IfNotPresent | IfNotPresent | IfNotPresent
    checks IfNotPresent      | digest | Always       | IfNotPresent | IfNotPresent | IfNotPresent | IfNotPresent
    container-0 Never        | tag    | Always       | Never        | Never        | Never        | Never
    containers Never         | agent  | Never        | none         | Never        | none         | Never
    checks Never             | agent  | Always       | none         | Always       | none         | Always
    containers Never         | tag    | Never        | Never        | Never        | Never        | Never
    checks Never             | tag    | Always       | Never        | Always       | Always       | IfNotPresent
    containers Never         | digest | Never        | Never        | Never        | Never        | Never
    checks Never             | digest | Always       | Never        | IfNotPresent | IfNotPresent | IfNotPresent
ROWS
}

@test "agent-stack-k8s.yaml: a check made from the template runs the controller's program after copy-agent" {
  settings=$(settings_of agent-stack-k8s)
  template=$(in_jq -c .imageChecks.template <<<"$settings")
  review agent-stack-0.47-real-step-image-pod-create
  evaluate "$settings"
  warned 'missing-check container-0 node:22-alpine imagecheck-0 IfNotPresent'
  after '.spec.initContainers[1] == ($template + {name: "imagecheck-0", image: "node:22-alpine", imagePullPolicy: "IfNotPresent"})' \
    --argjson template "$template"
  # Beside requests of the whole Pod, the check has none.
  review agent-stack-0.47-real-pod-resource-class-and-step-image-pod-create
  evaluate "$settings"
  after '.spec.initContainers[1] == ($template + {name: "imagecheck-0", image: "alpine:latest", imagePullPolicy: "IfNotPresent"} | del(.resources))' \
    --argjson template "$template"
}

@test "agent-stack-k8s.yaml: a Pod without the volume of the template is accepted without a check" {
  review agent-stack-0.47-real-step-image-pod-create \
    'walk(if type == "object" and .name? == "workspace" then .name = "scratch" else . end)'
  evaluate "$(settings_of agent-stack-k8s)"
  accepted 'missing-check container-0 node:22-alpine workspace imageChecks.template'
}

@test "agent-stack-k8s-fail-fast.yaml: a Job whose tag does not exist is rejected with code 422" {
  settings=$(settings_of agent-stack-k8s-fail-fast)
  image=registry.example.com/team/app:v9
  replay=test_data/sessions/not-found.yml
  review agent-stack-0.47-real-step-image-job-create \
    '(.object.spec.template.spec.containers[] | select(.image == "node:22-alpine")).image = $image' --arg image "$image"
  consult "$settings"
  rejected "registry container-0 $image ${told[notFound]}"
  same codes 422 "$(in_jq .status.code "$BATS_TEST_TMPDIR/answer.json")"
}

@test "tekton.yaml: no check is added" {
  settings=$(settings_of tekton | in_jq -c '.registry.lookup = "Off"')
  pod 'init prepare ghcr.io/tektoncd/pipeline/entrypoint:v1.15.0 IfNotPresent, app step-build app:1 Always, app sidecar-db db:1 Always'
  evaluate "$settings"
  untouched
}

@test "second-policy.yaml: a mesh's container is accepted, and any other container without a check is a warning" {
  second=$(settings_of second-policy)
  while fields image verdict; do
    pod 'init migrate tool:1 IfNotPresent, app web web:1 IfNotPresent' '.object.spec.restartPolicy = "Never"'
    evaluate "$(settings_of every-pod-volumes)"
    in_jq --arg image "$image" '.object.spec.containers += [{name: "added", image: $image, imagePullPolicy: "IfNotPresent"}]' \
      "$request.second" >"$request"
    evaluate "$second"
    if [[ $verdict == accepted ]]; then
      untouched
    else
      accepted 'missing-check added other:1'
    fi
  done <<'ROWS'
    docker.io/istio/proxyv2:1.29.0                         | accepted
    registry.istio.io/release/proxyv2:1.30.4-distroless    | accepted
    gcr.io/istio-release/proxyv2:1.28.1                    | accepted
    cr.l5d.io/linkerd/proxy:edge-26.8.3                    | accepted
    other:1                                                | warned
ROWS
}

# Istio's gateway charts write the image `auto`. Istio's webhook replaces `auto` with the real image,
# before or after this policy runs. So this policy has to leave `auto` alone.
@test "pin-digests.yaml: the placeholder of Istio's gateways is not looked up" {
  pod 'init tool quay.io/team/tool:1 IfNotPresent, app istio-proxy auto Always'
  evaluate "$(settings_of pin-digests)"
  untouched
}
