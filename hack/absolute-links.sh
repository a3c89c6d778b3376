#!/usr/bin/env bash
# Reads README.md, and prints it with absolute links to the files of a tag. README.md has relative links. The module,
# Artifact Hub and Rancher's chart show its text in other places, where relative links lead nowhere.
#
#   hack/absolute-links.sh v<version> <README.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source=$(sed -n 's/^  io\.kubewarden\.policy\.source: *//p' metadata.yml)
# A picture needs the address of its file, not of GitHub's page about it. A link with a colon has a scheme, and a link with
# `#` at its start stays on the page.
sed -E "s@(!\[[^]]*\])\(([^#:)][^:)]*)\)@\1(${source/github.com/raw.githubusercontent.com}/$1/\2)@g; s@\]\(([^#:)][^:)]*)\)@](${source}/blob/$1/\1)@g"
