# Follows docs/operations.md with Kubewarden's controller, and with examples/agent-stack-k8s.yaml. `page` runs the page's
# own commands. The tests go on from each other, because each change of a policy takes a minute or two.
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
  cp -r examples hack "$BATS_FILE_TMPDIR/clone"
  # setup_suite pushed the module to the path that it has in ghcr.io. The page's steps expect it in /policies.
  skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false \
    "docker://$REGISTRY/consistent-pull-policy/policies/consistent-pull-policy:v0.1.0" \
    "docker://$REGISTRY/policies/consistent-pull-policy:v0.1.0"
  export SOURCES=$BATS_FILE_TMPDIR/sources.yml
  echo "insecure_sources: [\"$REGISTRY\"]" >"$SOURCES"
}

teardown_file() {
  kubectl uncordon --selector kubernetes.io/os
  controller 1
  ${START_REGISTRY:-true} 3>&-
  kubectl delete --ignore-not-found "$policy" "$wrong"
  kubectl delete --ignore-not-found policyserver pull-policy
}

# page HEADING [NUMBER]: runs a block of commands of docs/operations.md. Addresses and names are those of this cluster.
page() {
  script "$(page_block "$1" console "${2:-1}")"
}

# script COMMANDS: runs commands of the page.
script() {
  local commands prefix=kw.cap.
  ! kubectl get mutatingwebhookconfiguration "clusterwide-$name" >/dev/null 2>&1 || prefix=clusterwide-
  commands=$(sed "s#registry\.example\.com#$REGISTRY#g; s#kw\.cap\.NAME#$prefix$name#; s#\bNAME\b#$name#g" <<<"$1")
  echo "# $SECONDS s: ${commands//$'\n'/$'\n#   '}" >&3
  (cd "$BATS_FILE_TMPDIR/clone" && eval "$commands") && echo "# $SECONDS s: done" >&3
}

# The page's command in the text (not in a block) that begins with these words.
inline() {
  grep --only-matching "\`$1[^\`]*\`" docs/operations.md | head -n 1 | tr -d '`'
}

# What the page's commands call. Kubewarden's chart is installed by INSTALL_KUBEWARDEN. The registry has no TLS.
helm() {
  [[ $1 == install ]] || return 0
  HELM_ARGS=$(grep --only-matching -- '--set [^ ]*' <<<"$*" | tr '\n' ' ') $INSTALL_KUBEWARDEN 3>&-
}
kwctl() {
  case $1 in
  pull | push) command kwctl "$1" --sources-path "$SOURCES" "${@:2}" ;;
  *) command kwctl "$@" ;;
  esac
}

# controller 0|1: stops or starts Kubewarden's controller, here the Deployment of Kubewarden's chart.
controller() {
  ${CONTROLLER:-kubectl scale --namespace kubewarden deployment admission-controller --replicas} "$1" 3>&-
}

# repaired, warned, untouched: what happens to a Pod with a weak check.
weak_check() {
  output=$(manifest "pod-$RANDOM$RANDOM" "init copy-agent agent:v1 Always, init imagecheck-0 app:v1 IfNotPresent, \
app main app:v1 Always" '.spec.schedulerName = "none"' | kube create --output json --filename - 2>"$BATS_TEST_TMPDIR/warnings") || return 1
  check=$(jq --raw-output '.spec.initContainers[1].imagePullPolicy' <<<"$output")
  warnings=$(<"$BATS_TEST_TMPDIR/warnings")
}
repaired() { weak_check && [[ $check == Always && $warnings == *"imagecheck-0 now pulls"* ]]; }
warned() { weak_check && [[ $check == IfNotPresent && $warnings == *"imagecheck-0 "* ]]; }
untouched() { weak_check && [[ $check == IfNotPresent && -z $warnings ]]; }

logged() {
  kubectl logs -n kubewarden --selector kubewarden/policy-server=pull-policy --prefix --tail=-1 | grep "$1"
}

# servers: the Pods of the policy server.
servers() {
  kubectl get pods --namespace kubewarden --selector kubewarden/policy-server=pull-policy --output name
}

# creations FILE: creates Pods until FILE/stop exists, and writes the answers of those that failed to FILE/refused.
creations() {
  mkdir "$1"
  until [[ -e $1/stop ]]; do
    repaired 2>/dev/null && echo >>"$1/repaired" || { echo "$(<"$BATS_TEST_TMPDIR/warnings") $output" >>"$1/refused"; }
    sleep 0.2
  done
}

@test "Install Kubewarden" {
  [[ -v INSTALL_KUBEWARDEN ]] || skip "INSTALL_KUBEWARDEN is not set (see the comment at the top)"
  page "Install Kubewarden"
}

@test "Mirror the module: steps 1 to 3 copy it, byte by byte" {
  command -v kwctl >/dev/null || skip "kwctl is not there"
  script "$(inline policy= | sed "s#ghcr\.io#$REGISTRY#"); $(inline 'kwctl pull'); $(inline 'kwctl save')
    kwctl rm \$policy; $(inline 'kwctl load'); $(inline 'kwctl push .policy' | sed 's#\.com/#.com/mirrored/#')"
  diff <(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/consistent-pull-policy/policies/consistent-pull-policy:v0.1.0") \
    <(skopeo inspect --raw --tls-verify=false "docker://$REGISTRY/mirrored/policies/consistent-pull-policy:v0.1.0")
}

@test "A policy server of its own, and Choose a file" {
  page_block "A policy server of its own" yaml >"$BATS_FILE_TMPDIR/clone/replicas.yaml"
  page "A policy server of its own"
  page "Choose a file"
  [[ $(gojq --yaml-input --raw-output '.spec.policyServer' "$BATS_FILE_TMPDIR/clone/policy.yaml") == pull-policy ]]
}

@test "Preview: a Pod passes with a warning, and the log has the answer" {
  page Preview
  page "When new settings act"
  [[ $(servers | wc --lines) == 2 ]]
  warned
  page Preview 2 >"$BATS_TEST_TMPDIR/log"
  grep 'weak-check' "$BATS_TEST_TMPDIR/log" | sed 's/^/# /' >&3
}

@test "Turn it on: a Pod is repaired, and there is no way back to monitor" {
  page "Turn it on"
  page "When new settings act"
  repaired
  not kubectl patch "$policy" --type merge --patch '{"spec": {"mode": "monitor"}}'
}

@test "Watch it: warnings, repairs, and the Pod as it was" {
  local before pod
  before=$(manifest pod "init imagecheck-0 app:v1 IfNotPresent, init imagecheck-1 old:v1 Always, app main app:v1 Always, \
app other other:v1 Always" '.spec.schedulerName = "none"')
  kube create --filename - <<<"$before"
  page "Watch it" >"$BATS_TEST_TMPDIR/watched"
  grep "^$NS weak-check pod spec.initContainers\[0\].imagePullPolicy: IfNotPresent -> Always" "$BATS_TEST_TMPDIR/watched"
  grep "^$NS pod imagecheck-1 pulls registry.test/$NS/old:v1, which" "$BATS_TEST_TMPDIR/watched"
  script "$(inline 'kubectl get pod POD' | sed "s#POD#pod --namespace $NS#")" >"$BATS_TEST_TMPDIR/original"
  places='[.spec | .initContainers[], .containers[] | [.name, .image, .imagePullPolicy]]'
  diff <(jq "$places" "$BATS_TEST_TMPDIR/original") <(jq "$places" <<<"$before")
}

@test "four changes: when the two commands have ended, the new settings act" {
  for _ in 1 2; do
    kubectl patch "$policy" --type merge --patch '{"spec": {"settings": {"mode": "Warn"}}}'
    page "When new settings act"
    warned
    kubectl patch "$policy" --type merge --patch '{"spec": {"settings": {"mode": "Fix"}}}'
    page "When new settings act"
    repaired
  done
}

@test "wrong settings of another policy: this policy serves on, and no change acts until they are corrected" {
  example agent-stack-k8s '.metadata.name = "consistent-pull-policy-wrong" | .spec.settings = {wrong: true}
    | .spec.policyServer = "pull-policy"' | kubectl apply --filename -
  within 120 logged 'unknown field `wrong`'
  repaired
  page "An emergency" 2
  not kubectl wait --for=condition=PolicyUniquelyReachable --timeout=60s "$policy"
  repaired
  kubectl wait --for=jsonpath='{.status.policyStatus}'=active --timeout=1s "$policy"
  not kubectl wait --for=jsonpath='{.status.policyStatus}'=active --timeout=1s "$wrong"
  kubectl delete "$wrong"
  page "When new settings act"
  warned
  (cd "$BATS_FILE_TMPDIR/clone" && kubectl apply --filename policy.yaml)
  kubectl patch "$policy" --type merge --patch '{"spec": {"settings": {"mode": "Fix"}}}'
  page "When new settings act"
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

@test "Upgrade and go back, while Pods are created: none is refused" {
  local tag
  skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false "docker://$REGISTRY/policies/consistent-pull-policy:v0.1.0" \
    "docker://$REGISTRY/policies/consistent-pull-policy:v0.2.0"
  creations "$BATS_TEST_TMPDIR/creations" 3>&- &
  for tag in v0.2.0 v0.1.0; do
    sed -i "s#^\(  module: .*:\).*#\1$tag#" "$BATS_FILE_TMPDIR/clone/policy.yaml"
    page "Turn it on"
    page "When new settings act"
    [[ $(kubectl get "$policy" --output jsonpath='{.spec.module}') == *:$tag ]]
    repaired
  done
  touch "$BATS_TEST_TMPDIR/creations/stop"
  wait "$!"
  echo "# $(wc --lines <"$BATS_TEST_TMPDIR/creations/repaired") repaired" >&3
  not cat "$BATS_TEST_TMPDIR/creations/refused"
}

@test "An emergency: only warnings" {
  page "An emergency" 2
  page "When new settings act"
  warned
}

@test "An emergency: only warnings, while the registry of the modules is away: the old settings act" {
  [[ -v STOP_REGISTRY ]] || skip "STOP_REGISTRY is not set (see the comment at the top)"
  kubectl patch "$policy" --type merge --patch '{"spec": {"settings": {"mode": "Fix"}}}'
  page "When new settings act"
  ${STOP_REGISTRY:-true} 3>&-
  page "An emergency" 2
  not kubectl wait --for=condition=PolicyUniquelyReachable --timeout=60s "$policy"
  repaired
  page "An emergency" 1
  within 2 untouched
  ${START_REGISTRY:-true} 3>&-
}

@test "An emergency: the policy server is away, so selected Pods are rejected, and the policy is deleted" {
  local pod
  page "Turn it on"
  page "When new settings act"
  weak_check
  pod=$(jq --raw-output .metadata.name <<<"$output")
  # Kubewarden's controller undoes `kubectl scale`, so its new Pods must find no node.
  kubectl cordon --selector kubernetes.io/os
  kubectl delete pods --namespace kubewarden --selector kubewarden/policy-server=pull-policy
  within 60 not weak_check
  grep 'failed calling webhook' "$BATS_TEST_TMPDIR/warnings"
  create other "app main app:v1 Always" "$unselected"
  kube label pod "$pod" some=label
  page "An emergency" 1
  within 2 untouched
  kubectl uncordon --selector kubernetes.io/os
}

@test "An emergency: Kubewarden's controller and the registry of the modules are away" {
  page "Turn it on"
  page "When new settings act"
  ${STOP_REGISTRY:-true} 3>&-
  controller 0
  within 60 not kubectl patch "$policy" --dry-run=server --type merge --patch '{"spec": {"backgroundAudit": false}}'
  repaired
  page "An emergency" 3
  within 10 untouched
  ${START_REGISTRY:-true} 3>&-
  controller 1
  kubectl wait --for=delete --timeout=120s "$policy"
  untouched
}

@test "Take it out" {
  page "Turn it on"
  page "When new settings act"
  repaired
  page "Take it out"
  within 2 untouched
}
