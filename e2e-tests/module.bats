# The built module. xtask inspects the module, even if the other tests use the real kwctl.

load lib

@test "the module imports only waPC's functions: no clock, no random numbers, no files" {
  "$XTASK" inspect --imports "$POLICY" >"$BATS_TEST_TMPDIR/imports"
  [[ -s $BATS_TEST_TMPDIR/imports ]] || fail "no imports at all"
  while read -r import; do
    row=$import
    [[ $import == wapc.__* ]] || fail "an import that is not waPC's"
  done <"$BATS_TEST_TMPDIR/imports"
  grep -q '__guest_response' "$BATS_TEST_TMPDIR/imports" || fail "it can't answer"
}

@test "the annotated module has at most 704 KiB" {
  size=$(wc -c <"$POLICY")
  ((size <= 720896)) || fail "it is $size bytes"
}

@test "the module has Kubewarden's metadata" {
  "$XTASK" inspect "$POLICY" >"$BATS_TEST_TMPDIR/metadata"
  for line in 'mutating: true' 'io.kubewarden.policy.title: consistent-pull-policy' 'oci/v1/manifest_digest' 'oci/v1/oci_manifest' \
    'pods/ephemeralcontainers' 'podtemplates' 'cronjobs' 'replicasets'; do
    row=$line
    grep -qF "$line" "$BATS_TEST_TMPDIR/metadata" || fail "not in the metadata"
  done
}

@test "the module is stripped" {
  "$XTASK" inspect "$POLICY" >"$BATS_TEST_TMPDIR/sections"
  grep -q ' code$' "$BATS_TEST_TMPDIR/sections" || fail "no list of sections"
  ! grep -Eq "custom '(name|\.debug.*)'" "$BATS_TEST_TMPDIR/sections" || fail "it has names or debug information"
}
