#!/usr/bin/env bash
# Counts the lines of code (neither blank nor comment) of the product (src and the settings reader), of its
# proof (tests, specification and fuzzing) and of the tools (all the rest). The playground is left out.
# Fails when proof or tools are too large compared with the product.
#
#   hack/weight.sh [<largest proof>] [<largest tools>]     (lines for each line of the product)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files '*.rs' '*.bats' '*.bash' '*.sh' '*.jq' '*.ts' '*.py' |
  grep -v -e '^site/' -e '/seeds/' |
  xargs awk -v most_proof="${1:-2.4}" -v most_tools="${2:-0.7}" '
    FNR == 1 {
      rust = FILENAME ~ /\.rs$/
      kind = FILENAME ~ /^src\/|settings-reader\// ? "product" : "tools"
      if (FILENAME ~ /(^|\/)(tests?|e2e-tests|spec|fuzz|fuzz_targets|baseline)\/|tests\.rs$/) kind = "proof"
    }
    { gsub(/^[ \t]+|[ \t]+$/, "") }
    rust && $0 == "#[cfg(test)]" { kind = "proof" }
    $0 != "" && !/^\*|^\/\*/ && index($0, rust ? "//" : "#") != 1 { lines[kind]++ }
    END {
      proof = lines["proof"] / lines["product"]
      tools = lines["tools"] / lines["product"]
      printf "product %d lines; proof %d, %.2f for each of them, at most %s; tools %d, %.2f, at most %s\n",
        lines["product"], lines["proof"], proof, most_proof, lines["tools"], tools, most_tools
      exit proof > most_proof || tools > most_tools
    }'
