# Policies in registries: what `push` stores. kwctl has its own tests of it.

load lib
load registry/lib

setup_file() {
  export REGISTRY
  REGISTRY=$(start_registry registry)
}

teardown_file() {
  stop_servers
}

@test "a pushed module comes back byte for byte, and its manifest is Kubewarden's" {
  uri=$REGISTRY/policies/roundtrip:v1.2.3
  reference=$("$XTASK" push "$POLICY" "registry://$uri")
  digest=$(sha256sum <"$POLICY" | cut -d ' ' -f 1)
  for source in "$uri" "${reference#registry://}"; do
    skopeo copy --quiet --src-tls-verify=false "docker://$source" "dir:$BATS_TEST_TMPDIR/pulled"
    cmp "$POLICY" "$BATS_TEST_TMPDIR/pulled/$digest"
  done
  # Nothing in the manifest is random, so the same module always has the same digest.
  same 'another tag' "$reference" "$("$XTASK" push "$POLICY" "registry://$REGISTRY/policies/roundtrip:v2")"

  manifest=$(skopeo inspect --raw --tls-verify=false "docker://$uri")
  same digest "${reference#*@}" "sha256:$(printf %s "$manifest" | sha256sum | cut -d ' ' -f 1)"
  same manifest "$(jq -ncS --arg digest "sha256:$digest" \
    --argjson size "$(wc -c <"$POLICY")" '{
      schemaVersion: 2,
      config: {
        mediaType: "application/vnd.wasm.config.v1+json",
        digest: "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", size: 2},
      layers: [{mediaType: "application/vnd.wasm.content.layer.v1+wasm", digest: $digest, size: $size}]}')" \
    "$(jq -cS 'del(.annotations)' <<<"$manifest")"
  # The manifest has the annotations of metadata.yml, and the source once more under OCI's own key.
  same annotations "$(gojq --yaml-input --compact-output '.annotations
      | .["org.opencontainers.image.source"] = .["io.kubewarden.policy.source"]' metadata.yml)" \
    "$(gojq --compact-output '.annotations | del(.["io.kubewarden.kwctl"])' <<<"$manifest")"
}

@test "an annotated module is not annotated again, as kwctl refuses from 1.37 on; --force replaces its metadata" {
  annotate() { "$XTASK" annotate --metadata-path metadata.yml --usage-path metadata.yml --output-path "$BATS_TEST_TMPDIR/$@"; }
  run annotate twice.wasm "$POLICY"
  same "exit code" 1 "$status"
  [[ $output == *"annotated already"* && ! -e $BATS_TEST_TMPDIR/twice.wasm ]] || fail "$output"
  annotate once.wasm policy.wasm
  annotate replaced.wasm --force "$POLICY"
  cmp "$BATS_TEST_TMPDIR/once.wasm" "$BATS_TEST_TMPDIR/replaced.wasm"
}

@test "a file that is no policy is not pushed" {
  for module in policy.wasm metadata.yml; do
    run "$XTASK" push "$module" "registry://$REGISTRY/policies/plain:v1"
    same "exit code, $module" 1 "$status"
  done
}
