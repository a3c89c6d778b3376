#!/usr/bin/env bash
# Writes what the commit of a release changes: the version, wherever it stands, the changelog's heading with the date, and the
# files that are made from these. It takes the words about the time before the first release away. It commits nothing.
#
#   hack/release/prepare.sh <version>
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/lib.sh

[[ ${1:-} =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "usage: hack/release/prepare.sh <version>, such as 1.2.3 or 1.2.3-rc.1" >&2; exit 2; }
grep -q '^## \[Unreleased\]$' CHANGELOG.md || { echo "CHANGELOG.md has no section [Unreleased]: write what has changed" >&2; exit 1; }

old=$(version)
sed -i "0,/^version *=/s/^version *=.*/version = \"$1\"/" Cargo.toml
cargo update --quiet --offline --workspace
git grep -lE "($names_version)${old//./\\.}" -- "${texts[@]}" | xargs --no-run-if-empty sed -i -E "s#($names_version)${old//./\\.}#\1$1#g"
sed -i "s/^## \[Unreleased\]$/## [$1] - $(date -u +%F)/" CHANGELOG.md
sed -i "/^$before_begin$/,/^$before_end$/d" README.md
hack/artifacthub-pkg.sh
hack/check-packaging.sh "v$1"
