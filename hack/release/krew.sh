#!/usr/bin/env bash
# Prints the manifest for krew, the package manager of kubectl's plugins. The standard input is SHA256SUMS: each archive of the
# survey's command that it names is a platform.
#
#   hack/release/krew.sh TAG <SHA256SUMS
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. hack/release/lib.sh

cat <<MANIFEST
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: consistent-pull-policy
spec:
  version: $1
  homepage: $repository
  shortDescription: Which preset of consistent-pull-policy is for this cluster
  description: |
    Reads what a cluster has, and says which preset of the Kubewarden policy consistent-pull-policy to install, what it would
    change, and what becomes of Pods whose image is missing. It connects to nothing.
  caveats: |
    kubectl get pods,jobs,cronjobs,namespaces,nodes --all-namespaces --output json | kubectl consistent-pull-policy
  platforms:
MANIFEST
while read -r sum archive; do
  [[ $archive =~ ^(kubectl-consistent_pull_policy)-(linux|darwin)-(amd64|arm64)\.tar\.gz$ ]] || continue
  cat <<PLATFORM
    - selector: { matchLabels: { os: ${BASH_REMATCH[2]}, arch: ${BASH_REMATCH[3]} } }
      uri: $repository/releases/download/$1/$archive
      sha256: "$sum"
      bin: ${BASH_REMATCH[1]}
PLATFORM
done
