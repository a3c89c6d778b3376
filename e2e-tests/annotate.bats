# The tests' stand-in for kwctl: what `annotate` refuses.

load lib

@test "an annotated module is not annotated again, as kwctl refuses from 1.37 on; --force replaces its metadata" {
  annotate() { "$XTASK" annotate --metadata-path metadata.yml --usage-path metadata.yml --output-path "$BATS_TEST_TMPDIR/$@"; }
  run annotate twice.wasm "$POLICY"
  same "exit code" 1 "$status"
  [[ $output == *"annotated already"* && ! -e $BATS_TEST_TMPDIR/twice.wasm ]] || fail "$output"
  annotate once.wasm policy.wasm
  annotate replaced.wasm --force "$POLICY"
  cmp "$BATS_TEST_TMPDIR/once.wasm" "$BATS_TEST_TMPDIR/replaced.wasm"
}
