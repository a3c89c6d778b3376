# Helpers of the tests that need a shell. What this policy does is in rows/.

cd "$BATS_TEST_DIRNAME/.." || exit 1

XTASK=$(realpath "${CARGO_TARGET_DIR:-target}/xtask/xtask")
KWCTL=${KWCTL:-$XTASK}
POLICY=annotated-policy.wasm

# Whether KWCTL is the real kwctl, and not the embedded host (xtask).
real_host() { [[ ! $KWCTL -ef $XTASK ]]; }

# The row of a test's table, or another part of it. The message of a failed test shows it.
row=

fail() {
  {
    printf '%s\n' "$@"
    [[ -z $row ]] || echo "row: $row"
  } | cut -c 1-3000 >&2
  return 1
}

# same WHAT EXPECTED ACTUAL: fails with WHAT if the two texts differ. Two empty texts fail too, because a command that
# fails prints nothing.
same() {
  [[ -n $2 ]] || fail "$1: nothing is expected, so nothing is compared (\`empty\` is for that)"
  [[ $2 == "$3" ]] || fail "$1 differ (< expected, > actual):" "$(diff <(echo "$2") <(echo "$3"))"
}

# empty WHAT TEXT: fails with WHAT if the text is not empty.
empty() {
  [[ -z $2 ]] || fail "$1:" "$2"
}

# packed [DIGEST]: packs the chart, and prints the archive's name.
packed() {
  "${XTASK%/*}/chart-schema" >"$BATS_FILE_TMPDIR/values.schema.json"
  hack/chart.sh "$BATS_FILE_TMPDIR/values.schema.json" "$BATS_FILE_TMPDIR" "$@"
}

# before_first_release: takes the earlier releases away from a copy of this source, so that it is the same on the commit of a
# release and later.
before_first_release() {
  printf '%s\n' '# Changelog' '' '## [Unreleased]' '' '### Added' '' '- Everything.' >CHANGELOG.md
  sed -i '/^repositoryID:/d' artifacthub-repo.yml
}
