#!/usr/bin/env bash
# Do the files that describe the policy say the same? With a release's tag: does that agree too?
#
#   hack/check-packaging.sh [v<version>]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)
status=0

wrong() {
  printf 'packaging: %s\n' "$1" >&2
  status=1
}

same_version() { # <where> <what is there>
  [[ $2 == "$version" ]] || wrong "$1 says version '$2', Cargo.toml says '$version'"
}

annotation() { sed -n "s/^  io\.kubewarden\.policy\.$1: *//p" metadata.yml; }

same_version metadata.yml "$(annotation version)"
anew='(make artifacthub-pkg.yml writes it anew)'
same_version artifacthub-pkg.yml "$(sed -n 's/^version: *//p' artifacthub-pkg.yml)"
[[ $# == 0 ]] || same_version "the tag $1" "${1#v}"

image=$(annotation ociUrl):v$version
grep -qxF "  image: $image" artifacthub-pkg.yml || wrong "artifacthub-pkg.yml does not name the image $image $anew"

# The package carries questions-ui.yml as a block of text, four columns to the right.
packaged=$(awk '/^  kubewarden\/questions-ui:/ { block = 1; next }
  block && /^ ? ?[^ ]/ { exit }
  block { sub(/^    /, ""); print }' artifacthub-pkg.yml)
[[ $packaged == "$(cat questions-ui.yml)" ]] || wrong "artifacthub-pkg.yml has other questions than questions-ui.yml $anew"

exit "$status"
