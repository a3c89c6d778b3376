# Tests of the rule registry. Recorded sessions (test_data/sessions) replace the registries, so these tests
# need no registry and no network. A session has the format of kwctl's options
# --record-host-capabilities-interactions and --replay-host-capabilities-interactions, which the embedded
# host (xtask) has too. The sessions were recorded from the registries that the other registry tests start.
# Then the addresses of these registries were replaced with registry.example.com.

load lib
load registry/lib

app=registry.example.com/team/app:v1.2.3
tools=registry.example.com/team/tools:v2
checked="init imagecheck-0 $app Always, app main $app Always"

# session NAME: lets `consult` replay this session, without a registry.
session() {
  replay=test_data/sessions/$1.yml
}

@test "pinned" {
  session pinned
  pod "init imagecheck-0 $app Always, init imagecheck-1 $tools Always, app main $app Always, app side $tools Always"
  # A replay accepts the lookups only in the order of the session, so the first digest is that of $app.
  mapfile -t digests < <(sed -n 's/.*"digest":"\(.*\)".*/\1/p' "$replay")
  consult "$pin"
  repaired "init imagecheck-0 $app@${digests[0]} IfNotPresent, init imagecheck-1 $tools@${digests[1]} IfNotPresent, app main $app@${digests[0]} IfNotPresent, app side $tools@${digests[1]} IfNotPresent"
  warned
  consult '{"registry":{"images":["*"],"lookup":"Verify"},"pullOnce":false}'
  untouched
}

@test "not found" {
  session not-found
  image=registry.example.com/team/app:v9
  pod "init imagecheck-0 $image Always, app main $image Always"
  consult "$pin"
  rejected "registry main $image ${told[notFound]}"
}

@test "denied, rate-limited and unreachable" {
  pod "$checked"
  while fields name failure registry_settings others action after; do
    session "$name"
    consult "$(with "$registry_settings" "$others")"
    if [[ $after == same ]]; then kept; else repaired "${after//APP/$app}"; fi
    told_of "$app" "$failure" "$action"
  done <<'ROWS'
    denied       | denied      |                             | "pullOnce":false | KeepTag   | same
    rate-limited | rateLimited |                             | "pullOnce":false | KeepTag   | same
    unreachable  | unreachable | "onUnreachable":"UseCached" |                  | UseCached | init imagecheck-0 APP IfNotPresent, app main APP IfNotPresent
ROWS
}

@test "a session with another image gives no answer" {
  session pinned
  pod "app main $tools Always"
  consult "$pin"
  kept
  failed "$tools" unknown true KeepTag
}

# answers IMAGE=ANSWER...: lets `consult` replay these answers. An image without a slash is one of docker.io/library.
# An answer is the last digit of a digest, `down`, or the text of a failure.
answers() {
  local answer image text
  replay=$BATS_TEST_TMPDIR/answers.yml
  for answer; do
    image=${answer%%=*} text=${answer#*=}
    [[ $image == */* ]] || image=docker.io/library/$image
    [[ $text != down ]] || text='error sending request for url (https://registry-1.docker.io/)'
    printf '%s\n' '- type: Exchange' '  request: |' '    !OciManifestDigest' "    image: $image" '  response:'
    if [[ $text == [0-9] ]]; then
      printf '    %s\n' 'type: Success' "payload: '{\"digest\":\"sha256:$(printf '%064d' "$text")\"}'"
    else
      printf '    %s\n' 'type: Error' "message: '${text//\'/\'\'}'"
    fi
  done >"$replay"
}

# Random cases seldom reach these Pods. `make replay` sends each result again, to Fix, to Reject and to the copy.
# In each Pod with image volumes, the first app container mounts them.
@test "two names are one image only if a lookup says so, and the copy doesn't get the answers" {
  digest=sha256:$(printf '%064d' 1)
  while fields answered settings_row before after; do
    answers $answered
    pod "${before//DIGEST/$digest}" '(.object.spec | select(.volumes)).containers[0].volumeMounts = [.object.spec.volumes[]? | {name, mountPath: "/\(.name)"}]'
    consult "$settings_row"
    if [[ $after == same ]]; then kept; else after=${after//DIGEST/$digest} && repaired "${after//OTHER/${digest/%1/2}}"; fi
  done <<'ROWS'
    app:v2=1 | {"defaults":{"imagePullPolicy":"Always"},"registry":{"lookup":"Pin","images":["*:v?"]}} | init imagecheck-0 app:v2 Always, app a app@DIGEST IfNotPresent | init imagecheck-0 app:v2@DIGEST Always, app a app@DIGEST IfNotPresent
    a:latest=1 | {"defaults":{"imagePullPolicy":"IfNotPresent"},"registry":{"lookup":"Verify","images":["a"]}} | app a a Always, app b b Always | app a a Always, app b b IfNotPresent
    a:latest=down | {"defaults":{"imagePullPolicy":"IfNotPresent"},"registry":{"lookup":"Pin","images":["*"]}} | init imagecheck-0 a:latest Always, app a a:latest IfNotPresent | same
    app:v1=1 app:latest=1 | {"registry":{"lookup":"Verify","images":["*"]}} | init imagecheck-0 app:v1 Never, init imagecheck-2 app Always, app a docker.io/library/app:v1 Always | same
    a:1=1 | {"imageChecks":{"as":"ImageVolume","coverage":"Fix","everyPod":true},"registry":{"lookup":"Pin","images":["*"]}} | app a a:1 IfNotPresent, app b a@DIGEST IfNotPresent, volume imagecheck-0 a:1 IfNotPresent | app a a:1@DIGEST IfNotPresent, app b a@DIGEST IfNotPresent, volume imagecheck-0 a:1@DIGEST IfNotPresent, volume imagecheck-1 a:1@DIGEST IfNotPresent
    a:1=2 | {"imageChecks":{"as":"ImageVolume","coverage":"Fix","everyPod":true},"registry":{"lookup":"Pin","images":["*"]}} | app a a:1 IfNotPresent, app b a@DIGEST IfNotPresent, volume imagecheck-0 a:1 IfNotPresent | app a a:1@OTHER IfNotPresent, app b a@DIGEST IfNotPresent, volume imagecheck-0 a:1@OTHER IfNotPresent, volume imagecheck-1 a:1@OTHER IfNotPresent, volume imagecheck-2 a@DIGEST IfNotPresent
    a:1=down | {"imageChecks":{"coverage":"Fix"},"defaults":{"imagePullPolicy":"Always"},"registry":{"lookup":"Verify","images":["*"],"onUnreachable":"UseCached"}} | init imagecheck-0 a:1 IfNotPresent, app a a:1 Always, app b a:1@DIGEST Always | init imagecheck-0 a:1 IfNotPresent, init imagecheck-1 a:1@DIGEST Always, app a a:1 IfNotPresent, app b a:1@DIGEST IfNotPresent
ROWS
}

@test "a registry that is away is asked once, however its host is spelled" {
  answers r.example.com/a:1=down
  pod 'app a r.example.com/a:1 Always, app b R.example.com/b:1 Always, app c r.example.com:443/c:1 Always, app d r.example.com:0443/d:1 Always, app e r.example.com:444/e:1 Always'
  consult "$pin"
  kept
  same lookups '["a",true,"unreachable"] ["b",false,"unreachable"] ["c",false,"unreachable"] ["d",false,"unreachable"] ["e",true,"unknown"]' \
    "$(in_jq -r 'map([(.image | split("/")[1] | split(":")[0]), .asked, .failure] | tojson) | sort | join(" ")' <<<"$lookups")"
}

# The texts are those of registries and of bug reports, in the form in which hosts print them.
@test "failures of registries that speak differently have their class" {
  while IFS='|' read -r class text; do
    row=$text
    answers "app:1=Fail to interact with OCI registry: Registry error: url https://r.example.com/v2/a/manifests/v9, envelope: OCI API errors: [OCI API error: $text]"
    pod 'app a app:1 Always'
    consult "$(with '"onNotFound":"KeepTag"')"
    kept
    failed docker.io/library/app:1 "$class" true KeepTag
  done <<'ROWS'
notFound|Failed to fetch "v9"
notFound|The named manifest is not known to the registry.
denied|Your authorization token has expired. Reauthenticate and try again.
denied|Unauthenticated request. Unauthenticated requests do not have permission "artifactregistry.repositories.downloadArtifacts" on resource "projects/p" (or it may not exist)
rateLimited|Rate exceeded
notFound|repository name not known to registry
notFound|artifact team/denied:latest not found
notFound|The repository with name 'a' does not exist in the registry with id '1'
notFound|Tag t was deleted or has expired.
denied|requested access to the resource is denied
denied|authentication required
denied|User: arn:aws:sts::1:assumed-role/x is not authorized to perform: ecr:BatchGetImage on resource: arn:aws:ecr:x
rateLimited|You have reached your unauthenticated pull rate limit. https://www.docker.com/increase-rate-limit
rateLimited|too many requests
unreachable|service unavailable
unknown|something else
ROWS
}
