# The rehearsal: the release workflow publishes two versions, one after another, from a copy of the repository. A registry on
# the loopback interface is ghcr.io, and a web server on a folder is GitHub's releases and Pages: the copy has their addresses in
# place of the real ones. The workflow's own steps run, each job in a new clone of the tag. Only these are replaced:
# compilers (the module of `make test` is annotated for each version), actions of others, and the programs gh, kwctl and
# cosign. "Signing" and "attesting" write a digest down, and "verifying" looks for it there.

load lib
load registry/lib

setup_file() {
  export REGISTRY WEB=$BATS_FILE_TMPDIR/web COPY=$BATS_FILE_TMPDIR/copy BIN=$BATS_FILE_TMPDIR/bin
  export STATE=$BATS_FILE_TMPDIR/state ROOT=$PWD HELM SITE XTASK
  export HELM_CACHE_HOME=$BATS_FILE_TMPDIR/helm SKOPEO
  HELM=$(command -v helm) SKOPEO=$(command -v skopeo)
  REGISTRY=$(start_registry registry)
  # The tests stop the registry, and start it again at the same address.
  sed -i "s/127\.0\.0\.1:0/$REGISTRY/" "$BATS_FILE_TMPDIR/registry/config.yml"
  mkdir -p "$WEB/pages" "$WEB/github/releases/download" "$COPY" "$BIN" "$STATE"
  start web python3 -u -m http.server --bind 127.0.0.1 --directory "$WEB" 0
  SITE=http://127.0.0.1:$(port_of web 's/.* port \([0-9]*\) .*/\1/p')

  git ls-files -z -- ':!test_data' ':!e2e-tests/cluster' ':!e2e-tests/rows' ':!site/tests' | xargs -0 cp --parents -t "$COPY"
  cd "$COPY" || return
  grep -rlE 'ghcr\.io|consistent-pull-policy\.github\.io|github\.com/consistent-pull-policy' . --exclude-dir=site | xargs sed -i -E "
    s#ghcr\.io(/consistent-pull-policy|\$)#$REGISTRY\1#g
    s#https://consistent-pull-policy\.github\.io/consistent-pull-policy#$SITE/pages#g
    s#https://github\.com/consistent-pull-policy/consistent-pull-policy#$SITE/github#g"
  programs
  git init --quiet --bare --initial-branch main "$BATS_FILE_TMPDIR/origin"
  git init --quiet --initial-branch main
  git config user.name test
  git config user.email test@example.com
  git remote add origin "$BATS_FILE_TMPDIR/origin"
  git add --all
  # The hook notes when the package for Artifact Hub is there.
  printf '%s\n' '#!/usr/bin/env bash' 'while read -r _ _ ref; do [[ $ref != */artifacthub ]] || echo "push $ref" >>"$STATE/events"; done' >"$BATS_FILE_TMPDIR/origin/hooks/post-receive"
  chmod +x "$BATS_FILE_TMPDIR/origin/hooks/post-receive"

  before_first_release
  tag 0.1.0
  workflow v0.1.0
  # What an operator has written for 0.1.0.
  printf '%s\n' 'example: agent-stack-k8s' 'settings: {images: {preferAlways: [nginx]}}' >values.yaml
}

teardown_file() { stop_servers; }

# A server ends with the test that has started it, and a test stops the registry. So each test starts it.
setup() {
  stop registry
  start_again
}

start_again() {
  start registry env -i PATH="$PATH" docker-registry serve "$BATS_FILE_TMPDIR/registry/config.yml"
  until is_registry "$REGISTRY" 2>/dev/null; do sleep 0.02; done
}

# in_copy COMMAND...: runs a command in the copy, or in the clone of a job.
in_copy() { (cd "${clone:-$COPY}" && env PATH="$BIN:$PATH" "$@"); }

# tag VERSION: commits and tags what hack/release/prepare.sh writes for a version.
tag() {
  in_copy hack/release/prepare.sh "$1" &&
    in_copy git add --all && in_copy git commit --quiet --message "Release $1" && in_copy git tag "v$1" &&
    in_copy git push --quiet origin main "v$1"
}

# next FILE SED-COMMAND: changes a file, and adds to the changelog that something has changed.
next() {
  sed -i "$2" "$COPY/$1"
  sed -i '0,/^## /s//## [Unreleased]\n\n### Changed\n\n- Something.\n\n## /' "$COPY/CHANGELOG.md"
}

# programs: writes the programs that stand in for gh, kwctl and cosign, and helm and skopeo over plain HTTP.
programs() {
  cat >"$BIN/gh" <<'SH'
#!/usr/bin/env bash
folder=$WEB/github/releases/download/${3:-}
case "$1 $2" in
  "attestation verify")
    [[ $3 != --repo ]] || set -- "$1" "$2" "$5"
    case $3 in
      oci://*@*) digest=${3#*@}; echo "verify $3" >>"$STATE/events" ;;
      oci://*) digest=$(published "${3#oci://}") ;;
      *) digest=sha256:$(sha256sum "$3" | cut -d ' ' -f 1) ;;
    esac
    grep -qxF "$digest" "$STATE/attested" ;;
  "release view") [[ -e $folder ]] && echo false ;;
  "release create")
    [[ ! -e $folder ]] || { echo "a release $3 exists" >&2; exit 1; }
    rm -rf "$folder.new" && mkdir "$folder.new"
    until [[ $4 == --title ]]; do [[ $4 == --verify-tag ]] || touch "$folder.new/.$4"; set -- "${@:1:3}" "${@:5}"; done
    cp "$7" "$folder.new/.notes"
    cp "${@:8}" "$folder.new" || exit
    mv "$folder.new" "$folder"
    echo "release $3" >>"$STATE/events" ;;
  "release list")
    [[ $* == *" --exclude-drafts --exclude-pre-releases "* ]] || exit 1
    cd "$WEB/github/releases/download" || exit
    for tag in v*; do [[ -e $tag/.--prerelease ]] || echo "$tag"; done |
      jq --raw-input '{tagName: ., publishedAt: "2026-01-0\(.[3:4])T00:00:00Z"}' | jq --slurp . ;;
  "release download") mkdir -p "$7" && cp "$folder"/$5 "$7" ;;
  *) exit 1 ;;
esac
SH
  cat >"$BIN/kwctl" <<'SH'
#!/usr/bin/env bash
case $1 in
  annotate)
    # kwctl and xtask also start the module, for which a host compiles it anew for each version.
    gojq --yaml-input --compact-output --rawfile usage "$5" '.annotations["io.kubewarden.policy.usage"] = $usage' "$3" | python3 -c '
import sys
name, metadata = b"io.kubewarden.metadata", sys.stdin.buffer.read()
section, length = bytes([len(name)]) + name + metadata, b""
size = len(section)
while size > 127:
    length, size = length + bytes([size % 128 + 128]), size // 128
sys.stdout.buffer.write(b"\0" + length + bytes([size]) + section)' | cat "$8" - >"$7" ;;
  --version) echo 'kwctl 0' ;;
  push) "$XTASK" "$@" && echo "push $3" >>"$STATE/events" ;;
  pull)
    [[ $2 != --verification-config-path ]] || set -- pull --output-path "$STATE/policy.wasm" "$4"
    skopeo copy --quiet "docker://${4#registry://}" "dir:$STATE/pulled" &&
      cp "$STATE/pulled/$(jq -r '.layers[0].digest | ltrimstr("sha256:")' "$STATE/pulled/manifest.json")" "$3" ;;
  verify) grep -q "urlPrefix: $SITE/github/.github/workflows/release.yml@refs/tags/\$" "$3" ;;
  *) exit 1 ;;
esac
SH
  # What is signed: the format, the signer and the digest.
  cat >"$BIN/cosign" <<'SH'
#!/usr/bin/env bash
[[ ! -e $STATE/sigstore-is-away || $1 != sign ]] || exit 1
reference=${*: -1} format=true
[[ $* != *--new-bundle-format=false* ]] || format=false
digest=${reference##*@}
case $1 in
  sign) echo "$format $SITE/github/.github/workflows/release.yml@refs/tags/$TAG $digest" >>"$STATE/signed"; echo "sign $reference" >>"$STATE/events" ;;
  verify)
    [[ $reference == *@* ]] || digest=$(published "$reference")
    grep -qxF "$format $(sed 's/.*--certificate-identity \([^ ]*\).*/\1/' <<<"$*") $digest" "$STATE/signed" ;;
  sign-blob) sha256sum "$reference" >"$(sed 's/.*--bundle \([^ ]*\).*/\1/' <<<"$*")" ;;
  verify-blob) sha256sum --check --status "$(sed 's/.*--bundle \([^ ]*\).*/\1/' <<<"$*")" ;;
  *) exit 1 ;;
esac
SH
  cat >"$BIN/helm" <<'SH'
#!/usr/bin/env bash
http=()
[[ $* != *oci://* ]] || http=(--plain-http)
# There is no cluster, so an upgrade prints what it would apply.
[[ $1 != upgrade && $1 != install ]] || set -- template "${@:2}"
"$HELM" "$@" "${http[@]}" && { [[ $1 != push ]] || echo "push $3/$2" >>"$STATE/events"; }
SH
  cat >"$BIN/skopeo" <<'SH'
#!/usr/bin/env bash
tls=--tls-verify=false
[[ $1 != copy ]] || tls=--src-tls-verify=false
exec "$SKOPEO" "$1" $tls "${@:2}"
SH
  # published REFERENCE: the digest behind a tag.
  cat >"$BIN/published" <<'SH'
#!/usr/bin/env bash
echo "sha256:$("$SKOPEO" inspect --raw --tls-verify=false "docker://$1" | sha256sum | cut -d ' ' -f 1)"
SH
  chmod +x "$BIN"/*
}

# ---- a small part of GitHub's workflows -------------------------------------------------------

# workflow TAG [STEP COMMAND...]: runs the release workflow for a tag, each job when its needs are met, until a step fails. Of
# several jobs that could run, the first one by its name runs. After STEP, it runs the command.
workflow() {
  local TAG=$1 hooked=${2:-} hook=("${@:3}") job done=() skipped=()
  export TAG
  gojq --yaml-input '.jobs | map_values(.needs |= (if type == "string" then [.] else . // [] end))' \
    "$COPY/.github/workflows/release.yml" >"$STATE/jobs.json"
  while job=$(jq --exit-status --raw-output '[to_entries[] | select((.key | IN($ARGS.positional[]) | not)
      and all(.value.needs[]; IN($ARGS.positional[])))] | first.key // empty' "$STATE/jobs.json" --args -- "${done[@]}" "${skipped[@]}"); do
    if jq --exit-status --arg job "$job" 'any(.[$job].needs[]; IN($ARGS.positional[]))' "$STATE/jobs.json" --args -- "${skipped[@]}" >/dev/null ||
      ! condition "$(jq --raw-output --arg job "$job" '.[$job].if // ""' "$STATE/jobs.json")"; then
      skipped+=("$job")
    else
      echo "job $job" >>"$STATE/events"
      [[ $job == test ]] || run_job "$job" || return
      done+=("$job")
    fi
  done
}

condition() {
  case $1 in
  '') ;;
  "\${{ !contains(github.ref_name, '-') }}") [[ $TAG != *-* ]] ;;
  *) fail "a condition that this rehearsal doesn't know: $1" ;;
  esac
}

# run_job NAME: runs its steps in a new clone.
run_job() {
  local clone=$BATS_FILE_TMPDIR/clone step name
  rm -rf "$clone"
  git clone --quiet --branch "$TAG" "$BATS_FILE_TMPDIR/origin" "$clone" 2>/dev/null
  while read -r step; do
    name=$(jq --raw-output '.name // .uses // .run' <<<"$step")
    run_step "$step" 3>&- >"$STATE/output" 2>&1 || { echo "$TAG: the step failed: $name" && cat "$STATE/output"; return 1; } >&2
    [[ $name != "$hooked" ]] || "${hook[@]}" || return
  done < <(jq --compact-output --arg job "$1" '.[$job].steps[]' "$STATE/jobs.json")
}

# value EXPRESSION: the value of one of the workflow's expressions.
value() {
  case $1 in
  github.ref_name) echo "$TAG" ;;
  github.*) echo "${1#*.}" ;;
  steps.*.outputs.*) tac "$STATE/${1%%.outputs.*}" | sed -n "s/^${1##*.}=//p" | head -n 1 ;;
  esac
}

# run_step JSON: runs a step.
run_step() {
  local step=$1 expression
  while expression=$(grep --only-matching --max-count 1 '\${{ [^}]* }}' <<<"$step" | head -n 1) && [[ -n $expression ]]; do
    step=${step//"$expression"/$(value "$(cut -d ' ' -f 2 <<<"$expression")")}
  done
  with() { jq --raw-output --arg key "$1" '.with[$key] // empty' <<<"$step"; }
  case $(jq --raw-output '.uses // .run' <<<"$step") in
  actions/attest-build-provenance@*)
    local digest
    digest=$(with subject-digest)
    [[ -z $digest ]] || echo "attest $(with subject-name)@$digest" >>"$STATE/events"
    { [[ -z $digest ]] || echo "$digest"; [[ -n $digest ]] || sed 's/ .*//; s/^/sha256:/' "$clone/$(with subject-checksums)"; } >>"$STATE/attested"
    ;;
  actions/upload-pages-artifact@*) rm -rf "$STATE/artifact" && cp -r "$clone/$(with path)" "$STATE/artifact" ;;
  actions/deploy-pages@*) rm -rf "$WEB/pages" && cp -r "$STATE/artifact" "$WEB/pages" && echo "page" >>"$STATE/events" ;;
  actions/checkout@* | */setup-node@* | */*-installer@* | docker/login-action@* | hack/setup.sh*) ;;
  'make site-build') mkdir -p "$clone/site/dist" && echo "$TAG" >"$clone/site/dist/index.html" ;;
  # The compilers' part of a release.
  hack/release/build.sh)
    cp "$ROOT/policy.wasm" "$clone"
    in_copy hack/absolute-links.sh "$TAG" <"$clone/README.md" >"$BATS_FILE_TMPDIR/README.md"
    in_copy kwctl annotate --metadata-path metadata.yml --usage-path "$BATS_FILE_TMPDIR/README.md" --output-path annotated-policy.wasm policy.wasm
    in_copy sh -c 'sha256sum annotated-policy.wasm policy.wasm >SHA256SUMS'
    ;;
  hack/release/survey.sh) in_copy sh -c 'tar -czf kubectl-consistent_pull_policy-linux-amd64.tar.gz LICENSE && sha256sum *.tar.gz >>SHA256SUMS' ;;
  # It takes seconds, so it runs once for each commit.
  hack/check-packaging.sh*) [[ -e $STATE/checked.$(in_copy git rev-parse HEAD) ]] || { in_copy hack/check-packaging.sh "$TAG" && touch "$STATE/checked.$(in_copy git rev-parse HEAD)"; } ;;
  hack/release/sbom.sh) in_copy sh -c 'echo "{}" >policy-sbom.spdx.json && cosign sign-blob --bundle policy-sbom.spdx.jsonl.bundle.sigstore policy-sbom.spdx.json' ;;
  *)
    local variables
    mapfile -t variables < <(jq --raw-output '.env // {} | to_entries[] | "\(.key)=\(.value)"' <<<"$step")
    in_copy env "${variables[@]}" GITHUB_OUTPUT="$STATE/steps.$(jq --raw-output '.id // "none"' <<<"$step")" \
      CHART_SCHEMA="${XTASK%/*}/chart-schema" bash -e -o pipefail -c "$(jq --raw-output .run <<<"$step")"
    ;;
  esac
}

# ---- the tests ------------------------------------------------------------------------------

# reference KIND TAG: the reference by digest of a module or a chart that is published.
reference() {
  local repository=$REGISTRY/consistent-pull-policy/$1/consistent-pull-policy
  echo "$repository@$("$BIN/published" "$repository:$2")"
}

# order VERSION: the events of a release, in their order. Signatures have two formats.
order() {
  local module chart
  module=$(reference policies "v$1") chart=$(reference charts "$1")
  printf '%s\n' 'job test' 'job release' "push registry://${module%@*}:v$1" "sign $module" "sign $module" "attest $module" "verify oci://$module" \
    "push oci://${chart%/*}/consistent-pull-policy-$1.tgz" "sign $chart" "sign $chart" "attest $chart" "verify oci://$chart" "release v$1"
  [[ $1 == *-* ]] || printf '%s\n' 'job page' page 'job artifacthub' 'push refs/heads/artifacthub'
}

# breaks_off TAG [STEP COMMAND...]: runs the workflow, which has to fail.
breaks_off() {
  run workflow "$@"
  [[ $status != 0 ]] || fail "the workflow has succeeded"
}

# A test needs the releases of the tests before it.

@test "0.1.0 is published, in the order: module, chart, GitHub, page with the Helm repository, Artifact Hub" {
  same events "$(order 0.1.0)" "$(<"$STATE/events")"
}

# installed COMMAND...: what the chart of a page's command renders: the policy of the release, with the values in values.yaml.
installed() {
  in_copy "$@" | gojq --yaml-input --compact-output 'select(.kind == "ClusterAdmissionPolicy")'
}

# command VERSION: the command of docs/install.md that turns the policy on, with this version of the chart.
command_of() {
  awk '/^## Turn it on/ { here = 1 } here && inside && /^```$/ { exit } inside; here && /^```console/ { inside = 1 }' "$COPY/docs/install.md" |
    sed -E "s/--version [^ ]+/--version $1/"
}

# acts VERSION: the page's command renders the policy with the signed module of this version, which a policy server can pull.
acts() {
  local policy module
  policy=$(installed bash -c "$(command_of "$1")")
  module=$(reference policies "v$1")
  same "module, $1" "registry://$module" "$(jq --raw-output .spec.module <<<"$policy")"
  [[ $(grep --count " .*refs/tags/v$1 ${module#*@}$" "$STATE/signed") == 2 ]] || fail "$module is not signed for v$1"
  "$SKOPEO" inspect --raw --tls-verify=false "docker://$module" >"$BATS_TEST_TMPDIR/manifest"
  same digest "${module#*@}" "sha256:$(sha256sum "$BATS_TEST_TMPDIR/manifest" | cut -d ' ' -f 1)"
  echo "$policy"
}

# What is published for VERSION is still there: the chart from both places, and its module.
available() {
  acts "$1" >/dev/null
  same "charts, $1" "$(installed helm template pull-policy "oci://$REGISTRY/consistent-pull-policy/charts/consistent-pull-policy" --version "$1" --values values.yaml)" \
    "$(installed helm template pull-policy consistent-pull-policy --repo "$SITE/pages/charts" --version "$1" --values values.yaml)"
}

@test "0.1.0 is installed from the registry and from the repository, with the module that was signed" {
  available 0.1.0
}

@test "a run that breaks off at any step leaves what is valid, begins nothing after it, and goes on when it is run again" {
  next examples/agent-stack-k8s.yaml 's/^  settings:$/&\n    pullOnce: false/'
  run tag 0.2.0
  [[ $status != 0 && $output == *"artifacthub-repo.yml has no repositoryID"* ]] || fail "$output"
  echo 'repositoryID: 00000000-0000-4000-8000-000000000000' >>"$COPY/artifacthub-repo.yml"
  in_copy git checkout --quiet CHANGELOG.md && next CHANGELOG.md ""
  tag 0.2.0

  # Sigstore is away after the push; a machine ends after each step; the registry stops after the module.
  : >"$STATE/events"
  touch "$STATE/sigstore-is-away"
  breaks_off v0.2.0
  rm "$STATE/sigstore-is-away"
  same 'events, unsigned' 'job test
job release
push registry://'"$REGISTRY"'/consistent-pull-policy/policies/consistent-pull-policy:v0.2.0' "$(<"$STATE/events")"
  breaks_off v0.2.0 "Verify the module" stop registry
  [[ $output == *"the step failed: Push and sign the chart"* ]] || fail "$output"
  # A tag that can't be read is not taken for one that is not there.
  [[ ! -e $BATS_FILE_TMPDIR/clone/consistent-pull-policy-0.2.0.tgz ]]
  start_again
  for step in "Push and sign the chart, with the digest of the module" "Publish the release on GitHub"; do
    breaks_off v0.2.0 "$step" false
    available 0.1.0
    [[ $(helm show chart consistent-pull-policy --repo "$SITE/pages/charts") != *0.2.0* && $(<"$WEB/pages/index.html") == v0.1.0 ]]
  done
  workflow v0.2.0
  # Whatever was done is done once, and in the order.
  same events "$(order 0.2.0)" "$(awk '/^sign/ || !seen[$0]++' "$STATE/events")"
  for event in push 'sign' 'release' page; do
    same "$event" "$(order 0.2.0 | grep "^$event")" "$(grep "^$event" "$STATE/events")"
  done
}

@test "0.2.0 is beside 0.1.0: an upgrade and the way back, by one command of the page" {
  available 0.2.0
  available 0.1.0
  # An older release's values under the newer chart: only what 0.2.0 changed is another.
  older=$(acts 0.1.0)
  newer=$(acts 0.2.0)
  same 'what 0.2.0 changed' "$(jq --sort-keys '.spec.settings.pullOnce = false | del(.spec.module)' <<<"$older")" \
    "$(jq --sort-keys 'del(.spec.module)' <<<"$newer")"
  same 'preferAlways' '["nginx"]' "$(jq --compact-output .spec.settings.images.preferAlways <<<"$newer")"
  same older "$older" "$(acts 0.1.0)"
  empty 'texts of 0.2.0 that name 0.1.0' "$(in_copy git grep -nF 0.1.0 v0.2.0 -- README.md docs examples chart metadata.yml artifacthub-pkg.yml)"
  # The files of GitHub's release are those of the registry.
  index=$(<"$WEB/pages/charts/index.yaml")
  same versions '["0.2.0","0.1.0"]' "$(gojq --yaml-input --compact-output '[.entries[][].version]' <<<"$index")"
  for tag in v0.1.0 v0.2.0; do
    in_copy sh -c "cd '$WEB/github/releases/download/$tag' && sha256sum --check --quiet SHA256SUMS"
    grep --quiet "$(reference policies "$tag")" "$WEB/github/releases/download/$tag/.notes"
    same "notices, $tag" "$(in_copy git show "$tag:NOTICES.txt")" "$(<"$WEB/github/releases/download/$tag/NOTICES.txt")"
    [[ -e $WEB/github/releases/download/$tag/LICENSE ]]
  done
  [[ $(<"$WEB/pages/index.html") == v0.2.0 ]]
}

@test "Artifact Hub has a folder for each version, with absolute links that lead to files of its tag" {
  origin=$BATS_FILE_TMPDIR/origin
  same files "0.1.0/README.md 0.1.0/artifacthub-pkg.yml 0.2.0/README.md 0.2.0/artifacthub-pkg.yml artifacthub-repo.yml" \
    "$(git -C "$origin" ls-tree -r --name-only artifacthub | paste --serial --delimiters ' ')"
  for version in 0.1.0 0.2.0; do
    same "package, $version" "$(git -C "$origin" show "v$version:artifacthub-pkg.yml")" "$(git -C "$origin" show "artifacthub:$version/artifacthub-pkg.yml")"
    git -C "$origin" show "artifacthub:$version/README.md" >"$BATS_TEST_TMPDIR/README.md"
    empty 'relative links' "$(grep --only-matching --extended-regexp '\]\([^:)]*\)' "$BATS_TEST_TMPDIR/README.md" || true)"
    pictures=$(sed -n "s#^!\\[.*\\]($SITE/github/v$version/\\(.*\\))#\\1#p" "$BATS_TEST_TMPDIR/README.md")
    for picture in ${pictures:?}; do git -C "$origin" cat-file -e "v$version:$picture"; done
  done
  same commits 2 "$(git -C "$origin" rev-list --count artifacthub)"
}

@test "docs/verify.md: each command accepts what is published, and not what was changed" {
  local -x TAG=v0.2.0
  cp "$WEB/github/releases/download/v0.2.0"/policy-sbom.* "$COPY"
  commands=$(awk '/^## (In a cluster|Build it yourself)/ { here = 0 } /^## (Signatures|With kwctl|Provenance|Components)/ { here = 1 }
    /^```$/ { inside = 0 } here && inside; /^```console/ { inside = 1 }' "$COPY/docs/verify.md")
  [[ $(grep --count '^cosign verify \|^gh ' <<<"$commands") == 5 ]]
  curl() { cp docs/verification-config.yml verification-config.yml; }
  export -f curl
  in_copy bash -ec "$commands" >"$BATS_TEST_TMPDIR/output"
  grep --quiet "$(in_copy published "$REGISTRY/consistent-pull-policy/policies/consistent-pull-policy:v0.2.0")" "$BATS_TEST_TMPDIR/output"
  # A chart that somebody else pushes under the tag is refused.
  echo >>"$COPY/policy-sbom.spdx.json"
  run in_copy bash -ec "$(grep --after-context 4 '^cosign verify-blob' <<<"$commands")"
  [[ $status != 0 ]]
}

@test "what is published under a tag stays, although the tag has moved" {
  before=$(reference policies v0.2.0)
  sed -i 's/severity: medium/severity: low/' "$COPY/metadata.yml"
  in_copy hack/artifacthub-pkg.sh
  in_copy git commit --quiet --all --message Moved && in_copy git tag --force v0.2.0 && in_copy git push --quiet --force origin v0.2.0
  breaks_off v0.2.0
  [[ $output == *"is not what this source builds"* ]] || fail "$output"
  same module "$before" "$(reference policies v0.2.0)"
  TAG=v0.2.0 run in_copy hack/release/push-chart.sh sha256:1
  [[ $output == *"names the module ${before#*@}, and not sha256:1"* ]] || fail "$output"
}

@test "a pre-release ends with the release on GitHub" {
  : >"$STATE/events"
  next CHANGELOG.md ""
  tag 0.3.0-rc.1
  workflow v0.3.0-rc.1
  same events "$(order 0.3.0-rc.1)" "$(<"$STATE/events")"
  [[ $(<"$WEB/pages/index.html") == v0.2.0 && -e $WEB/github/releases/download/v0.3.0-rc.1/.--prerelease ]]
}

# The compilers' part of a release.

# bats test_tags=slow
@test "build: twice, with the same bytes" {
  git clone --quiet "$ROOT" "$BATS_TEST_TMPDIR/clone"
  clone=$BATS_TEST_TMPDIR/clone
  # The program that has annotated the tests' module, not the one that stands in for it.
  BIN=$BATS_TEST_TMPDIR/bin
  mkdir "$BIN" && ln -s "$(command -v "$KWCTL")" "$BIN/kwctl"
  in_copy env CARGO_MANIFEST_DIR="$clone/xtask" CARGO_TARGET_DIR="${XTASK%/xtask/xtask}" hack/release/build.sh
  cd "$clone"
  sha256sum --check SHA256SUMS
  cmp annotated-policy.wasm "$ROOT/annotated-policy.wasm"
}

# bats test_tags=slow
@test "components: the list has the packages of the module" {
  git clone --quiet "$ROOT" "$BATS_TEST_TMPDIR/clone"
  clone=$BATS_TEST_TMPDIR/clone
  in_copy hack/release/sbom.sh
  cd "$clone"
  packages=$(jq -r '.packages[] | "\(.name) v\(.versionInfo)"' policy-sbom.spdx.json | sort)
  same components "$(cargo --locked tree --target wasm32-unknown-unknown --edges normal --prefix none \
    --format '{p}' | cut -d ' ' -f 1,2 | sort -u)" "$packages"
  grep -q '^wapc-guest v' <<<"$packages"
  # Each relationship refers only to listed packages, listed files and the document itself.
  same 'loose ends' '[]' "$(jq -c '[.packages[].SPDXID, .files[]?.SPDXID, .SPDXID] as $known
    | [.relationships[] | .spdxElementId, .relatedSpdxElement] - $known' policy-sbom.spdx.json)"
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
