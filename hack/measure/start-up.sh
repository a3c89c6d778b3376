#!/usr/bin/env bash
# Prints the median time from a Pod's creation to the start of its last container, with three checks: none, image
# volumes, and init containers. The Pod has an init container, four containers, and images that are on the node.
# The clocks of the node and of this machine have to agree.
#
#   REGISTRY=<host> IMAGE=<repository:tag with a shell, in this registry> hack/measure/start-up.sh
. "$(dirname "$0")/lib.sh"
namespace measure-start-up
push_images
measure() { # CHECKS: prints the seconds
  local begin
  measured_pod "$1" 3 4 | kubectl -n measure-start-up create -f - >&2
  begin=$(date +%s.%N)
  kubectl -n measure-start-up wait pod measured --for=condition=Ready --timeout=120s >&2
  for container in {0..3}; do kubectl -n measure-start-up logs measured -c "container-$container" --timestamps; done |
    while read -r time _; do date -d "$time" +%s.%N; done |
    sort -n | tail -n 1 | awk -v begin="$begin" '{ print $1 - begin }'
  kubectl -n measure-start-up delete pod measured --now >&2
}
measure none >/dev/null # brings the images to the node
for _ in {1..5}; do
  for checks in none volumes 'init containers'; do measure "$checks" >>"$tmp/$checks.times"; done
done
node_versions
for checks in none volumes 'init containers'; do printf '%-16s %s s\n' "$checks" "$(time_of "$checks")"; done
