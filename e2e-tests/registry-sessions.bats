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
  rejected "main's image $image ${told[notFound]}"
  failed "$image" notFound true Reject
}

@test "denied" {
  session denied
  pod "$checked"
  consult "$(with '' '"pullOnce":false')"
  kept
  told_of "$app" "${told[denied]} (kept as it is)"
  failed "$app" denied true KeepTag
}

@test "rate-limited" {
  session rate-limited
  pod "$checked"
  consult "$(with '' '"pullOnce":false')"
  kept
  told_of "$app" "${told[rateLimited]} (kept as it is)"
  failed "$app" rateLimited true KeepTag
}

@test "unreachable" {
  session unreachable
  pod "$checked"
  consult "$(with '"onUnreachable":"UseCached"')"
  repaired "init imagecheck-0 $app IfNotPresent, app main $app IfNotPresent"
  told_of "$app" "${told[unreachable]} (cached copy allowed)"
  failed "$app" unreachable true UseCached
}

@test "a session with another image gives no answer" {
  session pinned
  pod "app main $tools Always"
  consult "$pin"
  kept
  failed "$tools" unknown true KeepTag
}
