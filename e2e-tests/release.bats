# The steps of the release workflow are the scripts in hack/release. Here they run in a copy of the
# repository, with a registry on the loopback. Fake programs replace those that need GitHub, and
# write down their calls. The fake cosign really signs and verifies, with a key instead of GitHub's
# identity (e2e-tests/cosign).

load lib
load registry/lib

setup_file() {
  export REGISTRY COPY=$BATS_FILE_TMPDIR/copy BIN=$BATS_FILE_TMPDIR/bin
  export TAG CALLS=$BATS_FILE_TMPDIR/calls
  REGISTRY=$(start_registry registry)
  TAG=v$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)

  # The copy is ready for a release: it is committed and tagged, and the changelog has a section.
  mkdir -p "$COPY" "$BIN"
  git ls-files -z | xargs -0 cp --parents -t "$COPY"
  cd "$COPY" || return
  sed -i "s/^## \[Unreleased\]$/## [${TAG#v}] - 2026-01-01/" CHANGELOG.md
  in_the_copy "$XTASK" artifacthub
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

  # Each call is a line. After a release was created, it exists.
  cat >"$BIN/gh" <<'SH'
#!/usr/bin/env bash
printf 'gh %s\n' "$*" >>"$CALLS"
case "$1 $2" in
  "release view") grep -q '^gh release create' "$CALLS" ;;
  "release create" | "release edit")
    while [[ $# != 0 ]]; do
      [[ $1 != --notes-file ]] || cp "$2" "$CALLS.notes"
      shift
    done
    ;;
esac
SH
  cat >"$BIN/kwctl" <<'SH'
#!/usr/bin/env bash
[[ $1 == verify && $2 == --verification-config-path && $# == 4 ]] || exit
printf 'kwctl verify %s\n' "$4" >>"$CALLS"
cp "$3" "$CALLS.verification-config"
SH
  # A check of GitHub's identity becomes a check of the key.
  export COSIGN KEY=$BATS_FILE_TMPDIR/key COSIGN_PASSWORD=secret
  COSIGN=$(realpath "${XTASK%/*}/cosign")
  cat >"$BIN/cosign" <<'SH'
#!/usr/bin/env bash
printf 'cosign %s\n' "$*" >>"$CALLS"
command=$1 key=$KEY.key arguments=()
[[ $command != verify* ]] || key=$KEY.pub
while shift && [[ $# != 0 ]]; do
  case $1 in
    --certificate-identity | --certificate-oidc-issuer) shift ;;
    *) arguments+=("$1") ;;
  esac
done
exec "$COSIGN" "$command" --key "$key" "${arguments[@]}"
SH
  chmod +x "$BIN"/*
  "$COSIGN" generate-key-pair --output-key-prefix "$KEY"
}

teardown_file() {
  stop_servers
}

# in_the_copy COMMAND...: runs the command in the copy, with the fake programs and with the tools of
# this build. The dependencies are compiled already, except for the second of the two builds.
in_the_copy() {
  (
    cd "$COPY" && env PATH="$BIN:$PATH" XTASK="$XTASK" CARGO_MANIFEST_DIR="$COPY/xtask" \
      CARGO_TARGET_DIR="${XTASK%/xtask/xtask}" GITHUB_REPOSITORY=owner/repository \
      GITHUB_OUTPUT="$BATS_FILE_TMPDIR/outputs" "$@"
  )
}

# output NAME: an output of the step that pushed.
output() { sed -n "s/^$1=//p" "$BATS_FILE_TMPDIR/outputs" | tail -n 1; }

# Each test continues after the test before it, as the steps of the workflow do.

@test "check: the tag, the metadata, the changelog and the package agree" {
  in_the_copy hack/check-packaging.sh "$TAG"
  run in_the_copy hack/check-packaging.sh v99.0.0
  same 'exit code' 1 "$status"
  [[ $output == *"the tag v99.0.0 says version '99.0.0'"* ]] || fail "$output"
  mv "$COPY/CHANGELOG.md" "$COPY/CHANGELOG.was"
  sed "s/^## \[${TAG#v}\]/## [Unreleased]/" "$COPY/CHANGELOG.was" >"$COPY/CHANGELOG.md"
  run in_the_copy hack/check-packaging.sh "$TAG"
  same 'exit code' 1 "$status"
  [[ $output == *"CHANGELOG.md has no section [${TAG#v}]"* ]] || fail "$output"
  mv "$COPY/CHANGELOG.was" "$COPY/CHANGELOG.md"
}

@test "build: two builds have the same bytes" {
  in_the_copy hack/release/build.sh
  cd "$COPY"
  sha256sum --check SHA256SUMS
  # The module of the tests has the same bytes too, because the same tool has annotated it.
  real_host || cmp annotated-policy.wasm "$OLDPWD/annotated-policy.wasm"
}

@test "components: the list has those of the module, and is signed" {
  in_the_copy hack/release/sbom.sh
  cd "$COPY"
  packages=$(jq -r '.packages[] | "\(.name) v\(.versionInfo)"' policy-sbom.spdx.json | sort)
  same components "$(cargo --locked tree --target wasm32-unknown-unknown --edges normal --prefix none \
    --format '{p}' | cut -d ' ' -f 1,2 | sort -u)" "$packages"
  grep -q '^wapc-guest v' <<<"$packages"
  ! grep -E '^(wasmtime|oci-client) ' <<<"$packages" || fail "these are the host's"
  # Each relationship is between listed packages.
  same 'loose ends' '[]' "$(jq -c '[.packages[].SPDXID, .files[]?.SPDXID, .SPDXID] as $known
    | [.relationships[] | .spdxElementId, .relatedSpdxElement] - $known' policy-sbom.spdx.json)"
  "$COSIGN" verify-blob --key "$KEY.pub" \
    --bundle policy-sbom.spdx.jsonl.bundle.sigstore policy-sbom.spdx.json
}

@test "push: the module is in the registry, and signed" {
  in_the_copy hack/release/push.sh "$REGISTRY/policies" "$TAG"
  reference=$(output reference)
  same name "$REGISTRY/policies/consistent-pull-policy" "$(output name)"
  same reference "$(output name)@$(output digest)" "$reference"
  manifest=$(skopeo inspect --raw --tls-verify=false "docker://$(output name):$TAG")
  same digest "$(output digest)" "sha256:$(printf %s "$manifest" | sha256sum | cut -d ' ' -f 1)"
  # The signature is there in both formats. Only cosign uses the new one, so this test just looks
  # for it.
  same signatures 2 "$(grep -cx "cosign sign --yes --new-bundle-format=[a-z]* --use-signing-config=[a-z]* $reference" "$CALLS")"
  # The layer is the file whose SHA-256 is published.
  same layer "sha256:$(sed -n 's/  annotated-policy.wasm$//p' "$COPY/SHA256SUMS")" \
    "$(jq -r '.layers[0].digest' <<<"$manifest")"
}

@test "verify: a signed module passes, and no other" {
  : >"$CALLS"
  in_the_copy hack/release/verify.sh "$(output reference)" "$TAG"
  # The command is that of docs/verify.md, with another workflow.
  workflow=https://github.com/owner/repository/.github/workflows/release.yml@refs/tags/
  signer="--certificate-identity $workflow$TAG --certificate-oidc-issuer https://token.actions.githubusercontent.com"
  same calls "cosign verify $signer $(output reference)
cosign verify-blob $signer --bundle policy-sbom.spdx.jsonl.bundle.sigstore policy-sbom.spdx.json
kwctl verify registry://$(output reference)
gh attestation verify oci://$(output reference) --repo owner/repository
gh attestation verify annotated-policy.wasm --repo owner/repository" "$(cat "$CALLS")"
  grep -qxF "      urlPrefix: $workflow" "$CALLS.verification-config"

  # A module that was signed with another key.
  other=$BATS_TEST_TMPDIR/other
  "$COSIGN" generate-key-pair --output-key-prefix "$other"
  run "$COSIGN" verify --key "$other.pub" "$(output reference)"
  same 'exit code' 1 "$status"
  # A module without a signature.
  unsigned=$("$XTASK" push --force --output json policy.wasm "registry://$REGISTRY/policies/unsigned:v1" | jq -r .immutable_ref)
  run "$COSIGN" verify --key "$KEY.pub" "$unsigned"
  same 'exit code' 1 "$status"
  # A module that was changed after it was signed.
  echo >>"$COPY/annotated-policy.wasm"
  run in_the_copy hack/release/verify.sh "$(output reference)" "$TAG"
  same 'exit code' 1 "$status"
  truncate -s -1 "$COPY/annotated-policy.wasm"
  jq '.packages += [{}]' "$COPY/policy-sbom.spdx.json" >"$BATS_TEST_TMPDIR/sbom.json"
  run "$COSIGN" verify-blob --key "$KEY.pub" \
    --bundle "$COPY/policy-sbom.spdx.jsonl.bundle.sigstore" "$BATS_TEST_TMPDIR/sbom.json"
  same 'exit code' 1 "$status"
}

# trust_root FILE: writes a trust root of a Sigstore that doesn't exist, so that the host doesn't
# fetch the certificates of the public one.
trust_root() {
  local ca=$BATS_TEST_TMPDIR/ca
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=nobody \
    -keyout "$ca.key" -out "$ca.der" -outform DER
  openssl ec -in "$ca.key" -pubout -outform DER -out "$ca.pub"
  jq -n --arg ca "$(base64 -w 0 "$ca.der")" --arg key "$(base64 -w 0 "$ca.pub")" \
    --arg id "$(openssl dgst -sha256 -binary "$ca.pub" | base64 -w 0)" '
    {start: "2020-01-01T00:00:00Z"} as $valid | "http://127.0.0.1:1" as $nowhere
    | "application/vnd.dev.sigstore." as $type
    | {mediaType: "\($type)clienttrustconfig.v0.1+json",
       trustedRoot: {
         mediaType: "\($type)trustedroot+json;version=0.1", ctlogs: [], timestampAuthorities: [],
         tlogs: [{baseUrl: $nowhere, hashAlgorithm: "SHA2_256", logId: {keyId: $id},
           publicKey: {rawBytes: $key, keyDetails: "PKIX_ECDSA_P256_SHA_256", validFor: $valid}}],
         certificateAuthorities: [{subject: {commonName: "nobody"}, uri: $nowhere, validFor: $valid,
           certChain: {certificates: [{rawBytes: $ca}]}}]},
       signingConfig: {mediaType: "\($type)signingconfig.v0.2+json",
         caUrls: [], oidcUrls: [], rekorTlogUrls: [], tsaUrls: []}}' >"$1"
}

@test "verify: the real host gives the same results" {
  real_host || skip "KWCTL=kwctl runs this"
  trust_root "$BATS_TEST_TMPDIR/trust.json" 2>"$BATS_TEST_TMPDIR/openssl.log"
  host=("$KWCTL" verify --sources-path "$BATS_FILE_TMPDIR/sources.yml"
    --sigstore-trust-config "$BATS_TEST_TMPDIR/trust.json")
  # A verification file as users have it, with a key.
  signed_by() { printf '%s\n' 'apiVersion: v1' allOf: '- kind: pubKey' '  key: |' && sed 's/^/    /' "$1"; }
  signed_by "$KEY.pub" >"$BATS_TEST_TMPDIR/key.yml"
  "${host[@]}" --verification-config-path "$BATS_TEST_TMPDIR/key.yml" "registry://$(output reference)"
  "$COSIGN" generate-key-pair --output-key-prefix "$BATS_TEST_TMPDIR/other"
  signed_by "$BATS_TEST_TMPDIR/other.pub" >"$BATS_TEST_TMPDIR/other.yml"
  run "${host[@]}" --verification-config-path "$BATS_TEST_TMPDIR/other.yml" "registry://$(output reference)"
  same 'exit code' 1 "$status"
  [[ $output == *'constraints were not satisfied'*'kind: pubKey'* ]] || fail "$output"
  # The verification file of the docs wants the signature of the release, and a key on disk can't
  # make it.
  run "${host[@]}" --verification-config-path docs/verification-config.yml "registry://$(output reference)"
  same 'exit code' 1 "$status"
  [[ $output == *'constraints were not satisfied'*'release.yml@refs/tags/'* ]] || fail "$output"
}

@test "the package is that of kwctl, except for fields that kwctl can't know" {
  real_host || skip "KWCTL=kwctl runs this"
  "$XTASK" artifacthub --as-kwctl --output-path "$BATS_TEST_TMPDIR/ours.yml"
  "$KWCTL" scaffold artifacthub --metadata-path metadata.yml --questions-path questions-ui.yml \
    --output "$BATS_TEST_TMPDIR/theirs.yml"
  same package "$(grep -v '^createdAt: ' "$BATS_TEST_TMPDIR/theirs.yml")" \
    "$(grep -v '^createdAt: ' "$BATS_TEST_TMPDIR/ours.yml")"
}

@test "release: it has its notes and files, and is created once" {
  : >"$CALLS"
  in_the_copy hack/release/github.sh "$(output reference)" "$TAG"
  created=$(sed -n 's/^gh release create //p' "$CALLS")
  [[ $created == "$TAG --latest --verify-tag "*' policy.wasm annotated-policy.wasm SHA256SUMS policy-sbom.spdx.json policy-sbom.spdx.jsonl.bundle.sigstore' ]] ||
    fail "$created"
  # The changelog's section, the module, its digests.
  grep -qxF '### Added' "$CALLS.notes"
  [[ $(grep -c '^## ' "$CALLS.notes") == 1 ]] || fail "$(cat "$CALLS.notes")"
  grep -qF "registry://$(output reference)" "$CALLS.notes"
  while read -r line; do grep -qxF "$line" "$CALLS.notes"; done <"$COPY/SHA256SUMS"

  # After a failure the step runs again: the release stays, and its files are replaced.
  in_the_copy hack/release/github.sh "$(output reference)" "$TAG"
  same creations 1 "$(grep -c '^gh release create' "$CALLS")"
  grep -q "^gh release upload $TAG --clobber policy.wasm" "$CALLS"
  in_the_copy hack/release/github.sh "$(output reference)" v9.9.9-rc.1
  grep -q '^gh release edit v9.9.9-rc.1 --prerelease' "$CALLS"
}

@test "Artifact Hub: the branch has the package of the tag, and one commit for each tag" {
  in_the_copy hack/release/artifacthub.sh "$TAG"
  origin=$BATS_FILE_TMPDIR/origin
  same files 'README.md artifacthub-pkg.yml artifacthub-repo.yml' \
    "$(git -C "$origin" ls-tree --name-only artifacthub | tr '\n' ' ' | sed 's/ $//')"
  same package "$(git -C "$COPY" show "$TAG:artifacthub-pkg.yml")" "$(git -C "$origin" show artifacthub:artifacthub-pkg.yml)"
  # The branch has no history of the source.
  same commits 1 "$(git -C "$origin" rev-list --count artifacthub)"

  in_the_copy hack/release/artifacthub.sh "$TAG"
  same 'commits, repeated' 1 "$(git -C "$origin" rev-list --count artifacthub)"

  # The next version adds a commit.
  (cd "$COPY" && sed -i 's/^description: .*/description: another/' artifacthub-pkg.yml &&
    git commit --quiet --all --message Next && git tag v99.0.0)
  in_the_copy hack/release/artifacthub.sh v99.0.0
  same 'commits, the next' 2 "$(git -C "$origin" rev-list --count artifacthub)"
  git -C "$origin" show artifacthub:artifacthub-pkg.yml | grep -qx 'description: another'
  # The working copy is unchanged.
  same branch main "$(git -C "$COPY" branch --show-current)"
  same worktrees 1 "$(git -C "$COPY" worktree list | wc -l)"
}
