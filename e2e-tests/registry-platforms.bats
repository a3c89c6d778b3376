# registry.platform: the platforms of an image are compared with the platforms that its Pod asks for.

load lib
load registry/lib

setup_file() {
  export REGISTRY AMD BOTH SINGLE ATTESTED
  REGISTRY=$(start_registry registry)
  # The image AMD has an index with amd64 and an attestation. BOTH has an index with three platforms.
  # SINGLE has a manifest and no index. The index of ATTESTED has only attestations.
  AMD=$REGISTRY/team/app:v1 BOTH=$REGISTRY/both:1 SINGLE=$REGISTRY/single:1 ATTESTED=$REGISTRY/attested:1
  publish "$AMD" amd amd64 unknown/unknown
  publish "$BOTH" both amd64 arm64 windows/amd64
  publish "$SINGLE" single
  publish "$ATTESTED" attested unknown/unknown unknown/unknown
}

teardown_file() {
  stop_servers
}

lookup=Verify
reject=$(with '"platform":"Reject"')

# affinity FILTER VALUES...: prints a filter that sets a required node affinity. FILTER makes its terms of the
# expressions, one for each list of values of kubernetes.io/arch.
affinity() {
  local terms
  terms=$(printf '%s\n' "${@:2}" | in_jq -c '{key: "kubernetes.io/arch", operator: "In", values: .}' | in_jq -sc "$1")
  echo ".object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms = $terms"
}

# required ALTERNATIVE...: the terms of the affinity are alternatives.
required() {
  affinity 'map({matchExpressions: [.]})' "$@"
}

# both_of VALUES VALUES: one term has all expressions.
both_of() {
  affinity '[{matchExpressions: .}]' "$@"
}

@test "the sentence names the platforms of the image and of the Pod, and the field to change" {
  pod "app app $AMD" '.object.spec.nodeSelector["kubernetes.io/arch"] = "arm64"'
  consult "$reject"
  rejected "registry app $AMD linux/amd64 arm64 spec.nodeSelector"
  asked_for "$AMD" "${AMD%:*}@$(digest_of "$AMD")"
  same 'host calls' '!OciManifestDigest !OciManifest' "$(grep -o '!Oci.*' "$BATS_TEST_TMPDIR/answer.json.session" | paste -sd ' ')"
}

@test "a Pod asks for platforms with nodeSelector, required affinity and os.name" {
  # If no node can match any term, the Pod asks for contradicting platforms, whatever its nodeSelector says.
  while IFS='^' read -r image told filter; do
    row="$image $told $filter"
    pod "app app ${!image}" "$filter"
    consult "$reject"
    if [[ $told == '-' ]]; then
      untouched
    else
      rejected "registry app ${!image} $told"
    fi
  done <<ROWS
AMD^-^.
AMD^arm64^$(required "[$(printf '"amd64",%.0s' {1..40})\"arm64\"]")
AMD^arm64^$(required $(printf '["amd64"] %.0s' {1..40}) '["arm64"]')
AMD^windows^.object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms = [{matchExpressions: [{key: "kubernetes.io/os", operator: "In", values: ([range(40) | "linux"] + ["windows"])}]}]
AMD^-^.object.spec.nodeSelector["kubernetes.io/arch"] = "amd64"
AMD^-^.object.spec.nodeSelector.disk = "ssd"
AMD^-^$(required '["amd64"]')
AMD^-^.object.spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms = [{matchExpressions: [{key: "kubernetes.io/arch", operator: "NotIn", values: ["amd64"]}]}]
AMD^-^.object.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution = [{weight: 1, preference: {matchExpressions: [{key: "kubernetes.io/arch", operator: "In", values: ["arm64"]}]}}]
AMD^arm64^$(required '["arm64"]')
AMD^arm64^$(required '["amd64","arm64"]')
AMD^arm64^$(required '["amd64"]' '["arm64"]')
AMD^-^$(both_of '["amd64","arm64"]' '["amd64"]')
AMD^arm64^$(both_of '["amd64","arm64"]' '["arm64"]')
AMD^-^$(both_of '["amd64"]' '["arm64"]')
AMD^-^$(both_of '["amd64"]' '["arm64"]') | .object.spec.nodeSelector["kubernetes.io/arch"] = "arm64"
AMD^windows^.object.spec.os.name = "windows"
AMD^-^.object.spec.os.name = "linux"
AMD^windows/amd64^.object.spec.nodeSelector = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64"}
BOTH^-^.object.spec.nodeSelector = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64"}
BOTH^windows/arm64^.object.spec.nodeSelector = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "arm64"}
BOTH^-^$(required '["amd64","arm64"]')
BOTH^s390x^.object.spec.nodeSelector["kubernetes.io/arch"] = "s390x"
SINGLE^-^.object.spec.nodeSelector["kubernetes.io/arch"] = "s390x"
ATTESTED^-^.object.spec.nodeSelector["kubernetes.io/arch"] = "s390x"
ROWS
}

@test "an image of a Pod that asks for no platform costs one call" {
  pod "app app $AMD"
  consult "$reject"
  untouched
  asked_for "$AMD"
  same 'host calls' '!OciManifestDigest' "$(grep -o '!Oci.*' "$BATS_TEST_TMPDIR/answer.json.session" | paste -sd ' ')"
}

# Verify looks up an image with a digest, to see that the digest exists. Pin looks up an image with a
# digest only to get its platforms.
@test "platform Warn lowers Reject of a failed lookup only for a digest that is looked up for its platforms alone" {
  gone=$AMD@sha256:$(printf '%064d' 1)
  pod "app app $gone" '.object.spec.nodeSelector["kubernetes.io/arch"] = "arm64"'
  consult "$(with '"platform":"Warn"')"
  rejected "registry app $gone ${told[notFound]}"
  lookup=Pin
  consult "$(with '"platform":"Warn"')"
  kept
  told_of "${AMD%:*}@${gone#*@}" notFound KeepTag
  consult "$(with '"platform":"Reject"')"
  rejected "registry app $gone ${told[notFound]}"
}

@test "a refused capability for manifests: the message names it" {
  pod "app app $AMD" '.object.spec.nodeSelector["kubernetes.io/arch"] = "arm64"'
  host_flags=(--allowed-host-capabilities oci/v1/manifest_digest)
  consult "$(with '"platform":"Reject","onUnknown":"Reject"')"
  rejected "registry app $AMD oci/v1/oci_manifest hostCapabilities"
}
