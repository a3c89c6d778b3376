# What the copy (the second, validating installation) says of a Pod that other webhooks have changed since this
# policy repaired it.

load lib

fix='{"imageChecks":{"as":"ImageVolume","coverage":"Fix","everyPod":true},"defaults":{"imagePullPolicy":"AlwaysUnlessDigest"}}'
copy=$(copy_of "$fix")

# later FILTER: edits the object that the last answer returned, as another webhook would.
later() {
  in_jq ".object |= ($1)" "$request.second" >"$request.later"
  mv "$request.later" "$request"
}

# verify-image-signatures adds a digest to the images of containers, and leaves image volumes alone.
digest=sha256:$(printf '1%.0s' {1..64})
pin_containers='(.spec.initContainers[]?, .spec.containers[] | .image) += "@'$digest'"'

@test "the copy accepts digests that another webhook adds to containers and init containers" {
  while fields before; do
    for pinned in "$pin_containers" '(.spec.containers[] | .image) += "@'$digest'"'; do
      pod "$before"
      evaluate "$fix"
      later "$pinned"
      evaluate "$copy"
      untouched
    done
  done <<'ROWS'
    init i x:1, app a app:1, app b b:1
    app a app:1, app b b:1
    app a app, app b b:latest
    init i x:1, app a app:1 Always, app b app:1 IfNotPresent
    init i app:1, app a app:1, app b app:2
ROWS
  # The copy of a policy whose checks are init containers.
  init=$(in_jq -nc --argjson fix "$fix" '$fix | .imageChecks = {coverage: "Fix"}')
  pod 'init imagecheck-0 app:1, app a app:1 Always, app b b:latest'
  evaluate "$init"
  later '(.spec.containers[] | .image) += "@'$digest'"'
  evaluate "$(copy_of "$init")"
  untouched
}

@test "the copy rejects an image that another webhook has replaced, and names the container and the image" {
  pod 'init i x:1, app a app:1, app b b:1'
  evaluate "$fix"
  later '.spec.containers[1].image = "mirror.example.com/b:1"'
  evaluate "$copy"
  rejected 'missing-check b mirror.example.com/b:1 imagecheck-2 Always'
}

@test "the copy rejects a Pod whose check volumes have become empty folders" {
  pod 'init i x:1, app a app:1, app b b:1 Always'
  evaluate "$fix"
  later '.spec.volumes |= map({name, emptyDir: {}})'
  evaluate "$copy"
  rejected 'missing-check a app:1 imagecheck-2 Always' 'missing-check b b:1 imagecheck-3 Always'
}

# What the copy can't know removes findings and adds none. SHA and OTHER are two digests. A missing tag is `latest`,
# beside a digest too.
@test "the copy: images of one repository and tag may be the same, with and without a digest" {
  while fields answer others before; do
    pod "${before//SHA/$digest}"
    evaluate "$(copy_of "{\"imageChecks\":{\"coverage\":\"Reject\"}$others}")"
    if [[ $answer == accepted ]]; then untouched; else rejected "${answer//SHA/$digest}"; fi
  done <<ROWS
    accepted                                  |                   | init imagecheck-0 app:1, init x y:1, app a app:1@SHA, app b app:1
    accepted                                  |                   | init imagecheck-0 app:1@SHA, app a app:1, app b app:1
    accepted                                  |                   | init imagecheck-0 app Always, app a app@SHA, app b app:latest@SHA Always
    accepted                                  |                   | init imagecheck-0 app:1@${digest//1/2}, app a app:1@SHA, app b app:1
    accepted                                  |                   | init imagecheck-0 app:2@SHA, app a app:1@SHA, app b app:2
    missing-check a app:1@SHA IfNotPresent    |                   | init imagecheck-0 app:2, app a app:1@SHA, app b app:2
    missing-check a app@SHA IfNotPresent      |                   | init imagecheck-0 app:1, app a app@SHA, app b app:1
    missing-check a app@SHA IfNotPresent      |                   | init imagecheck-0 app:1, sidecar s app:1@SHA, app a app@SHA, app b app:1
    accepted                                  |                   | init imagecheck-0 app:1, app a app@SHA, app b app:1@SHA
    missing-check a app:1@SHA IfNotPresent    |                   | init imagecheck-0 docker.io/library/app:1, app a app:1@SHA, app b docker.io/library/app:1
    accepted                                  |                   | init imagecheck-0 app:1 Always, app a app:1@SHA Always, app b app:1
    accepted                                  |                   | init imagecheck-0 app:1, init imagecheck-1 app:1@SHA Always, app a app:1 Always, app b app:1
    accepted                                  |                   | init imagecheck-0 app:1, app a app:1@SHA Always, app b app:1
    weak-check imagecheck-1 app:1 IfNotPresent Always a | | init imagecheck-0 app:1@SHA, init imagecheck-1 app:1, app a app:1 Always, app b app:1@SHA Always
    weak-check imagecheck-0 app:1@SHA IfNotPresent Always a | | init imagecheck-0 app:1@SHA, app a app:1@SHA Always, app b app:1
    accepted                                  | ,"defaults":{"imagePullPolicy":"Always"} | init imagecheck-0 app:1 Always, app a app:1@SHA IfNotPresent, app b app:1
    default a app:1@SHA IfNotPresent Always   | ,"defaults":{"imagePullPolicy":"Always"},"pullOnce":false | init imagecheck-0 app:1 Always, app a app:1@SHA IfNotPresent, app b app:1 Always
ROWS
}

@test "the copy makes no lookup, and finds nothing about a repository of which an image is looked up" {
  while fields answer others before; do
    pod "$before"
    evaluate "$(copy_of "{\"imageChecks\":{\"coverage\":\"Reject\"},\"registry\":{\"images\":[\"app:v?\",\"127.0.0.1:1/*\"],\"skipImages\":[\"*:v0\"],\"lookup\":\"Pin\",\"onUnreachable\":\"Reject\",\"platform\":\"Reject\",\"overrides\":[{\"images\":[\"*:v1\"],\"lookup\":\"Off\"}]}$others}")"
    if [[ $answer == accepted ]]; then untouched; else rejected "$answer"; fi
  done <<'ROWS'
    accepted                           |                                          | app a 127.0.0.1:1/app:1 Always, app b 127.0.0.1:1/b:1
    accepted                           | ,"defaults":{"imagePullPolicy":"Always"} | app a app:v2 IfNotPresent
    accepted                           | ,"defaults":{"imagePullPolicy":"Always"} | app a app:1 IfNotPresent, app b app:v2 Always
    accepted                           | ,"defaults":{"imagePullPolicy":"Always"} | init i docker.io/library/app:v2 Always, app a app:1 IfNotPresent
    accepted                           | ,"defaults":{"imagePullPolicy":"Always"} | app a app:1 IfNotPresent, volume v app:v2 Never
    accepted                           | ,"defaults":{"imagePullPolicy":"Always"},"exempt":{"containers":["b"]} | app a app:1 IfNotPresent, app b app:v2 Always
    default a app:1 IfNotPresent Always | ,"defaults":{"imagePullPolicy":"Always"} | app a app:1 IfNotPresent
    default a app:v0 IfNotPresent Always | ,"defaults":{"imagePullPolicy":"Always"} | app a app:v0 IfNotPresent
    default a app:v1 IfNotPresent Always | ,"defaults":{"imagePullPolicy":"Always"} | app a app:v1 IfNotPresent
    default b b:1 IfNotPresent Always  | ,"defaults":{"imagePullPolicy":"Always"} | app a app:v2 IfNotPresent, app b b:1 IfNotPresent
    accepted                           |                                          | init imagecheck-0 app:v2 IfNotPresent, app a app:v2 Always
    accepted                           |                                          | init imagecheck-0 x:1, app a app:v2, app b app:1
    missing-check b b:1 IfNotPresent   |                                          | init imagecheck-0 x:1, app a app:v2, app b b:1
    invalid-image b app:v2:v2          |                                          | app a app:v2, app b app:v2:v2
    disallowed-policy b app:v2 IfNotPresent Always images.requireAlways | ,"images":{"requireAlways":["app"]} | app a app:v2 Always, app b app:v2 IfNotPresent
ROWS
}

@test "the copy accepts what a mesh, a limit or older types change, apart from an app container without a check" {
  init='{"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"]}}}'
  for settings_row in "$fix" "$init"; do
    while IFS='^' read -r answer filter; do
      row="$settings_row $filter"
      pod 'sidecar log log:1 Always, init i x:1 Always, app a app:1 Always, app b b:1 Always'
      evaluate "$settings_row"
      later "$filter"
      evaluate "$(copy_of "$settings_row")"
      if [[ $answer == accepted ]]; then untouched; else rejected "$answer"; fi
    done <<'ROWS'
accepted^.spec.initContainers |= [{name: "mesh-proxy", image: "mesh:1", imagePullPolicy: "Always", restartPolicy: "Always"}] + .
accepted^(.spec.initContainers, .spec.containers) |= [{name: "mesh", image: "mesh:1", imagePullPolicy: "Always"}] + .
missing-check mesh mesh:1 imagecheck-2 Always^.spec.containers |= [{name: "mesh", image: "mesh:1", imagePullPolicy: "Always"}] + .
accepted^(.spec.initContainers, .spec.containers) |= map(.resources = {limits: {cpu: "1"}})
accepted^del(.spec.initContainers[].restartPolicy)
ROWS
  done
}

@test "Fix adds checks again, with free names, after another webhook has emptied the check volumes" {
  pod 'init i x:1, app a app:1, app b b:1'
  evaluate "$fix"
  later '.spec.volumes |= map({name, emptyDir: {}})'
  evaluate "$fix"
  after '[.spec.volumes[] | [.name, .image.reference]] == [["imagecheck-0", null], ["imagecheck-1", null], ["imagecheck-2", "app:1"], ["imagecheck-3", "b:1"]]'
}

# `kubectl get --output yaml | kubectl replace --force` brings all that the API server has written.
@test "a repaired Pod that is created again from its own output stays as it is" {
  pod 'init imagecheck-0 app:1 IfNotPresent, app a app:1 Always'
  evaluate
  in_jq '.object += {status: {phase: "Pending", containerStatuses: [{name: "a", state: {waiting: {reason: "ImagePullBackOff"}}}]}}
    | .object.spec.nodeName = "n1" | .object.metadata += {uid: "1", resourceVersion: "2", generation: 1}' "$request.second" >"$request.again"
  mv "$request.again" "$request"
  everywhere '{}' untouched
}
