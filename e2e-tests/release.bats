# The rehearsal: the release workflow publishes two versions, one after another, from a copy of the repository. A registry on
# the loopback interface is ghcr.io, and a web server on a folder is GitHub's releases and Pages: the copy has their addresses in
# place of the real ones. The workflow's own steps and scripts run, each job in a new clone of the tag, with its own variables
# and permissions. Only these are replaced: compilers (each version has the module of `make test`), actions of others, and
# the programs gh, kwctl and cosign. "Signing" and "attesting" write a digest down, and "verifying" looks for it there.

load lib
load registry/lib

setup_file() {
  export REGISTRY WEB=$BATS_FILE_TMPDIR/web COPY=$BATS_FILE_TMPDIR/copy BIN=$BATS_FILE_TMPDIR/bin ORIGIN=$BATS_FILE_TMPDIR/origin
  export STATE=$BATS_FILE_TMPDIR/state ROOT=$PWD HELM SITE SKOPEO CARGO HOST=$XTASK
  export HELM_CACHE_HOME=$BATS_FILE_TMPDIR/helm
  HELM=$(command -v helm) SKOPEO=$(command -v skopeo) CARGO=$(command -v cargo)
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
  git init --quiet --bare --initial-branch main "$ORIGIN"
  git init --quiet --initial-branch main
  git config user.name test
  git config user.email test@example.com
  git remote add origin "$ORIGIN"
  git add --all

  before_first_release
  tag 0.1.0
  workflow v0.1.0
  # What an operator has written for 0.1.0.
  printf '%s\n' 'preset: agent-stack-k8s' 'settings: {images: {requireAlways: [nginx]}}' >values.yaml
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

# program NAME: writes a program from the standard input. `granted contents=write` fails unless the job has the permission.
program() {
  { printf '%s\n' '#!/usr/bin/env bash' 'granted() { [[ " $PERMISSIONS " == *" $1 "* ]] || { echo "this job has not $1" >&2; exit 1; }; }' && cat; } >"$BIN/$1"
  chmod +x "$BIN/$1"
}

# programs: writes the programs that stand in for gh, kwctl, cosign and compilers, and helm and skopeo over plain HTTP.
programs() {
  # A release is a draft until its last file is there. Lists begin with the newest release.
  program gh <<'SH'
[[ -n $GH_TOKEN ]] || exit 4
folder=$WEB/github/releases/download/${3:-}
case "$1 $2" in
  "attestation verify")
    [[ $3 != --repo ]] || set -- "$1" "$2" "$5"
    case $3 in
      oci://*@*) digest=${3#*@}; echo "verify $3" >>"$STATE/events" ;;
      oci://*) digest=$(published "${3#oci://}") ;;
      *) digest=sha256:$(sha256sum "$3" | cut -d ' ' -f 1); echo "${3#./}" >>"$STATE/files" ;;
    esac
    grep -qxF "$digest" "$STATE/attested" ;;
  "release view") [[ -e $folder ]] && if [[ -e $folder/.draft ]]; then echo true; else echo false; fi ;;
  "release delete") granted contents=write; [[ -e $folder/.draft ]] && rm -r "$folder" ;;
  "release create")
    granted contents=write
    mkdir "$folder" && touch "$folder/.draft" || exit
    until [[ $4 == --title ]]; do touch "$folder/.$4"; set -- "${@:1:3}" "${@:5}"; done
    cp "$7" "$folder/.notes"
    for file in "${@:8}"; do cp "$file" "$folder" && [[ ! -e $STATE/github-fails ]] || exit; done
    rm "$folder/.draft"
    echo "release $3" >>"$STATE/events" ;;
  "release list")
    limit=30
    [[ $* != *--limit* ]] || limit=$(sed 's/.*--limit \([0-9]*\).*/\1/' <<<"$*")
    cd "$WEB/github/releases/download" || exit
    for tag in $(ls | sort --version-sort --reverse); do
      [[ -e $tag/.draft && $* == *--exclude-drafts* || -e $tag/.--prerelease && $* == *--exclude-pre-releases* ]] || echo "$tag"
    done | head -n "$limit" | gojq --raw-input '{tagName: ., publishedAt: "2026-01-01T00:00:00Z"}' | gojq --slurp . ;;
  "release download") mkdir -p "$7" && cp "$folder"/$5 "$7" ;;
  *) exit 1 ;;
esac
SH
  program kwctl <<'SH'
case $1 in
  annotate)
    # From 1.37 on kwctl refuses a module that is annotated already.
    ! grep --quiet --text io.kubewarden.metadata "$8" || exit 1
    # Each version has other bytes: a section with the digest of its metadata. (kwctl would compile each module.)
    { cat "$ROOT/annotated-policy.wasm" && printf '\0\12\3tag%.6s' "$(sha256sum "$3")"; } >"$7" ;;
  --version) echo 'kwctl 0' ;;
  push) granted packages=write; granted login && "$HOST" "$@" && echo "push $3" >>"$STATE/events" ;;
  pull)
    [[ $2 != --verification-config-path ]] || set -- pull --output-path "$STATE/policy.wasm" "$4"
    skopeo copy --quiet "docker://${4#registry://}" "dir:$STATE/pulled" &&
      cp "$STATE/pulled/$(gojq -r '.layers[0].digest | ltrimstr("sha256:")' "$STATE/pulled/manifest.json")" "$3" ;;
  verify) grep -q "urlPrefix: $SITE/github/.github/workflows/release.yml@refs/tags/\$" "$3" && echo "kwctl verify $4" >>"$STATE/events" ;;
  *) exit 1 ;;
esac
SH
  # What is signed: the format, the signer and the digest.
  program cosign <<'SH'
reference=${*: -1} format=true
[[ $* != *--new-bundle-format=false* ]] || format=false
digest=${reference##*@}
bundle=$(sed 's/.*--bundle \([^ ]*\).*/\1/' <<<"$*")
case $1 in
  sign)
    granted id-token=write
    [[ ! -e $STATE/sigstore-is-down ]] || exit 1
    echo "$format $SITE/github/.github/workflows/release.yml@refs/tags/$TAG $digest" >>"$STATE/signed"; echo "sign $reference" >>"$STATE/events" ;;
  verify)
    [[ $reference == *@* ]] || digest=$(published "$reference")
    [[ $* == *--new-bundle-format* ]] || echo "cosign verify $reference" >>"$STATE/events"
    grep -qxF "$format $(sed 's/.*--certificate-identity \([^ ]*\).*/\1/' <<<"$*") $digest" "$STATE/signed" ;;
  sign-blob) granted id-token=write; sha256sum "$reference" >"$bundle" ;;
  verify-blob) echo "$reference" >>"$STATE/files"; [[ $* == *"/release.yml@refs/tags/$TAG "* ]] && sha256sum --check --status "$bundle" ;;
  *) exit 1 ;;
esac
SH
  program helm <<'SH'
http=()
[[ $* != *oci://* ]] || http=(--plain-http)
[[ $1 != push ]] || { granted packages=write; granted login; }
"$HELM" "$@" "${http[@]}" && { [[ $1 != push ]] || echo "push $3/$2" >>"$STATE/events"; }
SH
  program skopeo <<'SH'
tls=--tls-verify=false
[[ $1 != copy ]] || tls=--src-tls-verify=false
"$SKOPEO" "$1" $tls "${@:2}" 2>"$STATE/error" && exit
# ghcr.io denies a package that isn't there yet.
sed '/0\.1\.0/s/[a-z]* unknown.*/denied/' "$STATE/error" >&2
exit 1
SH
  # published REFERENCE: the digest behind a tag.
  program published <<'SH'
echo "sha256:$("$SKOPEO" inspect --raw --tls-verify=false "docker://$1" | sha256sum | cut -d ' ' -f 1)"
SH
  # The compilers: each program that is built is a text.
  program rustup </dev/null
  program cargo <<'SH'
case "$*" in
  fetch*) ;;
  build*) folder=${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/release; mkdir -p "$folder" && cp "$ROOT/policy.wasm" "$folder/consistent_pull_policy.wasm"
    [[ ! -e $STATE/differs ]] || echo "$PWD" >>"$folder/consistent_pull_policy.wasm" ;;
  *" build "*) folder=${CARGO_TARGET_DIR:-target}/$(sed 's/.*--target \([^ ]*\).*/\1/' <<<"$*")/release; mkdir -p "$folder" && echo program >"$folder/kubectl-consistent_pull_policy" ;;
  *" chart-schema") "${HOST%/*}/chart-schema" ;;
  sbom*) echo '{"packages": [], "relationships": []}' ;;
  *) exec "$CARGO" "$@" ;;
esac
SH
}

# ---- a small part of GitHub's workflows -------------------------------------------------------

# workflow TAG [STEP COMMAND...]: runs the release workflow for a tag, each job when its needs are met, until a step fails. Of
# several jobs that could run, the first one by its name runs. After STEP, it runs the command.
workflow() {
  local tag=$1 hooked=${2:-} hook=("${@:3}") job done=()
  gojq --yaml-input '.permissions as $default | .jobs | map_values(.permissions //= $default
    | .needs |= (if type == "string" then [.] else . // [] end))' "$COPY/.github/workflows/release.yml" >"$STATE/jobs.json"
  while job=$(gojq --exit-status --raw-output --arg tag "$tag" '[to_entries[] | select((.key | IN($ARGS.positional[]) | not)
      and all(.value.needs[]; IN($ARGS.positional[])) and (.value.if | if . == null then true
        elif . == "${{ !contains(github.ref_name, \u0027-\u0027) }}" then $tag | contains("-") | not
        else error("a condition that this rehearsal does not know") end))] | first.key // empty' "$STATE/jobs.json" --args -- "${done[@]}"); do
    echo "job $job" >>"$STATE/events"
    [[ $job == test ]] || run_job "$job" || return
    done+=("$job")
  done
}

# run_job NAME: runs its steps.
run_job() {
  local clone=$BATS_FILE_TMPDIR/clone step name variables
  local -x PERMISSIONS
  PERMISSIONS=$(gojq --raw-output --arg job "$1" '.[$job].permissions | to_entries | map("\(.key)=\(.value)") | join(" ")' "$STATE/jobs.json")
  rm -rf "$clone"
  while read -r step; do
    name=$(gojq --raw-output '.name // .uses // .run' <<<"$step")
    run_step "$step" 3>&- >"$STATE/output" 2>&1 || { echo "$tag: the step failed: $name" && cat "$STATE/output"; return 1; } >&2
    [[ $name != "$hooked" ]] || "${hook[@]}" || return
  done < <(gojq --compact-output --arg job "$1" '.[$job] | .env as $env | .steps[] | .env = $env + .env' "$STATE/jobs.json")
}

# value EXPRESSION: the value of one of the workflow's expressions.
value() {
  case $1 in
  github.ref_name) echo "$tag" ;;
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
  with() { gojq --raw-output --arg key "$1" --arg default "${2:-}" '.with[$key] | if . == null then $default else . end' <<<"$step"; }
  case $(gojq --raw-output '.uses // .run' <<<"$step") in
  actions/checkout@*)
    local depth=(--depth "$(with fetch-depth 1)")
    [[ ${depth[1]} != 0 ]] || depth=()
    git clone --quiet "${depth[@]}" --branch "$tag" "file://$ORIGIN" "$clone"
    # Without credentials, everybody can read, and nobody can push.
    [[ $(with persist-credentials true) == true && " $PERMISSIONS " == *" contents=write "* ]] ||
      git -C "$clone" config remote.origin.pushurl "$BATS_FILE_TMPDIR/denied"
    ;;
  actions/attest-build-provenance@*)
    local digest
    [[ " $PERMISSIONS " == *" attestations=write "*" id-token=write "* ]]
    digest=$(with subject-digest)
    [[ -z $digest ]] || echo "attest $(with subject-name)@$digest" >>"$STATE/events"
    if [[ -n $digest ]]; then echo "$digest"; else sed 's/ .*//; s/^/sha256:/' "$clone/$(with subject-checksums)"; fi >>"$STATE/attested"
    ;;
  # A job hands files to another one, with their paths from the wildcard on.
  actions/upload-artifact@*)
    local path folder
    path=$(with path)
    folder=${path%%/\**}
    rm -rf "$STATE/handed" && mkdir "$STATE/handed"
    # shellcheck disable=SC2086 # it is a wildcard
    (cd "$clone/$folder" && cp --parents ${path#"$folder/"} "$STATE/handed") ;;
  # GitHub keeps no modes.
  actions/download-artifact@*) mkdir -p "$clone/$(with path)" && chmod -R a-x,+X "$STATE/handed" && cp -r "$STATE/handed/." "$clone/$(with path)" ;;
  actions/upload-pages-artifact@*) rm -rf "$STATE/artifact" && cp -r "$clone/$(with path)" "$STATE/artifact" ;;
  actions/deploy-pages@*) [[ " $PERMISSIONS " == *" pages=write "* ]] && rm -rf "$WEB/pages" && cp -r "$STATE/artifact" "$WEB/pages" && echo "page" >>"$STATE/events" ;;
  docker/login-action@*) PERMISSIONS+=" login" ;;
  */kwctl-installer@*) [[ $(with kwctl-version) =~ ^v[0-9] ]] ;;
  */setup-node@* | */cosign-installer@* | hack/setup.sh*) ;;
  'make site-build') mkdir -p "$clone/site/dist" && echo "$tag" >"$clone/site/dist/index.html" ;;
  # It takes seconds, so it runs once for each commit.
  hack/check-packaging.sh*)
    local checked
    checked=$STATE/checked.$(in_copy git rev-parse HEAD)
    [[ -e $checked ]] || { in_copy hack/check-packaging.sh "$tag" && touch "$checked"; }
    ;;
  *)
    mapfile -t variables < <(gojq --raw-output '.env // {} | to_entries[] | "\(.key)=\(.value)"' <<<"$step")
    in_copy env "${variables[@]}" GITHUB_OUTPUT="$STATE/steps.$(gojq --raw-output '.id // "none"' <<<"$step")" \
      bash -e -o pipefail -c "$(gojq --raw-output .run <<<"$step")" || return
    [[ $name != *'Artifact Hub' ]] || echo artifacthub >>"$STATE/events"
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
  printf '%s\n' 'job test' 'job macos' 'job release' "push registry://${module%@*}:v$1" "sign $module" "sign $module" "attest $module" "cosign verify $module" "verify oci://$module" "kwctl verify registry://$module" \
    "push oci://${chart%/*}/consistent-pull-policy-$1.tgz" "sign $chart" "sign $chart" "attest $chart" "cosign verify $chart" "verify oci://$chart" "release v$1"
  [[ $1 == *-* ]] || printf '%s\n' 'job page' page 'job artifacthub' artifacthub
}

# breaks_off STEP TAG [STEP COMMAND...]: runs the workflow, which has to fail at or after this step.
breaks_off() {
  run workflow "${@:2}"
  [[ $status != 0 && $output == *"$1"* ]] || fail "the workflow does not fail with: $1" "$output"
}

# A test needs the releases of the tests before it.

@test "0.1.0 is published, in the order: module, chart, GitHub, page with the Helm repository, Artifact Hub" {
  same events "$(order 0.1.0)" "$(<"$STATE/events")"
  # Each file is verified.
  same files 'annotated-policy.wasm consistent-pull-policy-0.1.0.tgz policy-sbom.spdx.json' \
    "$(grep -v 'tar.gz$' "$STATE/files" | sort | paste --serial --delimiters ' ')"
  same archives 4 "$(grep --count '^kubectl-.*-.*-.*.tar.gz$' "$STATE/files")"
}

# What a workflow may do, when, and in which order: a line for each job. SURVEY_ROWS=write writes them.
@test "triggers, permissions, conditions and steps of the workflows are the stored ones" {
  local file=test_data/workflows.jsonl lines
  lines=$(gojq --yaml-input --compact-output '[.name, .on, .permissions, .concurrency], (.jobs | to_entries[] | [.key, (.value | del(.steps)),
    [.value.steps[]? | [((.uses // .run | sub("@.*"; "")) | select(contains("\n") | not)), .if, .with, .env]]])' .github/workflows/*.yml)
  [[ ! -v SURVEY_ROWS ]] || printf '%s\n' "$lines" >"$file"
  same "$file" "$(<"$file")" "$lines"
}

# installed CHART...: the policy that a chart renders with the values in values.yaml.
installed() {
  in_copy helm template pull-policy "$@" --values values.yaml | gojq --yaml-input --compact-output 'select(.kind == "ClusterAdmissionPolicy")'
}

# acts VERSION: the chart of both places renders the policy with the signed module of this version, which a policy server can
# pull. Prints the policy.
acts() {
  local policy module
  policy=$(installed "oci://$REGISTRY/consistent-pull-policy/charts/consistent-pull-policy" --version "$1")
  same "charts, $1" "$policy" "$(installed consistent-pull-policy --repo "$SITE/pages/charts" --version "$1")"
  module=$(reference policies "v$1")
  same "module, $1" "registry://$module" "$(gojq --raw-output .spec.module <<<"$policy")"
  [[ $(grep --count " .*refs/tags/v$1 ${module#*@}$" "$STATE/signed") == 2 ]] || fail "$module is not signed for v$1"
  "$SKOPEO" inspect --raw --tls-verify=false "docker://$module" >/dev/null
  echo "$policy"
}

@test "a pre-release ends with the release on GitHub" {
  next CHANGELOG.md ""
  run tag 0.2.0-rc.1
  [[ $status != 0 && $output == *"artifacthub-repo.yml has no repositoryID"* ]] || fail "$output"
  echo 'repositoryID: 00000000-0000-4000-8000-000000000000' >>"$COPY/artifacthub-repo.yml"
  in_copy git checkout --quiet CHANGELOG.md && next CHANGELOG.md ""
  : >"$STATE/events"
  tag 0.2.0-rc.1
  workflow v0.2.0-rc.1
  same events "$(order 0.2.0-rc.1)" "$(<"$STATE/events")"
  [[ $(<"$WEB/pages/index.html") == v0.1.0 && -e $WEB/github/releases/download/v0.2.0-rc.1/.--prerelease ]]
}

@test "a run that breaks off at any step leaves what is valid, begins nothing after it, and goes on when it is run again" {
  acts 0.1.0
  next examples/agent-stack-k8s.yaml 's/^  settings:$/&\n    pullOnce: false/'
  tag 0.2.0
  # More releases than GitHub lists at once.
  for number in {1..30}; do
    release=$WEB/github/releases/download/v0.1.$number
    mkdir -p "$release/consistent-pull-policy"
    printf '%s\n' 'apiVersion: v2' 'name: consistent-pull-policy' "version: 0.1.$number" >"$release/consistent-pull-policy/Chart.yaml"
    tar -czf "$release/consistent-pull-policy-0.1.$number.tgz" -C "$release" consistent-pull-policy
  done

  # Sigstore is down after the push; a machine ends after each step; the registry stops after the module; GitHub fails at
  # the release's first file.
  : >"$STATE/events"
  touch "$STATE/differs"
  breaks_off "Build, twice" v0.2.0
  rm "$STATE/differs"
  : >"$STATE/events"
  touch "$STATE/sigstore-is-down"
  breaks_off "Push and sign the module" v0.2.0
  rm "$STATE/sigstore-is-down"
  same 'events, unsigned' 'job test
job macos
job release
push registry://'"$REGISTRY"'/consistent-pull-policy/policies/consistent-pull-policy:v0.2.0' "$(<"$STATE/events")"
  breaks_off "Push and sign the chart" v0.2.0 "Verify the module" stop registry
  # A tag that can't be read is not taken for one that is not there.
  [[ ! -e $BATS_FILE_TMPDIR/clone/consistent-pull-policy-0.2.0.tgz ]]
  start_again
  breaks_off '' v0.2.0 "Push and sign the chart, with the digest of the module" false
  touch "$STATE/github-fails"
  breaks_off "Publish the release on GitHub" v0.2.0
  rm "$STATE/github-fails"
  breaks_off '' v0.2.0 "Publish the release on GitHub" false
  acts 0.1.0
  [[ $(helm show chart consistent-pull-policy --repo "$SITE/pages/charts") != *0.2.0* && $(<"$WEB/pages/index.html") == v0.1.0 ]]
  workflow v0.2.0
  # Whatever was done is done once, and in the order.
  same events "$(order 0.2.0)" "$(awk '/^sign/ || !seen[$0]++' "$STATE/events")"
  for event in push 'sign' 'release' page; do
    same "$event" "$(order 0.2.0 | grep "^$event")" "$(grep "^$event" "$STATE/events")"
  done
}

@test "0.2.0 is beside 0.1.0: an upgrade and the way back, by one command" {
  older=$(acts 0.1.0)
  newer=$(acts 0.2.0)
  # An older release's values under the newer chart: only what 0.2.0 changed is another.
  same 'what 0.2.0 changed' "$(gojq '.spec.settings.pullOnce = false | del(.spec.module)' <<<"$older")" \
    "$(gojq 'del(.spec.module)' <<<"$newer")"
  same 'requireAlways' '["nginx"]' "$(gojq --compact-output .spec.settings.images.requireAlways <<<"$newer")"
  empty 'texts of 0.2.0 that name 0.1.0' "$(in_copy git grep -nF 0.1.0 v0.2.0 -- README.md docs examples chart metadata.yml artifacthub-pkg.yml)"
  # The files of GitHub's release are those of the registry.
  same versions '["0.2.0","0.1.0",32,["2026-01-01T00:00:00Z"]]' "$(gojq --yaml-input --compact-output '[.entries[][]]
    | [first.version, last.version, length, (map(.created) | unique)]' "$WEB/pages/charts/index.yaml")"
  for tag in v0.1.0 v0.2.0; do
    cd "$WEB/github/releases/download/$tag"
    sha256sum --check --quiet SHA256SUMS
    grep --quiet "$(reference policies "$tag")" .notes
    grep --quiet "$(reference charts "${tag#v}")" .notes
    [[ $(<.notes) == *"$(<SHA256SUMS)"* && -e .--verify-tag ]]
    same files 'LICENSE NOTICES.txt SHA256SUMS annotated-policy.wasm krew.yaml policy-sbom.spdx.json policy-sbom.spdx.jsonl.bundle.sigstore policy.wasm' \
      "$(ls | grep -v '\.tar\.gz$\|\.tgz$' | paste --serial --delimiters ' ')"
    for archive in *.tar.gz; do tar --list --verbose --file "$archive" | grep --quiet '^-rwx.* kubectl-consistent_pull_policy$'; done
    same 'more files of SHA256SUMS' "$(ls -- *.tar.gz *.tgz)" "$(sed -n 's/^.*  \(.*gz\)$/\1/p' SHA256SUMS | sort)"
    same "notices, $tag" "$(in_copy git show "$tag:NOTICES.txt")" "$(<NOTICES.txt)"
  done
  # The notes have the changelog's own section, and no other one.
  grep --quiet '^- Something' .notes
  same 'notes with the first section' v0.1.0/.notes "$(cd .. && grep --files-with-matches '^- Everything' v0.[12].0/.notes)"
  [[ $(<"$WEB/pages/index.html") == v0.2.0 ]]
}

@test "Artifact Hub has a folder for each version, with absolute links that lead to files of its tag" {
  same files "0.1.0/README.md 0.1.0/artifacthub-pkg.yml 0.2.0/README.md 0.2.0/artifacthub-pkg.yml artifacthub-repo.yml" \
    "$(git -C "$ORIGIN" ls-tree -r --name-only artifacthub | paste --serial --delimiters ' ')"
  for version in 0.1.0 0.2.0; do
    same "package, $version" "$(git -C "$ORIGIN" show "v$version:artifacthub-pkg.yml")" "$(git -C "$ORIGIN" show "artifacthub:$version/artifacthub-pkg.yml")"
    git -C "$ORIGIN" show "artifacthub:$version/README.md" >"$BATS_TEST_TMPDIR/README.md"
    empty 'relative links' "$(grep --only-matching --extended-regexp '\]\([^:)]*\)' "$BATS_TEST_TMPDIR/README.md" || true)"
    pictures=$(sed -n "s#^!\\[.*\\]($SITE/github/v$version/\\(.*\\))#\\1#p" "$BATS_TEST_TMPDIR/README.md")
    for picture in ${pictures:?}; do git -C "$ORIGIN" cat-file -e "v$version:$picture"; done
  done
  # What is there already isn't published again.
  [[ $(TAG=v0.2.0 in_copy hack/release/artifacthub.sh) == *already* ]]
  same commits 2 "$(git -C "$ORIGIN" rev-list --count artifacthub)"
}

@test "docs/verify.md: each command accepts what is published, and not what was changed" {
  local -x TAG=v0.2.0 GH_TOKEN=token
  cp "$WEB/github/releases/download/v0.2.0"/policy-sbom.* "$COPY"
  commands=$(awk '/^## (In a cluster|Build it yourself)/ { here = 0 } /^## (Signatures|With kwctl|Provenance|Components)/ { here = 1 }
    /^```$/ { inside = 0 } here && inside; /^```console/ { inside = 1 }' "$COPY/docs/verify.md")
  [[ $(grep --count '^cosign verify \|^gh ' <<<"$commands") == 4 ]]
  curl() { cp docs/verification-config.yml verification-config.yml; }
  export -f curl
  in_copy bash -ec "$commands"
  # What was changed is refused.
  echo >>"$COPY/policy-sbom.spdx.json"
  run in_copy bash -ec "$(grep --after-context 4 '^cosign verify-blob' <<<"$commands")"
  [[ $status != 0 ]]
}

@test "what is published under a tag stays, although the tag has moved" {
  before=$(reference policies v0.2.0)
  sed -i 's/severity: medium/severity: low/' "$COPY/metadata.yml"
  in_copy hack/artifacthub-pkg.sh
  in_copy git commit --quiet --all --message Moved && in_copy git tag --force v0.2.0 && in_copy git push --quiet --force origin v0.2.0
  breaks_off "is not what this source builds" v0.2.0
  same module "$before" "$(reference policies v0.2.0)"
  TAG=v0.2.0 run in_copy hack/release/push-chart.sh sha256:1
  [[ $output == *"names the module ${before#*@}, and not sha256:1"* ]] || fail "$output"
}

# The compilers' part of a release.

# bats test_tags=slow
@test "build: twice, with the same bytes" {
  git clone --quiet "$ROOT" "$BATS_TEST_TMPDIR/clone"
  clone=$BATS_TEST_TMPDIR/clone
  # The program that has annotated the tests' module, not the one that stands in for it.
  BIN=$BATS_TEST_TMPDIR/bin
  mkdir "$BIN" && ln -s "$(command -v "$KWCTL")" "$BIN/kwctl"
  in_copy env CARGO_TARGET_DIR="${HOST%/xtask/xtask}" hack/release/build.sh
  cd "$clone"
  sha256sum --check SHA256SUMS
  cmp annotated-policy.wasm "$ROOT/annotated-policy.wasm"
}

# bats test_tags=slow
@test "components: the list has the packages of the module" {
  git clone --quiet "$ROOT" "$BATS_TEST_TMPDIR/clone"
  clone=$BATS_TEST_TMPDIR/clone
  local -x PERMISSIONS=id-token=write
  rm "$BIN/cargo"
  in_copy hack/release/sbom.sh
  cd "$clone"
  packages=$(gojq -r '.packages[] | "\(.name) v\(.versionInfo)"' policy-sbom.spdx.json | sort)
  same components "$(cargo --locked tree --target wasm32-unknown-unknown --edges normal --prefix none \
    --format '{p}' | cut -d ' ' -f 1,2 | sort -u)" "$packages"
  grep -q '^wapc-guest v' <<<"$packages"
  # Each relationship refers only to listed packages, listed files and the document itself.
  same 'loose ends' '[]' "$(gojq -c '[.packages[].SPDXID, .files[]?.SPDXID, .SPDXID] as $known
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
