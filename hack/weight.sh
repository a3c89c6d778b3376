#!/usr/bin/env bash
# Counts the lines of code (neither blank nor comment) of the product (src and the settings reader), of its
# proof (tests, specification and fuzzing) and of the tools (all the rest). The playground is left out.
# Fails when one of the three is larger than its limit. The limits are numbers of lines and no ratios, because
# a ratio falls when the product grows.
#
#   hack/weight.sh [<most lines of the product> <of the proof> <of the tools>]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files '*.rs' '*.bats' '*.bash' '*.sh' '*.jq' '*.ts' '*.py' |
  grep -v -e '^site/' -e '/seeds/' |
  xargs awk -v most_product="${1:-6700}" -v most_proof="${2:-16000}" -v most_tools="${3:-3650}" '
    FNR == 1 {
      rust = FILENAME ~ /\.rs$/
      kind = FILENAME ~ /^src\/|settings-reader\// ? "product" : "tools"
      if (FILENAME ~ /(^|\/)(tests?|e2e-tests|spec|fuzz|fuzz_targets|baseline)\/|tests\.rs$/) kind = "proof"
    }
    { gsub(/^[ \t]+|[ \t]+$/, "") }
    rust && $0 == "#[cfg(test)]" { kind = "proof" }
    $0 != "" && !/^\*|^\/\*/ && index($0, rust ? "//" : "#") != 1 { lines[kind]++ }
    END {
      printf "product %d lines of at most %d; proof %d of %d; tools %d of %d\n", lines["product"], most_product,
        lines["proof"], most_proof, lines["tools"], most_tools
      exit lines["product"] > most_product || lines["proof"] > most_proof || lines["tools"] > most_tools
    }'
