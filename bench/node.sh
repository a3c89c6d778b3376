#!/usr/bin/env bash
# Measures three checks at a node. With `start-up`: the median time from a Pod's creation to the start of its last
# container, without checks, with image volumes and with init containers. The Pod has an init container, four
# containers, and images that are on the node. The clocks of the node and of this machine have to agree.
# With `requests`: how often the node asks the registry, and writes Events, about a check that is an image volume with
# `Always`, while its Pod runs for MINUTES (else 10).
#
#   REGISTRY=<host> IMAGE=<repository:tag with a shell, in this registry> bench/node.sh start-up
#   REGISTRY=<host> IMAGE=… REGISTRY_LOG='<command that prints the registry's access log>' bench/node.sh requests
. "$(dirname "$0")/lib.sh"

# measured_pod FORM CHECKS CONTAINERS: a Pod with an init container, this number of containers, and this number of
# checks with `Always` in the FORM "volumes" or "init containers". Its images are measure-0 to measure-3, and the checks
# begin with measure-1.
measured_pod() {
  jq -n --arg form "$1" --argjson checks "$2" --argjson containers "$3" \
    --arg image "$REGISTRY/${IMAGE%:*}:measure" '
    def container($name; $policy; $script): {name: $name, image: "\($image)-\($name[-1:])", imagePullPolicy: $policy,
      command: ["sh", "-c", $script]};
    def checks($in): if $form == $in then range($checks) | "imagecheck-\(. + 1)" else empty end;
    {apiVersion: "v1", kind: "Pod", metadata: {name: "measured"}, spec: {terminationGracePeriodSeconds: 0,
      initContainers: [container("copy-agent-0"; "IfNotPresent"; "true")
          + {volumeMounts: [checks("volumes") | {name: ., mountPath: "/.imagecheck/\(.)"}]},
        container(checks("init containers"); "Always"; "true")],
      containers: [range($containers) | container("container-\(.)"; "IfNotPresent"; "echo started; exec sleep 3600")],
      volumes: [checks("volumes") | {name: ., image: {reference: "\($image)-\(.[-1:])", pullPolicy: "Always"}}]}}'
}

start_up() { # CHECKS: prints the seconds
  local begin
  measured_pod "$1" 3 4 | kubectl -n measure create -f - >&2
  begin=$(date +%s.%N)
  kubectl -n measure wait pod measured --for=condition=Ready --timeout=120s >&2
  for container in {0..3}; do kubectl -n measure logs measured -c "container-$container" --timestamps; done |
    while read -r time _; do date -d "$time" +%s.%N; done |
    sort -n | tail -n 1 | awk -v begin="$begin" '{ print $1 - begin }'
  kubectl -n measure delete pod measured --now >&2
}

requests() { bash -c "$REGISTRY_LOG" | grep -c "/manifests/measure-1 " || true; }

namespace measure
for tag in {0..3}; do
  skopeo copy --quiet --src-tls-verify=false --dest-tls-verify=false "docker://$REGISTRY/$IMAGE" \
    "docker://$REGISTRY/${IMAGE%:*}:measure-$tag"
done
kubectl get nodes -o json |
  jq -r '.items[0].status.nodeInfo | "kubelet \(.kubeletVersion), \(.containerRuntimeVersion)"'
case $1 in
  start-up)
    start_up none >/dev/null # brings the images to the node
    for _ in {1..5}; do
      for checks in none volumes 'init containers'; do start_up "$checks" >>"$tmp/$checks.times"; done
    done
    for checks in none volumes 'init containers'; do printf '%-16s %s s\n' "$checks" "$(time_of "$checks")"; done
    ;;
  requests)
    before=$(requests)
    # A kubelet writes only the first 25 Events of a Pod without delay, so the Pod has one container.
    measured_pod volumes 1 1 | kubectl -n measure create -f - >&2
    for ((minute = 1; minute <= ${MINUTES:-10}; minute++)); do
      sleep 60
      events=$(kubectl -n measure get events -o json | jq '
        [.items[] | select(.reason == "Pulling" and (.message | contains("measure-1"))) | .count] | add // 0')
      echo "minute $minute: $(($(requests) - before)) requests by tag, $events Events with the reason Pulling"
    done
    ;;
esac
