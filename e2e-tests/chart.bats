# The Helm chart: what it renders, what it refuses, and what Rancher reads in it. HELM names another helm than that of
# the PATH. cluster/operations.bats installs the chart.

load lib

# An image for the PolicyServers.
server_image=registry.test/policy-server:v1
kubewarden=policies.kubewarden.io/v1

setup_file() {
  tar -xzf "$(packed)" -C "$BATS_FILE_TMPDIR"
}

setup() {
  chart=$BATS_FILE_TMPDIR/consistent-pull-policy
}

teardown() { [[ -z ${server:-} ]] || kill "$server"; }

helm() { command "${HELM:-helm}" "$@"; }
export -f helm

# cluster [GROUP/VERSION...]: starts an API server with these kinds. `installed` and `put` use it.
cluster() {
  [[ -z ${server:-} ]] || kill "$server"
  objects=$BATS_TEST_TMPDIR/objects
  rm -rf "$objects" && mkdir "$objects"
  python3 e2e-tests/api-server.py "$objects" "$@" 3>&- &
  server=$!
  until [[ -s $objects/port ]]; do
    kill -0 "$server" || fail 'the API server has ended'
    sleep 0.1
  done
}

# put RESOURCE JSON: an object of the cluster.
put() { mkdir -p "$objects/$1" && echo "$2" >"$objects/$1/$(jq --raw-output .metadata.name <<<"$2")"; }

# A cluster with Kubewarden and its PolicyServer `default`.
kubewarden_cluster() {
  cluster "$kubewarden"
  put policyservers "{\"metadata\": {\"name\": \"default\"}, \"spec\": {\"image\": \"$server_image\"}}"
}

# objects [FILTER]: the manifests of the input after this filter for each, as JSON, sorted by kind.
# Without values, a template renders nothing.
objects() { gojq --yaml-input --slurp "map(values | ${1:-.}) | sort_by(.kind)"; }

# in_file PRESET [FILTER]: the manifests of a preset, with the tests' image of the policy server.
in_file() {
  objects "if .kind == \"PolicyServer\" then .spec.image = \"$server_image\" else . end | ${2:-.}" <"examples/$1.yaml"
}

# image PRESET: the flag with the image of the policy server, for a preset that makes one.
image() { ! grep --quiet '^kind: PolicyServer$' "examples/$1.yaml" || echo "--set-json=policyServer.image=\"$server_image\""; }

# rendered PRESET [ARGUMENT...]: what the chart renders for a preset without a cluster.
rendered() {
  # shellcheck disable=SC2046 # no flag, or one
  helm template release "$chart" --namespace kubewarden --set "preset=$1" $(image "$1") "${@:2}"
}

# installed PRESET [ARGUMENT...]: what `helm install` would install in the cluster, as JSON.
installed() {
  helm install release "$chart" --namespace kubewarden --kube-apiserver "http://127.0.0.1:$(<"$objects/port")" --dry-run=server --disable-openapi-validation \
    --output json --set "preset=$1" "${@:2}"
}
notes() { installed "$@" | jq --raw-output .info.notes; }

# refused ERROR COMMAND...: the command fails with an error that has this text.
refused() {
  run "${@:2}"
  [[ $status != 0 ]] || fail "nothing is refused: $1"
  [[ $output == *"$1"* ]] || fail "another error than: $1" "$output"
}

# The names of the presets of the chart.
presets() { basename --suffix .yaml "$chart"/examples/*.yaml; }

# yaml FILTER FILE: prints texts as they are, and other values as JSON.
yaml() { gojq --yaml-input --raw-output --compact-output "$1" "$2"; }

# flags VALUES: sets the array `values` to the flags. VALUES are those of --set, then flags.
flags() {
  read -ra values <<<"$1"
  [[ -z $1 || $1 == --* ]] || values=(--set "${values[@]}")
}

@test "each preset is rendered as its file, with two replicas that may not be down together" {
  local as_file='if .kind == "PolicyServer" then del(.spec.affinity, .spec.minAvailable) else . end'
  same presets "$(grep --files-with-matches '^  module: ' examples/*.yaml | xargs basename --suffix .yaml --multiple)" "$(presets)"
  kubewarden_cluster
  for row in $(presets); do
    expected=$(in_file "$row")
    # Argo CD renders without the cluster, but names its kinds.
    same 'objects without a cluster' "$expected" "$(rendered "$row" --api-versions v1/Pod --kube-version 1.35 \
      --api-versions policies.kubewarden.io/v1/ClusterAdmissionPolicy | objects "$as_file")"
    # Flux installs. The image of the policy server is that of the PolicyServer `default`.
    same 'objects in a cluster' "$expected" "$(installed "$row" | jq --raw-output .manifest | objects "$as_file")"
  done
  same 'replicas, minAvailable, affinity' '[2,1,{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"labelSelector":{"matchLabels":{"kubewarden/policy-server":"always-by-digest"}},"topologyKey":"kubernetes.io/hostname"},"weight":100}]}}]' \
    "$(rendered always-by-digest | gojq --yaml-input --compact-output 'select(.kind == "PolicyServer").spec | [.replicas, .minAvailable, .affinity]')"
}

# A preset, values of the chart, and what they change in the policy of the preset.
@test "values change the policy" {
  digest=sha256:$(printf %064d 1)
  # An expression about a namespace's name.
  name='key: "kubernetes.io/metadata.name", operator:'
  while IFS='|' read -r preset values filter; do
    row="$preset $values"
    flags "$values"
    same policies "$(in_file "$preset" | gojq "map(select(.kind == \"ClusterAdmissionPolicy\") | $filter)")" \
      "$(rendered "$preset" "${values[@]}" | objects | gojq 'map(select(.kind == "ClusterAdmissionPolicy"))')"
  done <<ROWS
agent-stack-k8s|mode=monitor|.spec += {mode: "monitor", failurePolicy: "Ignore", timeoutSeconds: 10, timeoutEvalSeconds: 10}
air-gapped|mode=monitor,spec.failurePolicy=Fail|.spec += {mode: "monitor", failurePolicy: "Ignore"}
agent-stack-k8s|namespaces.only={ci,test},namespaces.exclude={off}|.spec.namespaceSelector.matchExpressions += \
[{$name "In", values: ["ci", "test"]}, {$name "NotIn", values: ["off"]}]
air-gapped|namespaces.only={a},namespaces.matchLabels.a\.b/c=|.spec.namespaceSelector.matchExpressions += \
[{key: "a.b/c", operator: "In", values: [""]}, {$name "In", values: ["a"]}]
jobs|objects.matchLabels.app=web --set-json namespaces.matchExpressions=[{"key":"team","operator":"Exists"}],objects.matchExpressions=[{"key":"a","operator":"NotIn","values":["b","c"]}]|\
.spec.namespaceSelector.matchExpressions += [{key: "team", operator: "Exists"}] | .spec.objectSelector.matchExpressions += \
[{key: "app", operator: "In", values: ["web"]}, {key: "a", operator: "NotIn", values: ["b", "c"]}]
agent-stack-k8s|spec.failurePolicy=Ignore,spec.timeoutSeconds=20|.spec += {failurePolicy: "Ignore", timeoutSeconds: 20, timeoutEvalSeconds: 20}
always-by-digest|spec.failurePolicy=Fail,spec.timeoutSeconds=30,spec.timeoutEvalSeconds=2,spec.backgroundAudit=true|\
.spec += {failurePolicy: "Fail", timeoutSeconds: 30, timeoutEvalSeconds: 2, backgroundAudit: true}
air-gapped|spec.backgroundAudit=false|.spec.backgroundAudit = false
air-gapped|--set-json spec.rules=[{"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"],"operations":["*"],"scope":"Namespaced"}]|\
.spec += {rules: [{apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"], operations: ["*"], scope: "Namespaced"}], mutating: false}
air-gapped|--set-json spec.rules=[{"apiGroups":[""],"apiVersions":["v1"],"resources":["*"],"operations":["CREATE"]}]|\
.spec.rules = [{apiGroups: [""], apiVersions: ["v1"], resources: ["*"], operations: ["CREATE"]}]
always-by-digest|--set-json spec.matchConditions=[{"name":"a","expression":"true"}]|.spec.matchConditions += [{name: "a", expression: "true"}]
air-gapped|fullnameOverride=ci.pull-policy|.metadata = {name: "ci.pull-policy", labels: {"consistent-pull-policy/preset": "air-gapped"}}
air-gapped|global.cattle.systemDefaultRegistry=registry.test:5000,module.repository=a--b/c__d.e,module.tag=v2|.spec.module = "registry://registry.test:5000/a--b/c__d.e:v2"
air-gapped|global.cattle.systemDefaultRegistry=registry.test/mirror/ghcr.io,module.repository=a|.spec.module = "registry://registry.test/mirror/ghcr.io/a:v0.1.0"
air-gapped|global.cattle.systemDefaultRegistry=localhost,module.repository=a|.spec.module = "registry://localhost/a:v0.1.0"
air-gapped|global.cattle.systemDefaultRegistry=,global.cattle.clusterId=x|.
air-gapped|module.tag=v2,module.digest=$digest|.spec.module |= sub(":v0.1.0"; "@$digest")
air-gapped|policyServer.create=false,policyServer.name=shared|.spec.policyServer = "shared"
air-gapped|policyServer.create=true,policyServer.image=x|.spec.policyServer = "air-gapped"
always-by-digest|policyServer.name=other,fullnameOverride=ci.pull-policy|.spec.policyServer = "other" | .metadata = {name: "ci.pull-policy", labels: {"consistent-pull-policy/preset": "always-by-digest"}}
always-by-digest|fullnameOverride=second|.metadata = {name: "second", labels: {"consistent-pull-policy/preset": "always-by-digest"}} | .spec.policyServer = "second"
agent-stack-k8s|settings.mode=Warn|.spec.settings.mode = "Warn"
agent-stack-k8s|settings.mode=Reject|.spec.settings.mode = "Reject" | .spec.mutating = false
agent-stack-k8s|settings.mode=null|del(.spec.settings.mode)
audit|settings.registry.lookup=Verify,settings.registry.images={*},policyServer.name=audit|.spec.settings.registry = {lookup: "Verify", images: ["*"]} \
| .spec += {policyServer: "audit", timeoutEvalSeconds: 10}
audit|settings.registry.lookup=Verify,settings.registry.images={*},policyServer.create=true,policyServer.image=x,spec.timeoutEvalSeconds=5|\
.spec.settings.registry = {lookup: "Verify", images: ["*"]} | .spec += {policyServer: "audit", timeoutEvalSeconds: 5}
agent-stack-k8s|--set-json module=null,policyServer=null,namespaces=null,objects=null,spec=null,alerts=null,settings=null,global=null,guard=null,allowBeside=null|.
agent-stack-k8s|--set-json module={},policyServer={},namespaces={},objects={},spec={},alerts={},global={},guard={},checkNodes=null|.
agent-stack-k8s|--set-json module={"tag":"","digest":null},policyServer={"create":null,"name":""},namespaces={"only":null},mode=null,fullnameOverride=null|.
agent-stack-k8s|--set-json module={"repository":""},spec={"rules":[],"failurePolicy":"","timeoutSeconds":null},global={"cattle":null}|.
ROWS
}

# Values of the chart, and what they change in the PolicyServer of always-by-digest.yaml.
@test "values change the policy server" {
  long=$(printf 'a%.0s' {1..38})
  while IFS='|' read -r values filter; do
    row=$values
    flags "$values"
    same 'policy servers' "$(rendered always-by-digest | gojq --yaml-input "select(.kind == \"PolicyServer\") | $filter")" \
      "$(rendered always-by-digest "${values[@]}" | gojq --yaml-input 'select(.kind == "PolicyServer")')"
  done <<ROWS
policyServer.name=$long,fullnameOverride=other|.metadata.name = "$long" | .spec.affinity |= (tojson | gsub("always-by-digest"; "$long") | fromjson)
policyServer.replicaCount=1|.spec.replicas = 1 | del(.spec.minAvailable)
policyServer.replicaCount=3,policyServer.minAvailable=66%|.spec += {replicas: 3, minAvailable: "66%"}
policyServer.replicaCount=3,policyServer.minAvailable=2|.spec += {replicas: 3, minAvailable: 2}
--set-string policyServer.minAvailable=1|.
policyServer.minAvailable=0|del(.spec.minAvailable)
policyServer.minAvailable=null,policyServer.affinity.nodeAffinity=null|.
policyServer.affinity.nodeAffinity.x=y|.spec.affinity = {nodeAffinity: {x: "y"}}
--set-json policyServer.limits={"cpu":1,"memory":"500Mi","x":"","y":null},policyServer.requests={"cpu":0.25,"memory":134217728,"z":"1e3"}|\
.spec += {limits: {cpu: "1", memory: "500Mi"}, requests: {cpu: "0.25", memory: "134217728", z: "1e3"}}
--set-json policyServer={"image":"$server_image","limits":{"cpu":null},"requests":null,"replicaCount":null,"env":[],"tolerations":[]}|.
policyServer.imagePullSecret=secret,policyServer.priorityClassName=high,policyServer.annotations.a\.b/c=d,policyServer.insecureSources={a:5000,[2001:db8::1]:5000}|\
.spec += {imagePullSecret: "secret", priorityClassName: "high", annotations: {"a.b/c": "d"}, insecureSources: ["a:5000", "[2001:db8::1]:5000"]}
--set-json policyServer.sourceAuthorities=[{"uri":"[2001:db8::5]:5000","certs":["x\ny"]},{"uri":"a","certs":["x"]},{"uri":"[2001:db8::5]:5000","certs":["z"]}]|\
.spec.sourceAuthorities = {"[2001:db8::5]:5000": ["x\ny", "z"], a: ["x"]}
--set-json policyServer.env=[{"name":"A","value":8},{"name":"B","value":true},{"name":"C","value":""},{"name":"D","valueFrom":{"x":"y"}},{"name":"E","value":1048576}]|\
.spec.env = [{name: "A", value: "8"}, {name: "B", value: "true"}, {name: "C", value: ""}, {name: "D", valueFrom: {x: "y"}}, {name: "E", value: "1048576"}]
--set-json policyServer.tolerations=[{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":5}]|\
.spec.tolerations = [{key: "a", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5}]
policyServer.image=registry.test:5000/a/b:v1@sha256:$(printf %064d 1)|.spec.image = "registry.test:5000/a/b:v1@sha256:$(printf %064d 1)"
--set-json policyServer.image={"repository":"kubewarden/policy-server","tag":"v2"}|.spec.image = "ghcr.io/kubewarden/policy-server:v2"
ROWS
  same 'kinds with a server that exists' ClusterAdmissionPolicy \
    "$(rendered always-by-digest --set policyServer.create=false,policyServer.name=shared,policyServer.image= | yaml .kind -)"
}

# A preset, values, and what makes the guard from the release's policy.
@test "a guard looks at what its policy repairs" {
  while IFS='|' read -r preset values filter; do
    row="$preset $values"
    flags "guard.enabled=true$values"
    policies=$(rendered "$preset" "${values[@]}" | gojq --yaml-input --slurp 'map(select(.kind == "ClusterAdmissionPolicy"))')
    same guard "$(jq "last | .metadata = {name: \"\(.metadata.name)-guard\", labels: {\"consistent-pull-policy/preset\": \"$preset\"},
      annotations: {\"argocd.argoproj.io/sync-wave\": \"1\"}} | .spec += {mutating: false, policyServer: \"default\"} | del(.spec.settings.registry)
      | .spec.settings += {mode: \"Reject\", podTemplates: \"Off\"} | .spec.settings.imageChecks.onMissing = \"Warn\" | $filter" <<<"$policies" | jq --sort-keys)" \
      "$(jq --sort-keys first <<<"$policies")"
  done <<ROWS
agent-stack-k8s||.
air-gapped|,mode=monitor|.
jobs|,namespaces.only={ci},objects.matchLabels.a=b|.spec.rules = [{apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"]}]
jobs| --set-json spec.rules=[{"apiGroups":["*"],"apiVersions":["v1"],"resources":["jobs","pods","pods/ephemeralcontainers"],"operations":["*"]}]|\
.spec.rules[0].resources = ["pods", "pods/ephemeralcontainers"]
multi-tenant|,spec.failurePolicy=Ignore,guard.policyServer=other|.spec += {failurePolicy: "Fail", policyServer: "other"}
multi-tenant|,mode=monitor|.
ROWS
}

@test "alerts are about the policies of the release, and no others" {
  name=consistent-pull-policy-always-by-digest
  same rule "$(yaml ".metadata = {name: \"$name\", namespace: \"kubewarden\", labels: {release: \"x\"}}
      | .spec.groups[].rules[].expr |= gsub(\"consistent-pull-policy[.][*]\"; \"$name(-guard)?([.].*)?\")" monitoring/alerts.yaml)" \
    "$(rendered always-by-digest --set alerts.enabled=true,alerts.labels.release=x | yaml 'select(.kind == "PrometheusRule")' -)"
}

# Values of the chart, and the error. `preset` is agent-stack-k8s unless the values say it.
@test "wrong values are refused with what to write" {
  # shellcheck disable=SC2034 # the rows name it
  long=$(printf 'a%.0s' {1..39}) pods='"apiVersions":["v1"],"resources":["pods"],"operations":["CREATE"]'
  refused "preset: choose one. The presets are agent-stack-k8s-volumes, " helm template release "$chart"
  refused "needs --reset-then-reuse-values, which keeps the others" helm template release "$chart" --set mode=protect
  while IFS='|' read -r values error; do
    row=$values
    flags "$values"
    refused "$error" helm template release "$chart" --set preset=agent-stack-k8s "${values[@]}"
  done <<ROWS
preset=agent-stack|preset: there is no agent-stack. The presets are agent-stack-k8s-volumes, 
setting.mode=Fix|additional properties 'setting' not allowed
mode=on|'/mode': value must be one of '', 'monitor', 'protect'
allowBeside={jobs,job}|allowBeside: there is no preset job
fullnameOverride=A|'/fullnameOverride': 'A' does not match pattern
module.repository=https://registry.example.com/policies/x|'/module/repository'
module.repository=registry.example.com/policies/x|'/module/repository'
module.repository=a/b:v1|'/module/repository'
module.tag=v1+x|'/module/tag'
module.digest=sha256:A$(printf %063d 1)|'/module/digest'
global.cattle.systemDefaultRegistry=https://registry.example.com/|'/global/cattle/systemDefaultRegistry'
global.cattle.systemDefaultRegistry=registry|'/global/cattle/systemDefaultRegistry'
namespaces.exclude={kube-*}|'/namespaces/exclude/0': 'kube-*' does not match pattern
namespaces.only={a,}|'/namespaces/only/1'
objects.matchLabels./team=a|'/objects/matchLabels': additional properties '/team' not allowed
namespaces.matchLabels.team=a*|'/namespaces/matchLabels/team': 'a*' does not match pattern
namespaces.matchLabels.team=true|'/namespaces/matchLabels/team': got boolean, want string
--set-json objects.matchExpressions=[{"key":"a","operator":"Equals"}]|'/objects/matchExpressions/0/operator': value must be one of 'In', 'NotIn', 'Exists', 'DoesNotExist'
--set-json objects.matchExpressions=[{"key":"a","operator":"In"}]|'/objects/matchExpressions/0'
--set-json objects.matchExpressions=[{"key":"a","operator":"NotIn","values":["team-*"]}]|'/objects/matchExpressions/0/values/0'
--set-json namespaces.matchExpressions=[{"key":"a","operator":"Exists","values":["b"]}]|'/namespaces/matchExpressions/0/values'
spec.failurePolicy=ignore|'/spec/failurePolicy': value must be one of 'Fail', 'Ignore'
spec.timeoutSeconds=1|'/spec/timeoutSeconds': minimum: got 1, want 2
spec.timeoutSeconds=31|'/spec/timeoutSeconds': maximum: got 31, want 30
spec.timeoutEvalSeconds=1|'/spec/timeoutEvalSeconds': minimum: got 1, want 2
preset=air-gapped,spec.timeoutEvalSeconds=2|spec.timeoutEvalSeconds: 2 s end before the timeoutSeconds of 5 s, and the policy server then rejects in spite of failurePolicy Ignore
mode=monitor,spec.timeoutEvalSeconds=5|spec.timeoutEvalSeconds: 5 s end before the timeoutSeconds of 10 s
spec.timeoutEvalSeconds=11|spec.timeoutEvalSeconds: 11 s are more than the timeoutSeconds of 10 s
--set-json spec.rules=[{"apiGroups":[""]}]|'/spec/rules/0': missing properties 'apiVersions', 'resources', 'operations'
--set-json spec.rules=[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"operations":["create"]}]|'/spec/rules/0/operations/0'
preset=audit --set-json spec.rules=[{"apiGroups":[""],$pods}]|spec.rules: the audit scanner reads only the kinds of the preset
preset=multi-tenant --set-json spec.matchConditions=[{"name":"image-changes","expression":"true"}]|spec.matchConditions: there are two conditions image-changes
--set-json spec.matchConditions=[{"name":"a","expression":"\t"}]|'/spec/matchConditions/0/expression'
policyServer.replicaCount=0|'/policyServer/replicaCount': minimum: got 0, want 1
policyServer.name=$long|'/policyServer/name'
guard.policyServer=a.b|'/guard/policyServer'
preset=always-by-digest,policyServer.image=x,fullnameOverride=$long|fullnameOverride: $long can't name the PolicyServer too
preset=always-by-digest,policyServer.image=x,fullnameOverride=ci.pull-policy|fullnameOverride: ci.pull-policy can't name the PolicyServer too
preset=always-by-digest|policyServer.image is required where the cluster's PolicyServer \`default\` can't be read
preset=always-by-digest,policyServer.create=false|policyServer.name: with create=false, write the name of a PolicyServer that exists
policyServer.create=true,policyServer.image=https://x/y|'/policyServer/image'
policyServer.create=true,policyServer.image=x,policyServer.minAvailable=2|policyServer.minAvailable: with 2 of 2 replicas, none may be down
policyServer.create=true,policyServer.image=x,policyServer.minAvailable=51%|policyServer.minAvailable: with 51% of 2 replicas, none may be down
policyServer.minAvailable=half|'/policyServer/minAvailable'
policyServer.insecureSources={http://registry.test:5000}|'/policyServer/insecureSources/0'
--set-json policyServer.sourceAuthorities=[{"uri":"https://a","certs":["x"]}]|'/policyServer/sourceAuthorities/0/uri'
policyServer.limits.memory=512MB|'/policyServer/limits/memory': '512MB' does not match pattern
policyServer.requests.cpu=-1|'/policyServer/requests/cpu'
--set-json policyServer.annotations={"a":1}|'/policyServer/annotations/a': got number, want string
--set-json policyServer.env=[{"value":"a"}]|'/policyServer/env/0': missing property 'name'
$(for key in imagePullSecret=secret replicaCount=2 minAvailable=1 image=x limits.cpu=1 requests.cpu=1 affinity.nodeAffinity.x=y priorityClassName=a \
    annotations.a=b insecureSources={a} env[0].name=a tolerations[0].key=a 'sourceAuthorities[0].uri=a,policyServer.sourceAuthorities[0].certs={x}'; do
    echo "policyServer.$key|policyServer.${key%%[.=[]*} is for a PolicyServer of this release"
  done)
preset=audit,guard.enabled=true|guard.enabled: audit repairs nothing
preset=missing-tags,policyServer.image=x,guard.enabled=true|guard.enabled: missing-tags repairs nothing
guard.enabled=true,settings.mode=Warn|guard.enabled: a guard looks for what its policy has repaired
guard.enabled=true --set-json spec.rules=[{"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"],"operations":["*"]}]|guard.enabled: spec.rules names no Pods
settings.imageChecks.template.env[0].value=x|'/settings/imageChecks/template/env/0': missing property 'name'
settings.images.forbidAlways={registry.test,nginx}|settings.images.forbidAlways: registry.test names a registry and no image: write registry.test/*
settings.registry.lookup=Pin|settings.registry.lookup: agent-stack-k8s has no lookups
settings.registry.lookup=Verify|These presets have lookups: agent-stack-k8s-volumes (
preset=audit,settings.registry.lookup=Verify,settings.registry.images={*}|settings.registry.lookup: lookups hold up the other policies of their server
preset=audit,settings.mode=Fix|settings.mode: an audit reports only what it would reject, so audit has only the mode Reject
ROWS
  empty 'objects of the schema that take any key' "$(jq --compact-output 'del(.properties.global) | .. | objects
    | select((.properties | type == "object") and has("type") and .additionalProperties != false) | keys' "$chart/values.schema.json")"
  refused 'chart requires kubeVersion: >=1.30.0-0' rendered air-gapped --kube-version 1.29
  # All that is wrong is told.
  refused $'\nsettings.registry.images is required' helm template release "$chart" \
    --set preset=always-by-digest,policyServer.image=x,policyServer.minAvailable=2,settings.registry.images=null
}

# verdicts PRESETS CASES: compares the chart's verdict about settings with the module's, laid over each preset. CASES has a
# JSON value on each line. A chart with the templates and the settings' schema answers all cases at once.
verdicts() {
  local asks=$BATS_TEST_TMPDIR/asks
  cp -R "$chart" "$asks" && rm "$asks"/templates/*.* && cp "$chart"/templates/_*.tpl "$asks/templates"
  jq '{properties: {cases: {items: .properties.settings}}}' "$chart/values.schema.json" >"$asks/values.schema.json"
  jq --slurp '{cases: .}' "$2" >"$asks/values.yaml"
  run helm template release "$asks"
  local refused
  refused=$(grep --only-matching "at '/cases/[0-9]*" <<<"$output" | sed 's/.*[/]//' | sort --unique | jq --slurp --compact-output .)
  echo '{}' >"$asks/values.schema.json"
  jq --slurp --argjson refused "$refused" '{cases: [to_entries[] | select(.key | IN($refused[]) | not).value]}' "$2" >"$asks/values.yaml"
  cat >"$asks/templates/asks.yaml" <<TEMPLATE
answers:
{{- range \$preset := splitList " " "$1" }}{{ range \$.Values.cases }}
{{- \$release := dict "root" (merge (dict "Values" (dict "settings" .)) (omit \$ "Values")) "preset" \$preset }}
{{- range \$key := list "values" "defaults" }}{{ \$_ := set \$release \$key (\$.Files.Get "defaults.yaml" | fromYaml) }}{{ end }}
{{- \$_ := include "consistent-pull-policy.setPolicy" \$release }}
{{- \$settings := \$release.policy.spec.settings }}
- {{ dict "settings" \$settings "chart" (include "consistent-pull-policy.wrongSettings" \$settings | trim) | toJson }}
{{- end }}{{ end }}
TEMPLATE
  {
    helm template release "$asks" | gojq --yaml-input --compact-output '.answers[]'
    # A part of settings: `null` takes a key away.
    jq --compact-output --slurp --argjson refused "$refused" '.[$refused[]] | {settings: walk(if type == "object" then map_values(values) else . end), chart: "schema"}' "$2"
  } >"$BATS_TEST_TMPDIR/answers"
  jq --compact-output .settings "$BATS_TEST_TMPDIR/answers" | "${XTASK%/*}/examples/settings" | jq --raw-input '{module: .}' |
    jq --slurp --slurpfile answers "$BATS_TEST_TMPDIR/answers" '[., $answers] | transpose | map(add)[]' >"$BATS_TEST_TMPDIR/verdicts"
  empty 'chart and module differ' "$(jq --compact-output 'select((.chart == "") != (.module == "accepted"))' "$BATS_TEST_TMPDIR/verdicts")"
  same 'some of each' '["accepted","refused","refused by the schema"]' "$(jq --slurp --compact-output 'map(if .chart == "" then "accepted"
    elif .chart == "schema" then "refused by the schema" else "refused" end) | group_by(.) | map(select(length > 4)[0])' "$BATS_TEST_TMPDIR/verdicts")"
}

@test "chart and module accept the same settings over every preset" {
  {
    # The module never sees an unknown key with `null`, and takes an empty list or object for absent where it asks for something else.
    "${XTASK%/*}/rows" --settings | jq --compact-output 'objects | select(tojson | test("\"other\":null|:[{][}]|\"(mode|onMissing|onDenied)\":[[]") | not)' | sort --unique
    cat <<'CASES'
{"imageChecks":{"onMissing":"Add","podsWithoutChecks":false,"template":null,"type":"InitContainer"}}
{"imageChecks":{"onMissing":"Add","podsWithoutChecks":true,"type":"InitContainer"}}
{"imageChecks":{"template":{"command":["true"],"resources":{"limits":{"memory":null,"cpu":1,"x":"1Gi"}}}}}
{"imageChecks":{"template":{"env":[{"name":"a","valu":"x"}]}}}
{"imageChecks":{"template":{"command":[]}}}
{"imageChecks":{"template":{"livenessProbe":{"periodSeconds":1}}}}
{"imageChecks":{"namePrefixes":["","a_"]}}
{"registry":{"images":[""]}}
{"registry":{"images":null}}
{"registry":{"lookup":false}}
{"registry":{"lookup":"Verify"}}
{"registry":{"images":[null,"a.io/*"]}}
{"mode":null,"podTemplates":false,"images":{},"registry":{},"imageChecks":{"insertAfter":[]}}
CASES
  } >"$BATS_TEST_TMPDIR/cases.json"
  verdicts "$(presets | xargs)" "$BATS_TEST_TMPDIR/cases.json"
}

# Patterns from the rows, and random ones from pieces that meet in names of images.
@test "chart and module accept the same patterns" {
  row="seed $RANDOM"
  {
    "${XTASK%/*}/rows" patterns --settings | jq --compact-output '.images, .registry | objects[] | arrays[] | strings | select(. != "")' | sort --unique
    python3 -c '
import json, random, sys
random.seed(sys.argv[1])
pieces = ["a", "b1", "A", "0443", "443", "registry", ".io", "docker.io", "localhost", "[::1]", "[", "]", "**", "sha256", "@",
          "..", "__", "--", "_", "-", ".", "|", "^", ",", " "] + 6 * ["*", "?", "/", ":", "x"]
print(json.dumps(63 * "a" + "?"))
for _ in range(1500):
    print(json.dumps("".join(random.choices(pieces, k=random.randint(1, 8)))))
' "$row"
  } | jq --compact-output '{images: {forbidAlways: [.]}}' >"$BATS_TEST_TMPDIR/cases.json"
  verdicts air-gapped "$BATS_TEST_TMPDIR/cases.json"
}

@test "in a parent chart, null counts as not set, and helm lint passes or fails for a reason" {
  mkdir -p "$BATS_TEST_TMPDIR/parent/charts" "$BATS_TEST_TMPDIR/parent/templates"
  cp -R "$chart" "$BATS_TEST_TMPDIR/parent/charts/policy"
  echo '{apiVersion: v2, name: parent, version: 1.0.0, icon: "https://x.test/x", dependencies: [{name: consistent-pull-policy, version: 0.x}]}' >"$BATS_TEST_TMPDIR/parent/Chart.yaml"
  parent() { echo "{tags: {x: true}, global: {x: y}, consistent-pull-policy: {$1}}" >"$BATS_TEST_TMPDIR/parent/values.yaml"; }
  for row in '' ', module: null, policyServer: null, namespaces: {only: null}, alerts: null, objects: {}' ', enabled: true, global: {cattle: null}'; do
    parent "preset: air-gapped$row"
    same policies "$(in_file air-gapped)" "$(helm template release "$BATS_TEST_TMPDIR/parent" | objects)"
  done
  for row in '' 'preset: air-gapped' 'preset: jobs' 'preset: jobs, guard: {enabled: true}, policyServer: {minAvailable: 7}'; do
    parent "$row"
    helm lint --quiet --strict --with-subcharts "$BATS_TEST_TMPDIR/parent"
  done
  parent 'preset: jobs, mode: x'
  refused "'/mode'" helm lint --with-subcharts "$BATS_TEST_TMPDIR/parent"
  helm lint --strict --quiet "$chart"
  helm lint --strict --quiet --set preset=air-gapped "$chart"
}

@test "what lacks in the cluster is named" {
  cluster
  refused 'this cluster has no ClusterAdmissionPolicy (policies.kubewarden.io/v1): install Kubewarden first' installed air-gapped
  refused 'install Kubewarden first' rendered air-gapped --api-versions v1/Pod
  cluster "$kubewarden"
  refused 'alerts.enabled: this cluster has no PrometheusRule (monitoring.coreos.com/v1)' installed air-gapped --set alerts.enabled=true
  refused "policyServer.image is required where the cluster's PolicyServer" installed always-by-digest
  installed air-gapped >/dev/null
  cluster "$kubewarden" monitoring.coreos.com/v1
  installed air-gapped --set alerts.enabled=true >/dev/null
}

# The fields of a Node's nodeInfo, and whether it can mount an image volume.
@test "image volumes are refused where a Node can't mount them" {
  kubewarden_cluster
  while IFS='|' read -r kubelet runtime system can; do
    row="$kubelet $runtime $system"
    put nodes "{\"metadata\": {\"name\": \"n\"}, \"status\": {\"nodeInfo\": {\"kubeletVersion\": \"$kubelet\",
      \"containerRuntimeVersion\": \"$runtime\", \"operatingSystem\": \"$system\"}}}"
    if [[ $can == yes ]]; then
      installed jobs >/dev/null
    else
      refused "on 1 of the nodes, such as n (kubelet $kubelet, $runtime)" installed jobs
    fi
  done <<'ROWS'
v1.35.0|containerd://2.1.0|linux|yes
v1.36.3-gke.1|containerd://2.2.4-k3s1|linux|yes
v1.35.1+k3s1|cri-o://1.31.0|linux|yes
v1.35.0|containerd://1.7.33-1|windows|yes
v1.35.0|other://1.0|linux|yes
v1.34.9|containerd://2.1.0|linux|no
v1.35.0|containerd://2.0.11|linux|no
v1.35.0|containerd://1.7.33-1|linux|no
v1.35.0|cri-o://1.30.4|linux|no
v1.35.0|docker://28.1.0|linux|no
ROWS
  # The last Node can't mount them.
  installed air-gapped >/dev/null
  for row in checkNodes=false settings.mode=Warn settings.imageChecks.onMissing=Warn; do installed jobs --set "$row" >/dev/null; done
  refused 'needs Kubernetes 1.35, and the API server has v1.34' rendered jobs --kube-version 1.34.2 --api-versions v1/Pod \
    --api-versions policies.kubewarden.io/v1/ClusterAdmissionPolicy
}

@test "a policy leaves the mode monitor only if the values say so, and keeps its kind of webhook" {
  kubewarden_cluster
  there() { # <preset> <mode> <mutating>
    put clusteradmissionpolicies "{\"metadata\": {\"name\": \"consistent-pull-policy-$1\", \"labels\": {\"app.kubernetes.io/managed-by\": \"Helm\"},
      \"annotations\": {\"meta.helm.sh/release-name\": \"release\", \"meta.helm.sh/release-namespace\": \"kubewarden\"}}, \"spec\": {\"mode\": \"$2\", \"mutating\": $3}}"
  }
  there air-gapped monitor true
  refused 'write mode=monitor to stay in it, or mode=protect to turn the policy on' installed air-gapped
  for row in mode=monitor mode=protect fullnameOverride=other; do installed air-gapped --set "$row" >/dev/null; done
  there air-gapped protect true
  for mode in Fix Warn; do installed air-gapped --set "settings.mode=$mode" >/dev/null; done
  refused 'Kubewarden keeps the old one: uninstall the release first' installed air-gapped --set settings.mode=Reject
  there audit monitor false
  installed audit >/dev/null
}

@test "presets that can't be combined are refused, whoever made the other one" {
  kubewarden_cluster
  there() { # <preset> <filter>
    put clusteradmissionpolicies "$(gojq --yaml-input --compact-output "select(.kind == \"ClusterAdmissionPolicy\") | ${2:-.}" "examples/$1.yaml")"
  }
  local own='.metadata.annotations = {"meta.helm.sh/release-name": "release", "meta.helm.sh/release-namespace": "kubewarden"}'
  # From now on it is a policy of this release.
  gone() { there "$1" "$own | .metadata.labels[\"app.kubernetes.io/managed-by\"] = \"Helm\""; }
  while IFS='|' read -r installed preset sentence; do
    row="$preset beside $installed"
    there "$installed"
    refused "$preset can't be combined with $installed (the policy consistent-pull-policy-$installed, which kubectl or another tool has made): $sentence" \
      installed "$preset"
    rm -r "$objects/clusteradmissionpolicies"
  done < <(yaml 'to_entries[] | .key as $installed | .value | to_entries[] | "\($installed)|\(.key)|\(.value)"' examples/pairs.yaml)
  there audit
  installed jobs >/dev/null
  read -r installed preset < <(yaml 'to_entries[0] | "\(.key) \(.value | keys[0])"' examples/pairs.yaml)
  gone "$installed"
  installed "$preset" >/dev/null
  there "$installed"
  refused "set allowBeside={$installed}" installed "$preset"
  installed "$preset" --set "allowBeside={$installed}" >/dev/null
  there "$installed" "${own/kubewarden/apps}"
  refused "(the policy consistent-pull-policy-$installed, of the release release in the namespace apps): " installed "$preset"
  gone "$installed"
  there "$installed" "${own/: \"release\"/: \"other\"}"
  refused "of the release other in the namespace kubewarden): " installed "$preset"
  gone "$installed"
  put clusteradmissionpolicies "{\"metadata\": {\"name\": \"mine\", \"labels\": {\"consistent-pull-policy/preset\": \"$installed\"}}}"
  refused "(the policy mine, which kubectl" installed "$preset"
}

# commands NOTES: what the commands of the notes ask of kubectl and helm, with the object of a standard input as JSON.
commands() {
  local log=$BATS_TEST_TMPDIR/log
  : >"$log"
  kubectl() {
    echo "kubectl $*" >>"$log"
    [[ " $* " != *' --filename - '* ]] || gojq --yaml-input --compact-output . >>"$log"
  }
  helm() { echo "helm $*" >>"$log"; }
  eval "$(awk '/^(kubectl|helm) / { inside = 1 } inside; /<</ { document = 1 } /^END$/ { document = 0 }
    !document && !/[\\|]$/ { inside = 0 }' <<<"$1")" || true
  unset -f kubectl
  helm() { command "${HELM:-helm}" "$@"; }
  cat "$log"
}

@test "the commands of the notes are about this release" {
  kubewarden_cluster
  local changes='{.metadata.annotations.consistent-pull-policy/changes}{"\n"}' volumes='{.spec.volumes[*].image.reference}{"\n"}'
  local columns=NAMESPACE:.metadata.namespace,POD:.metadata.name,CHANGES:.metadata.annotations.consistent-pull-policy/changes
  same commands "kubectl wait --timeout=180s --for=condition=PolicyUniquelyReachable clusteradmissionpolicy/mine
kubectl logs --namespace kubewarden --selector kubewarden/policy-server=mine --prefix --tail=-1
kubectl create --namespace ci --dry-run=server --filename - --output jsonpath=$changes$volumes
$(yaml '.metadata.labels.team = "blue"' examples/pods/jobs.yaml)
kubectl get nodes --output custom-columns=NODE:.metadata.name,KUBELET:.status.nodeInfo.kubeletVersion,RUNTIME:.status.nodeInfo.containerRuntimeVersion
kubectl get pods --all-namespaces --output custom-columns=$columns
kubectl label namespace ci consistent-pull-policy/ignore=
kubectl label namespace ci consistent-pull-policy/ignore-
helm upgrade release oci://ghcr.io/consistent-pull-policy/charts/consistent-pull-policy --version 0.1.0 --namespace kubewarden --reset-then-reuse-values --set guard.enabled=false
helm uninstall release --namespace kubewarden" \
    "$(commands "$(notes jobs --set 'namespaces.only={ci,b},objects.matchLabels.team=blue,guard.enabled=true,fullnameOverride=mine')")"
  same 'commands of an audit' "kubectl wait --timeout=180s --for=condition=PolicyUniquelyReachable clusteradmissionpolicy/consistent-pull-policy-audit
kubectl logs --namespace kubewarden --selector kubewarden/policy-server=default --prefix --tail=-1
helm uninstall release --namespace kubewarden" "$(commands "$(notes audit)")"
  put nodes '{"metadata": {"name": "n"}, "status": {"nodeInfo": {"kubeletVersion": "v1.36.0", "containerRuntimeVersion": "containerd://2.2.0"}}}'
  empty 'a command about nodes that Helm has seen' "$(notes jobs | grep 'get nodes')"
  # Every preset but the audit has an object.
  for row in $(presets); do
    [[ $row == audit ]] || same 'the object of the notes' "$(yaml . "examples/pods/$row.yaml")" "$(commands "$(notes "$row")" | grep '^{')"
  done
}

# A release, and what its notes have or, after the second `|`, don't have.
@test "the notes say how to see whether the policy takes effect, for this release" {
  kubewarden_cluster
  local nothing="mode monitor changes nothing" change="is a rejection, or a list of changes"
  while IFS='|' read -r values yes no; do
    row=$values
    notes=$(notes air-gapped --set "$values")
    [[ $notes == *"$yes"* ]] || fail "the notes lack: $yes" "$notes"
    [[ -z $no || $notes != *"$no"* ]] || fail "the notes have: $no" "$notes"
  done <<ROWS
mode=monitor|$nothing|$change
mode=monitor,policyServer.name=shared|kubectl logs --namespace kubewarden --selector kubewarden/policy-server=shared --prefix --tail=-1 |
mode=monitor|  grep 'monitor mode'|
mode=monitor|--set mode=protect|
mode=|$change|monitor
mode=|The label works on a Pod too|
settings.mode=Warn|The answer is a warning.|What did it change?
namespaces.exclude={b}|kubectl create --namespace default|Write a namespace
namespaces.exclude={default}|kubectl create --namespace NAMESPACE --dry-run=server|
namespaces.matchLabels.team=a|kubectl label namespace NAMESPACE consistent-pull-policy/ignore=|
namespaces.matchExpressions[0].key=a,namespaces.matchExpressions[0].operator=Exists|Write a namespace that the policy selects|
objects.matchExpressions[0].key=a,objects.matchExpressions[0].operator=Exists|Give the object labels|
guard.enabled=true|The guard consistent-pull-policy-air-gapped-guard rejects|
preset=audit|Only the audit scanner calls it.|consistent-pull-policy/ignore
preset=multi-tenant|kubectl label namespace default consistent-pull-policy/ignore-|The label works on a Pod too
preset=jobs|If the images lack, the API server has dropped the volumes|
preset=jobs,settings.imageChecks.onMissing=Warn|$change|kubectl get nodes
ROWS
}

@test "Rancher reads the chart's questions, and a README.md with absolute links" {
  cmp questions-ui.yml "$chart/questions.yaml"
  cmp LICENSE "$chart/LICENSE"
  empty 'relative links' "$(grep -oE '\]\([^:)]*\)' "$chart/README.md")"
}

@test "a published chart names its module by digest, and another tag is taken without it" {
  local digest other
  digest=sha256:$(printf %064d 7)
  other=sha256:$(printf %064d 8)
  refused 'is no digest' packed sha256:7
  chart=$(packed "$digest")
  module=ghcr.io/consistent-pull-policy/policies/consistent-pull-policy
  while IFS='|' read -r values reference; do
    row=$values
    flags "$values"
    same module "registry://$reference" "$(rendered air-gapped "${values[@]}" | yaml .spec.module -)"
  done <<ROWS
|$module@$digest
module.digest=null|$module@$digest
--set-json module=null|$module@$digest
global.cattle.systemDefaultRegistry=registry.test|registry.test/consistent-pull-policy/policies/consistent-pull-policy@$digest
module.tag=v0.1.0|$module@$digest
module.tag=v99.0.0|$module:v99.0.0
module.tag=v99.0.0,module.digest=$other|$module@$other
module.digest=$other|$module@$other
ROWS
}
