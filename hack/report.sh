#!/usr/bin/env bash
# Prints the lines of code by purpose, and the words of the pages. The lines are those that are neither blank nor
# comment: of the product (src and the settings reader), of its proof (tests, specification and fuzzing), of the
# playground, and of the tools (all the rest).
#
#   hack/report.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files '*.rs' '*.bats' '*.bash' '*.sh' '*.jq' '*.ts' '*.py' | grep -v '/seeds/' | xargs awk '
    FNR == 1 {
      rust = FILENAME ~ /\.rs$/
      kind = FILENAME ~ /^src\// ? "product" : "tools"
      if (FILENAME ~ /(^|\/)(tests?|e2e-tests|spec|fuzz|fuzz_targets)\/|tests\.rs$/) kind = "proof"
      if (FILENAME ~ /^site\//) kind = "playground"
    }
    { gsub(/^[ \t]+|[ \t]+$/, "") }
    rust && $0 == "#[cfg(test)]" { kind = "proof" }
    $0 != "" && !/^\*|^\/\*/ && index($0, rust || kind == "playground" ? "//" : "#") != 1 { lines[kind]++ }
    END {
      printf "Lines: product %d, proof %d, tools %d, playground %d\n", lines["product"], lines["proof"],
        lines["tools"], lines["playground"]
    }'
echo "Words of the pages:"
wc -w ./*.md docs/*.md | sort -rn
