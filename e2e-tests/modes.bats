# mode: what happens to a finding. Except for lookups and stuck-pull, a request has
# the same findings in all modes.

load lib

weak='imagecheck-0 pulls app:1 with IfNotPresent but a pulls it with Always: set imagecheck-0 to Always'

@test "Fix repairs, Reject rejects with the correction, Warn accepts with the same sentence as a warning" {
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
  for settings_fix in '{}' '{"mode":"Fix"}' null; do
    evaluate "$settings_fix"
    repaired 'init imagecheck-0 app:1 Always, app a app:1 IfNotPresent'
    warned 'imagecheck-0 now pulls app:1 with Always instead of IfNotPresent, as a needs'
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
  for mode in Fix Reject Warn; do
    row=$mode
    evaluate "{\"mode\":\"$mode\",\"defaults\":{\"imagePullPolicy\":\"Always\"}}"
    untouched
  done
  pod 'init imagecheck-0 app:1 Always, app a app:1 Never'
  for mode in Fix Reject Warn; do
    evaluate "{\"mode\":\"$mode\",\"defaults\":{\"imagePullPolicy\":\"Always\"},\"images\":{\"forbidNever\":[\"app\"]}}"
    found '[{"rule":"disallowed-policy","path":"spec.containers[0].imagePullPolicy","container":"a","image":"app:1","found":"Never","expected":"IfNotPresent"}]'
  done
}

@test "a rejection has one sentence for each finding, the most important one first" {
  pod 'init imagecheck-0 app:1 Never, init imagecheck-1 dull:1, app a app:1 Always, app b other:1 Always, app c Bad IfNotPresent, app d forbidden:1 Always'
  evaluate '{"mode":"Reject","imageChecks":{"coverage":"Reject"},"images":{"forbidAlways":["forbidden"]},"defaults":{"imageCheckPullPolicy":"Never"}}'
  sentences=(
    'c has no valid image in spec.containers[2].image: "Bad" can'"'"'t be pulled, its repository has upper-case letters'
    'd pulls forbidden:1 with Always but images.forbidAlways has forbidden: set d to IfNotPresent'
    'imagecheck-0 pulls app:1 with Never but a pulls it with Always: set imagecheck-0 to Always'
    'b pulls other:1 but no image check pulls it first: add one with Always'
    'd pulls forbidden:1 but no image check pulls it first: add one with IfNotPresent'
    'imagecheck-1 pulls dull:1 with IfNotPresent, which nobody chose: set imagecheck-1 to Never (defaults.imageCheckPullPolicy)'
  )
  rejected "$(printf '; %s' "${sentences[@]}" | cut -c 3-)"
}

@test "Fix rejects findings that it can't repair, and the message has only these" {
  pod 'init imagecheck-0 app:1 Never, app a app:1 Always, app c Bad IfNotPresent'
  evaluate
  rejected 'c has no valid image in spec.containers[1].image: "Bad" can'"'"'t be pulled, its repository has upper-case letters'
  warned
}

@test "a rejection has 20 findings and counts the rest, and the audit annotation has all" {
  pod "$(series 21 'app c# Bad#')"
  evaluate '{"mode":"Reject"}'
  [[ $message == *'c20 has no valid image in spec.containers[19].image: "Bad20" '*'; and 1 more finding' ]] || fail "$message"
  [[ $message != *c21* ]] || fail "$message"
  [[ $(in_jq length <<<"$findings") == 21 ]] || fail "$findings"
  pod "$(series 20 'app c# Bad#')"
  evaluate '{"mode":"Reject"}'
  [[ $message != *more* ]] || fail "$message"
}

@test "there are at most 10 warnings, and the last one counts the rest" {
  pod "$(series 12 'app c# app:# Always')"
  evaluate '{"mode":"Warn","images":{"forbidAlways":["*"]}}'
  [[ $(wc -l <<<"$warnings") == 10 ]] || fail "$warnings"
  [[ $(tail -n 1 <<<"$warnings") == "and 3 more warnings" ]] || fail "$warnings"
  pod "$(series 10 'app c# app:# Always')"
  evaluate '{"mode":"Warn","images":{"forbidAlways":["*"]}}'
  [[ $(wc -l <<<"$warnings") == 10 && $warnings != *more* ]] || fail "$warnings"
}

# `evaluate` also checks that no warning has more than 120 characters.
@test "long names are cut in the middle in a warning, and complete in a rejection" {
  name=container-with-a-name-of-sixty-three-characters-which-is-the-most
  image=registry.example.com/team/$(printf 'x%.0s' {1..150})/app:1
  pod "init imagecheck-0 $image IfNotPresent, app $name $image Always"
  evaluate '{"mode":"Warn"}'
  accepted 'imagecheck-0 pulls regist...app:1 with IfNotPresent but contai...-most pulls it with Always: set imagecheck-0 to Always'
  evaluate '{"mode":"Reject"}'
  rejected "imagecheck-0 pulls $image with IfNotPresent but $name pulls it with Always: set imagecheck-0 to Always"
  evaluate
  warned 'imagecheck-0 now pulls registry.ex...xxxx/app:1 with Always instead of IfNotPresent, as container-w...s-the-most needs'
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
