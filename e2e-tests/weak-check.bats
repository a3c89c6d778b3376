# weak-check: the strongest check of an image has to pull at least as strongly as the containers that the
# check guards.

load lib

sha=sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
other=sha256:fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210

# pullOnce and coverage are off, so that each row shows only the changes of weak-check.
alone='{"pullOnce":false,"imageChecks":{"coverage":"Off"}}'

# The specification has each combination of roles, pull policies and images in small Pods.
@test "the strongest check of an image is as strong as the strongest container of it" {
  outcomes "$alone" <<ROWS
    init imagecheck-0 app:1 Never, app a app:1 Always               | init imagecheck-0 app:1 Always, app a app:1 Always
    init imagecheck-0 app:1 IfNotPresent, app a app:1 Always        | init imagecheck-0 app:1 Always, app a app:1 Always
    init imagecheck-0 app:1 Always, app a app:1 Always              | same
    init imagecheck-0 app:1 Never, app a app:1 Never, app b app:1 IfNotPresent, app c app:1 Always | init imagecheck-0 app:1 Always, app a app:1 Never, app b app:1 IfNotPresent, app c app:1 Always
    init imagecheck-0 app:1 Never, init imagecheck-1 app:1 IfNotPresent, app a app:1 Always        | init imagecheck-0 app:1 Always, init imagecheck-1 app:1 IfNotPresent, app a app:1 Always
    init imagecheck-0 app:1 Never, init imagecheck-1 app:1 Always, app a app:1 Always              | same
    init imagecheck-0 a:1 Never, init imagecheck-1 b:1 Never, app a a:1 Always, app b b:1 IfNotPresent | init imagecheck-0 a:1 Always, init imagecheck-1 b:1 IfNotPresent, app a a:1 Always, app b b:1 IfNotPresent
    init imagecheck-0 app:1 Never, app a app                        | same
    init imagecheck-0 app Never, app a app                          | init imagecheck-0 app Always, app a app
ROWS
}

@test "two spellings of a name are the same image" {
  while fields same_image check app; do
    pod "init imagecheck-0 $check IfNotPresent, app a $app Always"
    evaluate "$alone"
    if [[ $same_image == no ]]; then untouched; else repaired "init imagecheck-0 $check Always, app a $app Always"; fi
  done <<ROWS
    yes | index.docker.io/library/nginx:latest | nginx
    yes | docker.io/nginx                      | library/nginx
    yes | docker.io/library/postgres:16        | postgres:16
    yes | buildkite/agent:3                    | docker.io/buildkite/agent:3
    yes | app:1@$sha                           | app:2@$sha
    no  | nginx:latest                         | nginx:Latest
    no  | nginx                                | library/nginx/nginx
    no  | localhost:5000/nginx                 | localhost/nginx
    no  | app:1@$sha                           | app:1@$other
    no  | app:1                                | app:1@$sha
ROWS
}

@test "a check in another spelling is not raised if an init container pulls the image in the same spelling" {
  app='app a docker.io/library/nginx Always'
  pod "init imagecheck-0 nginx IfNotPresent, init setup docker.io/library/nginx Always, $app"
  evaluate "$alone"
  untouched
  # An init container that pulls more weakly than the container doesn't count.
  pod "init imagecheck-0 nginx IfNotPresent, init setup docker.io/library/nginx IfNotPresent, $app"
  evaluate "$alone"
  repaired "init imagecheck-0 nginx Always, init setup docker.io/library/nginx IfNotPresent, $app"
}

@test "only init containers that end and have the name of a check are checks" {
  outcomes "$alone" <<'ROWS'
    sidecar imagecheck-x app:1 IfNotPresent, app a app:1 Always
    init prepare app:1 IfNotPresent, app a app:1 Always
    init my-imagecheck-0 app:1 IfNotPresent, app a app:1 Always
    init imagecheck app:1 IfNotPresent, app a app:1 Always
    app imagecheck-0 app:1 IfNotPresent, app a app:1 Always
ROWS
}

@test "only app containers are guarded" {
  outcomes "$alone" <<'ROWS'
    init imagecheck-0 app:1 IfNotPresent, app a other:1 Always, volume v app:1 Always
    init imagecheck-0 app:1 IfNotPresent, sidecar s app:1 Always, app a other:1 Always
ROWS
}

@test "null and an empty text count as a missing pull policy" {
  for unset in null '""'; do
    row=$unset
    pod 'init imagecheck-0 app:1, app a app:1 Always' ".object.spec.initContainers[0].imagePullPolicy = $unset"
    evaluate "$alone"
    repaired 'init imagecheck-0 app:1 Always, app a app:1 Always'
  done
}

@test "imageChecks.namePrefixes decides which names are those of checks" {
  pod 'init imagecheck-0 app:1 IfNotPresent, init probe-0 app:1 Never, app a app:1 Always'
  evaluate '{"pullOnce":false,"imageChecks":{"namePrefixes":["probe-"]}}'
  repaired 'init imagecheck-0 app:1 IfNotPresent, init probe-0 app:1 Always, app a app:1 Always'
  evaluate '{"pullOnce":false,"imageChecks":{"namePrefixes":["imagecheck-","probe-"]}}'
  repaired 'init imagecheck-0 app:1 Always, init probe-0 app:1 Never, app a app:1 Always'
}

@test "the message names the first of the strongest containers" {
  pod 'init imagecheck-0 app:1 Never, app a app:1 IfNotPresent, app b app:1 Always, app c app:1 Always'
  evaluate '{"mode":"Reject"}'
  rejected 'weak-check imagecheck-0 app:1 Never Always b'
}

@test "a check that is written alike is raised, and another one only if there is none" {
  # pull-once is off, so that only the checks change.
  outcomes '{"pullOnce":false}' '.imageChecks.coverage = $value' <<'ROWS'
    "Warn" | init imagecheck-0 docker.io/library/app:1, init imagecheck-1 app:1, app a app:1 Always | init imagecheck-0 docker.io/library/app:1, init imagecheck-1 app:1 Always, app a app:1 Always
    "Warn" | init imagecheck-0 docker.io/library/app:1 Always, init imagecheck-1 app:1, app a app:1 Always | init imagecheck-0 docker.io/library/app:1 Always, init imagecheck-1 app:1 Always, app a app:1 Always
    "Warn" | init imagecheck-0 docker.io/library/app:1, app a app:1 Always | init imagecheck-0 docker.io/library/app:1 Always, app a app:1 Always
    "Off" | init imagecheck-0 docker.io/library/app:1, app a app:1 Always | init imagecheck-0 docker.io/library/app:1 Always, app a app:1 Always
    "Warn" | init imagecheck-0 library/app:1, init imagecheck-1 docker.io/library/app:1, app a docker.io/library/app:1 Always, app b app:1 Always | init imagecheck-0 library/app:1, init imagecheck-1 docker.io/library/app:1 Always, app a docker.io/library/app:1 Always, app b app:1 Always
    "Fix" | init imagecheck-0 docker.io/library/app:1, app a app:1 Always | init imagecheck-0 docker.io/library/app:1 Always, init imagecheck-1 app:1 Always, app a app:1 Always
ROWS
}

@test "a check that may not pull with Always is not raised" {
  pod "init imagecheck-0 app:1@$sha Never, app a app:2@$sha Always"
  for mode in Fix Reject; do
    evaluate "{\"mode\":\"$mode\",\"images\":{\"forbidAlways\":[\"app:1\"]}}"
    rejected "weak-check imagecheck-0 app:1@$sha images.forbidAlways a IfNotPresent"
  done
}

@test "a missing tag and the tag latest are written alike, and the warning gives the reason" {
  pod 'init imagecheck-0 docker.io/library/postgres:16, app a postgres:16'
  evaluate
  accepted 'missing-check a postgres:16 docker.io/library/postgres:16'
  evaluate '{"imageChecks":{"coverage":"Reject"}}'
  rejected 'missing-check a postgres:16 docker.io/library/postgres:16 IfNotPresent'
  pod 'init imagecheck-0 postgres:latest, app a postgres'
  evaluate '{"pullOnce":false,"imageChecks":{"coverage":"Reject"}}'
  untouched
}
