# The captured reviews in test_data/reviews, in each mode. Other files have the rest: reapply.bats and templates.bats have the re-applied manifests,
# stuck-pull.bats has the audits, and examples.bats has agent-stack-k8s 0.47.

load lib

weak_app='weak-check imagecheck-0 my-app:v1.2.3 IfNotPresent Always container-0'
weak_postgres='weak-check imagecheck-0 postgres:16 IfNotPresent Always postgres'
exporter=quay.io/prometheuscommunity/postgres-exporter@sha256:8c10f21bec412f08f73aa7b97ca5ac5f28a39d8a88030ad8a339fd0a781d72b4
otherwise_postgres='missing-check sidecar-0 postgres:16 docker.io/library/postgres:16'
unchecked_exporter="missing-check metrics $exporter IfNotPresent"

# These reviews have no finding, or are not examined.
inconspicuous='
  cronjob-create
  daemonset-create
  deployment-create
  job-create
  job-create-by-cronjob
  pod-create
  pod-create-by-job
  pod-create-by-replicaset
  pod-create-client-side-apply
  pod-create-server-side-apply
  pod-create-validating
  pod-ephemeralcontainers-update
  pod-resize-update
  pod-update-image
  pod-update-label
  replicaset-create-by-deployment
  replicationcontroller-create
'

@test "every captured review has a test" {
  for file in "$REVIEWS"/*.json; do
    name=$(basename "$file" .json)
    [[ $name != reapply-* ]] || { grep -Eq "review $name\\b|^    $name +\\|" e2e-tests/reapply.bats e2e-tests/templates.bats || fail "no test for $name"; continue; }
    [[ $name != audit-* ]] || { grep -q "review $name\\b" e2e-tests/stuck-pull.bats || fail "no test for $name"; continue; }
    [[ $name != agent-stack-0.47-* ]] || {
      kind=${name#agent-stack-0.47-real-}
      grep -Eq "^    ${kind%-*-create} +\\|" e2e-tests/examples.bats || fail "no test for $name"
      continue
    }
    # The name has to be in the list above, in a row of a table or in the name of a test. A comment is not
    # enough.
    grep -Eq "^  $name\$|^@test \"$name:|^    $name +\|" "$BATS_TEST_FILENAME" || fail "no test for $name"
  done
}

@test "reviews without a finding are accepted unchanged, in every mode" {
  for name in $inconspicuous; do
    row=$name
    review "$name"
    in_each_mode '{}' untouched
  done
}

@test "agent-stack-pod-create: the weak check is raised, and the container is lowered" {
  review agent-stack-pod-create
  evaluate
  repaired 'init copy-agent ghcr.io/buildkite/agent:3.92.1 Always, init imagecheck-0 my-app:v1.2.3 Always, init imagecheck-1 docker.io/library/postgres:16 IfNotPresent, app container-0 my-app:v1.2.3 IfNotPresent, app sidecar-0 postgres:16 IfNotPresent, app agent ghcr.io/buildkite/agent:3.92.1 IfNotPresent, app checkout ghcr.io/buildkite/agent:3.92.1 IfNotPresent'
  warned "$weak_app" "$otherwise_postgres"
  evaluate '{"mode":"Reject"}'
  rejected "$weak_app"
  warned "$otherwise_postgres"
  evaluate '{"mode":"Warn"}'
  accepted "$weak_app" "$otherwise_postgres"
}

@test "agent-stack-job-create: a warning, because its Pods are repaired when they are created" {
  review agent-stack-job-create
  in_each_mode '{}' accepted "$weak_app" "$otherwise_postgres"
  evaluate '{"mode":"Reject","templates":"Enforce"}'
  rejected "$weak_app"
  warned "$otherwise_postgres"
}

@test "pod-create-new-fields: every field except the pull policies stays" {
  review pod-create-new-fields
  evaluate
  patched '[
    {"op":"replace","path":"/spec/initContainers/0/imagePullPolicy","value":"Always"},
    {"op":"replace","path":"/spec/containers/0/imagePullPolicy","value":"IfNotPresent"}]'
  evaluate '{"mode":"Reject"}'
  rejected 'weak-check imagecheck-0 my-app:v1.2.3 IfNotPresent Always app'
}

@test "pod-create-by-statefulset: a weak check is raised, and an image without a check gets a warning" {
  review pod-create-by-statefulset
  evaluate
  repaired "init imagecheck-0 postgres:16 Always, sidecar log-shipper fluent/fluent-bit:3.1 IfNotPresent, app postgres postgres:16 IfNotPresent, app metrics $exporter IfNotPresent, volume model ghcr.io/example/model:v3 Always"
  warned "$weak_postgres" "$unchecked_exporter"
  evaluate '{"mode":"Reject"}'
  rejected "$weak_postgres"
  warned "$unchecked_exporter"
  evaluate '{"mode":"Warn"}'
  accepted "$weak_postgres" "$unchecked_exporter"
}

@test "statefulset-create: warnings for the same findings" {
  review statefulset-create
  in_each_mode '{}' accepted "$weak_postgres" "$unchecked_exporter"
  evaluate '{"mode":"Reject","templates":"Enforce"}'
  rejected "$weak_postgres"
  warned "$unchecked_exporter"
}
