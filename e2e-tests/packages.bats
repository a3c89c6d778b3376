# The Helm repository that Rancher reads: index.yaml, an entry's first archive, and the files in it.

load lib

setup_file() {
  hack/helm-repository.sh "$BATS_FILE_TMPDIR"
  mkdir "$BATS_FILE_TMPDIR/unpacked"
  tar -xzf "$BATS_FILE_TMPDIR"/*.tgz -C "$BATS_FILE_TMPDIR/unpacked"
}

# yaml FILTER FILE [ARGUMENT...]: prints texts as they are, and other values as JSON.
yaml() { gojq --yaml-input --raw-output --compact-output "$1" "$2" "${@:3}"; }

# of_index FILTER: prints a value of the newest version in the index.
of_index() { yaml ".entries[\"consistent-pull-policy\"][0] | $1" "$BATS_FILE_TMPDIR/index.yaml"; }

@test "the newest version of the index is the archive, at the address that the docs name" {
  chart=$(echo "$BATS_FILE_TMPDIR"/unpacked/*)
  same 'the version of the index' v1 "$(yaml .apiVersion "$BATS_FILE_TMPDIR/index.yaml")"
  same version "$(sed -n 's/^version *= *"\(.*\)"/\1/p' Cargo.toml | head -n 1)" "$(of_index .version)"
  address=$(of_index '.urls[0]')
  grep -qF "\`${address%/*}\`" docs/operations.md || fail "docs/operations.md doesn't have $address"
  same digest "$(sha256sum <"$BATS_FILE_TMPDIR/${address##*/}")" "$(of_index .digest)  -"
  same Chart.yaml "$(yaml . "$chart/Chart.yaml")" "$(of_index 'del(.urls, .created, .digest)')"
  # Helm refuses an annotation that is no text.
  same 'types of annotations' '["string"]' "$(of_index '.annotations | map(type) | unique')"
  # Helm must create no objects.
  same files 'Chart.yaml LICENSE README.md questions.yaml values.yaml' "$(cd "$chart" && echo *)"
  cmp questions-ui.yml "$chart/questions.yaml"
  same 'relative links' '' "$(grep -oE '\]\([^:)]*\)' "$chart/README.md")"
  same 'other text' "$(sed -E 's/\]\([^)]*\)//g' README.md)" "$(sed -E 's/\]\([^)]*\)//g' "$chart/README.md")"
}

@test "Rancher's UI creates the policy of metadata.yml" {
  module=$(yaml '.annotations | "\(.["io.kubewarden.policy.ociUrl"]):v\(.["io.kubewarden.policy.version"])"' metadata.yml)
  same 'module of the values' "$module" "$(yaml '"\(.global.cattle.systemDefaultRegistry)/\(.module.repository):\(.module.tag)"' \
    "$BATS_FILE_TMPDIR"/unpacked/*/values.yaml)"
  same 'module of the annotations' "$module" \
    "$(of_index '.annotations | "\(.["kubewarden/registry"])/\(.["kubewarden/repository"]):\(.["kubewarden/tag"])"')"
  same 'type, hidden, mutation' 'kubewarden-policy true true' "$(of_index '.annotations |
    "\(.["catalog.cattle.io/type"]) \(.["catalog.cattle.io/hidden"]) \(.["kubewarden/mutation"])"')"
  same rules "$(yaml .rules metadata.yml)" "$(of_index '.annotations["kubewarden/rules"]' | yaml . -)"
}
