# The survey as a command (survey/command). What its core says is in survey/tests.
bats_require_minimum_version 1.5.0

load lib

SURVEY=${XTASK%/*}/kubectl-consistent_pull_policy

# The Pods of test_data/pods, the objects that were created in test_data/reviews, a Node and a Namespace.
corpus() {
  local file
  for file in test_data/pods/*.yaml; do printf -- '---\n%s\n' "$(<"$file")"; done
  echo ---
  gojq --compact-output '.request | select(.operation == "CREATE" and .userInfo.username) | .object' test_data/reviews/*.json
  echo '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.35.2"}}}'
  echo '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci", "labels": {"consistent-pull-policy/ignore": ""}}}'
}

setup_file() {
  export CLUSTER=$BATS_FILE_TMPDIR/cluster.yaml
  corpus >"$CLUSTER"
}

# A line for each workload: what each example that selects it does, without the sentences.
ROWS='(.report.examples | map(.name)) as $names | .rows[] | [.kind, .namespace, .name, .number, .before, ([$names, .results]
  | transpose | map(select(.[1]) | {(.[0]): (.[1] | [.outcome, .after.fate, .after.isOld, .rules])}) | add)]'

# The page compares its rows with these files too. SURVEY_ROWS=write writes them.
@test "the rows of the corpus in three incidents are the stored ones" {
  local incident rows file
  for incident in "image empty" "registry meanwhile" "registries reboot"; do
    file=test_data/survey/${incident/ /-}.jsonl
    rows=$("$SURVEY" --file "$CLUSTER" --incident "${incident% *}" --moment "${incident#* }" --output json | gojq --compact-output "$ROWS")
    [[ ! -v SURVEY_ROWS ]] || printf '%s\n' "$rows" >"$file"
    same "$file" "$(<"$file")" "$rows"
  done
}

# The exit status, the options, and what standard output or standard error says.
@test "the exit status tells programs what was found" {
  local status options words
  while IFS='|' read -r status options words; do
    row="$options"
    read -ra options <<<"$options"
    run "-$status" "$SURVEY" --file "$CLUSTER" "${options[@]}" </dev/null
    [[ $output == *"$words"* ]] || fail "$output"
  done <<ROWS
0||workloads could do half of their work
1|--fail-on half|half of their work
1|--fail-on wait|half of their work
0|--example jobs --fail-on reject|helm upgrade --install consistent-pull-policy-jobs
1|--example audit-registry --fail-on half|reports
2|--fail-on reject|--fail-on reject needs --example
2|--example none|The examples are agent-stack-k8s,
2|--incident fire|is no incident
2|--file $BATS_TEST_TMPDIR/none|No such file
2|--example ./none.yaml|No such file
2|--unknown|unexpected argument
0|--output json|"sentence"
0|--help|Which file of consistent-pull-policy
ROWS
}

@test "a wrong input is told so, and not answered" {
  local words input
  while IFS='|' read -r words input; do
    row=$input
    run -2 --separate-stderr "$SURVEY" <<<"$input"
    [[ -z $output && $stderr == *"$words"* ]] || fail "$output" "$stderr"
  done <<'ROWS'
a table for people|NAMESPACE   NAME   READY
its end was cut off|{"kind": "List", "items": [{"kind": "Pod"}, {
there is no object|
no Kubernetes object|key: value
ROWS
}

# The rows of an example are those of the policy that its commands install.
@test "the values of each example render to the policy of its rows" {
  local example first choice rows
  "${XTASK%/*}/chart-schema" >"$BATS_TEST_TMPDIR/schema.json"
  hack/chart.sh "$BATS_TEST_TMPDIR/schema.json" "$BATS_TEST_TMPDIR"
  head -n 800 "$CLUSTER" >"$BATS_TEST_TMPDIR/cluster.yaml"
  # json EXAMPLE [OPTION...]: the survey.
  json() {
    "$SURVEY" --file "$BATS_TEST_TMPDIR/cluster.yaml" --output json --example "$@" \
      --chart "$BATS_TEST_TMPDIR"/consistent-pull-policy-*.tgz
  }
  # effects EXAMPLE: what this example does to each workload.
  effects() { gojq --compact-output --arg name "$1" '(.report.examples | map(.name) | index([$name])) as $i | .rows[] | [.name, .results[$i]]'; }
  while read -r example first; do
    for choice in "" "--registry quay.io --registry registry.example.net --exclude default" "--only default --registry registry.example.net"; do
      row="$example $choice"
      read -ra choice <<<"$choice"
      rows=$(json "$example" "${choice[@]}")
      gojq --raw-output '.commands[]' <<<"$rows" | sed 's/helm upgrade --install/helm template --set policyServer.create=true,policyServer.image=x:1/' >"$BATS_TEST_TMPDIR/commands"
      bash -e "$BATS_TEST_TMPDIR/commands" | gojq --yaml-input --slurp 'map(select(.kind == "ClusterAdmissionPolicy"))' >"$BATS_TEST_TMPDIR/policies.json"
      if [[ -n $first ]]; then
        # The rows of a second policy are those after its first one, so both have to have the same images and namespaces.
        run -0 gojq --exit-status 'length == 2 and (map([.spec.settings.images, .spec.namespaceSelector]) | .[0] == .[1])' "$BATS_TEST_TMPDIR/policies.json"
        continue
      fi
      gojq --yaml-output '.[0]' "$BATS_TEST_TMPDIR/policies.json" >"$BATS_TEST_TMPDIR/policy.yaml"
      same "$row" "$(effects "$example" <<<"$rows")" "$(json "$BATS_TEST_TMPDIR/policy.yaml" | effects "$BATS_TEST_TMPDIR/policy.yaml")"
    done
  done < <(json jobs | gojq --raw-output '.report.examples[] | select(.problem == "") | "\(.name) \(.first // "")"')
}
