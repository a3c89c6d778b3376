#!/usr/bin/env bash
# The survey of clusters with these numbers of Pods of 18 KB: by the command as it is released, and by the page in Chromium.
# It needs what `make site-build` leaves.
#
#   bench/survey.sh [PODS...]   (else 5000 20000)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($#)) || set -- 5000 20000
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cargo build --locked --quiet --release --package survey-command
for pods; do
  python3 bench/cluster.py "$pods" >"$tmp/$pods"
  echo "the command, $pods Pods:"
  python3 - "${CARGO_TARGET_DIR:-target}/release/kubectl-consistent_pull_policy" --file "$tmp/$pods" <<'PYTHON'
import resource, subprocess, sys, time
start = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(f"{time.monotonic() - start:.1f} s, {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")
PYTHON
done
echo "the page:"
cd site
node --input-type=module --eval 'import { runnerImport } from "vite"; await runnerImport("./tests/benchmark.ts")' \
  "${@/#/$tmp/}"
