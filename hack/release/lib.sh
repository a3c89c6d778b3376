# What several scripts know about a release. They source this file in the root of the repository.
# shellcheck shell=bash

# version: the version of this source.
version() { sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1; }

# annotation KEY: the value of io.kubewarden.policy.KEY in metadata.yml.
annotation() { sed -n "s/^  io\.kubewarden\.policy\.$1: *//p" metadata.yml; }

# The module's address, without its tag, and the chart's. A chart can't be in the module's own repository, because Rancher
# takes each tag of a repository for a version of a chart.
module=$(annotation ociUrl)
chart=${module%/policies/*}/charts/${module##*/}

# The lines of README.md between these two say what to do as long as nothing is published. A tagged commit hasn't them.
before_begin='<!-- begin: before the first release -->'
before_end='<!-- end: before the first release -->'

# What stands before the version of this policy in texts, as an extended regular expression.
names_version="policies/${module##*/}:v|${chart##*/}-|charts/${chart##*/}:|${chart##*/} --version |${chart##*/}\", version: |refs/tags/v|/${module##*/}/v|--branch v|targetRevision: |ref: \\{tag: |^ *[a-z.]*(tag: v|policy\\.version: )"
names_version+='|`module\.tag` \| `v'

# The files with texts for users.
texts=(README.md COMPARE.md .github/SECURITY.md metadata.yml questions-ui.yml artifacthub-pkg.yml chart docs examples site/index.html site/src)

# Who signs: the workflow on GitHub, for the tag in TAG.
repository=$(annotation source)
signer=(
  --certificate-identity "$repository/.github/workflows/release.yml@refs/tags/${TAG:-}"
  --certificate-oidc-issuer https://token.actions.githubusercontent.com
)

# published REFERENCE: prints the digest behind a tag, and nothing if the registry doesn't have this tag. A registry that gives
# no answer is an error: a tag that can't be read must not be pushed again. A read that is denied is none, because a push
# with the same credentials creates the repository, or is denied too.
published() {
  local work
  work=$(mktemp -d)
  if skopeo inspect --raw "docker://$1" >"$work/manifest" 2>"$work/error"; then
    sha256sum "$work/manifest" | sed 's/^\([0-9a-f]*\).*/sha256:\1/'
  elif ! grep --quiet --ignore-case --extended-regexp 'manifest unknown|name unknown|not found|denied|unauthorized' "$work/error"; then
    cat "$work/error" >&2
    return 1
  fi
  rm -r "$work"
}

# sign REFERENCE: signs what is in a registry, in cosign's old format and as a bundle of cosign 3, because not every verifier
# reads these bundles. A format that is there is left as it is.
sign() {
  local format
  for format in false true; do
    cosign verify --new-bundle-format="$format" "${signer[@]}" "$1" >/dev/null 2>&1 ||
      cosign sign --yes --new-bundle-format="$format" --use-signing-config="$format" "$1"
  done
}

# outputs NAME=VALUE...: outputs of the workflow's step.
outputs() { printf '%s\n' "$@" | tee -a "${GITHUB_OUTPUT:-/dev/null}"; }
