#!/usr/bin/env bash
# Writes artifacthub-pkg.yml with kwctl, from metadata.yml and questions-ui.yml. The time in it
# changes only when the version does, so that the same files give the same package.
#
#   hack/artifacthub-pkg.sh [--check]
#
#   --check  write nothing, and fail if the file is not what would be written
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

package=artifacthub-pkg.yml
command -v kwctl >/dev/null || {
  echo "kwctl is not on the PATH: https://docs.kubewarden.io/howtos/install-kwctl" >&2
  exit 1
}

new=$(mktemp)
trap 'rm -f "$new" "$new.bak" "$new.dated"' EXIT
kwctl scaffold artifacthub --metadata-path metadata.yml --questions-path questions-ui.yml --output "$new"

sed -i.bak 's/^\(createdAt: .*\)\.[0-9]*Z$/\1Z/' "$new" # to the second
line() { sed -n "/^$1: /p" "$2"; }
if [[ -f $package && $(line version "$package") == "$(line version "$new")" ]]; then
  sed "s|^createdAt: .*|$(line createdAt "$package")|" "$new" >"$new.dated"
  mv "$new.dated" "$new"
fi

if [[ ${1-} == --check ]]; then
  diff -u "$package" "$new" || {
    echo "$package is out of date: make $package" >&2
    exit 1
  }
else
  cat "$new" >"$package"
fi
