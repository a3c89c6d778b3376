# Tests settings of examples/settings with requests of the kind that each example is made for. The
# reviews agent-stack-0.47-* hold Jobs and Pods of agent-stack-k8s 0.47, as a real API server sent them.

load lib

agent=ghcr.io/buildkite/agent:3.132.0
agent_containers="app agent $agent IfNotPresent, app checkout $agent IfNotPresent"

# settings_of EXAMPLE: prints examples/settings/EXAMPLE.yaml as JSON.
settings_of() {
  local written=$BATS_TEST_TMPDIR/settings.jsonl
  rm -f "$written"
  "$XTASK" run --request-path "$REVIEWS/pod-create.json" --settings-path "examples/settings/$1.yaml" \
    --transcript "$written" "$POLICY" >/dev/null </dev/null || fail "examples/settings/$1.yaml is refused"
  in_jq -c .settings "$written"
}

# The rows are Pods of three Buildkite steps. `image-step` has a step with `image:`. `weak-checks` was made
# with the controller's setting `default-image-check-pull-policy: IfNotPresent`. In `patched`, a
# `podSpecPatch` changed an image.
@test "agent-stack-k8s.yaml: each of the three Pods gets a check that is strong enough" {
  settings=$(settings_of agent-stack-k8s)
  while fields name checks apps; do
    review "agent-stack-0.47-$name-pod-create"
    evaluate "$settings"
    repaired "init copy-agent $agent Always, $checks, $apps, $agent_containers"
  done <<'ROWS'
    image-step  | init imagecheck-0 my-app:v1.2.3 IfNotPresent | app container-0 my-app:v1.2.3 IfNotPresent
    weak-checks | init imagecheck-0 redis:7 Always, init imagecheck-1 my-app:v1.2.3 Always, sidecar sidecar-0 postgres:16 IfNotPresent | app container-0 my-app:v1.2.3 IfNotPresent, app container-1 redis:7 IfNotPresent
    patched     | init imagecheck-0 my-app:v1.2.3 Always, init imagecheck-1 redis:7 Always, init imagecheck-2 my-app:v1.2.4-fix IfNotPresent | app container-0 my-app:v1.2.4-fix IfNotPresent, app container-1 redis:7 IfNotPresent
ROWS
}

@test "agent-stack-k8s.yaml: a check made from the template runs the controller's program after copy-agent" {
  settings=$(settings_of agent-stack-k8s)
  review agent-stack-0.47-image-step-pod-create
  evaluate "$settings"
  warned 'imagecheck-0 was added: it pulls my-app:v1.2.3 with IfNotPresent before container-0 does'
  after '.spec.initContainers[1] == ($template + {name: "imagecheck-0", image: "my-app:v1.2.3", imagePullPolicy: "IfNotPresent"})' \
    --argjson template "$(in_jq -c .imageChecks.template <<<"$settings")"
}

# The Pod of the first row has no checks. With the controller's setting `skip-image-check-containers`,
# every Pod looks like that. In the Pods of the other rows, only the checks ask for cpu and memory. If all
# checks became volumes, such a Pod would get the QoS class BestEffort. So the first check stays an init
# container.
@test "agent-stack-k8s-volumes.yaml: the checks of each of the three Pods are volumes on copy-agent, except one that keeps the Pod's only requests" {
  settings=$(settings_of agent-stack-k8s-volumes)
  while fields name others apps volumes mounted; do
    review "agent-stack-0.47-$name-pod-create"
    evaluate "$settings"
    repaired "init copy-agent $agent Always, ${others:+$others, }$apps, $agent_containers, $volumes"
    after '[.spec.initContainers[0].volumeMounts[] | select(.mountPath | startswith("/.imagecheck/")) | .name] | sort | join(" ") == $mounted' \
      --arg mounted "$mounted"
  done <<'ROWS'
    image-step  | | app container-0 my-app:v1.2.3 IfNotPresent | volume imagecheck-0 my-app:v1.2.3 IfNotPresent | imagecheck-0
    weak-checks | init imagecheck-0 redis:7 Always, sidecar sidecar-0 postgres:16 IfNotPresent | app container-0 my-app:v1.2.3 IfNotPresent, app container-1 redis:7 IfNotPresent | volume imagecheck-1 my-app:v1.2.3 Always | imagecheck-1
    patched     | init imagecheck-0 my-app:v1.2.3 Always | app container-0 my-app:v1.2.4-fix IfNotPresent, app container-1 redis:7 IfNotPresent | volume imagecheck-2 my-app:v1.2.4-fix IfNotPresent, volume imagecheck-1 redis:7 Always | imagecheck-1 imagecheck-2
ROWS
}

@test "both examples for agent-stack-k8s leave the Jobs as they are, and tell what their Pods need" {
  for example in agent-stack-k8s agent-stack-k8s-volumes; do
    settings=$(settings_of "$example")
    while fields name findings_of_the_job; do
      row="$example, $row"
      review "agent-stack-0.47-$name-job-create"
      evaluate "$settings"
      [[ $allowed == true ]] || fail "rejected"
      [[ -z $patch ]] || fail "changed: $patch"
      same findings "$findings_of_the_job" \
        "$(in_jq -r 'map("\(.rule) \(.container)") | join(", ")' <<<"$findings")"
    done <<'ROWS'
      image-step  | missing-check container-0
      weak-checks | weak-check imagecheck-0, weak-check imagecheck-1
      patched     | missing-check container-0
ROWS
  done
}

# With the default, `templates: Warn`, the Job would get only warnings, also in mode Reject.
@test "with templates: Enforce, the Job with weak checks is rejected in mode Reject" {
  settings=$(settings_of agent-stack-k8s | in_jq -c '. + {mode: "Reject", templates: "Enforce"}')
  review agent-stack-0.47-weak-checks-job-create
  evaluate "$settings"
  rejected 'imagecheck-0 pulls redis:7 with IfNotPresent but container-1 pulls it with Always: set imagecheck-0 to Always; imagecheck-1 pulls my-app:v1.2.3 with IfNotPresent but container-0 pulls it with Always: set imagecheck-1 to Always'
}

# To stop a sidecar of a running Pod, Tekton replaces the sidecar's image with its own image `nop`.
@test "tekton.yaml: no check is added, and a sidecar may be stopped" {
  settings=$(settings_of tekton | in_jq -c '.registry.lookup = "Off" | .images.requireAlways = ["*"]')
  pod 'init prepare ghcr.io/tektoncd/pipeline/entrypoint:v1.15.0 IfNotPresent, app step-build app:1 Always, app sidecar-db db:1 Always'
  evaluate "$settings"
  untouched
  edit '.operation = "UPDATE" | .oldObject = .object
    | .object.spec.containers[1].image = "ghcr.io/tektoncd/pipeline/nop:v1.15.0"'
  evaluate "$settings"
  untouched
}

@test "gitlab-runner.yaml: pull policies of a list stay, Never is replaced, no check is added" {
  settings=$(settings_of gitlab-runner)
  pod 'init init-permissions helper:1 IfNotPresent, app build app:1 Always, app helper helper:1 IfNotPresent'
  evaluate "$settings"
  untouched
  pod 'init init-permissions helper:1 IfNotPresent, app build app:1 Never, app helper helper:1 IfNotPresent'
  evaluate "$settings"
  repaired 'init init-permissions helper:1 IfNotPresent, app build app:1 IfNotPresent, app helper helper:1 IfNotPresent'
}

@test "every-pod-volumes-istio.yaml: the copy accepts a mesh's container, and no other container without a check" {
  copy=$(settings_of every-pod-volumes-istio)
  while fields image verdict; do
    pod 'init migrate tool:1 IfNotPresent, app web web:1 IfNotPresent'
    evaluate "$(settings_of every-pod-volumes)"
    in_jq --arg image "$image" '.object.spec.containers += [{name: "added", image: $image, imagePullPolicy: "IfNotPresent"}]' \
      "$request.second" >"$request"
    evaluate "$copy"
    if [[ $verdict == accepted ]]; then
      untouched
    else
      rejected 'added pulls other:1 but no image check pulls it first: add imagecheck-1 with IfNotPresent'
    fi
  done <<'ROWS'
    docker.io/istio/proxyv2:1.29.0                         | accepted
    registry.istio.io/release/proxyv2:1.30.4-distroless    | accepted
    gcr.io/istio-release/proxyv2:1.28.1                    | accepted
    cr.l5d.io/linkerd/proxy:edge-26.8.3                    | accepted
    other:1                                                | rejected
ROWS
}

# mesh NAME: prints the containers that Istio or Linkerd adds: an init container, and a proxy. The proxy
# is an app container or a native sidecar.
mesh() {
  case $1 in
    istio) echo '{"init":[{"name":"istio-init","image":"docker.io/istio/proxyv2:1.29.0"}],"app":[{"name":"istio-proxy","image":"docker.io/istio/proxyv2:1.29.0"}]}' ;;
    istio-native) echo '{"init":[{"name":"istio-init","image":"registry.istio.io/release/proxyv2:1.30.4"},{"name":"istio-proxy","image":"registry.istio.io/release/proxyv2:1.30.4","restartPolicy":"Always"}],"app":[]}' ;;
    linkerd) echo '{"init":[{"name":"linkerd-init","image":"cr.l5d.io/linkerd/proxy-init:v2.4.3"}],"app":[{"name":"linkerd-proxy","image":"cr.l5d.io/linkerd/proxy:edge-26.8.3"}]}' ;;
    linkerd-native) echo '{"init":[{"name":"linkerd-init","image":"cr.l5d.io/linkerd/proxy-init:v2.4.3"},{"name":"linkerd-proxy","image":"cr.l5d.io/linkerd/proxy:edge-26.8.3","restartPolicy":"Always"}],"app":[]}' ;;
  esac
}

# inject MESH: adds the containers of the mesh to the request, before the Pod's own containers.
inject() {
  edit '.object.spec.initContainers = ($mesh.init | map(. + {imagePullPolicy: "IfNotPresent"})) + (.object.spec.initContainers // [])
    | .object.spec.containers = ($mesh.app | map(. + {imagePullPolicy: "IfNotPresent"})) + .object.spec.containers' \
    --argjson mesh "$(mesh "$1")"
}

@test "every-pod-volumes*.yaml: after a mesh has added its containers, the copy accepts and a second Fix adds nothing" {
  for example in every-pod-volumes every-pod-volumes-istio; do
    in_fix=$(settings_of "$example" | in_jq -c '.mode = "Fix" | del(.registry.maxLookups)')
    for mesh in istio istio-native linkerd linkerd-native; do
      while IFS= read -r before; do
        row="$example, $mesh, $before"
        pod "$before"
        evaluate "$in_fix"
        [[ -n $patch ]] || fail "no check was added"
        cp "$request.second" "$request"
        inject "$mesh"
        evaluate "$in_fix"
        untouched
        evaluate "$(in_jq -c '.mode = "Reject" | .registry.maxLookups = 0' <<<"$in_fix")"
        untouched
        # Second case: the mesh adds its containers before this policy sees the Pod. The carrier is then the
        # Pod's own init container. If the Pod has none of its own, the carrier is an init container of the mesh.
        pod "$before"
        inject "$mesh"
        evaluate "$in_fix"
        [[ -n $patch ]] || fail "no check was added"
        in_jq -e 'any(.rule == "missing-check") and all(.rule == "missing-check" or .rule == "pull-once")' <<<"$changes" >/dev/null ||
          fail "other changes"
      done <<'ROWS'
app web web:1 IfNotPresent
app web web:1 Always, app db db:1 IfNotPresent
init migrate tool:1 IfNotPresent, app web web:1 IfNotPresent
ROWS
    done
  done
}

# Istio's gateway charts write the image `auto`. Istio's webhook replaces `auto` with the real image,
# before or after this policy runs. So this policy has to leave `auto` alone.
@test "the placeholder of Istio's gateways gets neither a check nor a lookup" {
  for example in every-pod-volumes every-pod-volumes-istio pin-digests validating-copy; do
    row=$example
    pod 'app istio-proxy auto Always'
    evaluate "$(settings_of "$example")"
    untouched
  done
}
