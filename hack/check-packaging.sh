#!/usr/bin/env bash
# Checks the files that describe this policy: they name one version, what is made from others is up to date, and no text
# promises a release that is still to come, outside of the marked lines of README.md. With the tag of a release, it
# also refuses these lines, and checks that the changelog has this version.
#
#   hack/check-packaging.sh [v<version>]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. hack/release/lib.sh

version=$(version)
status=0

wrong() {
  printf 'packaging: %s\n' "$1" >&2
  status=1
}

same_version() { # <file> <version in it>
  [[ $2 == "$version" ]] || wrong "$1 says version '$2', Cargo.toml says '$version'"
}

rust=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)
grep -q "^channel *= *\"$rust\." rust-toolchain.toml || wrong "rust-toolchain.toml has another Rust than $rust of Cargo.toml"

same_version metadata.yml "$(annotation version)"
same_version chart/values.yaml "$(sed -n 's/^  tag: v//p' chart/values.yaml)"
# Users copy addresses from these files, so each address has to name the version in Cargo.toml.
while IFS=: read -r file line address; do
  address=${address%.tgz}
  [[ $address == *[v:\ -]"$version" ]] || wrong "$file, line $line: $address does not end with $version"
done < <(grep -rnoE "($names_version)[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]*[0-9a-z])?" "${texts[@]}")

if [[ $# != 0 ]]; then
  same_version "the tag $1" "${1#v}"
  grep -q "^## \[${version//./\\.}\] - 20[0-9-]*$" CHANGELOG.md || wrong "CHANGELOG.md has no section [$version] with a date"
  ! grep -qFe "$before_begin" -e "$before_end" README.md || wrong "README.md has words about the time before the first release: hack/release/prepare.sh takes them away"
fi

# Words about a release that is still to come, outside of the marked lines.
to_come=$({ sed "/^$before_begin$/,/^$before_end$/d" README.md; grep -v '^## \[Unreleased\]$' CHANGELOG.md; grep -rhI . "${texts[@]:1}"; } |
  grep -iE "unreleased|(not|nothing|never) (\w+ ){0,2}(published|released)|(first|next|coming|no) release" || true)
[[ -z $to_come ]] || wrong "these words are about a release that is still to come; their place is between the marks in README.md: $to_come"
grep -qE "^helm install [^ ]+ oci://$chart --version $version( |$)" README.md || wrong "README.md does not install oci://$chart"

# What is made from metadata.yml (Rancher's form, `kwctl scaffold manifest`) begins with its rules. So the kinds are those
# that the rules deliver, and each rule is one of an example's.
kinds=$(gojq --yaml-input --raw-output '[.rules[].resources[] | {pods: "Pod", "pods/ephemeralcontainers": "Pod"}[.]]
  | unique | join(", ")' metadata.yml)
named=$(gojq --yaml-input --raw-output '.annotations["io.artifacthub.resources"]' metadata.yml)
[[ $kinds == "$named" ]] || wrong "metadata.yml: its rules deliver the kinds '$kinds', and io.artifacthub.resources names '$named'"
requests() { gojq --yaml-input --raw-output "$1"' | "\(.resources[]) \(.operations[])"' "${@:2}" | sort --unique; }
missing=$(comm -23 <(requests '.rules[]' metadata.yml) <(requests 'objects | .spec.rules? // [] | .[]' examples/*.yaml))
[[ -z $missing ]] || wrong "metadata.yml: no example registers $missing"

# Artifact Hub shows the id when the repository is added there, which is after the first release.
(($(grep -c '^## \[' CHANGELOG.md) < 2)) || grep -q '^repositoryID: [0-9a-f-]\{36\}$' artifacthub-repo.yml ||
  wrong "artifacthub-repo.yml has no repositoryID. After the first release, add the repository to Artifact Hub (.github/workflows/release.yml says how), and write the id that it shows"

hack/artifacthub-pkg.sh --check || status=1
# The slowest check comes last, and only where nothing else is wrong.
((status)) || hack/release/notices.sh --check || status=1

exit "$status"
