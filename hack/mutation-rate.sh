#!/usr/bin/env bash
# Reads outcomes.json of one or more runs of `make mutants`. Prints how many mutants the tests noticed, and
# lists the mutants that no test noticed.
#
#   hack/mutation-rate.sh mutants.out/outcomes.json...
set -euo pipefail

jq --slurp --raw-output '
  (map(.caught + .timeout) | add) as $noticed
  | (map(.missed) | add) as $missed
  | "\($noticed) of \($noticed + $missed) mutants are noticed: \($noticed / ($noticed + $missed) * 1000 | round / 10) %",
    (.[].outcomes[] | select(.summary == "MissedMutant") | "- `\(.scenario.Mutant.name)`")
' "$@"
