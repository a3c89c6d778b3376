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

@test "each name is given once, also if many names are in use" {
  pod 'init imagecheck-0 app:1, init imagecheck-3 app:1, app a app:1, app b b:1, app c c:1, app d d:1'
  evaluate '{"imageChecks":{"coverage":"Fix"}}'
  same names 'imagecheck-1 imagecheck-2 imagecheck-4' "$(in_jq -r '[.[].container] | join(" ")' <<<"$changes")"
  pod "$(series 300 'init imagecheck-# app:1'), app a app:1, app b b:1, app c c:1"
  evaluate '{"imageChecks":{"coverage":"Fix"}}'
  same names 'imagecheck-0 imagecheck-301' "$(in_jq -r '[.[].container] | join(" ")' <<<"$changes")"
}
