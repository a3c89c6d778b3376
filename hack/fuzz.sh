#!/usr/bin/env bash
# Runs each fuzz target for a number of seconds:
#
#   hack/fuzz.sh [seconds] [target...]
#
# Without a nightly toolchain there is no sanitizer. A sanitizer would find little, because this policy has
# no unsafe block. An input that causes a crash is kept in fuzz/artifacts. Make a test of such an input.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
shift || true
(($# > 0)) || set -- validate validate_settings host_errors

# If there is no nightly toolchain, `cargo +nightly` would install one. So rustup's list is read first.
if command -v rustup >/dev/null && rustup toolchain list | grep -q '^nightly'; then
  fuzz=(cargo +nightly fuzz run)
else
  echo "There is no nightly toolchain: fuzzing with $(rustc --version), without a sanitizer" >&2
  export RUSTC_BOOTSTRAP=1
  fuzz=(cargo fuzz run --sanitizer none)
fi

# This policy leaves the request's tree to the end of its instance, so the sanitizer would report it as a leak.
export ASAN_OPTIONS=detect_leaks=0

for target in "$@"; do
  seeds=fuzz/seeds/$target
  [[ $target != validate ]] || seeds=test_data/reviews
  mkdir -p "fuzz/corpus/$target"
  echo "==> $target, $seconds seconds"
  "${fuzz[@]}" "$target" "fuzz/corpus/$target" "$seeds" -- \
    -max_total_time="$seconds" -max_len=65536 -timeout=10 -verbosity=0 -print_funcs=0 -print_final_stats=1
done
