# The survey as a command (survey/command). What its core says is in survey/tests.
bats_require_minimum_version 1.5.0

load lib

SURVEY=${XTASK%/*}/kubectl-consistent_pull_policy

# The Pods of test_data/pods, the objects that were created in test_data/reviews, a Node and a Namespace.
corpus() {
  local file
  for file in test_data/pods/*.yaml; do printf -- '---\n%s\n' "$(<"$file")"; done
  for file in test_data/reviews/*.json; do
    gojq --raw-output '.request | select(.operation == "CREATE" and .userInfo.username) | "---", .object' "$file"
  done
  echo ---
  echo '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.35.2"}}}'
  echo ---
  echo '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ci", "labels": {"consistent-pull-policy/ignore": ""}}}'
}

setup_file() {
  export CLUSTER=$BATS_FILE_TMPDIR/cluster.yaml
  corpus >"$CLUSTER"
}

# A line for each workload: what each preset that selects it does, without the sentences.
ROWS='(.report.presets | map(.name)) as $names | .rows[] | [.kind, .namespace, .name, .number, .nodes, .images, .before, ([$names, .results]
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
0|--preset jobs --fail-on reject|helm upgrade --install jobs
1|--preset audit --fail-on half|reports
2|--fail-on reject|--fail-on reject needs --preset
2|--preset none|none is none of agent-stack-k8s,
2|--incident fire|is no incident
2|--file $BATS_TEST_TMPDIR/none|No such file
2|--preset ./none.yaml|No such file
2|--file hack/build.sh|hack/build.sh: 
2|--unknown|unexpected argument
0|--output json|"sentence"
0|--help|Which preset of consistent-pull-policy
ROWS
}

# What a person sees: stored too, because most of it is columns.
@test "the printed table is the stored one" {
  local printed file=test_data/survey/table.txt
  printed=$("$SURVEY" --file "$CLUSTER" --preset agent-stack-k8s --incident registry --moment reboot)
  [[ ! -v SURVEY_ROWS ]] || printf '%s\n' "$printed" >"$file"
  same "$file" "$(<"$file")" "$printed"
}

# Small clusters with much of what the survey tells apart: all that is printed, and the exit status.
@test "the answers about small clusters are the stored ones" {
  local name options file
  cd test_data/survey
  while read -r name options; do
    row=$options file=answers/$name.txt
    read -ra options <<<"$options"
    run "$SURVEY" "${options[@]}"
    [[ $name != *json ]] || output=$(gojq --compact-output '.report, .rows[], .command' <<<"$output")
    output=${output//--version $("$SURVEY" --version | cut -d ' ' -f 3)/--version VERSION}$'\n'"exit status $status"
    [[ ! -v SURVEY_ROWS ]] || printf '%s\n' "$output" >"$file"
    same "$file" "$(<"$file")" "$output"
  done <answers/options
}

@test "half-done work is worse than a wait" {
  run -1 "$SURVEY" --fail-on wait <<'JSON'
{"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]}}
JSON
}

@test "a wrong input is an error, and gets no answer" {
  local words input
  while IFS='|' read -r words input; do
    row=$input
    run -2 --separate-stderr "$SURVEY" <<<"$input"
    [[ -z $output && $stderr == *"$words"* ]] || fail "$output" "$stderr"
  done <<'ROWS'
a table for people|NAMESPACE   NAME   READY
its end was cut off|{"kind": "List", "items": [{"kind": "Pod"}, {
no Pod and no workload|
no Kubernetes object|key: value
ROWS
}

# The rows of a preset are those of the policy that its command installs, with its guard or without.
@test "the values of each preset render to the policy of its rows" {
  local preset choice rows guard chart
  chart=$(packed)
  head -n 400 "$CLUSTER" >"$BATS_TEST_TMPDIR/cluster.yaml"
  # json PRESET [OPTION...]: the survey.
  json() {
    "$SURVEY" --file "$BATS_TEST_TMPDIR/cluster.yaml" --output json --preset "$@" \
      --chart "$chart"
  }
  # effects PRESET: what this preset does to each workload.
  effects() { gojq --compact-output --arg name "$1" '(.report.presets | map(.name) | index([$name])) as $i | .rows[] | [.name, .results[$i]]'; }
  while read -r preset guard; do
    for choice in "" "--registry registry.example.com --registry registry.example.net --exclude default" "--only default --registry docker.io"; do
      row="$preset $choice"
      read -ra choice <<<"$choice"
      rows=$(json "$preset" "${choice[@]}")
      gojq --raw-output .command <<<"$rows" |
        sed "s/helm upgrade --install/helm template --set policyServer.create=true,policyServer.image=x:1,guard.enabled=$guard/" >"$BATS_TEST_TMPDIR/command"
      bash -e "$BATS_TEST_TMPDIR/command" |
        gojq --yaml-input --yaml-output "select(.kind == \"ClusterAdmissionPolicy\" and (.spec.mutating or ${guard} == false))" >"$BATS_TEST_TMPDIR/policy.yaml"
      same "$row" "$(effects "$preset" <<<"$rows")" "$(json "$BATS_TEST_TMPDIR/policy.yaml" | effects "$BATS_TEST_TMPDIR/policy.yaml")"
    done
  done < <(json jobs | gojq --raw-output '.report.presets[] | "\(.name) \((.isAudit or .name == "missing-tags") | not)"')
}

@test "no command installs a file of one's own, or what the Nodes can't have" {
  sed '/^---$/,$d' examples/jobs.yaml >"$BATS_TEST_TMPDIR/policy.yaml"
  cd "$BATS_TEST_TMPDIR"
  run -0 "$SURVEY" --file "$CLUSTER" --preset policy.yaml
  [[ $output == *"policy.yaml: "* && $output != *helm* ]] || fail "$output"
  echo '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "old"}, "status": {"nodeInfo": {"kubeletVersion": "v1.34.0"}}}' >old.yaml
  run -0 "$SURVEY" --file "$CLUSTER" --file old.yaml --preset jobs
  [[ $output == *"old has 1.34"* && $output != *helm* ]] || fail "$output"
  # A wide terminal has room for the reason.
  run -0 script --quiet --return --command "stty rows 50 cols 200; '$SURVEY' --file '$CLUSTER' --file old.yaml" /dev/null </dev/null
  grep --quiet '^agent-stack-k8s-volumes .* and old has 1.34' <<<"$output" || fail "$output"
}

# The rules are those of krew's own check (validateplatform and ValidatePlugin in its package validation).
@test "krew's manifest keeps krew's rules" {
  local manifest sums=$BATS_TEST_TMPDIR/sums platform
  for platform in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64; do
    printf '%064d  kubectl-consistent_pull_policy-%s.tar.gz\n' 7 "$platform"
  done >"$sums"
  printf '%064d  policy.wasm\n' 8 >>"$sums"
  manifest=$(hack/release/krew.sh v1.2.3 <"$sums" | gojq --yaml-input .)
  run -0 gojq --exit-status '
    .apiVersion == "krew.googlecontainertools.github.com/v1alpha2" and .kind == "Plugin"
    and (.metadata.name | test("^[\\w-]+$")) and (.spec.version | test("^v\\d+\\.\\d+\\.\\d+$"))
    and (.spec.shortDescription | test("^[^\\n]{1,80}$"))
    and (.spec.platforms | length == 4 and (map(.selector.matchLabels) | unique | length == 4) and all(
      (.selector.matchLabels | keys == ["arch", "os"]) and (.sha256 | type == "string" and test("^[0-9a-f]{64}$"))
      and (.uri | test("/releases/download/v1.2.3/[^/]+\\.tar\\.gz$")) and .bin == "kubectl-consistent_pull_policy"))' <<<"$manifest"
}
