#!/usr/bin/env bash
# Reads README.md, and prints it with absolute links to the files of a tag. README.md has relative links. The module,
# Artifact Hub and Rancher's chart show its text in other places, where relative links lead nowhere.
#
#   hack/absolute-links.sh v<version> <README.md
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

source=$(sed -n 's/^  io\.kubewarden\.policy\.source: *//p' metadata.yml)
# A link with a colon has a scheme, and a link with `#` at its start stays on the page.
sed -E "s@\]\(([^#:)][^:)]*)\)@](${source}/blob/$1/\1)@g"
