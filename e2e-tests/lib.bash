# Helpers of the end-to-end tests: they make requests, send them, and check the answers of this
# policy.
#
# A test makes a request (`pod`, `workload`, `review`, `edit`), sends it (`evaluate SETTINGS`) and
# compares the answer (`untouched`, `accepted`, `repaired`, `rejected`, `warned`, `found`).
#
# A Pod is written as a list of places (entries that have an image). The format, and an example:
#   kind name image [pull-policy]
#   init imagecheck-0 app:1 IfNotPresent, app main app:1 Always
# The kinds are init, sidecar (a native one), app, ephemeral and volume.
#
# A test states only what is special about its answer. `make replay` checks what holds for every answer:
# it sends each repaired object again, for example.

cd "$BATS_TEST_DIRNAME/.." || exit 1

XTASK=$(realpath "${CARGO_TARGET_DIR:-target}/xtask/xtask")
KWCTL=${KWCTL:-$XTASK}
POLICY=annotated-policy.wasm
REVIEWS=test_data/reviews

# Whether KWCTL is the real kwctl, and not the embedded host (xtask).
real_host() { [[ ! $KWCTL -ef $XTASK ]]; }

request=$BATS_TEST_TMPDIR/request.json
# The row of the test's table that is being tested. The message of a failed test shows it.
row=

fail() {
  {
    printf '%s\n' "$@"
    [[ -z $row ]] || echo "row:      $row"
    [[ ! -e $request ]] || echo "request:  $(jq -c . "$request")"
    echo "settings: ${settings:-}"
    echo "answer:   $(cat "$BATS_TEST_TMPDIR/answer.json" 2>/dev/null)"
  } | cut -c 1-3000 >&2
  return 1
}

# untraced FUNCTION [ARGUMENT...]: calls a function that runs many commands. Before each command, bats notes
# where it is, so that it can show where a test failed. That takes longer than most commands, so bats doesn't
# do it in this function.
untraced() {
  local -
  set +o functrace
  "$@"
}

# ---- requests -------------------------------------------------------------------------------

# in_jq [JQ-ARGUMENT...]: runs gojq, which starts ten times faster than jq 1.6. gojq sorts the keys of objects.
# A test that compares the texts of objects uses jq.
in_jq() {
  gojq -L e2e-tests "$@"
}

# pod PLACES [FILTER [JQ-ARGUMENT...]]: the CREATE request of a Pod. FILTER edits the request.
pod() {
  workload Pod "$@"
}

# workload KIND PLACES [FILTER [JQ-ARGUMENT...]]: the CREATE request of an object with a Pod spec.
workload() {
  in_jq -n --arg its_kind "$1" --arg its_places "$2" "${@:4}" \
    "include \"lib\"; request(\$its_kind; \$its_places | spec_of_places) | ${3:-.}" >"$request"
}

# series N PLACE: prints N places. In each one, a number from 1 to N replaces the # of PLACE.
series() {
  local number places=
  for ((number = 1; number <= $1; number++)); do places+=", ${2//\#/$number}"; done
  echo "${places#, }"
}

# review NAME [FILTER [JQ-ARGUMENT...]]: a captured review. FILTER edits its request. The audit
# scanner's reviews have no kind, so only their request is sent.
review() {
  in_jq "${@:3}" "include \"lib\"; .request |= (${2:-.}) | if has(\"kind\") then . else .request end" "$REVIEWS/$1.json" >"$request"
}

# edit FILTER [JQ-ARGUMENT...]: edits the last request.
edit() {
  in_jq "${@:2}" "include \"lib\"; if has(\"request\") then .request |= ($1) else $1 end" "$request" \
    >"$request.edited"
  mv "$request.edited" "$request"
}

# fields NAME...: reads a row of a table into these variables. The cells are separated by | and lose
# the spaces around them. Fails after the last row. NAME can't be _line, _name or _field.
fields() {
  untraced read_fields "$@"
}

read_fields() {
  local _line _name _field
  IFS= read -r _line || return 1
  row=$_line
  for _name in "$@"; do
    _field=${_line%%|*}
    _line=${_line#"$_field"}
    _line=${_line#|}
    _field=${_field#"${_field%%[! ]*}"}
    printf -v "$_name" %s "${_field%"${_field##*[! ]}"}"
  done
}

# ---- the policy -----------------------------------------------------------------------------

# If $TRANSCRIPTS names a folder, the embedded host writes requests and answers to it. The tests of
# the playground send the same requests to the page.
transcript=()
[[ -z ${TRANSCRIPTS:-} || ! $KWCTL -ef $XTASK ]] || transcript=(--transcript "$TRANSCRIPTS/$(basename "$BATS_TEST_FILENAME" .bats).jsonl")

# ask REQUEST SETTINGS ANSWER: sends the request file, and writes the answer to a file.
ask() {
  "$KWCTL" run --request-path "$1" --settings-json "$2" "${transcript[@]}" "$POLICY" \
    >"$3" 2>"$BATS_TEST_TMPDIR/stderr" </dev/null
}

# evaluate [SETTINGS]: sends the request. Sets `allowed`, `message`, `sentences` (of the message) and `warnings`
# (a line each), `findings` and `changes` (JSON), `reports` (findings and failed lookups, see lib.jq), `patch`
# (JSON, or empty), `places` (of the changed object, or empty).
# If the object was changed, the file $request.second gets the request with the changed object.
evaluate() {
  untraced send_request "$@"
}

send_request() {
  settings=${1:-'{}'}
  local answer=$BATS_TEST_TMPDIR/answer.json line broken second
  ask "$request" "$settings" "$answer" || fail "the host failed: $(cat "$BATS_TEST_TMPDIR/stderr")"
  [[ $(<"$BATS_TEST_TMPDIR/stderr") != *s3cr3t* ]] || fail "a secret of the Pod is in the host's log"
  line=$(<"$answer")
  # Most requests get this answer. To read it here saves a call of jq.
  if [[ $line =~ ^\{'"uid":"'([^\"]+)'","allowed":true,"auditAnnotations":null,"warnings":null}'$ ]] &&
    [[ $(<"$request") == *"\"${BASH_REMATCH[1]}\""* ]]; then
    allowed=true message='' sentences='' warnings='' findings='[]' changes='[]' reports='' patch='' places=''
    return
  fi
  line=$(in_jq -n -r --slurpfile asked "$request" --slurpfile answer "$answer" '
    include "lib";
    if ($answer | length) != 1 then error("not one answer") else $answer[0] end
    | summary($asked[0] | .request // .)') || fail "the answer can't be read"
  eval "$line"
  [[ -z $broken ]] || fail "$broken"
  [[ -z $patch ]] || printf %s "$second" >"$request.second"
}

# ---- what the answer is ---------------------------------------------------------------------

# same WHAT EXPECTED ACTUAL: fails with WHAT if the two texts differ.
same() {
  [[ $2 == "$3" ]] || fail "$1 differ (< expected, > actual):" "$(diff <(echo "$2") <(echo "$3"))"
}

# count LIST: prints how many entries a list stands for. An entry {"more": N} stands for those that did not fit.
count() { in_jq 'map(.more // 1) | add' <<<"$1"; }

# untouched: accepted unchanged, without a warning and without a finding.
untouched() {
  [[ $allowed == true ]] || fail "rejected"
  [[ -z $patch ]] || fail "changed: $patch"
  [[ -z $warnings ]] || fail "has warnings: $warnings"
  [[ $findings == '[]' ]] || fail "has findings: $findings"
}

# A row names what a sentence has to tell: the finding or the failed lookup, as `reports` has it, and further
# words of the sentence. If the sentence is about neither, the row begins with the sentence's first word.
#   weak-check imagecheck-0 app:1 IfNotPresent Always
#   missing-check b db:2 Always
#   spec.containers string

# accepted [ROW...]: accepted unchanged, with exactly these warnings.
accepted() {
  [[ $allowed == true ]] || fail "rejected"
  [[ -z $patch ]] || fail "changed: $patch"
  warned "$@"
}

# repaired PLACES: the object was changed, and has these places now.
repaired() {
  [[ $allowed == true ]] || fail "rejected"
  [[ -n $patch ]] || fail "not changed"
  same places "${1//, /$'\n'}" "$places"
}

# rejected [ROW...]: rejected with exactly these sentences.
rejected() {
  [[ $allowed == false ]] || fail "accepted"
  untraced each_tells "$sentences" "$@"
}

# warned [ROW...]: there are exactly these warnings.
warned() {
  untraced each_tells "$warnings" "$@"
}

# each_tells LINES [ROW...]: there is one line for each row, in the same order.
each_tells() {
  local line lines=()
  [[ -z $1 ]] || mapfile -t lines <<<"$1"
  shift
  ((${#lines[@]} == $#)) || fail "${#lines[@]} sentences instead of $#:" "${lines[@]}"
  for line in "${lines[@]}"; do
    tells "$line" "$1" || fail "expected: $1" "told:     $line" "reports:  $reports"
    shift
  done
}

# tells LINE ROW: whether the line tells everything that the row names. A line that begins with the image
# (another spelling, a failed lookup) tells only the image and the further words of the row. A line about no
# finding and no lookup begins with the first word of the row, and tells the words in this order.
tells() {
  local line=$1 named=$2 report image words='' word is_report=
  plain line named
  while IFS=$'\t' read -r report image; do
    plain report image
    [[ -n $report && "$named " == "$report "* ]] || continue
    is_report=yes words=${named#* }
    ! has_word "${line%% *}" "$image" || words=$image${named#"$report"}
  done <<<"$reports"
  [[ $is_report || ${line%% *} == "${named%% *}" ]] || return 1
  read -ra words <<<"${words:-$named}"
  for word in "${words[@]}"; do
    has_word "$line" "$word" || return 1
    [[ $is_report ]] || line=${line#*"$word"}
  done
}

# plain VARIABLE...: leaves only the words of these texts, with a space between two of them.
plain() {
  local -n _text
  local _words IFS=' '
  for _text; do
    _text="${_text//[\"(),;]/ } "
    _text=${_text//: / }
    read -ra _words <<<"${_text//"'s "/ }"
    _text="${_words[*]}"
  done
}

# has_word LINE WORD: whether the line has this word. In a warning, the middle of a long word may be left out.
has_word() {
  local shown
  [[ " $1 " != *" $2 "* ]] || return 0
  for shown in ${1//[*?]/_}; do
    [[ $shown != *...* || $2 != "${shown%%...*}"*"${shown##*...}" ]] || return 0
  done
  return 1
}

# copy_of SETTINGS: prints the settings of the copy (the second, validating installation).
copy_of() {
  in_jq -c '.mode = "Reject" | .validatingCopy = true' <<<"$1"
}

# in_each_mode SETTINGS CHECK [ARGUMENT...]: sends the request in each mode, and checks each answer.
in_each_mode() {
  local mode case=$row
  for mode in Fix Reject Warn; do
    row="$mode $case"
    evaluate "$(in_jq -c --arg mode $mode '.mode = $mode' <<<"$1")"
    "${@:2}"
  done
  row=$case
}

# everywhere SETTINGS CHECK [ARGUMENT...]: like in_each_mode, and in the copy.
everywhere() {
  in_each_mode "$@"
  evaluate "$(copy_of "$1")"
  "${@:2}"
}

# outcomes SETTINGS [FILTER]: reads a table. A row has the places of a Pod before and, if the Pod is changed, after.
# If there is a FILTER, a row begins with a value, the variable $value of the filter, which edits the settings.
outcomes() {
  local given=$1 value before after
  while fields ${2:+value} before after; do
    [[ -z ${2:-} ]] || given=$(in_jq -nc --argjson value "$value" "$1 | $2")
    pod "$before"
    evaluate "$given"
    if [[ -z $after || $after == same ]]; then untouched; else repaired "$after"; fi
  done
}

# patched OPERATIONS: the patch has exactly these operations, in any order. Operations that only write
# the record of changes are ignored.
patched() {
  in_jq -n -e --argjson expected "$1" --argjson actual "$patch" '
    def settled: map(if .path == "/metadata/annotations" then del(.value["consistent-pull-policy/changes"]) else . end
      | select(.path != "/metadata/annotations/consistent-pull-policy~1changes" and .value != {})) | sort_by(.path);
    ($expected | settled) == ($actual | settled)' >/dev/null || fail "the patch is $patch"
}

# found JSON: the audit annotation `findings` has exactly these findings.
found() {
  same findings "$(in_jq -c . <<<"$1")" "$findings"
}

# changed JSON: the audit annotation `changes` has exactly these changes.
changed() {
  same changes "$(in_jq -c . <<<"$1")" "$changes"
}

# after FILTER [JQ-ARGUMENT...]: FILTER is true of the repaired object.
after() {
  [[ -e $request.second && -n $patch ]] || fail "not changed"
  in_jq -e "${@:2}" "include \"lib\"; .object | $1" "$request.second" >/dev/null ||
    fail "not true of the repaired object: $1" "$(jq -c .object "$request.second")"
}

# invalid SETTINGS ROW...: the settings are refused. There is one problem for each row, in the same order. A row
# begins with the path of the value.
invalid() {
  refuse "$1"
  untraced each_tells "$problems" "${@:2}"
}

# refuse SETTINGS: the settings are refused. Sets `message`, and `problems` (of the message, a line each).
refuse() {
  local status=0 part key
  settings=$1 reports='' problems=''
  [[ -e $request ]] || review pod-create
  ask "$request" "$settings" "$BATS_TEST_TMPDIR/answer.json" || status=$?
  [[ $status == 1 ]] || fail "the exit status is $status"
  [[ ! -s $BATS_TEST_TMPDIR/answer.json ]] || fail "there is an answer"
  message=$(sed -n 's/^Error: Provided settings are not valid: //p' "$BATS_TEST_TMPDIR/stderr")
  # After `; ` a problem begins with a key of the settings.
  while IFS= read -r part; do
    key=${part%%[. []*}
    if [[ -z $problems ]]; then
      problems=$part
    elif [[ $settings == *"\"$key\":"* ]]; then
      problems+=$'\n'$part
    else
      problems+="; $part"
    fi
  done <<<"${message//; /$'\n'}"
}
