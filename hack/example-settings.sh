#!/usr/bin/env bash
# Writes each file in examples/settings: the settings of the example with the same name, for kwctl and for the
# playground. With --check, it writes nothing, and fails if a file is out of date.
#
#   hack/example-settings.sh [--check]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../examples"

# An example with several policies gives the settings of the last one.
settings='/^---/ { inside = 0; next } /^  settings:/ { inside = 1; text = ""; next } /^ ? ?[^ ]/ { inside = 0 }
  inside { text = text substr($0, 5) "\n" } END { printf "%s", text }'

status=0
for file in settings/*.yaml; do
  text=$(awk "$settings" "${file#settings/}")
  if [[ ${1:-} != --check ]]; then
    echo "$text" >"$file"
  elif ! diff "$file" - <<<"$text" >&2; then
    echo "examples/$file is out of date: run hack/example-settings.sh" >&2
    status=1
  fi
done
exit "$status"
