#!/usr/bin/env bash
# Prints the median time from a Pod's creation to the start of its last container, with three checks: none, image
# volumes, and init containers. The Pod has an init container, four containers, and images that are on the node.
# The clocks of the node and of this machine have to agree.
#
#   REGISTRY=<host> IMAGE=<repository:tag with a shell, in this registry> hack/measure/start-up.sh
. "$(dirname "$0")/lib.sh"
namespace=measure-start-up
cleanup() {
  kubectl delete namespace "$namespace" --ignore-not-found --wait=false >&2
  rm -rf "$tmp"
}
namespace "$namespace"
tags 0 1 2 3
pod() { # CHECKS
  jq -n --arg checks "$1" --arg image "$REGISTRY/${IMAGE%:*}:measure" '
    def container($name; $policy; $script): {name: $name, image: "\($image)-\($name[-1:])", imagePullPolicy: $policy,
      command: ["sh", "-c", $script]};
    def checks($kind): if $checks == $kind then [range(1; 4) | "imagecheck-\(.)"] else [] end;
    {apiVersion: "v1", kind: "Pod", metadata: {name: "measured"}, spec: {terminationGracePeriodSeconds: 0,
      initContainers: ([container("copy-agent-0"; "IfNotPresent"; "true")
        + {volumeMounts: (checks("volumes") | map({name: ., mountPath: "/.imagecheck/\(.)"}))}]
        + (checks("init containers") | map(container(.; "Always"; "true")))),
      containers: [range(4) | container("container-\(.)"; "IfNotPresent"; "echo started; exec sleep 600")],
      volumes: (checks("volumes")
        | map({name: ., image: {reference: "\($image)-\(.[-1:])", pullPolicy: "Always"}}))}}'
}
measure() { # CHECKS: prints the seconds
  local begin
  pod "$1" | kubectl -n "$namespace" create -f - >&2
  begin=$(date +%s.%N)
  kubectl -n "$namespace" wait pod measured --for=condition=Ready --timeout=120s >&2
  for container in {0..3}; do kubectl -n "$namespace" logs measured -c "container-$container" --timestamps; done |
    while read -r time _; do date -d "$time" +%s.%N; done |
    sort -n | tail -n 1 | awk -v begin="$begin" '{ print $1 - begin }'
  kubectl -n "$namespace" delete pod measured --now >&2
}
measure none >/dev/null # brings the images to the node
for _ in {1..5}; do
  for checks in none volumes 'init containers'; do measure "$checks" >>"$tmp/$checks.times"; done
done
node_versions
for checks in none volumes 'init containers'; do printf '%-16s %s s\n' "$checks" "$(time_of "$checks")"; done
