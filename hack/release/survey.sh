#!/usr/bin/env bash
# Builds the survey's command, a plugin of kubectl. For Linux it is linked statically. Without targets, it is built for Linux,
# packed with the programs for macOS that another machine has built, and krew's manifest is written. What is packed is added
# to SHA256SUMS.
#
#   hack/release/survey.sh [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

program=kubectl-consistent_pull_policy
# Rust's own linker needs no C compiler for the other processor.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld

targets=("$@")
(($#)) || targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
for target in "${targets[@]}"; do
  rustup target add "$target"
  cargo --locked build --release --package survey-command --target "$target"
done
(($# == 0)) || exit 0

while read -r target platform; do
  folder=${CARGO_TARGET_DIR:-$PWD/target}/$target/release
  [[ -e $folder/$program ]] || continue
  chmod +x "$folder/$program"
  archive=$program-$platform.tar.gz
  tar --create --gzip --file "$archive" --owner 0 --group 0 LICENSE NOTICES.txt --directory "$folder" "$program"
  sha256sum "$archive" >>SHA256SUMS
done <<'PLATFORMS'
x86_64-unknown-linux-musl linux-amd64
aarch64-unknown-linux-musl linux-arm64
x86_64-apple-darwin darwin-amd64
aarch64-apple-darwin darwin-arm64
PLATFORMS
hack/release/krew.sh "$TAG" <SHA256SUMS >krew.yaml
sha256sum krew.yaml >>SHA256SUMS
