#!/usr/bin/env bash
# Runs a command that compiles. If its output goes to a file or a pipe, a line every 20 seconds says that it still runs.
# Without a terminal, Cargo prints a line only when it begins a package, and one package can take minutes.
#
#   hack/alive.sh COMMAND [ARGUMENT...]
set -euo pipefail

[[ ! -t 2 ]] || exec "$@"

while sleep 20 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
  echo "    still compiling after $SECONDS s" >&2
done &
"$@" && status=0 || status=$?
kill $!
exit "$status"
