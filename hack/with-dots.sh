#!/usr/bin/env bash
# Runs a command that compiles with Cargo. Instead of the compiler's lines, it prints one line with dots. If the
# command fails, it prints the command's whole output.
#
#   hack/with-dots.sh <text before the dots> <command>...
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf '%s ' "$1"
# A dot stands for five packages.
dots() {
  local line packages=0
  while IFS= read -r line; do
    if [[ $line == *Compiling* && $((packages++ % 5)) == 0 ]]; then printf .; fi
  done
}
if "${@:2}" 2>&1 | tee "$log" | dots; then
  echo " done"
else
  echo
  cat "$log" >&2
  exit 1
fi
