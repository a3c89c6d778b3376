# The Helm chart: what it renders, what it refuses, and what Rancher reads in it. HELM names another helm than that of
# the PATH. cluster/operations.bats installs the chart.

load lib

# An image for the PolicyServers.
server_image=registry.test/policy-server:v1
kubewarden='policies.kubewarden.io/v1/ClusterAdmissionPolicy policies.kubewarden.io/v1/PolicyServer'
prometheus=monitoring.coreos.com/v1/PrometheusRule

setup_file() {
  "${XTASK%/*}/chart-schema" >"$BATS_FILE_TMPDIR/values.schema.json"
  hack/chart.sh "$BATS_FILE_TMPDIR/values.schema.json" "$BATS_FILE_TMPDIR"
  tar -xzf "$BATS_FILE_TMPDIR"/*.tgz -C "$BATS_FILE_TMPDIR"
}

setup() {
  chart=$BATS_FILE_TMPDIR/consistent-pull-policy
  api=
}

teardown() { [[ -z ${server:-} ]] || kill "$server"; }

helm() { command "${HELM:-helm}" "$@"; }
export -f helm

# cluster KIND...: starts an API server with these kinds. `installed` and `put` use it.
cluster() {
  rm -f "$BATS_TEST_TMPDIR/port"
  python3 e2e-tests/api-server.py "$BATS_TEST_TMPDIR/port" "$@" 3>&- &
  server=$!
  until [[ -s $BATS_TEST_TMPDIR/port ]]; do
    kill -0 "$server" || fail 'the API server has ended'
    sleep 0.1
  done
  api=http://127.0.0.1:$(<"$BATS_TEST_TMPDIR/port")
}

# put PLURAL MANIFEST: an object of the cluster, as JSON.
put() {
  curl --silent --fail --output /dev/null --request PUT --data-binary @- \
    "$api/apis/policies.kubewarden.io/v1/$1/$(jq --raw-output .metadata.name <<<"$2")" <<<"$2"
}

default_server() {
  put policyservers "{\"apiVersion\": \"policies.kubewarden.io/v1\", \"kind\": \"PolicyServer\", \"metadata\": {\"name\": \"default\"}, \"spec\": {\"image\": \"$server_image\"}}"
}

# objects [FILTER]: the manifests of the input after this filter for each, as JSON, sorted by kind.
# Without values, a template renders nothing.
objects() { gojq --yaml-input --slurp "map(values | ${1:-.}) | sort_by(.kind)"; }

# in_file EXAMPLE [FILTER]: the manifests of an example, with the tests' image of the policy server.
in_file() {
  objects "if .kind == \"PolicyServer\" then .spec.image = \"$server_image\" else . end | ${2:-.}" <"examples/$1.yaml"
}

# image EXAMPLE: the flag with the image of the policy server, for an example that makes one.
image() { ! grep --quiet '^kind: PolicyServer$' "examples/$1.yaml" || echo "--set-json=policyServer.image=\"$server_image\""; }

# rendered EXAMPLE [ARGUMENT...]: what the chart renders for an example without a cluster.
rendered() {
  # shellcheck disable=SC2046 # no flag, or one
  helm template release "$chart" --set "example=$1" $(image "$1") "${@:2}"
}

# installed EXAMPLE [ARGUMENT...]: what `helm install` would install in the cluster, as JSON.
installed() {
  helm install release "$chart" --kube-apiserver "$api" --dry-run=server --disable-openapi-validation --output json \
    --set "example=$1" "${@:2}"
}

# refused ERROR COMMAND...: the command fails with an error that has this text.
refused() {
  run "${@:2}"
  [[ $status != 0 ]] || fail "nothing is refused: $1"
  [[ $output == *"$1"* ]] || fail "another error than: $1" "$output"
}

# The names of the examples of the chart.
examples() { basename --suffix .yaml "$chart"/examples/*.yaml; }

# yaml FILTER FILE: prints texts as they are, and other values as JSON.
yaml() { gojq --yaml-input --raw-output --compact-output "$1" "$2"; }

# flags VALUES: sets the array `values` to the flags. VALUES are those of --set, then flags.
flags() {
  read -ra values <<<"$1"
  [[ -z $1 || $1 == --* ]] || values=(--set "${values[@]}")
}

@test "helm lint has no objections" {
  helm lint --strict --quiet --set example=every-pod "$chart"
}

@test "each example is rendered as its file, with two replicas that may not be away together" {
  local as_file='if .kind == "PolicyServer" then del(.spec.affinity, .spec.minAvailable) else . end'
  same examples "$(grep --files-with-matches '^  module: ' examples/*.yaml | xargs basename --suffix .yaml --multiple)" "$(examples)"
  # shellcheck disable=SC2086 # several kinds
  cluster $kubewarden
  default_server
  for row in $(examples); do
    expected=$(in_file "$row")
    # Argo CD renders without the cluster, but names its kinds.
    same 'objects without a cluster' "$expected" "$(rendered "$row" --api-versions v1/Pod \
      --api-versions policies.kubewarden.io/v1/ClusterAdmissionPolicy | objects "$as_file")"
    # Flux installs. The image of the policy server is that of the PolicyServer `default`.
    same 'objects in a cluster' "$expected" "$(installed "$row" | jq --raw-output .manifest | objects "$as_file")"
  done
  same 'replicas, minAvailable, affinity' '[2,1,{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"podAffinityTerm":{"labelSelector":{"matchLabels":{"kubewarden/policy-server":"pin-digests"}},"topologyKey":"kubernetes.io/hostname"},"weight":100}]}}]' \
    "$(rendered pin-digests | gojq --yaml-input --compact-output 'select(.kind == "PolicyServer").spec | [.replicas, .minAvailable, .affinity]')"
}

# An example, values of the chart, and what they change in the policy of the example.
@test "values change the policy" {
  digest=sha256:$(printf %064d 1)
  # An expression about a namespace's name.
  name='key: "kubernetes.io/metadata.name", operator:'
  while IFS='|' read -r example values filter; do
    row="$example $values"
    flags "$values"
    same policies "$(in_file "$example" | gojq "map(select(.kind == \"ClusterAdmissionPolicy\") | $filter)")" \
      "$(rendered "$example" "${values[@]}" | objects | gojq 'map(select(.kind == "ClusterAdmissionPolicy"))')"
  done <<ROWS
agent-stack-k8s|mode=monitor|.spec += {mode: "monitor", failurePolicy: "Ignore"}
agent-stack-k8s|mode=monitor,spec.failurePolicy=Fail|.spec += {mode: "monitor", failurePolicy: "Ignore"}
agent-stack-k8s|mode=protect|.spec.mode = "protect"
air-gapped|mode=protect|.spec.mode = "protect"
agent-stack-k8s|namespaces.only={ci,test},namespaces.exclude={off}|.spec.namespaceSelector.matchExpressions += \
[{$name "In", values: ["ci", "test"]}, {$name "NotIn", values: ["off"]}]
audit|namespaces.exclude={off}|.spec.namespaceSelector.matchExpressions += [{$name "NotIn", values: ["off"]}]
every-pod|namespaces.matchLabels.team=ci|.spec.namespaceSelector.matchExpressions += [{key: "team", operator: "In", values: ["ci"]}]
every-pod|namespaces.only={a},namespaces.matchLabels.a\.b/c=|.spec.namespaceSelector.matchExpressions += \
[{key: "a.b/c", operator: "In", values: [""]}, {$name "In", values: ["a"]}]
every-pod|--set-json namespaces.matchExpressions=[{"key":"team","operator":"Exists"}]|.spec.namespaceSelector.matchExpressions += [{key: "team", operator: "Exists"}]
every-pod|objects.matchLabels.app=web|.spec.objectSelector.matchExpressions += [{key: "app", operator: "In", values: ["web"]}]
agent-stack-k8s-fail-fast|--set-json objects.matchExpressions=[{"key":"a","operator":"NotIn","values":["b","c"]}]|\
.spec.objectSelector.matchExpressions += [{key: "a", operator: "NotIn", values: ["b", "c"]}]
every-pod|spec.failurePolicy=Fail,spec.timeoutSeconds=5|.spec += {failurePolicy: "Fail", timeoutSeconds: 5}
every-pod|spec.failurePolicy=Ignore|.spec += {failurePolicy: "Ignore", timeoutSeconds: 10, timeoutEvalSeconds: 10}
every-pod|spec.failurePolicy=Ignore,spec.timeoutSeconds=20|.spec += {failurePolicy: "Ignore", timeoutSeconds: 20, timeoutEvalSeconds: 20}
pin-digests|spec.timeoutSeconds=30,spec.timeoutEvalSeconds=30|.spec += {timeoutSeconds: 30, timeoutEvalSeconds: 30}
pin-digests|spec.failurePolicy=Fail,spec.timeoutEvalSeconds=2|.spec += {failurePolicy: "Fail", timeoutEvalSeconds: 2}
pin-digests|spec.backgroundAudit=true|.spec.backgroundAudit = true
every-pod|spec.backgroundAudit=false|.spec.backgroundAudit = false
every-pod|--set-json spec.rules=[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"operations":["CREATE"]}]|\
.spec.rules = [{apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], operations: ["CREATE"]}]
every-pod|--set-json spec.rules=[{"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"],"operations":["*"]}]|\
.spec += {rules: [{apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"], operations: ["*"]}], mutating: false}
every-pod|--set-json spec.rules=[{"apiGroups":[""],"apiVersions":["v1"],"resources":["*"],"operations":["CREATE"]}]|\
.spec.rules = [{apiGroups: [""], apiVersions: ["v1"], resources: ["*"], operations: ["CREATE"]}]
every-pod|--set-json spec.rules=[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods/ephemeralcontainers"],"operations":["UPDATE"]}]|\
.spec.rules = [{apiGroups: [""], apiVersions: ["v1"], resources: ["pods/ephemeralcontainers"], operations: ["UPDATE"]}]
every-pod|--set-json spec.matchConditions=[{"name":"a","expression":"true"}]|.spec.matchConditions = [{name: "a", expression: "true"}]
pin-digests|--set-json spec.matchConditions=[{"name":"a","expression":"true"}]|.spec.matchConditions += [{name: "a", expression: "true"}]
every-pod|fullnameOverride=second|.metadata = {name: "second", labels: {"consistent-pull-policy/example": "every-pod"}}
every-pod|global.cattle.systemDefaultRegistry=registry.test:5000,module.repository=a--b/c__d.e,module.tag=v2|.spec.module = "registry://registry.test:5000/a--b/c__d.e:v2"
every-pod|global.cattle.systemDefaultRegistry=registry.test/mirror,module.repository=ghcr.io/a|.spec.module = "registry://registry.test/mirror/ghcr.io/a:v0.1.0"
every-pod|global.cattle.systemDefaultRegistry=localhost,module.repository=a|.spec.module = "registry://localhost/a:v0.1.0"
every-pod|global.cattle.systemDefaultRegistry=,global.cattle.clusterId=x|.
every-pod|module.digest=$digest|.spec.module |= sub(":v0.1.0"; "@$digest")
every-pod|module.tag=v2,module.digest=$digest|.spec.module |= sub(":v0.1.0"; "@$digest")
every-pod|policyServer.name=shared|.spec.policyServer = "shared"
every-pod|policyServer.create=false,policyServer.name=shared|.spec.policyServer = "shared"
every-pod|policyServer.create=false|.
every-pod|policyServer.create=true,policyServer.image=x|.spec.policyServer = "every-pod"
pin-digests|policyServer.name=other|.spec.policyServer = "other"
pin-digests|fullnameOverride=second|.metadata = {name: "second", labels: {"consistent-pull-policy/example": "pin-digests"}} | .spec.policyServer = "second"
agent-stack-k8s|settings.mode=Warn|.spec.settings.mode = "Warn" | .spec.mutating = false
agent-stack-k8s|settings.mode=null|del(.spec.settings.mode)
tekton|settings.mode=Fix|.spec.settings.mode = "Fix" | .spec.mutating = true
tekton|settings.mode=null|del(.spec.settings.mode) | .spec.mutating = true
tekton|settings.exempt.containers={imagecheck-*}|.spec.settings.exempt.containers = ["imagecheck-*"]
agent-stack-k8s-fail-fast|settings.mode=Reject|.spec.settings.mode = "Reject"
agent-stack-k8s|settings.images.preferAlways={*}|.spec.settings.images.preferAlways = ["*"]
agent-stack-k8s|settings.images.exempt={a/b,ghcr.io/*-RC*}|.spec.settings.images.exempt = ["a/b", "ghcr.io/*-RC*"]
agent-stack-k8s|--set-json settings.images.exempt=[]|.spec.settings.images.exempt = []
agent-stack-k8s|settings.imageChecks.template.resources.limits.cpu=1,settings.imageChecks.template.resources.requests.memory=1048576|\
.spec.settings.imageChecks.template.resources |= (.limits.cpu = 1 | .requests.memory = 1048576)
agent-stack-k8s|settings.imageChecks.template=null,settings.imageChecks.type=ImageVolume|.spec.settings.imageChecks |= (del(.template) | .as = "ImageVolume")
agent-stack-k8s|--set-json settings.podTemplates=false|.spec.settings.podTemplates = false
tekton|--set-json settings.registry.lookup=false|.spec.settings.registry.lookup = false
agent-stack-k8s|settings.imageChecks.namePrefixes={,a-,b-},settings.exempt.containers={b-*}|\
.spec.settings |= (.imageChecks.namePrefixes = ["", "a-", "b-"] | .exempt.containers = ["b-*"])
agent-stack-k8s|enabled=true|.
agent-stack-k8s|--set-json module=null,policyServer=null,namespaces=null,objects=null,spec=null,alerts=null,settings=null,global=null|.
agent-stack-k8s|--set-json module={},policyServer={},namespaces={},objects={},spec={},alerts={},global={}|.
agent-stack-k8s|--set-json module={"tag":null,"digest":null},policyServer={"create":null,"name":null},namespaces={"only":null},mode=null|.
agent-stack-k8s|--set-json module={"tag":"","repository":""},spec={"rules":[],"failurePolicy":"","timeoutSeconds":null},global={"cattle":null}|.
pin-digests|--set-json policyServer={"image":"x","replicaCount":null,"limits":null,"env":[]},global={"cattle":{"systemDefaultRegistry":null}}|.
ROWS
}

# Values of the chart, and what they change in the PolicyServer of pin-digests.yaml.
@test "values change the policy server" {
  long=$(printf 'a%.0s' {1..38})
  while IFS='|' read -r values filter; do
    row=$values
    flags "$values"
    same 'policy servers' "$(rendered pin-digests | gojq --yaml-input "select(.kind == \"PolicyServer\") | $filter")" \
      "$(rendered pin-digests "${values[@]}" | gojq --yaml-input 'select(.kind == "PolicyServer")')"
  done <<ROWS
policyServer.create=true|.
policyServer.name=$long,fullnameOverride=other|.metadata.name = "$long" | .spec.affinity |= (tojson | gsub("pin-digests"; "$long") | fromjson)
policyServer.replicaCount=1|.spec.replicas = 1 | del(.spec.minAvailable)
policyServer.replicaCount=3,policyServer.minAvailable=50%|.spec += {replicas: 3, minAvailable: "50%"}
policyServer.replicaCount=3,policyServer.minAvailable=66%|.spec += {replicas: 3, minAvailable: "66%"}
policyServer.replicaCount=3,policyServer.minAvailable=2|.spec += {replicas: 3, minAvailable: 2}
--set-string policyServer.minAvailable=1|.
policyServer.minAvailable=0|del(.spec.minAvailable)
policyServer.minAvailable=null,policyServer.affinity.nodeAffinity=null|.
policyServer.affinity.nodeAffinity.x=y|.spec.affinity = {nodeAffinity: {x: "y"}}
policyServer.limits.memory=500Mi,policyServer.requests.cpu=1|.spec += {limits: {memory: "500Mi"}, requests: {cpu: 1}}
policyServer.imagePullSecret=secret,policyServer.insecureSources={a:5000,[2001:db8::1]:5000}|\
.spec += {imagePullSecret: "secret", insecureSources: ["a:5000", "[2001:db8::1]:5000"]}
--set-json policyServer.sourceAuthorities=[{"uri":"a:5000","certs":["x\ny"]}]|.spec.sourceAuthorities = {"a:5000": ["x\ny"]}
--set-json policyServer.env=[{"name":"A","value":"b"}]|.spec.env = [{name: "A", value: "b"}]
policyServer.image=registry.test:5000/a/b@sha256:$(printf %064d 1)|.spec.image = "registry.test:5000/a/b@sha256:$(printf %064d 1)"
--set-json policyServer.image={"repository":"kubewarden/policy-server","tag":"v2"}|.spec.image = "ghcr.io/kubewarden/policy-server:v2"
ROWS
  same 'kinds with a server that exists' ClusterAdmissionPolicy \
    "$(rendered pin-digests --set policyServer.create=false,policyServer.name=shared,policyServer.image= | yaml .kind -)"
}

@test "alerts are about the policy of the release, and no other" {
  name=consistent-pull-policy-pin-digests
  same 'metadata, changed expressions' "$(yaml "[{name: \"$name\", namespace: \"default\", labels: {release: \"x\"}},
      ([.spec.groups[].rules[].expr | gsub(\"consistent-pull-policy[.][*]\"; \"$name([.].*)?\")])]" monitoring/alerts.yaml)" \
    "$(rendered pin-digests --set alerts.enabled=true,alerts.labels.release=x |
      yaml 'select(.kind == "PrometheusRule") | [.metadata, [.spec.groups[].rules[].expr]]' -)"
}

# Values of the chart, and the error. `example` is agent-stack-k8s unless the values say it.
@test "wrong values are refused with what to write" {
  # shellcheck disable=SC2034 # the rows name it
  long=$(printf 'a%.0s' {1..39})
  refused "example: choose one. The examples are agent-stack-k8s-fail-fast, " helm template release "$chart"
  refused "needs --reset-then-reuse-values, which keeps the others" helm template release "$chart" --set mode=protect
  refused "example: choose one" helm template release "$chart" --set example=
  while IFS='|' read -r values error; do
    row=$values
    flags "$values"
    refused "$error" helm template release "$chart" --set example=agent-stack-k8s "${values[@]}"
  done <<ROWS
example=agent-stack|example: there is no agent-stack. The examples are agent-stack-k8s-fail-fast, 
example=pairs|example: there is no pairs.
setting.mode=Fix|additional properties 'setting' not allowed
policyServer.replicas=2|'/policyServer': additional properties 'replicas' not allowed
module.name=a|'/module': additional properties 'name' not allowed
namespaces.include={a}|'/namespaces': additional properties 'include' not allowed
objects.labels.a=b|'/objects': additional properties 'labels' not allowed
alerts.enable=true|'/alerts': additional properties 'enable' not allowed
mode=on|'/mode': value must be one of '', 'monitor', 'protect'
fullnameOverride=A|fullnameOverride: A is no name: write lower-case letters, digits
module.repository=https://registry.example.com/policies/x|module.repository: https://registry.example.com/policies/x has a scheme: \
write global.cattle.systemDefaultRegistry=registry.example.com and module.repository=policies/x
module.repository=registry.example.com/policies/x|begins with a registry: write global.cattle.systemDefaultRegistry=registry.example.com and module.repository=policies/x
module.repository=localhost:5000/x:v1|write global.cattle.systemDefaultRegistry=localhost:5000 and module.repository=x
module.repository=a/b:v1|module.repository: a/b:v1 has a tag: write module.repository=a/b and module.tag=v1
module.repository=a/b@sha256:1|module.repository: a/b@sha256:1 has a digest: write module.repository=a/b and module.digest=sha256:1
module.repository=A/b|module.repository: A/b is no repository: write parts of lower-case letters
module.repository=a/|module.repository: a/ is no repository
module.tag=v1+x|module.tag: v1+x is no tag
module.digest=sha256:1|module.digest: sha256:1 is no digest: write sha256: and 64 hex digits
module.digest=sha256:A$(printf %063d 1)|is no digest
global.cattle.systemDefaultRegistry=https://registry.example.com/|global.cattle.systemDefaultRegistry: https://registry.example.com/ has a scheme: write registry.example.com
global.cattle.systemDefaultRegistry=registry|global.cattle.systemDefaultRegistry: registry is no registry: write a host with a dot or a port
global.cattle.systemDefaultRegistry=registry.test:|registry.test: is no registry
namespaces.exclude={kube-*}|namespaces.exclude: "kube-*" is no name of a namespace: write whole names
namespaces.only={Ci}|namespaces.only: "Ci" is no name of a namespace
namespaces.only={a,}|namespaces.only: "" is no name of a namespace
namespaces.only=ci|'/namespaces/only': got string, want null or array
namespaces.only={a},namespaces.exclude={a}|namespaces: nothing can match all conditions
example=every-pod,namespaces.only={kube-system}|namespaces: nothing can match all conditions of the release and its example
namespaces.matchLabels.consistent-pull-policy/ignore=x|namespaces: nothing can match all conditions
objects.matchLabels.consistent-pull-policy/ignore=x|objects: nothing can match all conditions
namespaces.matchLabels.team=a*|namespaces: "a*" is no value of a label
namespaces.matchLabels.team=true|'/namespaces/matchLabels/team': got boolean, want string
objects.matchLabels./team=a|objects: "/team" is no key of a label
--set-json objects.matchExpressions=[{"key":"a","operator":"Equals"}]|'/objects/matchExpressions/0/operator': value must be one of 'In', 'NotIn', 'Exists', 'DoesNotExist'
--set-json objects.matchExpressions=[{"key":"a","operator":"In"}]|objects.matchExpressions: a: In takes values
--set-json namespaces.matchExpressions=[{"key":"a","operator":"Exists","values":["b"]}]|namespaces.matchExpressions: a: Exists takes no values
spec.failurePolicy=ignore|'/spec/failurePolicy': value must be one of 'Fail', 'Ignore'
spec.timeoutSeconds=31|'/spec/timeoutSeconds': maximum: got 31, want 30
spec.timeoutEvalSeconds=1|'/spec/timeoutEvalSeconds': minimum: got 1, want 2
example=air-gapped,spec.timeoutEvalSeconds=2|spec.timeoutEvalSeconds: 2 s end before the timeoutSeconds of 5 s, and the policy server then rejects in spite of failurePolicy Ignore
example=air-gapped,spec.timeoutSeconds=20|spec.timeoutEvalSeconds: 5 s end before the timeoutSeconds of 20 s
spec.failurePolicy=Ignore,spec.timeoutEvalSeconds=5|spec.timeoutEvalSeconds: 5 s end before the timeoutSeconds of 10 s
spec.timeoutEvalSeconds=11|spec.timeoutEvalSeconds: 11 s are more than the timeoutSeconds of 10 s
spec.module=x|'/spec': additional properties 'module' not allowed
--set-json spec.rules=[{"apiGroups":[""]}]|'/spec/rules/0': missing properties 'apiVersions', 'resources', 'operations'
--set-json spec.rules=[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"operations":["create"]}]|'/spec/rules/0/operations/0'
example=audit --set-json spec.rules=[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"operations":["CREATE"]}]|spec.rules: audit is an audit or a second policy
example=multi-tenant-second --set-json spec.rules=[{"apiGroups":[""],"apiVersions":["v1"],"resources":["pods"],"operations":["CREATE"]}]|spec.rules: multi-tenant-second is an audit or a second policy
example=multi-tenant --set-json spec.matchConditions=[{"name":"image-changes","expression":"true"}]|spec.matchConditions: there is a condition image-changes already
--set-json spec.matchConditions=[{"name":"a","expression":"true"},{"name":"a","expression":"false"}]|spec.matchConditions: there is a condition a already
policyServer.replicaCount=0|'/policyServer/replicaCount': minimum: got 0, want 1
policyServer.name=$long|policyServer.name: $long can't name a PolicyServer: write at most 38 lower-case letters, digits and - (it has 39;
policyServer.name=a.b|policyServer.name: a.b can't name a PolicyServer
example=always-by-digest,policyServer.image=x,fullnameOverride=consistent-pull-policy-always-by-digest|policyServer.name: consistent-pull-policy-always-by-digest can't name
example=tekton|policyServer.image is required where the cluster's PolicyServer \`default\` can't be read
example=tekton,policyServer.create=false|policyServer.name: with create=false, write the name of a PolicyServer that exists
policyServer.create=true|policyServer.image is required
policyServer.create=true,policyServer.image=https://x/y|policyServer.image: https://x/y is no image: write registry/repository:tag
policyServer.create=true,policyServer.image=x,policyServer.minAvailable=2|policyServer.minAvailable: with 2 of 2 replicas, none may be away
policyServer.create=true,policyServer.image=x,policyServer.minAvailable=51%|policyServer.minAvailable: with 51% of 2 replicas, none may be away
policyServer.create=true,policyServer.image=x,policyServer.minAvailable=100%,policyServer.replicaCount=5|policyServer.minAvailable: with 100% of 5 replicas
policyServer.create=true,policyServer.image=x,policyServer.minAvailable=1,policyServer.replicaCount=1|policyServer.minAvailable: with 1 of 1 replicas
policyServer.create=true,policyServer.image=x,policyServer.minAvailable=half|policyServer.minAvailable: half is neither a number nor a percentage: write 1 or 50%
policyServer.create=true,policyServer.image=x,policyServer.insecureSources={http://registry.test:5000}|policyServer.insecureSources: "http://registry.test:5000" is no host
policyServer.create=true,policyServer.image=x,policyServer.insecureSources={registry.test/a}|policyServer.insecureSources: "registry.test/a" is no host
example=tekton,policyServer.image=x --set-json policyServer.sourceAuthorities=[{"uri":"https://a","certs":["x"]}]|policyServer.sourceAuthorities: "https://a" is no host
policyServer.insecureSources={registry.test:5000}|policyServer.insecureSources acts only on a PolicyServer of this release: set policyServer.create=true
policyServer.imagePullSecret=secret|policyServer.imagePullSecret acts only
policyServer.replicaCount=2|policyServer.replicaCount acts only
policyServer.minAvailable=1|policyServer.minAvailable acts only
policyServer.image=x|policyServer.image acts only
policyServer.limits.cpu=1|policyServer.limits acts only
policyServer.requests.cpu=1|policyServer.requests acts only
policyServer.affinity.nodeAffinity.x=y|policyServer.affinity acts only
--set-json policyServer.env=[{"name":"a"}]|policyServer.env acts only
--set-json policyServer.sourceAuthorities=[{"uri":"a","certs":[]}]|policyServer.sourceAuthorities acts only
example=tekton,policyServer.create=false,policyServer.name=a,policyServer.image=x|policyServer.image acts only
alerts.labels.a=1|'/alerts/labels/a': got number, want string
settings.Mode=Fix|'/settings': additional properties 'Mode' not allowed
settings.mode=fix|'/settings/mode': value must be one of 'Fix', 'Reject', 'Warn'
settings.imageChecks.podsWithoutChecks=yes|'/settings/imageChecks/podsWithoutChecks': got string, want null or boolean
settings.images.forbidAlways=nginx|'/settings/images/forbidAlways': got string, want null or array
settings.imageChecks.template.livenessProbe.periodSeconds=1|'/settings/imageChecks/template': additional properties 'livenessProbe' not allowed
settings.imageChecks.template.image=a|additional properties 'image' not allowed
--set-json settings.imageChecks.template.resources.claims=[]|'/settings/imageChecks/template/resources': additional properties 'claims' not allowed
--set-json settings.imageChecks.template.env=[{"name":"a","valu":"b"}]|'/settings/imageChecks/template/env/0': additional properties 'valu' not allowed
--set-json settings.imageChecks.template.command=[]|settings.imageChecks.template.command is required
settings.imageChecks.template=null|settings.imageChecks.template is required
settings.imageChecks.namePrefixes={a_}|'/settings/imageChecks/namePrefixes/0'
settings.imageChecks.insertAfter={Copy}|'/settings/imageChecks/after/0'
settings.exempt.containers={-a}|'/settings/exempt/containers/0'
settings.exempt.containers={a,a-}|'/settings/exempt/containers/1'
settings.images.forbidAlways={registry.test,nginx}|settings.images.forbidAlways: registry.test names a registry and no image: write registry.test/*
example=multi-tenant --set-json settings.images.requireAlways=["registry.example.com/private/*\u007cghcr.io/acme/*"]|settings.images.requireAlways: 
example=tekton,policyServer.image=x,settings.registry.skipImages={^registry}|settings.registry.skipImages: 
settings.images.exempt={[a-z]*}|settings.images.exempt: 
settings.exempt.containers={imagecheck-*}|settings.exempt.containers: imagecheck-* matches the checks that onMissing: Add adds
settings.imageChecks.namePrefixes={,a-,b-},settings.exempt.containers={a-*}|settings.exempt.containers: a-* matches the checks that onMissing: Add adds (a- and a number)
settings.exempt.containers={imagecheck-12}|settings.exempt.containers: imagecheck-12 matches
settings.registry.lookup=Verify|settings.registry.lookup: agent-stack-k8s has no lookups
settings.registry.lookup=Pin|These examples have lookups: agent-stack-k8s-fail-fast (Verify), 
example=tekton,policyServer.image=x --set-json settings.registry.images=[]|settings.registry.images is required for lookups
example=tekton,policyServer.image=x --set-json settings.registry.images=[""]|settings.registry.images is required for lookups
example=audit,settings.mode=Fix|settings.mode: audit has only the mode Reject. These examples have other modes: agent-stack-k8s-fail-fast, 
example=audit,settings.mode=null|settings.mode: audit has only the mode Reject.
example=second-policy,settings.mode=Warn|settings.mode: second-policy has only the mode Reject.
ROWS
  # All that is wrong is told.
  refused $'\nsettings.registry.images is required' helm template release "$chart" \
    --set example=tekton,policyServer.image=x,module.tag=-,settings.registry.images=null
}

@test "null in the values of a parent chart" {
  mkdir -p "$BATS_TEST_TMPDIR/parent/charts"
  cp -R "$chart" "$BATS_TEST_TMPDIR/parent/charts/policy"
  echo '{apiVersion: v2, name: parent, version: 1.0.0}' >"$BATS_TEST_TMPDIR/parent/Chart.yaml"
  for values in '{}' '{module: null, policyServer: null, namespaces: {only: null}, alerts: null, objects: {}}' \
    '{enabled: true, global: {cattle: null}}'; do
    row=$values
    echo "{tags: {x: true}, global: {x: y}, consistent-pull-policy: {example: every-pod, ${values#\{}}" >"$BATS_TEST_TMPDIR/parent/values.yaml"
    same policies "$(in_file every-pod)" "$(helm template release "$BATS_TEST_TMPDIR/parent" | objects)"
  done
}

@test "what lacks in the cluster is named" {
  cluster
  refused 'this cluster has no ClusterAdmissionPolicy (policies.kubewarden.io/v1): install Kubewarden first' installed every-pod
  refused 'install Kubewarden first' rendered every-pod --api-versions v1/Pod
  kill "$server"
  # shellcheck disable=SC2086 # several kinds
  cluster $kubewarden
  refused 'alerts.enabled: this cluster has no PrometheusRule (monitoring.coreos.com/v1)' installed every-pod --set alerts.enabled=true
  refused "policyServer.image is required where the cluster's PolicyServer" installed tekton
  installed every-pod >/dev/null
  kill "$server"
  # shellcheck disable=SC2086 # several kinds
  cluster $kubewarden $prometheus
  default_server
  installed tekton --set alerts.enabled=true >/dev/null
}

# An example in the cluster with a change, the values with which multi-tenant is installed, and the error, if there is one.
@test "examples that must not stand together are refused, whoever made the other one" {
  # shellcheck disable=SC2086 # several kinds
  cluster $kubewarden
  default_server
  [[ $(grep --count '^- ' "$chart/pairs.yaml") -gt 5 ]]
  example_there() {
    put clusteradmissionpolicies "$(gojq --yaml-input --compact-output "select(.kind == \"ClusterAdmissionPolicy\") | $2" "examples/$1.yaml")"
  }
  local release='.metadata.annotations = {"meta.helm.sh/release-name": "other", "meta.helm.sh/release-namespace": "apps"}'
  local only='.spec.namespaceSelector.matchExpressions += [{key: "kubernetes.io/metadata.name", operator: "In", values: ["a", "b"]}]'
  local team='.spec.namespaceSelector.matchExpressions += [{key: "team", operator: "DoesNotExist"}]'
  while IFS='|' read -r there filter values error; do
    row="$there, $filter, $values"
    flags "$values"
    example_there "$there" "$filter"
    if [[ -n $error ]]; then
      refused "$error" installed multi-tenant "${values[@]}"
    else
      installed multi-tenant "${values[@]}" >/dev/null || fail 'it is refused'
    fi
    # From now on it is another policy, which stands beside all others.
    example_there "$there" "$filter | .metadata.labels[\"consistent-pull-policy/example\"] = \"none\""
  done <<ROWS
air-gapped|$release||multi-tenant must not stand beside air-gapped: the policy consistent-pull-policy-air-gapped, which the release other in the namespace apps has made (uninstall it)
air-gapped|.||multi-tenant must not stand beside air-gapped: the policy consistent-pull-policy-air-gapped, which kubectl or another tool has made (delete it)
second-policy|.||multi-tenant must not stand beside second-policy
audit|.||
multi-tenant-second|.||
air-gapped|.metadata = {name: "mine", labels: {"consistent-pull-policy/example": "air-gapped"}}||multi-tenant must not stand beside air-gapped: the policy mine
air-gapped|.metadata.annotations = {"meta.helm.sh/release-name": "release", "meta.helm.sh/release-namespace": "default"}||
air-gapped|.metadata.annotations = {"meta.helm.sh/release-name": "release", "meta.helm.sh/release-namespace": "apps"}||multi-tenant must not
air-gapped|$only|namespaces.exclude={a,b,c}|
air-gapped|$only|namespaces.exclude={a}|multi-tenant must not
air-gapped|$only|namespaces.only={c}|
air-gapped|$only|namespaces.only={b,c}|multi-tenant must not
air-gapped|$team|namespaces.matchLabels.team=a|
air-gapped|$team|--set-json namespaces.matchExpressions=[{"key":"team","operator":"Exists"}]|
air-gapped|$team|objects.matchLabels.team=a|multi-tenant must not
air-gapped|.spec.objectSelector.matchLabels.app = "web"|objects.matchLabels.app=other|
air-gapped|.spec.objectSelector.matchLabels.app = "web"|objects.matchLabels.app=web|multi-tenant must not
air-gapped|.spec.objectSelector.matchExpressions += [{key: "app", operator: "NotIn", values: ["web"]}]|objects.matchLabels.app=web|
ROWS
}

# A release, and what its notes have or, after `no`, don't have.
@test "the notes say how to see whether the policy acts, for this release" {
  # shellcheck disable=SC2086 # several kinds
  cluster $kubewarden
  default_server
  local nothing="mode monitor changes nothing" change="is a rejection, or a list of changes"
  while IFS='|' read -r values yes no; do
    row=$values
    notes=$(installed every-pod --set "$values" | jq --raw-output .info.notes)
    [[ $notes == *"$yes"* ]] || fail "the notes lack: $yes" "$notes"
    [[ -z $no || $notes != *"$no"* ]] || fail "the notes have: $no" "$notes"
  done <<ROWS
mode=monitor|$nothing|$change
mode=monitor|grep 'monitor mode'|
mode=protect|$change|monitor
mode=|What did it change?|monitor
settings.mode=Warn|The answer is a warning.|What did it change?
namespaces.only={ci,b}|kubectl create --namespace ci --dry-run=server|
namespaces.exclude={b}|kubectl create --namespace default --dry-run=server|
namespaces.exclude={default}|kubectl create --namespace NAMESPACE --dry-run=server|
namespaces.matchLabels.team=a|kubectl label namespace NAMESPACE consistent-pull-policy/ignore=|
namespaces.matchExpressions[0].key=a,namespaces.matchExpressions[0].operator=Exists|create --namespace NAMESPACE|
objects.matchLabels.team=blue|team: blue|
objects.matchExpressions[0].key=a,objects.matchExpressions[0].operator=Exists|Give the object labels|
policyServer.name=shared|--selector kubewarden/policy-server=shared|
fullnameOverride=mine|clusteradmissionpolicy/mine|consistent-pull-policy-every-pod
example=audit|Only the audit scanner calls it.|consistent-pull-policy/ignore
example=multi-tenant|kubectl label namespace default consistent-pull-policy/ignore-|The label acts on a Pod too
ROWS
  for row in $(examples); do
    notes=$(installed "$row" | jq --raw-output .info.notes)
    object=$(sed -n "/<<'END'$/,/^END$/p" <<<"$notes" | sed '1d;$d')
    [[ ! -e examples/pods/$row.yaml ]] ||
      same 'the object of the notes' "$(yaml . "examples/pods/$row.yaml")" "$(yaml . - <<<"$object")"
  done
}

# Settings of e2e-tests/rows, valid and wrong, laid over an example with lookups and over one without. What the chart
# renders, the module accepts; what the module refuses, the chart refuses.
@test "the module accepts all settings that the chart renders" {
  export chart
  settings() { # <example and other values> <file of values>
    local policy
    policy=$(helm template release "$chart" --set "example=$1" --values "$2" 2>/dev/null |
      gojq --yaml-input --compact-output 'select(.kind == "ClusterAdmissionPolicy").spec.settings')
    echo "${policy:-refused}"
  }
  export -f settings
  "${XTASK%/*}/rows" settings --export "$BATS_TEST_TMPDIR/rows" >/dev/null
  jq --compact-output '{settings}' "$BATS_TEST_TMPDIR/rows" | sort --unique |
    split --lines 1 --additional-suffix .json - "$BATS_TEST_TMPDIR/values-"
  for example in air-gapped tekton,policyServer.image=x; do
    printf "$example %s\n" "$BATS_TEST_TMPDIR"/values-*.json
  done | xargs --max-lines=1 --max-procs "$(nproc)" bash -c 'settings "$@"' settings >"$BATS_TEST_TMPDIR/rendered"
  grep --invert-match --line-regexp refused "$BATS_TEST_TMPDIR/rendered" >"$BATS_TEST_TMPDIR/accepted"
  paste "$BATS_TEST_TMPDIR/accepted" <("${XTASK%/*}/examples/settings" <"$BATS_TEST_TMPDIR/accepted") >"$BATS_TEST_TMPDIR/answers"
  ! grep --invert-match --perl-regexp '\taccepted$' "$BATS_TEST_TMPDIR/answers" || fail 'the module refuses these'
  [[ $(wc --lines <"$BATS_TEST_TMPDIR/accepted") -gt 40 && $(grep --count refused "$BATS_TEST_TMPDIR/rendered") -gt 40 ]]
}

# Patterns from the rows, and random ones from pieces that meet in names of images.
@test "the chart and the module accept the same patterns" {
  "${XTASK%/*}/rows" patterns --export "$BATS_TEST_TMPDIR/rows" >/dev/null
  row="seed $RANDOM"
  {
    jq --compact-output '.settings.images, .settings.registry, .settings.exempt | objects | del(.containers)[] | arrays[] | strings
      | select(. != "")' "$BATS_TEST_TMPDIR/rows" | sort --unique
    python3 -c '
import json, random, sys
random.seed(sys.argv[1])
pieces = ["a", "b1", "A", "0443", "443", "registry", ".io", "docker.io", "localhost", "[::1]", "[", "]", "**", "sha256", "@",
          "..", "__", "--", "_", "-", ".", "|", "^", ",", " "] + 6 * ["*", "?", "/", ":", "x"]
for _ in range(600):
    print(json.dumps("".join(random.choices(pieces, k=random.randint(1, 8)))))
' "$row"
  } >"$BATS_TEST_TMPDIR/patterns"
  # A chart that only asks for its patterns.
  mkdir -p "$BATS_TEST_TMPDIR/asks/templates"
  cp "$chart/templates/_checks.tpl" "$BATS_TEST_TMPDIR/asks/templates"
  echo '{apiVersion: v2, name: asks, version: 1.0.0}' >"$BATS_TEST_TMPDIR/asks/Chart.yaml"
  echo 'answers: {{ range .Values.patterns }}{{ "\n" }}- {{ include "consistent-pull-policy.wrongPattern" . | quote }}{{ end }}' \
    >"$BATS_TEST_TMPDIR/asks/templates/asks.yaml"
  jq --slurp '{patterns: .}' "$BATS_TEST_TMPDIR/patterns" >"$BATS_TEST_TMPDIR/asks/values.yaml"
  of_chart=$(helm template release "$BATS_TEST_TMPDIR/asks" | gojq --yaml-input --raw-output '.answers[] | . == "" | if . then "accepted" else "refused" end')
  of_module=$(jq --compact-output '{images: {forbidAlways: [.]}}' "$BATS_TEST_TMPDIR/patterns" | "${XTASK%/*}/examples/settings" | sed '/^accepted$/!s/.*/refused/')
  same 'the answers of module and chart' "$(paste "$BATS_TEST_TMPDIR/patterns" <(echo "$of_module"))" \
    "$(paste "$BATS_TEST_TMPDIR/patterns" <(echo "$of_chart"))"
  [[ $(grep --count accepted <<<"$of_chart") -gt 60 && $(grep --count refused <<<"$of_chart") -gt 60 ]]
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
  cmp LICENSE "$chart/LICENSE"
  hack/artifacthub-pkg.sh --check
  empty 'relative links' "$(grep -oE '\]\([^:)]*\)' "$chart/README.md")"
}

@test "a published chart names its module by digest, and another tag is taken without it" {
  local digest other
  digest=sha256:$(printf %064d 7)
  other=sha256:$(printf %064d 8)
  refused 'is no digest' hack/chart.sh "$BATS_FILE_TMPDIR/values.schema.json" "$BATS_TEST_TMPDIR" sha256:7
  chart=$(hack/chart.sh "$BATS_FILE_TMPDIR/values.schema.json" "$BATS_TEST_TMPDIR" "$digest")
  module=ghcr.io/consistent-pull-policy/policies/consistent-pull-policy
  while IFS='|' read -r values reference; do
    row=$values
    flags "$values"
    same module "registry://$reference" "$(rendered every-pod "${values[@]}" | yaml .spec.module -)"
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
