# Runs the commands on the pages that need no cluster: the blocks of kind `console`, and the commands in comments of the
# form `<!-- $ COMMAND -->`. A comment has to print exactly the `text` block below it. `<!-- output -->` before a
# `text` block stands for the output of the last console block.

load lib

# Blocks with one of these programs need a cluster, a registry or much time, and are not run.
NOT_RUN='helm kind docker cosign curl gh skopeo git rustup make sha256sum'

# The module of this repository takes the place of the released one. The embedded host takes a manifest as settings.
kwctl() {
  local argument arguments=()
  for argument in "$@"; do
    if [[ $1:$argument == run:examples/*.yaml && $KWCTL == */xtask ]]; then
      arguments+=(--settings-path "$argument" "$ROOT/annotated-policy.wasm")
    elif [[ $1:$argument == run:examples/*.yaml ]]; then
      sed "s#module: registry://.*#module: file://$ROOT/annotated-policy.wasm#" "$argument" >manifest.yaml
      arguments+=(manifest.yaml)
    else
      arguments+=("$argument")
    fi
  done
  case $KWCTL:$1 in
    */xtask:scaffold)
      gojq --yaml-input '{uid: "1", kind: {group: "", version: "v1", kind}, operation: "CREATE", userInfo: {},
        resource: {group: "", version: "v1", resource: "pods"}, object: .}' "${@: -1}"
      ;;
    # KWCTL may be the name of this function.
    *) command "$KWCTL" "${arguments[@]}" ;;
  esac
}

cargo() {
  case $2 in
    show | run) "$XTASK" "${@:2}" ;;
  esac
}

# A repaired Pod, which is also the only Pod of a list.
kubectl() {
  jq '{metadata: {name: "nightly-report", namespace: "reports", annotations: {
    "consistent-pull-policy/changes": .auditAnnotations.changes}}} | .items = [.]' answer.json
}

# run_script SCRIPT: runs a script in the page's folder and prints its output.
run_script() {
  (cd "$folder" && bash -euo pipefail <(declare -f kwctl cargo kubectl && printf '%s\n' "$1") 2>/dev/null)
}

# prints SCRIPT LINES: the script has to print exactly these lines.
prints() {
  local actual status=0
  row="$page: $1"
  actual=$(run_script "$1") || status=$?
  [[ $status == 0 ]] || fail "the exit status is $status" "$actual"
  same outputs "$2" "$actual"
  count=$((count + 1))
}

# The first words of a script's commands. A line continues a command if it is indented, or if the line before
# it ends with a backslash or with `|`.
programs() {
  awk '!continued && /^[^ #]/ { print $1 } { continued = /(\\|\|)$/ }' <<<"$1"
}

# Whether a script can be run here. Of kubectl's commands, only those that read Pods can. An unknown program is noted,
# and the test fails at its end.
can_run() {
  local program result=0
  [[ $1 != *kubectl* || $1 == 'kubectl get pod'* ]] || return 1
  for program in $(programs "$1"); do
    [[ " $NOT_RUN " != *" $program "* ]] || result=1
    [[ " $NOT_RUN awk cd sed kubectl kwctl cargo jq " == *" $program "* || $program == *=* ]] ||
      unknown+="$page: $program "
  done
  return "$result"
}

# Runs a console block.
run_console() {
  local status=0
  if can_run "$block"; then
    row="$page: $block"
    last_output=$(run_script "$block") || status=$?
    [[ $status == 0 ]] || fail "the exit status is $status" "$last_output"
    count=$((count + 1))
  fi
}

# The files that a reader of a page has, because another page told how to make them.
prepare_folder() {
  folder=$BATS_TEST_TMPDIR/$(basename "$page")
  mkdir -p "$folder"
  ln -sfn "$ROOT/examples" "$ROOT/test_data" "$ROOT/annotated-policy.wasm" "$folder"
  jq -nc '{stage: "RequestReceived"}, {annotations: {"kw.cap.NAME.kubewarden.admission/lookups":
    "[{\"image\": \"a:1\", \"failure\": \"denied\"}]"}}' >"$folder/audit.log"
  run_script 'cargo xtask run --request-path examples/requests/nightly-report.json \
    --settings-path examples/every-pod.yaml annotated-policy.wasm >answer.json'
}

# Saves the Pod of a `yaml` block.
save_yaml() {
  [[ $block != *'kind: Pod'* ]] || printf '%s\n' "$block" >"$folder/pod.yaml"
}

@test "the commands on the pages run, and print the lines below them" {
  count=0 unknown=''
  export ROOT=$PWD KWCTL XTASK
  for page in README.md CONTRIBUTING.md examples/README.md docs/*.md; do
    prepare_folder
    block='' inside='' expected_from=''
    while IFS= read -r line; do
      if [[ $inside == console && $line == '```' ]]; then
        run_console
        inside=''
      elif [[ $inside == yaml && $line == '```' ]]; then
        save_yaml
        inside=''
      elif [[ $inside == text && $line == '```' ]]; then
        case $expected_from in
          output) row=$page && same "outputs of the last console block" "$block" "$last_output" ;;
          '') ;;
          *) prints "$expected_from" "$block" ;;
        esac
        inside='' expected_from=''
      elif [[ -n $inside ]]; then
        block+=${block:+$'\n'}$line
      elif [[ $line =~ ^'```'(console|text|yaml)$ ]]; then
        block='' inside=${BASH_REMATCH[1]}
      elif [[ $line =~ ^'<!-- '('$ '(.*)|output)' -->'$ ]]; then
        expected_from=${BASH_REMATCH[2]:-output}
      fi
    done <"$page"
  done
  row=
  [[ -z $unknown ]] || fail "the test doesn't know these programs: $unknown"
  ((count >= 6)) || fail "only $count commands were run"
}
