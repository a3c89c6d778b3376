# Follows docs/install.md with Kubewarden's controller, and with the preset agent-stack-k8s in place of jobs, because its Pods
# need no registry. `page` runs the page's own commands. The tests go on from each other, because each change of a policy takes a minute or two.
#
#   INSTALL_KUBEWARDEN  installs Kubewarden's chart with the flags in HELM_ARGS (else Kubewarden has to be there)
#   CONTROLLER          `$CONTROLLER 0` stops Kubewarden's controller, `$CONTROLLER 1` starts it, where it is not the
#                       Deployment of Kubewarden's chart
#   STOP_REGISTRY       stops the registry, and START_REGISTRY starts it (else it is there all the time)
load lib

name=consistent-pull-policy-agent-stack-k8s
policy=clusteradmissionpolicy/$name
wrong=clusteradmissionpolicy/consistent-pull-policy-wrong

setup_file() {
  # The page's folder, where its reader runs the commands.
  mkdir "$BATS_FILE_TMPDIR/clone"
  cp -r examples hack consistent-pull-policy-*.tgz "$BATS_FILE_TMPDIR/clone"
  export SOURCES=$BATS_FILE_TMPDIR/sources.yml
  echo "insecure_sources: [\"$REGISTRY\"]" >"$SOURCES"
}

teardown_file() {
  kubectl uncordon --selector kubernetes.io/os
  controller 1
  ${START_REGISTRY:-true} 3>&-
  kubectl delete --ignore-not-found "$wrong"
  command helm uninstall --ignore-not-found --namespace kubewarden jobs second
}

# module TAG: the module, which setup_suite pushed, with another tag.
module() {
  local repository=$REGISTRY/consistent-pull-policy/policies/consistent-pull-policy
  skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false \
    "docker://$repository:v0.1.0" "docker://$repository:$1"
}

# page HEADING [NUMBER]: runs a block of commands of docs/install.md. Addresses and names are those of this cluster.
page() {
  script "$(page_block "$1" console "${2:-1}")"
}

# script COMMANDS: runs commands of the pages. The chart is that of this clone.
script() {
  local commands prefix=kw.cap.
  ! kubectl get mutatingwebhookconfiguration "clusterwide-$name" >/dev/null 2>&1 || prefix=clusterwide-
  commands=$(sed "s#registry\.example\.com#$REGISTRY#g; s#kw\.cap\.consistent-pull-policy-jobs#$prefix$name#g; s#consistent-pull-policy-jobs#$name#g; s#namespace NAMESPACE#namespace $NS#g
    s#oci://ghcr\.io/[^ ]* --version 0.1.0#consistent-pull-policy-0.1.0.tgz#" <<<"$1")
  echo "# $SECONDS s: ${commands//$'\n'/$'\n#   '}" >&3
  (cd "$BATS_FILE_TMPDIR/clone" && eval "$commands") && echo "# $SECONDS s: done" >&3
}

# The command in the text (not in a block) of docs/network.md that begins with these words.
inline() {
  grep --only-matching "\`$1[^\`]*\`" docs/network.md | head -n 1 | tr -d '`'
}

# What the page's commands call. Kubewarden's chart is installed by INSTALL_KUBEWARDEN. The registry has no TLS. kwctl has
# a store of its own, because it doesn't pull a policy that is in its store.
helm() {
  case $* in
  *kubewarden/admission-controller)
    HELM_ARGS=$(grep --only-matching -- '--set [^ ]*' <<<"$*" | tr '\n' ' ') $INSTALL_KUBEWARDEN 3>&-
    ;;
  repo*) ;;
  *) command helm "$@" ;;
  esac
}
kwctl() {
  local -x XDG_CACHE_HOME=$BATS_FILE_TMPDIR
  case $1 in
  pull | push) command kwctl "$1" --sources-path "$SOURCES" "${@:2}" ;;
  *) command kwctl "$@" ;;
  esac
}

# change VALUES: the page's helm upgrade with these values too.
change() {
  script "$(page_block "Turn it on" console) --set $1"
}

# noted START: runs the command of the release's notes that begins with these words.
noted() {
  script "$(helm get notes jobs --namespace kubewarden | awk -v start="$1" '
    index($0, start) == 1 { inside = 1 } inside && /^$/ { exit } inside')"
}

# controller 0|1: stops or starts Kubewarden's controller, here the Deployment of Kubewarden's chart.
controller() {
  ${CONTROLLER:-kubectl scale --namespace kubewarden deployment admission-controller --replicas} "$1" 3>&-
}

# weak_check: creates a Pod with a weak check. Sets `output`, `warnings` and `check`, the pull policy of the check. `creations`
# calls it at the same time as a test, so each call has a file of its own.
weak_check() {
  local name=pod-$RANDOM$RANDOM status=0
  output=$(manifest "$name" "init copy-agent agent:v1 Always, init imagecheck-0 app:v1 IfNotPresent, \
app main app:v1 Always" '.spec.schedulerName = "none"' |
    kube create --output json --filename - 2>"$BATS_TEST_TMPDIR/warnings-$name") || status=$?
  warnings=$(<"$BATS_TEST_TMPDIR/warnings-$name")
  ((status == 0)) || return 1
  check=$(jq --raw-output '.spec.initContainers[1].imagePullPolicy' <<<"$output")
}
# repaired, warned, untouched: what happens to such a Pod.
repaired() { weak_check && [[ $check == Always && $warnings == *"imagecheck-0 now pulls"* ]]; }
warned() { weak_check && [[ $check == IfNotPresent && $warnings == *"imagecheck-0 "* ]]; }
untouched() { weak_check && [[ $check == IfNotPresent && -z $warnings ]]; }

logged() {
  kubectl logs -n kubewarden --selector kubewarden/policy-server=jobs --prefix --tail=-1 | grep "$1"
}

# servers: the Pods of the policy server.
servers() {
  kubectl get pods --namespace kubewarden --selector kubewarden/policy-server=jobs --output name
}

# creations FILE: creates Pods until FILE/stop exists, and writes the answers of those that failed to FILE/refused.
creations() {
  mkdir "$1"
  until [[ -e $1/stop ]]; do
    repaired 2>/dev/null && echo >>"$1/repaired" || echo "$warnings $output" >>"$1/refused"
    sleep 0.2
  done
}

@test "The chart: without Kubewarden, it says what lacks" {
  ! kubectl get crd clusteradmissionpolicies.policies.kubewarden.io >/dev/null 2>&1 || skip "Kubewarden is there"
  run command helm install second consistent-pull-policy-0.1.0.tgz --set preset=agent-stack-k8s
  [[ $status != 0 && $output == *"install Kubewarden first"* ]]
}

@test "Kubewarden" {
  [[ -v INSTALL_KUBEWARDEN ]] || skip "INSTALL_KUBEWARDEN is not set (see the comment at the top)"
  page Kubewarden
}

@test "Mirror the module: steps 1 to 3 copy it, byte by byte" {
  command -v kwctl >/dev/null || skip "kwctl is not there"
  script "$(inline policy= | sed "s#ghcr\.io#$REGISTRY#"); $(inline 'kwctl pull'); $(inline 'kwctl save')
    kwctl rm \$policy; $(inline 'kwctl load'); $(inline 'kwctl push .policy' | sed 's#\.com/#.com/mirrored/#')"
  diff <(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/consistent-pull-policy/policies/consistent-pull-policy:v0.1.0") \
    <(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/mirrored/policies/consistent-pull-policy:v0.1.0")
}

@test "Preview: a Pod passes with a warning, and the log has the answer" {
  page_block "The chart" yaml | sed "s#^preset: .*#preset: agent-stack-k8s#; /^settings:/,/^policyServer:/ { /^policyServer:/! d }
    s#^policyServer: .*#global: {cattle: {systemDefaultRegistry: '$REGISTRY'}}\npolicyServer: {create: true, name: jobs, insecureSources: ['$REGISTRY']}#" \
    >"$BATS_FILE_TMPDIR/clone/values.yaml"
  page Preview
  page "When new settings take effect"
  [[ $(servers | wc --lines) == 2 ]]
  warned
  page Preview 2 >"$BATS_TEST_TMPDIR/log"
  grep 'weak-check' "$BATS_TEST_TMPDIR/log" | sed 's/^/# /' >&3
  noted 'kubectl create' >"$BATS_TEST_TMPDIR/log"
  grep --quiet does-it-take-effect "$BATS_TEST_TMPDIR/log"
}

@test "Turn it on: a Pod is repaired, and there is no way back to monitor" {
  page "Turn it on"
  page "When new settings take effect"
  repaired
  not change mode=monitor
  page "Turn it on"
  repaired
}

@test "The notes: whether it takes effect, and what it changed" {
  [[ $(noted 'kubectl create') == *'"rule":"missing-check"'* ]]
  create pod "init imagecheck-0 app:v1 IfNotPresent, app main app:v1 Always" '.spec.schedulerName = "none"'
  [[ $(noted 'kubectl get pods') == *$NS*pod*weak-check* ]]
}

@test "The label on a namespace switches it off and on, with the next request" {
  repaired
  noted 'kubectl label namespace' # this is the namespace default
  repaired
  kubectl label namespace default consistent-pull-policy/ignore-
  page "In an incident" 1
  untouched
  kubectl label namespace "$NS" consistent-pull-policy/ignore-
  repaired
}

@test "A second release: multi-tenant is refused with what to write into agent-stack-k8s, and allowBeside installs it" {
  second="helm install second consistent-pull-policy-0.1.0.tgz -n kubewarden --values values.yaml --dry-run=server"
  second+=" --set preset=multi-tenant,policyServer.name=second"
  run script "$second"
  [[ $status != 0 && $output == *"write multi-tenant's settings.images.requireAlways into agent-stack-k8s too"* ]]
  script "$second,allowBeside={agent-stack-k8s}"
}

@test "Watch it: warnings and repairs" {
  local before
  before=$(manifest pod "init imagecheck-0 app:v1 IfNotPresent, init imagecheck-1 old:v1 Always, app main app:v1 Always, \
app other other:v1 Always" '.spec.schedulerName = "none"')
  kube create --filename - <<<"$before"
  page "Watch it" >"$BATS_TEST_TMPDIR/watched"
  grep "^$NS pod weak-check spec.initContainers\[0\].imagePullPolicy: IfNotPresent -> Always" "$BATS_TEST_TMPDIR/watched"
  grep "^$NS pod imagecheck-1 pulls registry.test/$NS/old:v1, which" "$BATS_TEST_TMPDIR/watched"
}

@test "wrong settings of another policy, by force: this policy serves on, and no change takes effect until they are corrected" {
  preset agent-stack-k8s '.metadata.name = "consistent-pull-policy-wrong" | .spec.settings = {wrong: true}
    | .spec.policyServer = "jobs"' | kubectl apply --filename -
  eventually logged 'unknown field `wrong`'
  repaired
  change settings.mode=Warn
  not kubectl wait --for=condition=PolicyUniquelyReachable --timeout=60s "$policy"
  repaired
  [[ $(kubectl get --output jsonpath='{.status.policyStatus}' "$policy") == active ]]
  [[ $(kubectl get --output jsonpath='{.status.policyStatus}' "$wrong") != active ]]
  kubectl delete "$wrong"
  page "When new settings take effect"
  warned
  page "Turn it on"
  page "When new settings take effect"
  repaired
}

@test "one of two replicas is deleted while Pods are created: none is refused" {
  creations "$BATS_TEST_TMPDIR/creations" 3>&- &
  sleep 5
  kubectl delete --namespace kubewarden "$(servers | head -n 1)"
  sleep 20
  touch "$BATS_TEST_TMPDIR/creations/stop"
  wait "$!"
  echo "# $(wc --lines <"$BATS_TEST_TMPDIR/creations/repaired") repaired" >&3
  not cat "$BATS_TEST_TMPDIR/creations/refused"
}

@test "Change and upgrade, and go back, while Pods are created: none is refused" {
  local tag
  module v99.0.0
  creations "$BATS_TEST_TMPDIR/creations" 3>&- &
  for tag in v99.0.0 v0.1.0; do
    change module.tag=$tag
    page "When new settings take effect"
    [[ $(kubectl get "$policy" --output jsonpath='{.spec.module}') == *:$tag ]]
    repaired
  done
  touch "$BATS_TEST_TMPDIR/creations/stop"
  wait "$!"
  echo "# $(wc --lines <"$BATS_TEST_TMPDIR/creations/repaired") repaired" >&3
  not cat "$BATS_TEST_TMPDIR/creations/refused"
}

@test "In an incident: only warnings, and the next helm upgrade ends them" {
  page "In an incident" 3
  page "When new settings take effect"
  warned
  page "Turn it on"
  page "When new settings take effect"
  repaired
  # Kubewarden's controller would keep the validating webhook of a policy that was not mutating for a time.
  [[ $(kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations --output name | grep --count "$name$") == 1 ]]
}

# guarded: a webhook of the namespace default adds a container with an invalid image, and the guard refuses the Pod.
guarded() {
  ! output=$(manifest guarded "app main app:v1 IfNotPresent" |
    kubectl create --namespace default --dry-run=server --filename - 2>&1) && [[ $output == *'proxy has the invalid image "INVALID"'* ]]
}

@test "The guard is turned on and off by upgrades while Pods are created: none is refused, none is unrepaired" {
  webhook zz-other "$WEBHOOKS/mesh/INVALID" '.webhooks[0].namespaceSelector.matchLabels = {"kubernetes.io/metadata.name": "default"}'
  not guarded
  creations "$BATS_TEST_TMPDIR/creations" 3>&- &
  for _ in 1 2 3; do
    change guard.enabled=true
    eventually guarded
    change guard.enabled=false
    eventually not guarded
  done
  touch "$BATS_TEST_TMPDIR/creations/stop"
  wait "$!"
  echo "# $(wc --lines <"$BATS_TEST_TMPDIR/creations/repaired") repaired" >&3
  not cat "$BATS_TEST_TMPDIR/creations/refused"
}

@test "In an incident: only warnings, while the registry of the modules is unreachable: the old settings act" {
  [[ -v STOP_REGISTRY ]] || skip "STOP_REGISTRY is not set (see the comment at the top)"
  ${STOP_REGISTRY:-true} 3>&-
  page "In an incident" 3
  not kubectl wait --for=condition=PolicyUniquelyReachable --timeout=60s "$policy"
  repaired
  page "In an incident" 1
  untouched
  page "In an incident" 2
  eventually untouched
  ${START_REGISTRY:-true} 3>&-
}

@test "In an incident: the policy server is down, so selected Pods are rejected; then the label, and the policy is deleted" {
  local pod
  page "Turn it on"
  page "When new settings take effect"
  weak_check
  pod=$(jq --raw-output .metadata.name <<<"$output")
  # Kubewarden's controller undoes `kubectl scale`, so its new Pods must find no node.
  kubectl cordon --selector kubernetes.io/os
  kubectl delete pods --namespace kubewarden --selector kubewarden/policy-server=jobs
  eventually not weak_check
  [[ $warnings == *'failed calling webhook'* ]]
  create other "app main app:v1 Always" "$unselected"
  kube label pod "$pod" some=label
  page "In an incident" 1
  untouched
  kubectl label namespace "$NS" consistent-pull-policy/ignore-
  not weak_check
  page "In an incident" 2
  eventually untouched
  kubectl uncordon --selector kubernetes.io/os
}

@test "In an incident: Kubewarden's controller and the registry of the modules are down" {
  page "Turn it on"
  page "When new settings take effect"
  ${STOP_REGISTRY:-true} 3>&-
  controller 0
  eventually not kubectl patch "$policy" --dry-run=server --type merge --patch '{"spec": {"backgroundAudit": false}}'
  repaired
  page "In an incident" 4
  eventually untouched
  ${START_REGISTRY:-true} 3>&-
  controller 1
  kubectl wait --for=delete --timeout=600s "$policy"
  untouched
}

@test "Uninstall" {
  page "Turn it on"
  page "When new settings take effect"
  repaired
  page Uninstall
  eventually untouched
  not kubectl get policyserver jobs
}
