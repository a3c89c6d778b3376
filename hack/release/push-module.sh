#!/usr/bin/env bash
# Pushes annotated-policy.wasm as the module of the release in TAG, and signs it. If the registry has this tag, nothing is
# pushed: the module there has to be the one that was built. The reference and its parts become outputs of the
# workflow's step.
#
#   TAG=v<version> hack/release/push-module.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/lib.sh

digest=$(published "$module:$TAG")
if [[ -z $digest ]]; then
  kwctl push annotated-policy.wasm "registry://$module:$TAG"
  digest=$(published "$module:$TAG")
fi
pulled=$(mktemp -d)
trap 'rm -rf "$pulled"' EXIT
kwctl pull --output-path "$pulled/policy.wasm" "registry://$module@$digest"
cmp annotated-policy.wasm "$pulled/policy.wasm" || {
  echo "$module:$TAG is not what this source builds. A published module stays: release it as another version" >&2
  exit 1
}
sign "$module@$digest"
outputs "name=$module" "digest=$digest" "reference=$module@$digest"
