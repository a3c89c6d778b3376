#!/usr/bin/env bash
# quotes.bash TRANSCRIPTS: fails if a page quotes a message that no row of the end-to-end tests has produced.
# TRANSCRIPTS is the folder to which the end-to-end tests have written their answers.
set -euo pipefail

cd "$(dirname "$0")/.."
found=$(cat "$1"/*.jsonl | gojq -n -r -f e2e-tests/quotes.jq --slurpfile pages <(
  for page in *.md docs/*.md examples/*.md; do
    gojq -n --arg path "$page" --rawfile text "$page" '{path: $path, text: $text}'
  done
))
count=$(grep -cx found <<<"$found") || true
if ((count < 20)) || grep -vx found <<<"$found" >&2; then
  echo "the pages quote $count messages that the end-to-end tests have produced. A run of all tests produces at least 20" >&2
  exit 1
fi
