# The Helm chart: what it renders, what it refuses, and what Rancher reads in it.
# cluster/operations.bats installs it.

load lib

# An image for the PolicyServers, because there is no cluster whose image the chart could take.
server_image=registry.test/policy-server:v1

setup_file() {
  "${XTASK%/*}/chart-schema" >"$BATS_FILE_TMPDIR/values.schema.json"
  hack/chart.sh "$BATS_FILE_TMPDIR/values.schema.json" "$BATS_FILE_TMPDIR"
  tar -xzf "$BATS_FILE_TMPDIR"/*.tgz -C "$BATS_FILE_TMPDIR"
}

setup() { chart=$BATS_FILE_TMPDIR/consistent-pull-policy; }

# objects [FILTER]: the manifests of the input after this filter for each, as JSON, sorted by kind.
# Without values, a template renders nothing.
objects() { gojq --yaml-input --slurp "map(values | ${1:-.}) | sort_by(.kind)"; }

# in_file EXAMPLE [FILTER]: the manifests of an example, with the tests' image of the policy server.
in_file() {
  objects "if .kind == \"PolicyServer\" then .spec.image = \"$server_image\" else . end | ${2:-.}" <"examples/$1.yaml"
}

# rendered EXAMPLE [ARGUMENT...]: what the chart renders for an example.
rendered() { helm template release "$chart" --set "example=$1,policyServer.image=$server_image" "${@:2}"; }

# The names of the examples of the chart.
examples() { basename --suffix .yaml "$chart"/examples/*.yaml; }

# yaml FILTER FILE: prints texts as they are, and other values as JSON.
yaml() { gojq --yaml-input --raw-output --compact-output "$1" "$2"; }

@test "helm lint has no objections" {
  helm lint --strict --quiet "$chart"
}

@test "each example is rendered as its file, with two replicas that may not be away together" {
  [[ $(examples | wc -l) -gt 10 ]]
  for row in $(examples); do
    same objects "$(in_file "$row")" "$(rendered "$row" |
      objects 'if .kind == "PolicyServer" then del(.spec.affinity, .spec.minAvailable) else . end')"
  done
  same 'replicas, minAvailable, kind of affinity' '[2,1,["podAntiAffinity"]]' "$(rendered pin-digests |
    gojq --yaml-input --compact-output 'select(.kind == "PolicyServer").spec | [.replicas, .minAvailable, (.affinity | keys)]')"
}

# An example, values of the chart, and what they change in the policy of the example.
@test "values change the policy" {
  digest=sha256:$(printf %064d 1)
  while IFS='|' read -r example values filter; do
    row="$example $values"
    read -ra values <<<"$values"
    same policies "$(in_file "$example" | gojq "map(select(.kind == \"ClusterAdmissionPolicy\") | $filter)")" \
      "$(rendered "$example" "${values[@]}" | objects | gojq 'map(select(.kind == "ClusterAdmissionPolicy"))')"
  done <<ROWS
agent-stack-k8s|--set mode=monitor|.spec += {mode: "monitor", failurePolicy: "Ignore"}
agent-stack-k8s|--set mode=protect|.spec.mode = "protect"
air-gapped|--set mode=protect|.spec.mode = "protect"
agent-stack-k8s|--set namespaces.only={ci,test},namespaces.exclude={off}|.spec.namespaceSelector.matchExpressions += \
[{key: "kubernetes.io/metadata.name", operator: "In", values: ["ci", "test"]}, {key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["off"]}]
audit|--set namespaces.exclude={off}|.spec.namespaceSelector.matchExpressions += [{key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["off"]}]
every-pod|--set fullnameOverride=second|.metadata = {name: "second", labels: {"consistent-pull-policy/example": "every-pod"}}
every-pod|--set global.cattle.systemDefaultRegistry=registry.test:5000,module.repository=a/b,module.tag=v2|.spec.module = "registry://registry.test:5000/a/b:v2"
every-pod|--set global.cattle.systemDefaultRegistry=,module.repository=registry.test/a|.spec.module = "registry://registry.test/a:v0.1.0"
every-pod|--set module.digest=$digest|.spec.module |= sub(":v0.1.0"; "@$digest")
every-pod|--set policyServer.name=shared|.spec.policyServer = "shared"
every-pod|--set policyServer.create=true|.spec.policyServer = "every-pod"
pin-digests|--set policyServer.name=other|.spec.policyServer = "other"
pin-digests|--set fullnameOverride=second|.metadata = {name: "second", labels: {"consistent-pull-policy/example": "pin-digests"}} | .spec.policyServer = "second"
agent-stack-k8s|--set settings.mode=Warn|.spec.settings.mode = "Warn" | .spec.mutating = false
agent-stack-k8s|--set settings.mode=null|del(.spec.settings.mode)
tekton|--set settings.mode=Fix|.spec.settings.mode = "Fix" | .spec.mutating = true
agent-stack-k8s-fail-fast|--set settings.mode=Reject|.spec.settings.mode = "Reject"
agent-stack-k8s|--set settings.images.preferAlways={*}|.spec.settings.images.preferAlways = ["*"]
agent-stack-k8s|--set settings.exempt.images={a/b}|.spec.settings.exempt.images = ["a/b"]
agent-stack-k8s|--set-json settings.exempt.images=[]|.spec.settings.exempt.images = []
agent-stack-k8s|--set settings.imageChecks.template.resources.limits.cpu=1,settings.imageChecks.template.resources.requests.memory=1048576|\
.spec.settings.imageChecks.template.resources |= (.limits.cpu = 1 | .requests.memory = 1048576)
agent-stack-k8s|--set settings.imageChecks.template=null,settings.imageChecks.as=ImageVolume|.spec.settings.imageChecks |= (del(.template) | .as = "ImageVolume")
agent-stack-k8s|--set-json settings.templates=false|.spec.settings.templates = false
tekton|--set-json settings.registry.lookup=false|.spec.settings.registry.lookup = false
agent-stack-k8s|--set enabled=true|.
ROWS
}

# Values of the chart, and what they change in the PolicyServer of pin-digests.yaml.
@test "values change the policy server" {
  while IFS='|' read -r values filter; do
    row=$values
    read -ra values <<<"$values"
    same 'policy servers' "$(rendered pin-digests | gojq --yaml-input "select(.kind == \"PolicyServer\") | $filter")" \
      "$(rendered pin-digests "${values[@]}" | gojq --yaml-input 'select(.kind == "PolicyServer")')"
  done <<ROWS
--set policyServer.create=true|.
--set policyServer.replicaCount=1|.spec.replicas = 1 | del(.spec.minAvailable)
--set policyServer.replicaCount=3,policyServer.minAvailable=50%|.spec += {replicas: 3, minAvailable: "50%"}
--set policyServer.minAvailable=null|del(.spec.minAvailable)
--set policyServer.affinity.nodeAffinity.x=y|.spec.affinity = {nodeAffinity: {x: "y"}}
--set policyServer.limits.memory=500Mi,policyServer.requests.cpu=1|.spec += {limits: {memory: "500Mi"}, requests: {cpu: 1}}
--set policyServer.imagePullSecret=secret,policyServer.insecureSources={a:5000}|.spec += {imagePullSecret: "secret", insecureSources: ["a:5000"]}
--set-json policyServer.sourceAuthorities=[{"uri":"a:5000","certs":["x\ny"]}]|.spec.sourceAuthorities = {"a:5000": ["x\ny"]}
--set-json policyServer.env=[{"name":"A","value":"b"}]|.spec.env = [{name: "A", value: "b"}]
--set-json policyServer.image={"repository":"kubewarden/policy-server","tag":"v2"}|.spec.image = "ghcr.io/kubewarden/policy-server:v2"
ROWS
}

@test "alerts are about the policy of the release, and no other" {
  name=consistent-pull-policy-pin-digests
  same 'metadata, changed expressions' "$(yaml "[{name: \"$name\", namespace: \"default\", labels: {release: \"x\"}},
      ([.spec.groups[].rules[].expr | gsub(\"consistent-pull-policy[.][*]\"; \"$name([.].*)?\")])]" monitoring/alerts.yaml)" \
    "$(rendered pin-digests --set alerts.enabled=true,alerts.labels.release=x |
      yaml 'select(.kind == "PrometheusRule") | [.metadata, [.spec.groups[].rules[].expr]]' -)"
}

# Values of the chart, and the error.
@test "wrong values are refused with what is wrong" {
  while IFS='|' read -r values error; do
    row=$values
    read -ra values <<<"$values"
    run helm template release "$chart" "${values[@]}"
    [[ $status != 0 ]] || fail "nothing is refused"
    [[ $output == *"$error"* ]] || fail "another error than: $error" "$output"
  done <<'ROWS'
--set example=agent-stack|example: there is no agent-stack. The examples are agent-stack-k8s-fail-fast, 
--set setting.mode=Fix|additional properties 'setting' not allowed
--set mode=on|'/mode': value must be one of '', 'monitor', 'protect'
--set fullnameOverride=A|'/fullnameOverride'
--set module.digest=1|'/module/digest'
--set policyServer.replicaCount=0|'/policyServer/replicaCount': minimum: got 0, want 1
--set settings.Mode=Fix|'/settings': additional properties 'Mode' not allowed
--set settings.mode=fix|'/settings/mode': value must be one of 'Fix', 'Reject', 'Warn'
--set settings.imageChecks.everyPod=yes|'/settings/imageChecks/everyPod': got string, want null or boolean
--set settings.images.forbidAlways=nginx|'/settings/images/forbidAlways': got string, want null or array
--set settings.imageChecks.template.livenessProbe.periodSeconds=1|'/settings/imageChecks/template': additional properties 'livenessProbe' not allowed
--set-json settings.imageChecks.template.env=[{"name":"a","valu":"b"}]|'/settings/imageChecks/template/env/0': additional properties 'valu' not allowed
--set-json settings.imageChecks.template.command=[]|settings.imageChecks.template.command is required
--set settings.imageChecks.template=null|settings.imageChecks.template is required
--set settings.images.forbidAlways={registry.test,nginx}|settings.images.forbidAlways: registry.test names a registry and no image: write registry.test/*
--set settings.exempt.containers={imagecheck-*}|settings.exempt.containers: imagecheck-* matches the checks that coverage: Fix adds
--set settings.registry.lookup=Verify|settings.registry.lookup: agent-stack-k8s has no lookups
--set settings.registry.lookup=Pin|These examples have lookups: agent-stack-k8s-fail-fast (Verify), 
--set example=tekton --set-json settings.registry.images=[]|settings.registry.images is required for lookups
--set example=audit,settings.mode=Fix|settings.mode: audit has only the mode Reject. These examples have other modes: agent-stack-k8s-fail-fast, 
--set example=second-policy,settings.mode=Warn|settings.mode: second-policy has only the mode Reject.
--set example=tekton|policyServer.image is required where the cluster's PolicyServer `default` can't be read
--set policyServer.create=true|policyServer.image is required
--set policyServer.insecureSources={registry.test:5000}|policyServer.insecureSources acts only with policyServer.create=true
--set policyServer.imagePullSecret=secret|policyServer.imagePullSecret acts only with policyServer.create=true
ROWS
}

# The module reads the settings of each example, and those of e2e-tests/rows with valid and wrong
# settings, laid over an example's.
@test "the module accepts all settings that the chart renders" {
  export chart
  check() { # <example> <values>
    local settings
    settings=$(helm template release "$chart" --set "example=$1,policyServer.image=x" --values "$2" 2>/dev/null |
      gojq --yaml-input --compact-output 'select(.kind == "ClusterAdmissionPolicy").spec.settings')
    if [[ -z $settings ]]; then
      echo refused
    elif error=$("$XTASK" run --request-path test_data/reviews/pod-update-label.json --settings-json "$settings" "$POLICY" 2>&1); then
      echo accepted
    else
      echo "$error: $settings"
    fi
  }
  export -f check
  export XTASK POLICY
  for file in settings patterns; do "${XTASK%/*}/rows" "$file" --export "$BATS_TEST_TMPDIR/$file" >/dev/null; done
  jq --compact-output .settings "$BATS_TEST_TMPDIR"/{settings,patterns} | sort --unique >"$BATS_TEST_TMPDIR/all"
  jq --raw-output --arg folder "$BATS_TEST_TMPDIR" '{settings: .} | @sh "printf %s \(tojson) >\($folder)/\(input_line_number).json"' \
    "$BATS_TEST_TMPDIR/all" | bash
  # Each line is an example and a file of values.
  { examples | sed 's/$/ chart\/values.yaml/'; printf 'air-gapped %s\n' "$BATS_TEST_TMPDIR"/*.json; } >"$BATS_TEST_TMPDIR/pairs"
  xargs --max-args 2 --max-procs "$(nproc)" bash -c 'check "$@"' check <"$BATS_TEST_TMPDIR/pairs" >"$BATS_TEST_TMPDIR/answers"
  sort "$BATS_TEST_TMPDIR/answers" | uniq --count >&2
  ! grep --invert-match --line-regexp -e accepted -e refused "$BATS_TEST_TMPDIR/answers" || fail "the module refuses these"
  [[ $(grep --count accepted "$BATS_TEST_TMPDIR/answers") -gt 30 && $(grep --count refused "$BATS_TEST_TMPDIR/answers") -gt 30 ]]
}

@test "the chart has the version and the module of metadata.yml, and what Rancher reads" {
  same version "$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)" "$(yaml .version "$chart/Chart.yaml")"
  # Helm refuses an annotation that is no text.
  same 'types of annotations' '["string"]' "$(yaml '.annotations | map(type) | unique' "$chart/Chart.yaml")"
  module=$(yaml '.annotations | "\(.["io.kubewarden.policy.ociUrl"]):v\(.["io.kubewarden.policy.version"])"' metadata.yml)
  same 'module of the values' "$module" \
    "$(yaml '"\(.global.cattle.systemDefaultRegistry)/\(.module.repository):\(.module.tag)"' "$chart/values.yaml")"
  same 'module of the annotations' "$module" \
    "$(yaml '.annotations | "\(.["kubewarden/registry"])/\(.["kubewarden/repository"]):\(.["kubewarden/tag"])"' "$chart/Chart.yaml")"
  same 'type, hidden, mutation' 'kubewarden-policy true true' "$(yaml '.annotations |
    "\(.["catalog.cattle.io/type"]) \(.["catalog.cattle.io/hidden"]) \(.["kubewarden/mutation"])"' "$chart/Chart.yaml")"
  same rules "$(yaml .rules metadata.yml)" "$(yaml '.annotations["kubewarden/rules"]' "$chart/Chart.yaml" | yaml . -)"
  cmp questions-ui.yml "$chart/questions.yaml"
  empty 'relative links' "$(grep -oE '\]\([^:)]*\)' "$chart/README.md")"
}
