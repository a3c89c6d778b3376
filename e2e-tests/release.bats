# The release workflow's steps, which are the scripts in hack/release, run in a copy of the repository
# against a registry on the loopback. The programs that need GitHub are stand-ins that write down what
# they are asked. cosign's signs and verifies for real, with a key in place of GitHub's identity
# (e2e-tests/cosign).

load lib
load registry/lib

setup_file() {
  export REGISTRY COPY=$BATS_FILE_TMPDIR/copy BIN=$BATS_FILE_TMPDIR/bin
  export TAG CALLS=$BATS_FILE_TMPDIR/calls
  REGISTRY=$(start_registry registry)
  TAG=v$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)

  # A copy at the moment of its release: committed, tagged, with a section in the changelog.
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

  # Each call is a line. There is a release once one was created.
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
  # Whatever is asked of GitHub's identity is asked of the key.
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

# in_the_copy COMMAND...: with the stand-ins, and with this build's tools, as if they were the copy's.
# The dependencies are compiled already, but for the second build of two.
in_the_copy() {
  (
    cd "$COPY" && env PATH="$BIN:$PATH" XTASK="$XTASK" CARGO_MANIFEST_DIR="$COPY/xtask" \
      CARGO_TARGET_DIR="${XTASK%/xtask/xtask}" GITHUB_REPOSITORY=owner/repository \
      GITHUB_OUTPUT="$BATS_FILE_TMPDIR/outputs" "$@"
  )
}

# output NAME: of the step that pushed.
output() { sed -n "s/^$1=//p" "$BATS_FILE_TMPDIR/outputs" | tail -n 1; }

# The tests go on where the one before them ended, as the workflow does.

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

@test "build: twice, with the same bytes" {
  in_the_copy hack/release/build.sh
  cd "$COPY"
  sha256sum --check SHA256SUMS
  # Here as well, where the tests' module is annotated by the same tool.
  real_host || cmp annotated-policy.wasm "$OLDPWD/annotated-policy.wasm"
}

@test "components: those of the module, signed" {
  in_the_copy hack/release/sbom.sh
  cd "$COPY"
  packages=$(jq -r '.packages[] | "\(.name) v\(.versionInfo)"' policy-sbom.spdx.json | sort)
  same components "$(cargo --locked tree --target wasm32-unknown-unknown --edges normal --prefix none \
    --format '{p}' | cut -d ' ' -f 1,2 | sort -u)" "$packages"
  grep -q '^wapc-guest v' <<<"$packages"
  ! grep -E '^(wasmtime|oci-client) ' <<<"$packages" || fail "these are the host's"
  # Each relationship is between packages that are listed.
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
  # In both formats, though the new one is cosign's own and only asked for here.
  same signatures 2 "$(grep -cx "cosign sign --yes --new-bundle-format=[a-z]* --use-signing-config=[a-z]* $reference" "$CALLS")"
  # Its layer is the file whose SHA-256 is published.
  same layer "sha256:$(sed -n 's/  annotated-policy.wasm$//p' "$COPY/SHA256SUMS")" \
    "$(jq -r '.layers[0].digest' <<<"$manifest")"
}

@test "verify: what was signed passes, anything else doesn't" {
  : >"$CALLS"
  in_the_copy hack/release/verify.sh "$(output reference)" "$TAG"
  # As docs/verify.md tells users to, but for whose workflow it is.
  workflow=https://github.com/owner/repository/.github/workflows/release.yml@refs/tags/
  signer="--certificate-identity $workflow$TAG --certificate-oidc-issuer https://token.actions.githubusercontent.com"
  same calls "cosign verify $signer $(output reference)
cosign verify-blob $signer --bundle policy-sbom.spdx.jsonl.bundle.sigstore policy-sbom.spdx.json
kwctl verify registry://$(output reference)
gh attestation verify oci://$(output reference) --repo owner/repository
gh attestation verify annotated-policy.wasm --repo owner/repository" "$(cat "$CALLS")"
  grep -qxF "      urlPrefix: $workflow" "$CALLS.verification-config"

  # Another key signed it.
  other=$BATS_TEST_TMPDIR/other
  "$COSIGN" generate-key-pair --output-key-prefix "$other"
  run "$COSIGN" verify --key "$other.pub" "$(output reference)"
  same 'exit code' 1 "$status"
  # Nobody signed it.
  unsigned=$("$XTASK" push --force --output json policy.wasm "registry://$REGISTRY/policies/unsigned:v1" | jq -r .immutable_ref)
  run "$COSIGN" verify --key "$KEY.pub" "$unsigned"
  same 'exit code' 1 "$status"
  # Something was changed after it was signed.
  echo >>"$COPY/annotated-policy.wasm"
  run in_the_copy hack/release/verify.sh "$(output reference)" "$TAG"
  same 'exit code' 1 "$status"
  truncate -s -1 "$COPY/annotated-policy.wasm"
  jq '.packages += [{}]' "$COPY/policy-sbom.spdx.json" >"$BATS_TEST_TMPDIR/sbom.json"
  run "$COSIGN" verify-blob --key "$KEY.pub" \
    --bundle "$COPY/policy-sbom.spdx.jsonl.bundle.sigstore" "$BATS_TEST_TMPDIR/sbom.json"
  same 'exit code' 1 "$status"
}

# trust_root FILE: a Sigstore of nobody's, so that the host doesn't fetch the public one's certificates.
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

@test "verify: so does the real host" {
  real_host || skip "KWCTL=kwctl runs this"
  trust_root "$BATS_TEST_TMPDIR/trust.json" 2>"$BATS_TEST_TMPDIR/openssl.log"
  host=("$KWCTL" verify --sources-path "$BATS_FILE_TMPDIR/sources.yml"
    --sigstore-trust-config "$BATS_TEST_TMPDIR/trust.json")
  # A file of users' form, which names a key.
  signed_by() { printf '%s\n' 'apiVersion: v1' allOf: '- kind: pubKey' '  key: |' && sed 's/^/    /' "$1"; }
  signed_by "$KEY.pub" >"$BATS_TEST_TMPDIR/key.yml"
  "${host[@]}" --verification-config-path "$BATS_TEST_TMPDIR/key.yml" "registry://$(output reference)"
  "$COSIGN" generate-key-pair --output-key-prefix "$BATS_TEST_TMPDIR/other"
  signed_by "$BATS_TEST_TMPDIR/other.pub" >"$BATS_TEST_TMPDIR/other.yml"
  run "${host[@]}" --verification-config-path "$BATS_TEST_TMPDIR/other.yml" "registry://$(output reference)"
  same 'exit code' 1 "$status"
  [[ $output == *'constraints were not satisfied'*'kind: pubKey'* ]] || fail "$output"
  # Users' file wants the release's signature, and a key on disk is none.
  run "${host[@]}" --verification-config-path docs/verification-config.yml "registry://$(output reference)"
  same 'exit code' 1 "$status"
  [[ $output == *'constraints were not satisfied'*'release.yml@refs/tags/'* ]] || fail "$output"
}

@test "the package is what kwctl writes, but for what it can't know" {
  real_host || skip "KWCTL=kwctl runs this"
  "$XTASK" artifacthub --as-kwctl --output-path "$BATS_TEST_TMPDIR/ours.yml"
  "$KWCTL" scaffold artifacthub --metadata-path metadata.yml --questions-path questions-ui.yml \
    --output "$BATS_TEST_TMPDIR/theirs.yml"
  same package "$(grep -v '^createdAt: ' "$BATS_TEST_TMPDIR/theirs.yml")" \
    "$(grep -v '^createdAt: ' "$BATS_TEST_TMPDIR/ours.yml")"
}

@test "release: with its notes, its files, and once" {
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

  # Repeated after something failed: the same release, its files anew.
  in_the_copy hack/release/github.sh "$(output reference)" "$TAG"
  same creations 1 "$(grep -c '^gh release create' "$CALLS")"
  grep -q "^gh release upload $TAG --clobber policy.wasm" "$CALLS"
  in_the_copy hack/release/github.sh "$(output reference)" v9.9.9-rc.1
  grep -q '^gh release edit v9.9.9-rc.1 --prerelease' "$CALLS"
}

@test "Artifact Hub: a branch with the package of the tag, and a commit for each" {
  in_the_copy hack/release/artifacthub.sh "$TAG"
  origin=$BATS_FILE_TMPDIR/origin
  same files 'README.md artifacthub-pkg.yml artifacthub-repo.yml' \
    "$(git -C "$origin" ls-tree --name-only artifacthub | tr '\n' ' ' | sed 's/ $//')"
  same package "$(git -C "$COPY" show "$TAG:artifacthub-pkg.yml")" "$(git -C "$origin" show artifacthub:artifacthub-pkg.yml)"
  # No history of the source.
  same commits 1 "$(git -C "$origin" rev-list --count artifacthub)"

  in_the_copy hack/release/artifacthub.sh "$TAG"
  same 'commits, repeated' 1 "$(git -C "$origin" rev-list --count artifacthub)"

  # The next version.
  (cd "$COPY" && sed -i 's/^description: .*/description: another/' artifacthub-pkg.yml &&
    git commit --quiet --all --message Next && git tag v99.0.0)
  in_the_copy hack/release/artifacthub.sh v99.0.0
  same 'commits, the next' 2 "$(git -C "$origin" rev-list --count artifacthub)"
  git -C "$origin" show artifacthub:artifacthub-pkg.yml | grep -qx 'description: another'
  # The copy itself is as it was.
  same branch main "$(git -C "$COPY" branch --show-current)"
  same worktrees 1 "$(git -C "$COPY" worktree list | wc -l)"
}
