# disallowed-policy: images.requireAlways, images.forbidAlways and images.forbidNever.

load lib

@test "requireAlways: every container and volume of the image pulls with Always" {
  pod 'init i app:1 IfNotPresent, sidecar s app:1 Never, app a app:1, app b app Always, app c other:1 Never, ephemeral e app:1 Never, volume v app:1 IfNotPresent'
  evaluate '{"images":{"requireAlways":["app"]}}'
  repaired 'init i app:1 Always, sidecar s app:1 Always, app a app:1 Always, app b app Always, app c other:1 Never, ephemeral e app:1 Always, volume v app:1 Always'
  warned 'disallowed-policy i app:1 IfNotPresent Always images.requireAlways' \
    'disallowed-policy s app:1 Never Always images.requireAlways' \
    'disallowed-policy a app:1 IfNotPresent Always images.requireAlways' \
    'disallowed-policy e app:1 Never Always images.requireAlways' \
    'disallowed-policy v app:1 IfNotPresent Always images.requireAlways'
}

@test "forbidAlways: Always becomes IfNotPresent, Never stays" {
  pod 'init i app:1 Always, sidecar s app:1 Always, app a app, app b app:1 Never, app c app:1 IfNotPresent, app d other:1 Always, ephemeral e app Always, volume v app:1 Always'
  evaluate '{"images":{"forbidAlways":["app"]}}'
  repaired 'init i app:1 IfNotPresent, sidecar s app:1 IfNotPresent, app a app IfNotPresent, app b app:1 Never, app c app:1 IfNotPresent, app d other:1 Always, ephemeral e app IfNotPresent, volume v app:1 IfNotPresent'
  warned 'disallowed-policy i app:1 Always IfNotPresent images.forbidAlways' \
    'disallowed-policy s app:1 Always IfNotPresent images.forbidAlways' \
    'disallowed-policy a app Always IfNotPresent images.forbidAlways' \
    'disallowed-policy e app Always IfNotPresent images.forbidAlways' \
    'disallowed-policy v app:1 Always IfNotPresent images.forbidAlways'
}

@test "an image in requireAlways and forbidAlways can't be repaired, and the message has both patterns" {
  pod 'app a app:1 Always, app b app:2 Never, app c other:1 Always'
  conflict='disallowed-policy a app:1 images.requireAlways app images.forbidAlways *:1'
  for mode in Fix Reject; do
    row=$mode
    evaluate "{\"mode\":\"$mode\",\"images\":{\"requireAlways\":[\"app\"],\"forbidAlways\":[\"*:1\"]}}"
    if [[ $mode == Fix ]]; then
      rejected "$conflict"
    else
      rejected "$conflict" 'disallowed-policy b app:2 Never Always images.requireAlways app' \
        'disallowed-policy c other:1 Always IfNotPresent images.forbidAlways *:1'
    fi
  done
}

@test "requireAlways: the check is raised too, and pull-once does not act" {
  outcomes '{}' '.images = $value' <<'ROWS'
    {"requireAlways":["app"]} | init imagecheck-0 app:1 IfNotPresent, app a app:1 IfNotPresent | init imagecheck-0 app:1 Always, app a app:1 Always
    {"forbidAlways":["app"]}  | init imagecheck-0 app:1 Never, app a app:1 Always              | init imagecheck-0 app:1 IfNotPresent, app a app:1 IfNotPresent
    {"requireAlways":["app:1"]} | init imagecheck-0 app:1 Never, init imagecheck-1 app:2 Never, app a app:1 Never, app b app:2 Never | init imagecheck-0 app:1 Always, init imagecheck-1 app:2 Never, app a app:1 Always, app b app:2 Never
ROWS
}

@test "forbidNever: Never becomes IfNotPresent in every container and volume" {
  pod 'init i app:1 Never, sidecar s app:1 Never, app a app Never, app b app:1 Always, app c app:1, app d other:1 Never, ephemeral e app Never, volume v app:1 Never'
  evaluate '{"images":{"forbidNever":["app"]}}'
  repaired 'init i app:1 IfNotPresent, sidecar s app:1 IfNotPresent, app a app IfNotPresent, app b app:1 Always, app c app:1, app d other:1 Never, ephemeral e app IfNotPresent, volume v app:1 IfNotPresent'
  warned 'disallowed-policy i app:1 Never IfNotPresent images.forbidNever' \
    'disallowed-policy s app:1 Never IfNotPresent images.forbidNever' \
    'disallowed-policy a app Never IfNotPresent images.forbidNever' \
    'disallowed-policy e app Never IfNotPresent images.forbidNever' \
    'disallowed-policy v app:1 Never IfNotPresent images.forbidNever'
}

@test "forbidNever: the message, and the setting together with the others" {
  pod 'app a app:1 Never'
  evaluate '{"mode":"Reject","images":{"forbidNever":["other","ap*"]}}'
  rejected 'disallowed-policy a app:1 Never IfNotPresent images.forbidNever ap*'
  while fields settings_row after; do
    evaluate "$settings_row"
    repaired "$after"
  done <<'ROWS'
    {"images":{"forbidNever":["app"],"requireAlways":["app"]}}                                 | app a app:1 Always
    {"images":{"forbidNever":["app"],"forbidAlways":["app"]}}                                  | app a app:1 IfNotPresent
ROWS
}

@test "requireAlways and forbidAlways contradict each other: only this is told" {
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 IfNotPresent'
  evaluate '{"images":{"requireAlways":["app"],"forbidAlways":["app"]},"defaults":{"imagePullPolicy":"Always"}}'
  conflict='app:1 images.requireAlways app images.forbidAlways app'
  rejected "disallowed-policy imagecheck-0 $conflict" "disallowed-policy a $conflict"
}
