# recordChanges: a repaired object has the list of its changes, so that a person can see them.

load lib

annotation=consistent-pull-policy/changes
weak='init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
weak_record='[{"path":"spec.initContainers[0].imagePullPolicy","container":"imagecheck-0","from":"IfNotPresent","to":"Always","rule":"weak-check"},{"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Always","to":"IfNotPresent","rule":"pull-once"}]'

# records JSON: checks that the record is exactly this text.
records() {
  after '.metadata.annotations[$key] == $expected' --arg key "$annotation" --arg expected "$1"
}

# earlier VALUE: repairs a Pod whose annotation for the record already has this value.
earlier() {
  pod "$weak" '.object.metadata.annotations = {($key): $value, other: "kept"}' --arg key "$annotation" --arg value "$1"
  evaluate
  after '.metadata.annotations.other == "kept" and (.metadata.annotations | length == 2)'
}

@test "an entry has the path, the container, the old value, the new value and the rule" {
  pod 'init imagecheck-0 app:1 Never, app a app:1 Always, app b b, app c free:1 Always, volume v vol:1 IfNotPresent'
  evaluate '{"imageChecks":{"coverage":"Fix"},"images":{"forbidAlways":["free"]},"defaults":{"imagePullPolicy":"Always"}}'
  repaired 'init imagecheck-0 app:1 Always, init imagecheck-1 b Always, init imagecheck-2 free:1 IfNotPresent, app a app:1 IfNotPresent, app b b IfNotPresent, app c free:1 IfNotPresent, volume v vol:1 Always'
  records "$(jq -c . <<'JSON'
    [{"path":"spec.initContainers[0].imagePullPolicy","container":"imagecheck-0","from":"Never","to":"Always","rule":"weak-check"},
     {"path":"spec.initContainers[1]","container":"imagecheck-1","from":null,"to":{"image":"b","imagePullPolicy":"Always","name":"imagecheck-1"},"rule":"missing-check"},
     {"path":"spec.initContainers[2]","container":"imagecheck-2","from":null,"to":{"image":"free:1","imagePullPolicy":"IfNotPresent","name":"imagecheck-2"},"rule":"missing-check"},
     {"path":"spec.containers[0].imagePullPolicy","container":"a","from":"Always","to":"IfNotPresent","rule":"pull-once"},
     {"path":"spec.containers[1].imagePullPolicy","container":"b","from":null,"to":"IfNotPresent","rule":"pull-once"},
     {"path":"spec.containers[2].imagePullPolicy","container":"c","from":"Always","to":"IfNotPresent","rule":"disallowed-policy"},
     {"path":"spec.volumes[0].image.pullPolicy","container":"v","from":"IfNotPresent","to":"Always","rule":"default"}]
JSON
)"
}

@test "a path is one in the repaired object, where an added check has moved the indexes" {
  pod 'init imagecheck-0 a:1, init later z:1 Never, app b b:1'
  evaluate '{"imageChecks":{"coverage":"Fix"},"images":{"requireAlways":["z"]}}'
  repaired 'init imagecheck-0 a:1, init imagecheck-1 b:1 IfNotPresent, init later z:1 Always, app b b:1'
  changed '[
    {"path":"spec.initContainers[1]","container":"imagecheck-1","from":null,"to":{"name":"imagecheck-1","image":"b:1","imagePullPolicy":"IfNotPresent"},"rule":"missing-check"},
    {"path":"spec.initContainers[2].imagePullPolicy","container":"later","from":"Never","to":"Always","rule":"disallowed-policy"}]'
  # Unlike the path of a change, the path of a finding is a path in the object of the request.
  [[ $(in_jq -r '[.[].path] | join(" ")' <<<"$findings") == 'spec.initContainers[1].imagePullPolicy spec.containers[0].image' ]] || fail "$findings"
}

@test "the metadata or the annotations may be empty, null or missing" {
  while IFS='|' read -r filter rest; do
    row=$filter
    pod "$weak" "$filter"
    evaluate
    records "$weak_record"
    after "(.metadata | del(.annotations)) == $rest"
  done <<'ROWS'
.|{name: "test", namespace: "default"}
.object.metadata.annotations = {}|{name: "test", namespace: "default"}
.object.metadata.annotations = null|{name: "test", namespace: "default"}
.object.metadata = {}|{}
.object.metadata = null|{}
del(.object.metadata)|{}
ROWS
}

@test "other annotations stay" {
  pod "$weak" '.object.metadata.annotations = {a: "b", "consistent-pull-policy/other": "c", "": "d"}'
  evaluate
  records "$weak_record"
  after '.metadata.annotations | del(.[$key]) == {a: "b", "consistent-pull-policy/other": "c", "": "d"}' --arg key "$annotation"
}

@test "an earlier record stays after the new changes" {
  # An entry without a container name is accepted too.
  for first in '{"path":"spec.containers[1].image","from":"a","to":"b","rule":"registry"}' \
    '{"path":"spec.containers[1].image","container":"b","from":"a","to":"b","rule":"registry"}' \
    '{"path":"q","from":null,"to":{"image":"b","imagePullPolicy":"Always","name":"imagecheck-1"},"rule":"missing-check"}' '{"more":7}'; do
    row=$first
    earlier "[$first]"
    records "${weak_record%]},$first]"
    # The text of an earlier entry doesn't change. Spaces between entries are dropped.
    earlier " [ $first ] "
    records "${weak_record%]},$first]"
  done
  earlier '[]'
  records "$weak_record"
  # The counts of two entries are added, at most to the largest number of 32 bits.
  earlier '[{"more":4294967295},{"more":4294967295}]'
  records "${weak_record%]},{\"more\":4294967295}]"
}

@test "a value that is not a list of objects is replaced, because this policy did not write it" {
  for value in '' x '{}' null 5 true '"[]"' '[' '[1]' '["a"]' '[[]]' '[{}]x' '[null]' '[{"to":{]}]' \
    '[{"more":"7"}]' '[{"more":-1}]' '[{"path":"x"}' '[{"path":"x"}]]' $'[{"path":"a\nb"}]' '[{"path":"\x"}]'; do
    row=$value
    earlier "$value"
    records "$weak_record"
  done
  row='not a string'
  pod "$weak" '.object.metadata.annotations = {($key): {a: 1}}' --arg key "$annotation"
  evaluate
  records "$weak_record"
}

@test "a record and each audit annotation has at most 16 KiB, and counts the entries that don't fit" {
  pod "$(series 300 'app c# app:#')"
  evaluate '{"defaults":{"imagePullPolicy":"Always"}}'
  for list in "$changes" "$findings"; do
    same 'number of entries' 300 "$(count "$list")"
    [[ ${#list} -le 16384 && ${#list} -gt $((16384 - 300)) ]] || fail "${#list} bytes"
  done
  after '.metadata.annotations[$key] | utf8bytelength <= 16384 and utf8bytelength > 16384 - 200
    and (fromjson | (.[-1] | keys == ["more"]) and (length - 1) + .[-1].more == 300 and (.[:-1] | all(has("rule"))))' --arg key "$annotation"
  # In a full record, new changes take the place of earlier changes. The entry `more` only counts the
  # earlier changes that no longer fit.
  jq '.object.spec.containers[].imagePullPolicy = "Never"' "$request.second" >"$request"
  full=$(jq -r --arg key "$annotation" '.object.metadata.annotations[$key] | fromjson | .[-1].more' "$request")
  evaluate '{"images":{"requireAlways":["app:1","app:2"]}}'
  after '.metadata.annotations[$key] | fromjson | .[-1] == {more: ($full + 2)}' --arg key "$annotation" --argjson full "$full"
  # The third entry would fit, but is left out too.
  pod 'app a app:1 Never, app b app:1 Never, app c app:1 Never' '.object.spec.containers[:2] |= map(.name *= 16000)'
  evaluate '{"images":{"forbidNever":["*"]}}'
  after '.metadata.annotations[$key] | fromjson | length == 2 and .[1] == {more: 2}' --arg key "$annotation"
}

@test "a forged record does not remove the true changes" {
  # Both forged records are larger than the 16 KiB that a record may have.
  for entries in 300 2000; do
    row="$entries entries"
    forged=$(in_jq -c -n --argjson entries $entries '[range($entries) | {path: "spec.containers[0].imagePullPolicy", rule: "forged"}]')
    earlier "$forged"
    after '.metadata.annotations[$key] | utf8bytelength <= 16384
      and (fromjson | .[:2] == $true and .[2].rule == "forged" and .[-1] == {more: ($entries - (length - 3))})' \
      --arg key "$annotation" --argjson true "$weak_record" --argjson entries $entries
  done
}

@test "near the limit of 262,144 bytes for annotations the record is shortened or left out" {
  # The API server's limit counts keys and values. So the sizes of both keys are subtracted: `other` has
  # 5 bytes.
  while fields left whole; do
    pod "$weak" '.object.metadata.annotations = {other: ("x" * ($size | tonumber))}' --arg size $((262144 - 5 - ${#annotation} - left))
    evaluate
    repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
    changed "$weak_record"
    after '.metadata.annotations | [to_entries[] | .key, .value | utf8bytelength] | add <= 262144'
    case $whole in
      yes) records "$weak_record" ;;
      no) after '.metadata.annotations[$key] | fromjson == [{more: 2}]' --arg key "$annotation" ;;
      none) after '.metadata.annotations | has($key) | not' --arg key "$annotation" ;;
    esac
  done <<'ROWS'
    20000 | yes
    1000  | yes
    100   | no
    20    | none
    0     | none
ROWS
}

@test "recordChanges false: there is no record, but there is the audit annotation" {
  pod "$weak"
  evaluate '{"recordChanges":false}'
  repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
  after '.metadata | has("annotations") | not'
  changed "$weak_record"
  pod "$weak" '.object.metadata.annotations = {($key): "x"}' --arg key "$annotation"
  evaluate '{"recordChanges":false}'
  records x
}
