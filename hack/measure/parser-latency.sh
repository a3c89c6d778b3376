#!/usr/bin/env bash
# As policy-server-latency.sh, and beside it a policy that parses the Pod's images with oci-spec (reference-parser/).
#
#   hack/measure/parser-latency.sh    (after `make annotated-policy.wasm`)
. "$(dirname "$0")/lib.sh"
cp -r hack/measure/reference-parser "$tmp"
cp Cargo.lock "$tmp/reference-parser" # the same versions
cargo build --quiet --release --target wasm32-unknown-unknown --manifest-path "$tmp/reference-parser/Cargo.toml" \
  --target-dir "$tmp/target"
annotate "$tmp/target/wasm32-unknown-unknown/release/reference_parser.wasm"
REQUESTS=${REQUESTS:-100} hack/measure/policy-server-latency.sh reference-parser "$tmp/reference_parser.wasm" '{}'
