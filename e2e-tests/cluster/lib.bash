# Helpers of the cluster tests.
#
# Each test has a namespace of its own, in NS. Its images are in repositories with this name: registry.test/$NS/app:v1
# is the image app:v1 of a test. The nodes ask this machine for them (server.py).
# shellcheck disable=SC2154 # variables of bats

cd "$BATS_TEST_DIRNAME/../.." || exit 1

setup() {
  [[ -z ${POLICY_SERVER:-} ]] || curl --silent --output /dev/null "$POLICY_SERVER" || {
    echo "no policy server answers at POLICY_SERVER=$POLICY_SERVER" && return 1
  }
  NS=cluster-tests-$RANDOM$RANDOM
  images=()
  kubectl create namespace "$NS" >/dev/null
  until kubectl --namespace "$NS" get serviceaccount default >/dev/null 2>&1; do sleep 0.2; done
}

teardown() {
  local image
  rm -f "$RUN/stopped" "$RUN/frozen"
  kubectl delete mutatingwebhookconfigurations,namespaces --selector "cluster-tests=$NS" --wait=false >/dev/null
  kubectl delete namespace "$NS" --wait=false >/dev/null
  for image in "${images[@]}"; do delete_image "$image" 2>/dev/null || true; done
}

kube() {
  kubectl --namespace "$NS" "$@"
}

# pods_reach_this_machine: fails at once if Pods can't, because REGISTRY is a loopback address.
pods_reach_this_machine() {
  [[ $WEBHOOKS != https://127.* ]] || {
    echo "Pods of this test call this machine, and can't reach it under 127.0.0.1: set REGISTRY to an address of a network that they reach" && false
  }
}

# needs VARIABLE...: skips the test if one of them is not set.
needs() {
  local name
  for name; do [[ -n ${!name:-} ]] || skip "$name is not set (e2e-tests/cluster/setup_suite.bash)"; done
}

# not COMMAND...: fails if the command succeeds. (A failed `! COMMAND` doesn't end a test.)
not() {
  ! "$@"
}

# eventually COMMAND...: repeats the command until it succeeds. The limit of ten minutes ends a test that hangs.
eventually() {
  local end=$((SECONDS + 600)) file=${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/output
  until "$@" >"$file" 2>&1; do
    ((SECONDS < end)) || { echo "not within ten minutes: $*"; cut -c 1-3000 "$file"; return 1; }
    sleep 0.5
  done
}

# ---- images ---------------------------------------------------------------------------------

# The address of an image of this test in the registry. docker.io/library/NAME and registry.example.com/NAME keep their paths.
in_registry() {
  case $1 in
  docker.io/* | registry.example.com/*) echo "docker://$REGISTRY/${1#*/}" ;;
  *) echo "docker://$REGISTRY/$NS/$1" ;;
  esac
}

# image NAME:TAG...: pushes images that no other test and no node has. A second call moves the tag to another image.
image() {
  local name
  for name; do
    jq --arg name "$NS/$name" --arg number "$RANDOM$RANDOM" '.config.Labels = {$name, $number}' "$RUN/config.json" >"$RUN/image/config.json"
    tar --create --file "$RUN/image.tar" --directory "$RUN/image" manifest.json config.json layer.tar
    skopeo copy --quiet --dest-tls-verify=false "docker-archive:$RUN/image.tar" "$(in_registry "$name")"
    images+=("$name")
  done
}

# use_address: this test's images get an address that the policy server reads too.
use_address() {
  IN=${WEBHOOKS#https://}
  IN=${IN%:*}:$PORT/$NS
}

# digest NAME:TAG: the digest that this tag has in the registry.
digest() {
  skopeo inspect --tls-verify=false --format '{{.Digest}}' "$(in_registry "$1")"
}

delete_image() {
  skopeo delete --tls-verify=false "$(in_registry "$1")"
}

# The manifests that were asked for by tag, each on a line: NAME TAG.
asked_by_tag() {
  sed -n "s#^[A-Z]* /v2/$NS/\([^/]*\)/manifests/\([^?:]*\)\(?.*\)\?\$#\1 \2#p" "$RUN/requests"
}

# ---- Pods -----------------------------------------------------------------------------------

# Filters for `manifest`: without this policy; a Pod as of a Job; a container that ends.
# shellcheck disable=SC2034 # read by the tests
unselected='.metadata.labels = {"consistent-pull-policy/ignore": "test"}'
job='.metadata.labels = {"batch.kubernetes.io/job-name": "job"}'
# Filter for `apply_preset`: changed images are examined too, as docs/requests.md says.
updates='.spec.rules += [{apiGroups: [""], apiVersions: ["v1"], resources: ["pods", "pods/ephemeralcontainers"],
  operations: ["UPDATE"]}] | .spec.matchConditions = '$(
  gojq --yaml-input --compact-output .spec.matchConditions examples/multi-tenant.yaml)
ends='(.. | objects | select(.args? == ["sleep", "3600"]).args) |= ["true"]'

# Filter for an object of test_data: without what belongs to another cluster.
foreign='del(.metadata | .namespace, .resourceVersion, .uid, .creationTimestamp, .managedFields, .generation)
  | (.. | objects | select(has("containers"))) |=
      del(.serviceAccountName, .serviceAccount, .priorityClassName, .priority, .nodeName)'

# manifest NAME PLACES [FILTER]: a Pod of agent-stack-k8s. PLACES are written as in e2e-tests/lib.bash:
#   init imagecheck-0 app:1 IfNotPresent, app main app:1 Always
# "=nginx:1" is the name nginx:1, and other names are those of images of this test. copy-agent writes the program of
# the checks: a script that any image of these tests can run. An init container "stop" waits for `resume`. IN is another
# address of this test's images.
manifest() {
  jq --null-input --arg name "$1" --arg places "$2" --arg in "${IN:-registry.test/$NS}" '
    def shell($script): {command: ["/bin/busybox", "sh", "-c"], args: [$script]};
    {init: "initContainers", sidecar: "initContainers", app: "containers"} as $lists
    | {apiVersion: "v1", kind: "Pod", metadata: {$name, labels: {"buildkite.com/job-uuid": $name}},
       spec: {restartPolicy: "Never", terminationGracePeriodSeconds: 0, volumes: [{name: "workspace", emptyDir: {}}]}}
    | reduce ($places | split(", ")[] | split(" ")) as [$kind, $name, $image, $policy] (.;
        .spec[$lists[$kind]] += [{
          $name, image: (if $image | startswith("=") then $image[1:] else "\($in)/\($image)" end),
          imagePullPolicy: $policy, volumeMounts: [{name: "workspace", mountPath: "/workspace"}]}
          + if $name | startswith("imagecheck-") then {command: ["/workspace/tini-static"], args: ["--version"]}
            elif $name == "copy-agent" then
              shell("cd /workspace; echo \"#!/bin/busybox true\" >tini-static; /bin/busybox chmod 755 tini-static")
            elif $name == "stop" then shell("until [ -e /workspace/resumed ]; do /bin/busybox sleep 0.2; done")
            else {command: ["/bin/busybox"], args: (if $kind == "init" then ["true"] else ["sleep", "3600"] end)} end
          + if $kind == "sidecar" then {restartPolicy: "Always"} else {} end])
    | '"${3:-.}"
}

# create NAME PLACES [FILTER]: creates the Pod. The variable `output` has the answer.
create() {
  output=$(manifest "$@" | kube create --filename - 2>&1) || { echo "$output" && false; }
}

# refused COMMAND...: the API server refuses what the command creates, and the answer names the missing image gone:v1.
refused() {
  run "$@"
  [[ $status != 0 && $output == *"$IN/gone:v1 does not exist in its registry: correct its tag or repository"* ]] ||
    { echo "$output" && false; }
}

# resume POD: ends the init container "stop".
resume() {
  kube exec "$1" --container stop -- /bin/busybox touch /workspace/resumed
}

# Functions of the conditions below, for a container by its name.
conditions='
  def status($name): .status | [.initContainerStatuses[]?, .containerStatuses[]?, .ephemeralContainerStatuses[]?]
    | map(select(.name == $name))[0] // {};
  def running($name): status($name).state | has("running");
  def ended($name): status($name).state.terminated.exitCode == 0;
  def waits_for_image($name): status($name).state.waiting.reason | . == "ErrImagePull" or . == "ImagePullBackOff";
  def nothing_started: [.status.containerStatuses[] | .state.waiting.reason == "PodInitializing"] | all;
  def nothing_runs: [.status.containerStatuses[].state | has("running")] | any | not;
  def places: .spec | [.initContainers[]?, .containers[], .volumes[]?, .ephemeralContainers[]?];
  def pulls($name): places[] | select(.name == $name) | .imagePullPolicy // .image.pullPolicy;
'

# is POD CONDITION: fails, and shows the Pod, unless the condition is true.
is() {
  kube get pod "$1" --output json |
    jq --exit-status "$conditions if $2 then true else {status, places: [places[]]} | debug | false end" >/dev/null
}

# comes POD CONDITION: the Pod gets there.
comes() {
  eventually is "$1" "$2"
}

# workload KIND NAME PLACES [FILTER]: a Deployment, DaemonSet or Job with the Pod of `manifest`.
workload() {
  manifest "${@:2}" | jq --arg kind "$1" '
    {metadata: {labels: .metadata.labels}, spec} as $template
    | {apiVersion: "batch/v1", $kind, metadata, spec: {$template}}
    | if $kind == "Job" then . else .apiVersion = "apps/v1" | del(.spec.template.spec.restartPolicy)
        | .spec.selector.matchLabels = $template.metadata.labels end'
}

# ---- this policy ----------------------------------------------------------------------------

# webhook NAME URL [FILTER]: registers a mutating webhook for this test's namespace, or with FILTER for others. Waits until it
# takes effect: then the second webhook of the same object denies its ConfigMap.
webhook() {
  jq --null-input --arg name "$1" --arg url "$2" --arg ns "$NS" --arg probe "$WEBHOOKS/takes-effect" \
    --arg ca "$(base64 --wrap 0 <"$RUN/tls.crt")" '
    {apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration",
     metadata: {$name, labels: {"cluster-tests": $ns}},
     webhooks: [{
       name: "\($name).kubewarden.admission", clientConfig: {$url, caBundle: $ca}, sideEffects: "None",
       admissionReviewVersions: ["v1"], namespaceSelector: {matchLabels: {"kubernetes.io/metadata.name": $ns}},
       rules: [{apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"]}]}]}
    | '"${3:-.}"' | .webhooks += [.webhooks[0] | {
        name: "probe.kubewarden.admission", clientConfig: (.clientConfig | .url = $probe), sideEffects, admissionReviewVersions,
        objectSelector: {matchLabels: {"cluster-tests": $name}},
        rules: [{apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"]}]}]
    ' | kubectl apply --filename - >/dev/null
  eventually is_registered "$1"
}

is_registered() {
  local object='{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "probe", "labels": {"cluster-tests": "'$1'"}}}'
  [[ $(kubectl create --namespace default --dry-run=server --filename - <<<"$object" 2>&1) == *'it takes effect'* ]]
}

# unregister SELECTOR: removes the webhooks with these labels, and waits until none acts.
unregister() {
  local name names kinds=mutatingwebhookconfigurations,validatingwebhookconfigurations
  mapfile -t names < <(kubectl get "$kinds" --selector "$1" --output jsonpath='{range .items[*]}{.metadata.name}{"\n"}{end}')
  kubectl delete "$kinds" --selector "$1"
  for name in "${names[@]}"; do eventually not is_registered "$name"; done
}

# page_block HEADING LANGUAGE [NUMBER]: the first, or NUMBERth, code block of this language in a section of
# docs/install.md.
page_block() {
  awk -v heading="## $1" -v fence="\`\`\`$2" -v number="${3:-1}" '
    /^## / && !inside { here = ($0 == heading) }
    here && !inside && substr($0, match($0, /[^ ]/)) ~ /^```/ {
      inside = 1; indent = match($0, /[^ ]/); wanted = substr($0, indent) == fence && ++found == number; next
    }
    inside && substr($0, indent) == "```" { inside = wanted = 0 }
    wanted { print substr($0, indent); printed = 1 }
    END { exit !printed }
  ' docs/install.md || { echo "docs/install.md has no such block: $*" >&2 && false; }
}

# takes_effect POLICY: waits until the settings of this ClusterAdmissionPolicy take effect, with the commands of
# docs/install.md. The first one may time out.
takes_effect() {
  bash -c "$(page_block "When new settings take effect" console | sed "s#consistent-pull-policy-jobs#$1#")"
}

# apply_preset NAME [FILTER]: applies a preset, or a variant, with the module of this build, and waits until it takes
# effect. Without Kubewarden's controller, it registers the policy as the controller does; then a filter of the settings
# changes nothing. remove_presets takes all out.
apply_preset() {
  local policy name=consistent-pull-policy-$1
  preset "$@" >>"$RUN/applied"
  if [[ -z ${POLICY_SERVER:-} ]]; then
    preset "$@" | kubectl apply --filename -
    takes_effect "$name"
    return
  fi
  policy=$(preset "$@" | gojq --compact-output 'select(.kind == "ClusterAdmissionPolicy")')
  NS=preset webhook "kw.cap.$name" "$WEBHOOKS/validate/$name" "$policy"' as $policy
    | if $policy.spec.mutating then . else .kind = "ValidatingWebhookConfiguration" end
    | .webhooks[0] |= (del(.namespaceSelector) + {failurePolicy: ($policy.spec.failurePolicy // "Fail")}
      + ($policy.spec | {rules, namespaceSelector, objectSelector, matchConditions} | map_values(values)))'
}

remove_presets() {
  if [[ -z ${POLICY_SERVER:-} ]]; then
    [[ ! -s $RUN/applied ]] || kubectl delete --ignore-not-found --filename "$RUN/applied"
  else
    unregister cluster-tests=preset
  fi
  : >"$RUN/applied"
}

# end_burst: prints the number of throttled Pods and of requests for manifests, and removes all Jobs, Pods and events.
end_burst() {
  echo "$(kube get events --output json | jq '[.items[] | select(.message | contains("pull QPS exceeded")).involvedObject.name] | unique | length')" \
    "$(grep --count "/v2/$NS/[^/]*/manifests/" "$RUN/requests")"
  kubectl delete --raw "/apis/batch/v1/namespaces/$NS/jobs?propagationPolicy=Background" >/dev/null
  eventually eval '[[ -z $(kube get pods --output name) ]]'
  kubectl delete --raw "/api/v1/namespaces/$NS/events" >/dev/null
  sleep 3 # The kubelet may ask for 10 images at once again.
}

# apply PRESETS [FILTER]: these presets, divided by commas, and no others; "none" for none.
apply() {
  local name
  remove_presets >/dev/null
  for name in ${1//,/ }; do [[ $name == none ]] || apply_preset "$name" "${@:2}" >/dev/null; done
}

# preset NAME [FILTER]: the manifest of a preset or of a variant, with the module that these tests have pushed. With BROKEN,
# a filter that breaks the presets, tests must fail: BROKEN='.spec.objectSelector.matchLabels.no = "pod"' is as if there
# were no policy.
preset() {
  gojq --yaml-input --slurp --arg name "consistent-pull-policy-$1" "$(<e2e-tests/cluster/variants.jq)"'
    (.[] | select(.kind == "ClusterAdmissionPolicy") | variants | select(.metadata.name == $name)) as $policy
    | $policy, (.[] | select(.kind == "PolicyServer" and .metadata.name == $policy.spec.policyServer))
    | '"${2:-.} | ${BROKEN:-.}" examples/*.yaml | sed "s#registry://ghcr.io/#registry://$REGISTRY/#"
}
