# default: the pull policy of a container or image volume whose author chose none.

load lib

sha=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
hex=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

# The server default of each image, as a real API server wrote it. The API server also accepts image
# references that this policy can't parse: invalid-image.bats has those.
server_defaults="
nginx Always
nginx:latest Always
nginx:1.25 IfNotPresent
nginx@$sha IfNotPresent
nginx:latest@$sha Always
nginx:1.25@$sha IfNotPresent
localhost:5000/a/b Always
localhost/a/b Always
[::1]:5000/a/b Always
localhost:5000/a/b:latest Always
localhost:5000/a/b:v1 IfNotPresent
nginx:Latest IfNotPresent
nginx:LATEST IfNotPresent
nginx:latest-alpine IfNotPresent
nginx:stable-latest IfNotPresent
Registry.Example.com/nginx Always
REGISTRY/nginx Always
$hex:latest Always
"

# table KIND FILTER: prints the places that FILTER writes for each row of $server_defaults. FILTER has the
# variables $kind, $name (p and the number of the row), $image, $server_default and $setting, and the function
# `becomes`: the pull policy after the default, if $setting is `defaults.imagePullPolicy`.
table() {
  in_jq -r -n -R --arg kind "$1" --arg setting "${setting:-}" "
    def becomes(\$image; \$server_default):
      if . != \$server_default or (\$image | contains(\"@\")) and \$setting != \"Always\" then .
      else \$setting | rtrimstr(\"UnlessDigest\") end;
    [inputs | select(. != \"\") | split(\" \")] | to_entries[]
    | \"p\(.key)\" as \$name | .value as [\$image, \$server_default] | $2" <<<"$server_defaults" | paste -s -d , | sed 's/,/, /g'
}

# A default lowers no digest, and AlwaysUnlessDigest leaves each digest alone.
@test "a pull policy is replaced only if it equals the server default" {
  for kind in init sidecar app ephemeral volume; do
    pod "$(table $kind '("Always", "IfNotPresent", "Never") as $p | "\($kind) \($name)-\($p | ascii_downcase) \($image) \($p)"')"
    for setting in Always IfNotPresent AlwaysUnlessDigest; do
      row="$kind $setting"
      evaluate "{\"defaults\":{\"imagePullPolicy\":\"$setting\"}}"
      repaired "$(table $kind '("Always", "IfNotPresent", "Never") as $p
        | "\($kind) \($name)-\($p | ascii_downcase) \($image) \($p | becomes($image; $server_default))"')"
    done
  done
}

@test "a missing pull policy counts as the server default, and a default that equals it is not written" {
  for kind in init sidecar app ephemeral volume; do
    pod "$(table $kind '"\($kind) \($name) \($image)"')"
    for setting in Always IfNotPresent AlwaysUnlessDigest; do
      row="$kind $setting"
      evaluate "{\"defaults\":{\"imagePullPolicy\":\"$setting\"}}"
      repaired "$(table $kind '($server_default | becomes($image; $server_default)) as $p
        | "\($kind) \($name) \($image)\(if $p == $server_default then "" else " \($p)" end)"')"
    done
  done
}

@test "every container gets the default, in one patch, and the finding names the setting" {
  pod 'init i app:1 IfNotPresent, sidecar s app:1 IfNotPresent, app a app:1 IfNotPresent, ephemeral e app:1 IfNotPresent, volume v app:1 IfNotPresent'
  evaluate '{"defaults":{"imagePullPolicy":"Always"},"pullOnce":false}'
  repaired 'init i app:1 Always, sidecar s app:1 Always, app a app:1 Always, ephemeral e app:1 Always, volume v app:1 Always'
  warned
  told='IfNotPresent Always defaults.imagePullPolicy'
  evaluate '{"mode":"Reject","defaults":{"imagePullPolicy":"Always"},"pullOnce":false}'
  rejected "default i app:1 $told" "default s app:1 $told" "default a app:1 $told" "default e app:1 $told" "default v app:1 $told"
}

@test "other settings decide before a default" {
  outcomes '{"pullOnce":false,"imageChecks":{"coverage":"Off"}}' '. + $value' <<ROWS
    {"defaults":{"imagePullPolicy":"Always"},"images":{"forbidAlways":["app"]}}             | app a app:1, app b app, app c app:latest@$sha Always, app d other:1 | app a app:1, app b app IfNotPresent, app c app:latest@$sha IfNotPresent, app d other:1 Always
    {"defaults":{"imagePullPolicy":"AlwaysUnlessDigest"},"images":{"forbidAlways":["app"]}} | app a app:1, app b other:1                         | app a app:1, app b other:1 Always
    {"defaults":{"imagePullPolicy":"IfNotPresent"},"images":{"requireAlways":["app"]}}      | app a app Always, app b app:1, app c other Always  | app a app Always, app b app:1 Always, app c other IfNotPresent
    {"defaults":{"imagePullPolicy":"AlwaysUnlessDigest"},"images":{"requireAlways":["app"]}} | app a app@$sha, app b other@$sha                  | app a app@$sha Always, app b other@$sha
    {"defaults":{"imagePullPolicy":"Always"},"images":{"forbidNever":["*"]}}                | app a app:1 Never, app b app Never                 | app a app:1 Always, app b app IfNotPresent
    {"defaults":{"imagePullPolicy":"IfNotPresent"},"images":{"forbidNever":["*"]}}          | app a app:1 Never, app b app Never                 | app a app:1 IfNotPresent, app b app IfNotPresent
    {"defaults":{"imagePullPolicy":"Always"},"images":{"forbidNever":["*"],"forbidAlways":["*"]}} | app a app:1 Never                            | app a app:1 IfNotPresent
    {"defaults":{"imagePullPolicy":"Always"},"registry":{"lookup":"Pin","images":["app"]}}  | app a app@$sha, app b other@$sha, app c app:latest@$sha Always | app a app@$sha, app b other@$sha Always, app c app:latest@$sha Always
    {"defaults":{"imagePullPolicy":"Always"},"registry":{"lookup":"Pin","images":["app"],"overrides":[{"images":["app:1"],"lookup":"Off"}]}} | app a app:1@$sha, app b app:2@$sha | app a app:1@$sha Always, app b app:2@$sha
ROWS
}

@test "together with weak-check and pull-once: the check asks the registry, the container doesn't" {
  outcomes '{"defaults":{"imagePullPolicy":"Always"}}' <<'ROWS'
    init imagecheck-0 app:1, init imagecheck-1 db:1, app a app:1, app b db:1 Never | init imagecheck-0 app:1 Always, init imagecheck-1 db:1 Always, app a app:1, app b db:1 Never
    init imagecheck-0 app:1 Never, app a app:1                                     | init imagecheck-0 app:1 Always, app a app:1
ROWS
  # Where a default lowers, it lowers all places of the image, checks too. A written Always of another tag stays.
  outcomes '{"defaults":{"imagePullPolicy":"IfNotPresent"}}' <<'ROWS'
    init imagecheck-0 app Always, app a app IfNotPresent                                  | init imagecheck-0 app IfNotPresent, app a app IfNotPresent
    init imagecheck-0 app Always, app a app Always                                        | init imagecheck-0 app IfNotPresent, app a app IfNotPresent
    init imagecheck-0 app:1 Always, init copy-agent agent:3 Always, app a app:1, app b agent:3 | same
ROWS
}
