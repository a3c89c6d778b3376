# Runs the commands on the pages: the blocks of kind `console`, and the commands in comments of the form
# `<!-- $ COMMAND -->`. A comment has to print exactly the `text` block below it. `<!-- output -->` before a
# `text` block stands for the output of the last console block.
#
# A `yaml` block with a Pod or a Job is saved as pod.yaml or nightly.yaml. curl, kubectl, kwctl and cargo are functions
# here. kubectl only knows the objects that this file makes.

load lib

# Blocks with one of these programs need a cluster, a registry or much time, and are not run.
NOT_RUN='helm kind docker cosign gh skopeo git rustup make sha256sum'

# Addresses in a release lead to files of this repository.
curl() {
  local address=${*: -1} file
  file=$ROOT/${address#https://raw.githubusercontent.com/consistent-pull-policy/consistent-pull-policy/v*/}
  [[ -e $file ]] || return 22
  case $1 in
    *O*) cp "$file" . ;;
    *o) cp "$file" "$2" ;;
    *) cat "$file" ;;
  esac
}

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
    *:pull) [[ ${*: -1} == "registry://$IMAGE" ]] ;;
    *:verify) ;;
    */xtask:scaffold)
      [[ ${*:2} == 'admission-request --operation CREATE --object pod.yaml' ]] || return 2
      gojq --yaml-input '{uid: "1", kind: {group: "", version: "v1", kind}, operation: "CREATE", userInfo: {},
        resource: {group: "", version: "v1", resource: "pods"}, object: .}' pod.yaml
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

# A cluster with a repaired Pod, a Pod that nobody changed, and the report of an audit.
kubectl() {
  local repaired='{metadata: {name: "nightly-report", namespace: "reports", annotations: {
    "consistent-pull-policy/changes": .auditAnnotations.changes}}}'
  case $* in
    *' -f -') gojq --yaml-input . >/dev/null ;;
    'apply -f '* | 'delete -f '*) gojq --yaml-input . "${@: -1}" >/dev/null ;;
    'wait '*) (echo clusteradmissionpolicy/NAME && sed -n 's/^  name: /clusteradmissionpolicy\//p' "$ROOT"/examples/*.yaml) | grep -qxF "${@: -1}" ;;
    'get policyserver default --output json') jq -n '{kind: "PolicyServer", spec: {replicas: 1}}' ;;
    'patch policyserver '* | 'delete policyserver '*) ;; # cluster/operations.bats runs these
    'get pods --selector job-name=nightly' | 'describe pod --selector job-name=nightly') grep -qx '  name: nightly' nightly.yaml ;;
    'create configmap '*) [[ $* == *=verification-config.yml && -e $ROOT/docs/verification-config.yml ]] ;;
    'get pod nightly-report -n reports '*json) jq "$repaired" answer.json ;;
    'get pods '*json*) jq "{items: [$repaired, {metadata: {name: \"other\", namespace: \"reports\"}}]}" answer.json ;;
    'get reports.openreports.io '*json)
      jq -n '{items: [{scope: {namespace: "ci", name: "hanging"}, results: [
        {policy: "kw.cap.consistent-pull-policy-audit", result: "fail", message: "a waits for b:1"},
        {policy: "kw.cap.another-policy", result: "fail", message: "not of this policy"}]}]}'
      ;;
    'logs '*) echo 'policy evaluation (monitor mode)' ;;
    *) return 64 ;;
  esac
}

# run_script SCRIPT: runs a script in the page's folder and prints its output.
run_script() {
  (cd "$folder" && bash -euo pipefail <(declare -f curl kwctl cargo kubectl && printf '%s\n' "$1") 2>/dev/null)
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

# Whether a script can be run here. An unknown program is noted, and the test fails at its end.
can_run() {
  local program result=0
  for program in $(programs "$1"); do
    [[ " $NOT_RUN " != *" $program "* ]] || result=1
    [[ " $NOT_RUN awk cd curl sed kubectl kwctl cargo jq " == *" $program "* || $program == *=* ]] ||
      unknown+="$page: $program "
  done
  return "$result"
}

# Runs a console block. If it begins with `$ `, each command begins with `$ `, and the other lines are its output.
# Otherwise the whole block is a script.
run_console() {
  local line command='' output='' status=0
  if [[ $block == '$ '* ]]; then
    while IFS= read -r line; do
      if [[ $line == '$ '* ]]; then
        [[ -z $command ]] || prints "$command" "${output%$'\n'}"
        command=${line#'$ '} output=''
      elif [[ -z $output && $line == '    '* ]]; then
        command+=$'\n'$line
      else
        output+=$line$'\n'
      fi
    done <<<"$block"
    prints "$command" "${output%$'\n'}"
  elif can_run "$block"; then
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

# Saves the object of a `yaml` block.
save_yaml() {
  case $block in
    *'kind: Job'*) printf '%s\n' "$block" >"$folder/nightly.yaml" ;;
    *'kind: Pod'*) printf '%s\n' "$block" >"$folder/pod.yaml" ;;
  esac
}

@test "the commands on the pages run, and print the lines below them" {
  count=0 unknown=''
  export ROOT=$PWD KWCTL XTASK
  IMAGE=$(sed -n 's/^ *io.kubewarden.policy.ociUrl: //p' metadata.yml):v$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
  export IMAGE policy=registry://$IMAGE
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
  ((count >= 14)) || fail "only $count commands were run"
}
