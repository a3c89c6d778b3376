#!/usr/bin/env bash
# Checks that the files that describe this policy name the same version, and that Artifact Hub's package is
# up to date. With the tag of a release, it also checks the tag, and that the changelog has this version.
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

same_version() { # <file> <version in it>
  [[ $2 == "$version" ]] || wrong "$1 says version '$2', Cargo.toml says '$version'"
}

annotation() { sed -n "s/^  io\.kubewarden\.policy\.$1: *//p" metadata.yml; }

rust=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
grep -q "^channel *= *\"$rust\." rust-toolchain.toml || wrong "rust-toolchain.toml has another Rust than $rust of Cargo.toml"

same_version metadata.yml "$(annotation version)"
same_version chart/values.yaml "$(sed -n 's/^  tag: v//p' chart/values.yaml)"
if [[ $# != 0 ]]; then
  same_version "the tag $1" "${1#v}"
  grep -qF "## [$version]" CHANGELOG.md || wrong "CHANGELOG.md has no section [$version]"
fi

# Users copy references from these files, so each reference has to name the version in Cargo.toml.
image=$(annotation ociUrl)
while IFS=: read -r file line reference; do
  [[ $reference == "$image:v$version" ]] ||
    wrong "$file, line $line: $reference is not $image:v$version"
done < <(grep -rnoE --include='*.md' --include='*.yaml' "${image//./\\.}:v[0-9A-Za-z.+-]+" README.md .github docs examples)

hack/artifacthub-pkg.sh --check || status=1

exit "$status"
