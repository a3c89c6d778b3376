# Tests of the steps of the release workflow, the scripts in hack/release. These run in a copy of the
# repository, with a registry on the loopback interface. The real release uses gh, kwctl and cosign with
# GitHub's identity. Here a script replaces each of these programs and writes down the arguments. The
# script for cosign "signs" by storing an image reference or the digest of a file.

load lib
load registry/lib

setup_file() {
  export REGISTRY COPY=$BATS_FILE_TMPDIR/copy BIN=$BATS_FILE_TMPDIR/bin
  export TAG CALLS=$BATS_FILE_TMPDIR/calls
  REGISTRY=$(start_registry registry)
  TAG=v$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)

  # The copy of the repository is committed and tagged, and its changelog has a section for the version.
  mkdir -p "$COPY" "$BIN"
  git ls-files -z | xargs -0 cp --parents -t "$COPY"
  cd "$COPY" || return
  sed -i "s/^## \[Unreleased\]$/## [${TAG#v}] - 2026-01-01/" CHANGELOG.md
  in_the_copy hack/artifacthub-pkg.sh
  git init --quiet --bare --initial-branch main "$BATS_FILE_TMPDIR/origin"
  git init --quiet --initial-branch main
  git config user.name test
  git config user.email test@example.com
  git remote add origin "$BATS_FILE_TMPDIR/origin"
  git add --all
  git commit --quiet --message "Release $TAG"
  git tag "$TAG"
  git push --quiet origin main "$TAG"
  cd "$OLDPWD" || return

  # The slow tests replace these files. Without the slow tests, the others use them as they are.
  cp policy.wasm annotated-policy.wasm "$COPY"
  (
    cd "$COPY" && sha256sum annotated-policy.wasm policy.wasm >SHA256SUMS
    echo '{}' >policy-sbom.spdx.json
    sha256sum policy-sbom.spdx.json >policy-sbom.spdx.jsonl.bundle.sigstore
  )

  # `gh release view` succeeds only after `gh release create`. A copy of the release notes is kept.
  cat >"$BIN/gh" <<'SH'
#!/usr/bin/env bash
printf 'gh %s\n' "$*" >>"$CALLS"
case "$1 $2" in
  "release view") grep -q '^gh release create' "$CALLS" ;;
  "release create" | "release edit")
    while [[ $# != 0 ]]; do
      [[ $1 != --notes-file ]] || cp "$2" "$CALLS.notes"
      shift
    done ;;
esac
SH
  cat >"$BIN/kwctl" <<'SH'
#!/usr/bin/env bash
case "$1 $2" in
  "annotate "*) "$XTASK" "$@" ;;
  "--version "*) echo 'kwctl 0' ;;
  "push --output") printf '{"immutable_ref":"%s"}' "$("$XTASK" push "${@:4}" | sed 's,^registry://,,')" ;;
  "pull --output-path")
    skopeo copy --quiet --src-tls-verify=false "docker://${4#registry://}" "dir:$CALLS.pulled"
    cp "$CALLS.pulled/$(jq -r '.layers[0].digest | ltrimstr("sha256:")' "$CALLS.pulled/manifest.json")" "$3"
    ;;
  "verify --verification-config-path")
    printf 'kwctl verify %s\n' "$4" >>"$CALLS"
    cp "$3" "$CALLS.verification-config" ;;
esac
SH
  # The last argument is the reference or file to sign or verify. A bundle has the signed file's digest.
  cat >"$BIN/cosign" <<'SH'
#!/usr/bin/env bash
printf 'cosign %s\n' "$*" >>"$CALLS"
signed=${*: -1} bundle=$(sed -n 's/.*--bundle \([^ ]*\).*/\1/p' <<<"$*")
case $1 in
  sign) echo "$signed" >>"$CALLS.signed" ;;
  verify) grep -qxF "$signed" "$CALLS.signed" ;;
  sign-blob) sha256sum "$signed" >"$bundle" ;;
  verify-blob) sha256sum --check --status "$bundle" ;;
esac
SH
  chmod +x "$BIN"/*
}

teardown_file() {
  stop_servers
}

# in_the_copy COMMAND...: runs COMMAND in the copy, with the scripts that replace gh, kwctl and cosign. The
# copy uses this repository's target directory, so only the second build compiles the dependencies
# again.
in_the_copy() {
  (
    cd "$COPY" && env PATH="$BIN:$PATH" XTASK="$XTASK" CARGO_MANIFEST_DIR="$COPY/xtask" \
      CARGO_TARGET_DIR="${XTASK%/xtask/xtask}" GITHUB_REPOSITORY=owner/repository \
      GITHUB_OUTPUT="$BATS_FILE_TMPDIR/outputs" "$@"
  )
}

# output NAME: prints this output of hack/release/push.sh.
output() { sed -n "s/^$1=//p" "$BATS_FILE_TMPDIR/outputs" | tail -n 1; }

# A test may need the results of the tests before it, as a step of the workflow does.

@test "check: the tag, the metadata, the changelog and the package agree" {
  in_the_copy hack/check-packaging.sh "$TAG"
  mv "$COPY/CHANGELOG.md" "$BATS_TEST_TMPDIR"
  echo '# Changelog' >"$COPY/CHANGELOG.md"
  run in_the_copy hack/check-packaging.sh v99.0.0
  mv "$BATS_TEST_TMPDIR/CHANGELOG.md" "$COPY"
  same 'exit code' 1 "$status"
  [[ $output == *"the tag v99.0.0 says version '99.0.0'"*"CHANGELOG.md has no section [${TAG#v}]"* ]] || fail "$output"
}

# bats test_tags=slow
@test "build: twice, with the same bytes" {
  in_the_copy hack/release/build.sh
  cd "$COPY"
  sha256sum --check SHA256SUMS
  # With KWCTL=kwctl, kwctl has annotated the tests' module, so its bytes may differ from this build's.
  real_host || cmp annotated-policy.wasm "$OLDPWD/annotated-policy.wasm"
}

# bats test_tags=slow
@test "components: the list has the packages of the module" {
  in_the_copy hack/release/sbom.sh
  cd "$COPY"
  packages=$(jq -r '.packages[] | "\(.name) v\(.versionInfo)"' policy-sbom.spdx.json | sort)
  same components "$(cargo --locked tree --target wasm32-unknown-unknown --edges normal --prefix none \
    --format '{p}' | cut -d ' ' -f 1,2 | sort -u)" "$packages"
  grep -q '^wapc-guest v' <<<"$packages"
  # Each relationship refers only to listed packages, listed files and the document itself.
  same 'loose ends' '[]' "$(jq -c '[.packages[].SPDXID, .files[]?.SPDXID, .SPDXID] as $known
    | [.relationships[] | .spdxElementId, .relatedSpdxElement] - $known' policy-sbom.spdx.json)"
}

@test "push: the module is in the registry, and signed in both formats" {
  in_the_copy hack/release/push.sh "$REGISTRY/policies" "$TAG"
  reference=$(output reference)
  same name "$REGISTRY/policies/consistent-pull-policy" "$(output name)"
  same reference "$(output name)@$(output digest)" "$reference"
  manifest=$(skopeo inspect --raw --tls-verify=false "docker://$(output name):$TAG")
  same digest "$(output digest)" "sha256:$(printf %s "$manifest" | sha256sum | cut -d ' ' -f 1)"
  same signatures 2 "$(grep -cx "cosign sign --yes --new-bundle-format=[a-z]* --use-signing-config=[a-z]* $reference" "$CALLS")"
  # The layer is the file annotated-policy.wasm, whose SHA-256 is published in SHA256SUMS.
  same layer "sha256:$(sed -n 's/  annotated-policy.wasm$//p' "$COPY/SHA256SUMS")" \
    "$(jq -r '.layers[0].digest' <<<"$manifest")"
}

@test "verify: the pushed module passes, and a module or a list of components that was changed later does not" {
  : >"$CALLS"
  in_the_copy hack/release/verify.sh "$(output reference)" "$TAG"
  # The expected signer is the signer in docs/verify.md, but with the repository owner/repository.
  workflow=https://github.com/owner/repository/.github/workflows/release.yml@refs/tags/
  signer="--certificate-identity $workflow$TAG --certificate-oidc-issuer https://token.actions.githubusercontent.com"
  same calls "cosign verify $signer $(output reference)
cosign verify-blob $signer --bundle policy-sbom.spdx.jsonl.bundle.sigstore policy-sbom.spdx.json
kwctl verify registry://$(output reference)
gh attestation verify oci://$(output reference) --repo owner/repository
gh attestation verify annotated-policy.wasm --repo owner/repository" "$(cat "$CALLS")"
  grep -qxF "      urlPrefix: $workflow" "$CALLS.verification-config"

  for file in annotated-policy.wasm policy-sbom.spdx.json; do
    echo >>"$COPY/$file"
    run in_the_copy hack/release/verify.sh "$(output reference)" "$TAG"
    same "exit code, $file" 1 "$status"
    truncate -s -1 "$COPY/$file"
  done
  run in_the_copy hack/release/verify.sh "${REGISTRY}/policies/unsigned:v1" "$TAG"
  same 'exit code, unsigned' 1 "$status"
}

@test "the package has every value that kwctl writes, except for the provider and the recommended chart" {
  real_host || skip "KWCTL=kwctl runs this"
  "$KWCTL" scaffold artifacthub --metadata-path metadata.yml --questions-path questions-ui.yml \
    --output "$BATS_TEST_TMPDIR/theirs.yml"
  # The two packages write the rules differently, as YAML in a text. kwctl 1.36 still recommends the chart
  # kubewarden-controller, which is deprecated since 1.36.
  values() { gojq --yaml-input --compact-output 'del(.createdAt, .provider, .recommendations, .annotations["kubewarden/rules"])
    | tostream | select(length == 2)' "$1"; }
  empty 'values of kwctl only' "$(values "$BATS_TEST_TMPDIR/theirs.yml" | grep -vxF -f <(values artifacthub-pkg.yml))"
}

@test "release: it gets its notes and files, and the step can be repeated" {
  : >"$CALLS"
  in_the_copy hack/release/github.sh "$(output reference)" "$TAG"
  created=$(sed -n 's/^gh release create //p' "$CALLS")
  [[ $created == "$TAG --latest --verify-tag "*' policy.wasm annotated-policy.wasm SHA256SUMS policy-sbom.spdx.json policy-sbom.spdx.jsonl.bundle.sigstore' ]] ||
    fail "$created"
  # The notes have the version's section of the changelog, the module's address and the lines of SHA256SUMS.
  grep -qxF '### Added' "$CALLS.notes"
  [[ $(grep -c '^## ' "$CALLS.notes") == 1 ]] || fail "$(cat "$CALLS.notes")"
  grep -qF "registry://$(output reference)" "$CALLS.notes"
  while read -r line; do grep -qxF "$line" "$CALLS.notes"; done <"$COPY/SHA256SUMS"

  in_the_copy hack/release/github.sh "$(output reference)" "$TAG"
  same creations 1 "$(grep -c '^gh release create' "$CALLS")"
  grep -q "^gh release upload $TAG --clobber policy.wasm" "$CALLS"
  in_the_copy hack/release/github.sh "$(output reference)" v9.9.9-rc.1
  grep -q '^gh release edit v9.9.9-rc.1 --prerelease' "$CALLS"
}

@test "Artifact Hub: a branch with the package of the tag, and one commit for each release" {
  origin=$BATS_FILE_TMPDIR/origin
  for _ in first repeated; do
    in_the_copy hack/release/artifacthub.sh "$TAG"
    # The branch artifacthub has one commit, without the history of the source code.
    same commits 1 "$(git -C "$origin" rev-list --count artifacthub)"
  done
  same files 'README.md artifacthub-pkg.yml artifacthub-repo.yml' \
    "$(git -C "$origin" ls-tree --name-only artifacthub | tr '\n' ' ' | sed 's/ $//')"
  same package "$(git -C "$COPY" show "$TAG:artifacthub-pkg.yml")" "$(git -C "$origin" show artifacthub:artifacthub-pkg.yml)"

  (cd "$COPY" && sed -i 's/^description: .*/description: another/' artifacthub-pkg.yml &&
    git commit --quiet --all --message Next && git tag v99.0.0)
  in_the_copy hack/release/artifacthub.sh v99.0.0
  same 'commits, the next' 2 "$(git -C "$origin" rev-list --count artifacthub)"
  git -C "$origin" show artifacthub:artifacthub-pkg.yml | grep -qx 'description: another'
  same worktrees 1 "$(git -C "$COPY" worktree list | wc -l)"
}
