# Outputs that pages show, from the pages' own commands. The commands that need a cluster are in cluster/operations.bats.

load lib

# block PAGE START LANGUAGE: the first code block of this language after the line that matches START.
block() {
  awk -v start="$2" -v fence="\`\`\`$3" '
    inside && /^```$/ { exit }
    inside
    $0 ~ start { found = 1 }
    found && $0 == fence { inside = 1 }' "$1"
}

@test "README shows what 'make run' prints" {
  command=$(sed -n 's/^<!-- \$ cargo xtask \(.*\) -->$/\1/p' README.md)
  same output "$(block README.md '^<!-- ' text)" "$(bash -c "'$XTASK' $command")"
}

@test "Try your own Pod: kwctl prints what the page shows" {
  real_host || skip "KWCTL=kwctl runs this"
  page=docs/operations.md start='^## Try your own Pod'
  mkdir "$BATS_TEST_TMPDIR/examples"
  block "$page" "$start" yaml >"$BATS_TEST_TMPDIR/pod.yaml"
  sed "s#module: registry://.*#module: file://$PWD/$POLICY#" examples/agent-stack-k8s.yaml \
    >"$BATS_TEST_TMPDIR/examples/agent-stack-k8s.yaml"
  commands=$(block "$page" "$start" console) output=$(block "$page" "$start" text)
  cd "$BATS_TEST_TMPDIR"
  kwctl() { command "$KWCTL" "$@"; }
  same output "$output" "$(eval "$commands" 2>/dev/null)"
}
