#!/usr/bin/env bash
# Prints how often a node asks the registry, and writes Events, about three checks with `Always` of a Pod that runs
# for MINUTES (else 10): checks that are init containers, and checks that are image volumes.
#
#   REGISTRY=<host> IMAGE=<repository:tag with a shell, in this registry> \
#     REGISTRY_LOG='<command that prints the registry's access log>' hack/measure/requests-and-events.sh
. "$(dirname "$0")/lib.sh"
namespace=measure-requests
cleanup() {
  kubectl delete namespace "$namespace" --ignore-not-found --wait=false >&2
  rm -rf "$tmp"
}
namespace "$namespace"
tags volume init
jq -n --arg image "$REGISTRY/${IMAGE%:*}:measure" '
  def container($name; $tag; $policy; $script): {name: $name, image: "\($image)-\($tag)", imagePullPolicy: $policy,
    command: ["sh", "-c", $script]};
  def pod($name; $init; $volumes): {apiVersion: "v1", kind: "Pod", metadata: {name: $name}, spec: {
    terminationGracePeriodSeconds: 0, initContainers: [$init], volumes: $volumes,
    containers: [container("app"; $name; "IfNotPresent"; "exec sleep 3600")]}};
  pod("init"; container("imagecheck-0"; "init"; "Always"; "true"); []),
  pod("volume"; container("carrier"; "volume"; "IfNotPresent"; "true")
    + {volumeMounts: [{name: "imagecheck-0", mountPath: "/check"}]};
    [{name: "imagecheck-0", image: {reference: "\($image)-volume", pullPolicy: "Always"}}])' >"$tmp/pods.json"
for pod in init volume; do requests "$pod" >"$tmp/$pod.before"; done
kubectl -n "$namespace" create -f "$tmp/pods.json" >&2
node_versions
for ((minute = 1; minute <= ${MINUTES:-10}; minute++)); do
  sleep 60
  for pod in init volume; do
    events=$(kubectl -n "$namespace" get events --field-selector "involvedObject.name=$pod" -o json |
      jq '[.items[] | select(.reason == "Pulling") | .count] | add // 0')
    requests=$(($(requests "$pod") - $(<"$tmp/$pod.before")))
    echo "check: $pod, minute $minute: $requests requests by tag, $events Events with the reason Pulling"
  done
done
