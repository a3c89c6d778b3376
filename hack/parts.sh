#!/usr/bin/env bash
# Says which part of `make test` begins, and at the end how long each part took. Its notes are in target/parts.
#
#   hack/parts.sh begin PART ALL-PARTS...
#   hack/parts.sh end
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

notes=${CARGO_TARGET_DIR:-target}/parts

case ${1:-} in
  begin)
    part=$2 number=0
    shift 2
    for each in "$@"; do
      number=$((number + 1))
      [[ $each != "$part" ]] || break
    done
    mkdir -p "${notes%/*}"
    # The first part begins the notes again.
    ((number > 1)) || : >"$notes"
    echo "$(date +%s) $part" >>"$notes"
    echo "== $number of $#: $part"
    ;;
  end)
    echo "== All parts passed. Seconds of each:"
    { cat "$notes" && date +%s; } |
      awk 'NR == 1 { first = $1 } NR > 1 { printf "%6d  %s\n", $1 - begin, part } { begin = $1; part = $2 }
        END { printf "%6d  all\n", begin - first }'
    ;;
esac
