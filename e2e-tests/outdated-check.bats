# outdated-check: at UPDATE of a Pod, a warning about an image check whose image no container has any more.

load lib

# updates PLACES FILTER: the UPDATE of a Pod with these places. FILTER edits the stored Pod.
updates() {
  pod "$1" ".operation = \"UPDATE\" | .oldObject = .object | $2"
}

was_app_2='.oldObject.spec.containers[0].image = "app:2"'
on_init='(.object, .oldObject).spec.initContainers[0].volumeMounts += [{name: "imagecheck-0", mountPath: "/x"}]'
on_app='(.object, .oldObject).spec.containers[0].volumeMounts += [{name: "imagecheck-0", mountPath: "/x"}]'

@test "a check whose image was replaced in the container is told, in every mode and in the copy" {
  updates 'init imagecheck-0 app:2, app a app:3' "$was_app_2"
  everywhere '{}' accepted 'outdated-check imagecheck-0 app:2 change'
  evaluate '{"imageChecks":{"coverage":"Off"}}'
  accepted 'outdated-check imagecheck-0 app:2 change'
  updates 'init i x:1, app a app:3, volume imagecheck-0 app:2' "$was_app_2 | $on_init"
  evaluate
  accepted 'outdated-check imagecheck-0 app:2 create'
  # Only app containers count: the sentence says so.
  updates 'init imagecheck-0 app:2, init setup app:2, app a app:3, ephemeral e app:2' "$was_app_2"
  evaluate
  accepted 'outdated-check imagecheck-0 app:2 app container'
}

@test "which checks are outdated" {
  while IFS='^' read -r places_now filter image; do
    row="$places_now $filter"
    updates "$places_now" "$filter"
    evaluate
    accepted ${image:+"outdated-check imagecheck-0 $image"}
  done <<ROWS
init imagecheck-0 app:2, app a app:3^$was_app_2^app:2
init imagecheck-0 app:2, app a app:2^.^
init imagecheck-0 app:3, app a app:3^$was_app_2 | .oldObject.spec.initContainers[0].image = "app:2"^
init imagecheck-0 app:2, app a app:3, app b app:2^$was_app_2^
init imagecheck-0 app:2, app a app:3, app b docker.io/library/app:2^$was_app_2^
init imagecheck-0 docker.io/library/app:2, app a app:3^$was_app_2^
init imagecheck-0 app, app a app:3^.oldObject.spec.containers[0].image = "app:latest"^app
init setup app:2, app a app:3^$was_app_2^
app a app:3, ephemeral e x:1, volume imagecheck-0 app:2^$was_app_2 | (.object, .oldObject).spec.ephemeralContainers[0].volumeMounts = [{name: "imagecheck-0", mountPath: "/x"}]^
sidecar imagecheck-0 app:2, app a app:3^$was_app_2^
init imagecheck-0 other:1, app a app:3^$was_app_2^
app a app:3, volume imagecheck-0 app:2^$was_app_2 | $on_app^app:2
app a app:3, volume imagecheck-0 app:2^$was_app_2^
ROWS
  # The images are compared as they are written, also where tags of their repository are looked up.
  row=
  updates 'app a app:3, app b app:1, volume imagecheck-0 app:2' "$was_app_2 | $on_app"
  evaluate '{"registry":{"lookup":"Pin","images":["app:2"]}}'
  accepted 'outdated-check imagecheck-0 app:2'
  updates 'init imagecheck-0 app:2, app a app:3' "$was_app_2"
  evaluate '{"exempt":{"containers":["imagecheck-*"]}}'
  untouched
}

@test "a check that has passed is not told: the stored status decides" {
  outdated='outdated-check imagecheck-0 app:2 change'
  while IFS='|' read -r status told; do
    row=$status
    updates 'init imagecheck-0 app:2, app a app:3' "$was_app_2 | .oldObject.status = $status"
    evaluate
    accepted ${told:+"$outdated"}
  done <<'ROWS'
{initContainerStatuses: [{name: "imagecheck-0", state: {terminated: {exitCode: 0}}}]}|
{initContainerStatuses: [{name: "imagecheck-0", state: {terminated: {exitCode: 1}}}]}|told
{initContainerStatuses: [{name: "imagecheck-0", state: {waiting: {reason: "ImagePullBackOff"}}}]}|told
{initContainerStatuses: [{name: "imagecheck-1", state: {terminated: {exitCode: 0}}}]}|told
ROWS
  # A person may write the status of the request.
  updates 'init imagecheck-0 app:2, app a app:3' "$was_app_2"' | .object.status = {initContainerStatuses: [{name: "imagecheck-0", state: {terminated: {exitCode: 0}}}]}'
  evaluate
  accepted "$outdated"
  # A check volume has passed once its first carrier has started.
  updates 'init i x:1, app a app:3, volume imagecheck-0 app:2' "$was_app_2 | $on_init"' | .oldObject.status = {initContainerStatuses: [{name: "i", state: {running: {}}}]}'
  evaluate
  untouched
}
