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
