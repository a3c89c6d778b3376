# mode: what happens to a finding. Except for lookups and stuck-pull, a request has
# the same findings in all modes.

load lib

weak='weak-check imagecheck-0 app:1 IfNotPresent Always a'

@test "Fix repairs, Reject rejects with the correction, Warn accepts with the same sentence as a warning" {
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
  for settings_fix in '{}' '{"mode":"Fix"}' null; do
    evaluate "$settings_fix"
    repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
    warned "$weak"
  done
  evaluate '{"mode":"Reject"}'
  rejected "$weak"
  warned
  evaluate '{"mode":"Warn"}'
  accepted "$weak"
}

# The default raises the container of the second Pod, and pull-once lowers it. The forbidden Never stays a finding.
@test "a default that pull-once lowers again is no finding" {
  pod 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
  in_each_mode '{"defaults":{"imagePullPolicy":"Always"}}' untouched
  pod 'init imagecheck-0 app:1 Always, app a app:1 Never'
  in_each_mode '{"defaults":{"imagePullPolicy":"Always"},"images":{"forbidNever":["app"]}}' \
    found '[{"rule":"disallowed-policy","path":"spec.containers[0].imagePullPolicy","container":"a","image":"app:1","found":"Never","expected":"IfNotPresent"}]'
}

@test "a rejection has one sentence for each finding, the most important one first" {
  pod 'init imagecheck-0 app:1 Never, init imagecheck-1 dull:1, app a app:1 Always, app b other:1 Always, app c Bad IfNotPresent, app d forbidden:1 Always'
  evaluate '{"mode":"Reject","imageChecks":{"coverage":"Reject"},"images":{"forbidAlways":["forbidden"]},"defaults":{"imagePullPolicy":"Always"}}'
  rejected 'invalid-image c Bad spec.containers[2].image' \
    'disallowed-policy d forbidden:1 Always IfNotPresent images.forbidAlways' \
    'weak-check imagecheck-0 app:1 Never Always a' \
    'missing-check b other:1 Always' \
    'missing-check d forbidden:1 IfNotPresent' \
    'default imagecheck-1 dull:1 IfNotPresent Always'
}

@test "a rejection has 20 findings and counts the rest, and the audit annotation has all" {
  pod "$(series 21 'app c# Bad#')"
  evaluate '{"mode":"Reject"}'
  mapfile -t rows < <(series 20 'invalid-image c# Bad#' | sed 's/, /\n/g')
  rejected "${rows[@]}" 'and 1 more'
  [[ $(in_jq length <<<"$findings") == 21 ]] || fail "$findings"
  pod "$(series 20 'app c# Bad#')"
  evaluate '{"mode":"Reject"}'
  rejected "${rows[@]}"
}

@test "there are at most 10 warnings, and the last one counts the rest" {
  pod "$(series 12 'app c# app:# Always')"
  evaluate '{"mode":"Warn","images":{"forbidAlways":["*"]}}'
  mapfile -t rows < <(series 10 'disallowed-policy c# app:# Always IfNotPresent' | sed 's/, /\n/g')
  warned "${rows[@]:0:9}" 'and 3 more'
  pod "$(series 10 'app c# app:# Always')"
  evaluate '{"mode":"Warn","images":{"forbidAlways":["*"]}}'
  warned "${rows[@]}"
}

# `evaluate` also checks that no warning has more than 120 characters.
@test "long names are cut in the middle in a warning, and complete in a rejection" {
  name=container-with-a-name-of-sixty-three-characters-which-is-the-most
  image=registry.example.com/team/$(printf 'x%.0s' {1..150})/app:1
  pod "init imagecheck-0 $image IfNotPresent, app $name $image Always"
  evaluate '{"mode":"Warn"}'
  told="weak-check imagecheck-0 $image IfNotPresent Always $name"
  accepted "$told"
  [[ $warnings == *...*...* ]] || fail "not cut: $warnings"
  evaluate '{"mode":"Reject"}'
  rejected "$told"
  [[ $sentences != *...* ]] || fail "cut: $sentences"
  evaluate
  warned "$told"
}

@test "a name can't break a line, forge another warning or look like an error of the network" {
  while IFS='^' read -r name shown; do
    row=$name
    pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always' ".object.spec.containers[0].name = \"$name\""
    for mode in Fix Reject Warn; do
      row="$mode $name"
      evaluate "{\"mode\":\"$mode\"}"
      [[ $message$warnings == *"$shown"* ]] || fail "the name is not shown"
    done
  done <<'ROWS'
a\nb\u0007\u001b[31m^a_b__[31m
a\u0002b\u001fc\u0085d^a_b_c_d
connection refused^ connection_refused
i/o timeout^ i/o_timeout
exceeded\u00a0quota^ exceeded_quota
a\u2028b\u3000c\u2003d^ a_b_c_d
a  \t b^ a____b
a\u202eb\u2066c\u200bd\ufeff\u00ade^a_b_c_d__e
ROWS
}

@test "no value of the environment and no argument is in any answer" {
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always, app b Bad Always, app c other:1 Always' '
    .object.spec.containers[].args = ["--password=s3cr3t"] | .object.spec.containers[].command = ["s3cr3t"]
    | .object.metadata.annotations.token = "s3cr3t" | .object.metadata.labels.token = "s3cr3t"'
  for mode in Fix Reject Warn; do
    for coverage in Warn Reject Fix; do
      row="$mode $coverage"
      # `evaluate` fails if s3cr3t is in the answer or in the host's log.
      evaluate "{\"mode\":\"$mode\",\"imageChecks\":{\"coverage\":\"$coverage\"},\"images\":{\"forbidAlways\":[\"other\"]}}"
      [[ $findings != '[]' ]] || fail "nothing was found"
      [[ $(cat "$BATS_TEST_TMPDIR/answer.json") != *s3cr3t* ]] || fail "told"
    done
  done
  edit '.object.spec.containers[1].image = "good"'
  for coverage in Warn Fix; do
    row="Fix $coverage"
    evaluate "{\"imageChecks\":{\"coverage\":\"$coverage\"}}"
    [[ -n $patch ]] || fail "nothing was changed"
    after '.metadata.annotations[record] | contains("s3cr3t") | not'
  done
}
