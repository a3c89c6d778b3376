# exempt.containers and exempt.images: the places that are never examined and never changed.

load lib

@test "containers and volumes of every kind are exempt by name or by image, with globs" {
  before='init i app:1 IfNotPresent, sidecar s app:1 Never, app a app:1, ephemeral e app:1 Never, volume v app:1 IfNotPresent'
  pod "$before"
  for exempt in '{"images":["app"]}' '{"images":["*"]}' '{"containers":["*"]}' '{"containers":["i","s","a","e","v"]}' '{"containers":["?"]}'; do
    row=$exempt
    evaluate "{\"exempt\":$exempt,\"images\":{\"requireAlways\":[\"*\"]}}"
    untouched
  done
  row=
  evaluate '{"exempt":{"containers":["a","v"]},"images":{"requireAlways":["*"]}}'
  repaired 'init i app:1 Always, sidecar s app:1 Always, app a app:1, ephemeral e app:1 Always, volume v app:1 IfNotPresent'
}

@test "an image that can't be parsed is exempt only by the name of its container" {
  pod 'app a NGINX'
  evaluate '{"exempt":{"images":["*"]}}'
  [[ $allowed == false ]] || fail "accepted"
  evaluate '{"exempt":{"containers":["a"]}}'
  untouched
}

@test "an exempt check covers nothing and is not raised, and an exempt container needs no check" {
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
  evaluate '{"exempt":{"containers":["imagecheck-0"]}}'
  untouched
  pod 'init imagecheck-0 app:1, app a other:1 Always'
  evaluate '{"exempt":{"containers":["a"]},"imageChecks":{"coverage":"Reject"}}'
  untouched
}

# An exempt check covers no image, so no added check may be exempt.
@test "an exemption that matches the names of added checks is a settings error" {
  for patterns in '"imagecheck-??*","imagecheck-1"' '"imagecheck-1","imagecheck-2"' '"imagecheck-*"' '"*"' '"imagecheck-0"'; do
    row=$patterns
    invalid_like "{\"imageChecks\":{\"coverage\":\"Fix\"},\"exempt\":{\"containers\":[$patterns]}}" 'exempt.containers "'
    [[ $told == *' matches the checks that imageChecks.coverage Fix adds, imagecheck- and a number: name containers that it does not'* ]] || fail "$told"
  done
  # These settings are valid: no check is added, or no pattern matches the name of an added check.
  pod 'init imagecheck-0 app:1, app a app:1'
  for settings_row in '{"exempt":{"containers":["imagecheck-1"]}}' \
    '{"imageChecks":{"coverage":"Fix"},"exempt":{"containers":["imagecheck-a*","imagecheck-01","imagepullcheck-1"]}}'; do
    row=$settings_row
    evaluate "$settings_row"
    untouched
  done
}

@test "each name is given once, also if many names are in use" {
  pod 'init imagecheck-0 app:1, init imagecheck-3 app:1, app a app:1, app b b:1, app c c:1, app d d:1'
  evaluate '{"imageChecks":{"coverage":"Fix"}}'
  same names 'imagecheck-1 imagecheck-2 imagecheck-4' "$(in_jq -r '[.[].container] | join(" ")' <<<"$changes")"
  pod "$(series 300 'init imagecheck-# app:1'), app a app:1, app b b:1, app c c:1"
  evaluate '{"imageChecks":{"coverage":"Fix"}}'
  same names 'imagecheck-0 imagecheck-301' "$(in_jq -r '[.[].container] | join(" ")' <<<"$changes")"
}
