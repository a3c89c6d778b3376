#!/usr/bin/env bash
# Builds the survey's command for Linux, linked statically, and packs it as a plugin of kubectl. The archive's digest is added to
# SHA256SUMS.
#
#   hack/release/survey.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

target=x86_64-unknown-linux-musl
program=kubectl-consistent_pull_policy
rustup target add "$target"
cargo --locked build --release --package survey-command --target "$target"
archive=$program-linux-amd64.tar.gz
tar --create --gzip --file "$archive" --owner 0 --group 0 LICENSE NOTICES.txt \
  --directory "${CARGO_TARGET_DIR:-$PWD/target}/$target/release" "$program"
sha256sum "$archive" >>SHA256SUMS
