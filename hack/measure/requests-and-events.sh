#!/usr/bin/env bash
# Prints how often a node asks the registry, and writes Events, about a check that is an image volume with `Always`,
# while its Pod runs for MINUTES (else 10).
#
#   REGISTRY=<host> IMAGE=<repository:tag with a shell, in this registry> \
#     REGISTRY_LOG='<command that prints the registry's access log>' hack/measure/requests-and-events.sh
. "$(dirname "$0")/lib.sh"
namespace measure-requests
push_images
requests() { bash -c "$REGISTRY_LOG" | grep -c "/manifests/measure-1 " || true; }
before=$(requests)
# A kubelet writes only the first 25 Events of a Pod without delay, so the Pod has one container.
measured_pod volumes 1 1 | kubectl -n measure-requests create -f - >&2
node_versions
for ((minute = 1; minute <= ${MINUTES:-10}; minute++)); do
  sleep 60
  events=$(kubectl -n measure-requests get events -o json | jq '
    [.items[] | select(.reason == "Pulling" and (.message | contains("measure-1"))) | .count] | add // 0')
  echo "minute $minute: $(($(requests) - before)) requests by tag, $events Events with the reason Pulling"
done
