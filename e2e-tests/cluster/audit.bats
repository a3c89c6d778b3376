# Reports about Pods that run: examples/audit.yaml. The audit scanner's requests go to the policy server itself, so it needs
# POLICY_SERVER, whose source of images is HTTP.
load lib

teardown_file() { remove_presets; }

# audited POD POLICY: prints what the policy server answers to a request of the audit scanner about this Pod.
audited() {
  kube get pod "$1" --output json | jq '{request: {uid: "audit", operation: "CREATE", object: ., name: .metadata.name,
    namespace: .metadata.namespace, kind: {group: "", version: "v1", kind: "Pod"},
    resource: {group: "", version: "v1", resource: "pods"}, userInfo: {}}}' |
    curl --silent --fail --header 'Content-Type: application/json' --data @- "$POLICY_SERVER/audit/consistent-pull-policy-$2" |
    jq --raw-output '.response | if .allowed then "pass" else "fail: " + .status.message end'
}

@test "a weak check and an image that left its registry are reported, and no Pod is refused or changed" {
  needs POLICY_SERVER
  use_address
  apply audit
  image app:v1 old:v1
  create weak "init copy-agent app:v1 IfNotPresent, init imagecheck-0 app:v1 IfNotPresent, app main app:v1 Always"
  create left "app main old:v1 IfNotPresent"
  create invalid "app main =INVALID Always"
  for pod in weak left; do comes "$pod" 'running("main")'; done
  is weak '(.metadata | has("annotations") | not) and pulls("imagecheck-0") == "IfNotPresent"'
  [[ $(audited weak audit) == "fail: imagecheck-0 pulls "* ]]
  [[ $(audited left audit) == pass ]]
  [[ $(audited left audit-registry) == pass ]]
  delete_image old:v1
  sleep 61 # The policy server forgets the digest.
  [[ $(audited left audit-registry) == "fail: main's image $IN/old:v1 does not exist in its registry"* ]]
}
