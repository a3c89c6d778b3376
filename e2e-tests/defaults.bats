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
# variables $kind, $name (p and the number of the row), $image and $default.
table() {
  in_jq -r -n -R --arg kind "$1" "[inputs | select(. != \"\") | split(\" \")] | to_entries[]
    | \"p\(.key)\" as \$name | .value as [\$image, \$default] | $2" <<<"$server_defaults" | paste -s -d , | sed 's/,/, /g'
}

@test "a pull policy is replaced only if it equals the server default" {
  # No server default is `Never`. So `Never` shows which pull policies were replaced.
  for kind in init sidecar app ephemeral volume; do
    row=$kind
    pod "$(table $kind '("Always", "IfNotPresent", "Never") as $p | "\($kind) \($name)-\($p | ascii_downcase) \($image) \($p)"')"
    evaluate '{"defaults":{"imagePullPolicy":"Never"}}'
    repaired "$(table $kind '("Always", "IfNotPresent", "Never") as $p
      | "\($kind) \($name)-\($p | ascii_downcase) \($image) \(if $p == $default then "Never" else $p end)"')"
  done
}

@test "a missing pull policy is replaced, and counts as the server default" {
  for kind in init sidecar app ephemeral volume; do
    row=$kind
    pod "$(table $kind '"\($kind) \($name) \($image)"')"
    evaluate '{"defaults":{"imagePullPolicy":"Never"}}'
    repaired "$(table $kind '"\($kind) \($name) \($image) Never"')"
    # A default that equals the server default is not written.
    evaluate '{"defaults":{"imagePullPolicy":"IfNotPresent"}}'
    repaired "$(table $kind '"\($kind) \($name) \($image)\(if $default == "Always" then " IfNotPresent" else "" end)"')"
    evaluate '{"defaults":{"imagePullPolicy":"Always"}}'
    repaired "$(table $kind '"\($kind) \($name) \($image)\(if $default == "Always" then "" else " Always" end)"')"
  done
}

@test "AlwaysUnlessDigest: Always for a tag, IfNotPresent for a digest" {
  for kind in init app ephemeral volume; do
    row=$kind
    pod "$(table $kind '"\($kind) \($name) \($image) \($default)"')"
    evaluate '{"defaults":{"imagePullPolicy":"AlwaysUnlessDigest"}}'
    repaired "$(table $kind '"\($kind) \($name) \($image) \(if $image | contains("@") then "IfNotPresent" else "Always" end)"')"
  done
}

@test "every container gets the default, and the patch changes nothing else" {
  pod 'init i app:1 IfNotPresent, sidecar s app:1 IfNotPresent, app a app:1 IfNotPresent, app b app:1 IfNotPresent, ephemeral e app:1 IfNotPresent, volume v app:1 IfNotPresent'
  evaluate '{"defaults":{"imagePullPolicy":"Always"},"pullOnce":false}'
  repaired 'init i app:1 Always, sidecar s app:1 Always, app a app:1 Always, app b app:1 Always, ephemeral e app:1 Always, volume v app:1 Always'
  warned
}

@test "the finding names the setting of the default" {
  pod 'init imagecheck-0 app:1, app a app:1 IfNotPresent, volume v app:1'
  evaluate '{"mode":"Reject","defaults":{"imagePullPolicy":"Always","imageCheckPullPolicy":"Never"},"pullOnce":false}'
  rejected 'weak-check imagecheck-0 app:1 IfNotPresent Always a' 'default a app:1 IfNotPresent Always defaults.imagePullPolicy' \
    'default v app:1 IfNotPresent Always defaults.imagePullPolicy'
  pod 'init imagecheck-0 app:1, app a app:1 Never'
  evaluate '{"mode":"Reject","defaults":{"imageCheckPullPolicy":"Always"}}'
  rejected 'default imagecheck-0 app:1 IfNotPresent Always defaults.imageCheckPullPolicy'
}

@test "imageCheckPullPolicy applies to image checks only, and before imagePullPolicy" {
  outcomes '{"pullOnce":false,"imageChecks":{"coverage":"Off"}}' '.defaults = $value' <<'ROWS'
    {"imageCheckPullPolicy":"Always"} | init imagecheck-0 app:1, init i app:1, app a app:1           | init imagecheck-0 app:1 Always, init i app:1, app a app:1
    {"imageCheckPullPolicy":"Always"} | sidecar imagecheck-0 app:1, app imagecheck-1 app:1           | same
    {"imageCheckPullPolicy":"Always"} | init imagecheck-0 app:1 Never, app a app:1 Never             | same
    {"imageCheckPullPolicy":"Never","imagePullPolicy":"Always"} | init imagecheck-0 app:1, app a other:1       | init imagecheck-0 app:1 Never, app a other:1 Always
    {"imageCheckPullPolicy":"AlwaysUnlessDigest","imagePullPolicy":"Never"} | init imagecheck-0 app:1, app a app:1 | init imagecheck-0 app:1 Always, app a app:1 Never
    {"imagePullPolicy":"Never"}       | init imagecheck-0 app:1, app a app:1                         | init imagecheck-0 app:1 Never, app a app:1 Never
ROWS
}

@test "together with weak-check and pull-once: the check asks the registry, the container doesn't" {
  pod 'init imagecheck-0 app:1, init imagecheck-1 db:1, app a app:1, app b db:1 Never'
  evaluate '{"defaults":{"imagePullPolicy":"Always"}}'
  repaired 'init imagecheck-0 app:1 Always, init imagecheck-1 db:1 Always, app a app:1, app b db:1 Never'
  # If only the container's pull policy is replaced by the default, *weak-check* raises its check.
  pod 'init imagecheck-0 app:1 Never, app a app:1'
  evaluate '{"defaults":{"imagePullPolicy":"Always"}}'
  repaired 'init imagecheck-0 app:1 Always, app a app:1'
}

@test "a default doesn't weaken a check that pull-once relies on" {
  pod 'init imagecheck-0 app Always, app a app IfNotPresent'
  evaluate '{"defaults":{"imagePullPolicy":"IfNotPresent"}}'
  untouched
  pod 'init imagecheck-0 app Always, app a app Never'
  evaluate '{"defaults":{"imagePullPolicy":"IfNotPresent"}}'
  repaired 'init imagecheck-0 app IfNotPresent, app a app Never'
  evaluate '{"mode":"Warn","defaults":{"imageCheckPullPolicy":"IfNotPresent"}}'
  accepted 'default imagecheck-0 app Always IfNotPresent defaults.imageCheckPullPolicy'
  # In a Pod without checks, too: `forbidAlways` keeps the default from raising a, so only setup asks the
  # registry. All images have a digest, so nothing is looked up.
  local digest
  digest=sha256:$(printf 'a%.0s' {1..64})
  pod "init setup app:latest@$digest Always, app a app:v2@$digest IfNotPresent"
  evaluate '{"defaults":{"imagePullPolicy":"Always"},"images":{"forbidAlways":["*:v?"]},"registry":{"images":["*"],"lookup":"Pin","overrides":[{"images":["*:v?"],"lookup":"Off"}]}}'
  untouched
  # Here the default raises a, and pull-once doesn't lower it again.
  evaluate '{"defaults":{"imagePullPolicy":"Always"},"registry":{"lookup":"Pin","images":["app:latest"]}}'
  repaired "init setup app:latest@$digest IfNotPresent, app a app:v2@$digest Always"
  pod "init setup app:latest@$digest Always, init imagecheck-0 other:1 IfNotPresent, app a app:v2@$digest IfNotPresent"
  evaluate '{"defaults":{"imagePullPolicy":"AlwaysUnlessDigest"},"images":{"requireAlways":["app:v*"]}}'
  repaired "init setup app:latest@$digest IfNotPresent, init imagecheck-0 other:1 Always, app a app:v2@$digest Always"
}

@test "if weak-check changes a check last, default has no finding about it" {
  pod 'init imagecheck-0 app:1, app a docker.io/library/app:1, app b app:1 Always'
  evaluate '{"mode":"Warn","defaults":{"imageCheckPullPolicy":"Never"},"images":{"forbidAlways":["app"],"requireAlways":["app:1"]}}'
  [[ $findings == *'"weak-check"'* && $findings != *'"default"'* ]] || fail "$findings"
}

@test "only new ephemeral containers get the default" {
  review pod-ephemeralcontainers-update '.object.spec.ephemeralContainers = [
      {name: "old", image: "busybox:1", imagePullPolicy: "IfNotPresent"},
      {name: "new", image: "busybox:1", imagePullPolicy: "IfNotPresent"},
      {name: "chosen", image: "busybox:1", imagePullPolicy: "Never"}]
    | .oldObject.spec.ephemeralContainers = .object.spec.ephemeralContainers[:1]'
  evaluate '{"defaults":{"imagePullPolicy":"Always"}}'
  patched '[{"op":"replace","path":"/spec/ephemeralContainers/1/imagePullPolicy","value":"Always"}]'
  evaluate '{"mode":"Reject","defaults":{"imagePullPolicy":"Always"}}'
  rejected 'default new busybox:1 IfNotPresent Always defaults.imagePullPolicy'
}
