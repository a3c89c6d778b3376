# Starts the tests' own server, and makes what all tests use.
#
# The tests need busybox (static), openssl, python3, skopeo, without POLICY_SERVER socat, and for one test of
# operations.bats kwctl. The node has to ask this machine for all images: certs.d/_default/hosts.toml with
# server = "http://<this machine>:5080". The tests use this port and the next two. Kubewarden's charts before 1.37 need
# --set-string policyServer.minAvailable=1. These variables turn tests on:
#
# REGISTRY=172.18.0.2:5000: all tests. A registry that accepts deletions. Policy servers read it over HTTP
#   (insecureSources).
# POLICY_SERVER=http://127.0.0.1:3100: tests without Kubewarden's controller. The policy server has the configuration that
#   e2e-tests/cluster/policies.sh annotated-policy.wasm prints, and a file of sources (--sources-path) with
#   insecure_sources: ["<this machine>:5080"].
# PROMISES=1, with POLICY_SERVER: the corpus at the API server.
# BURSTS="12 30", with POLICY_SERVER: bursts of so many Jobs (half an hour).
# AGENT_STACK_K8S=agent-stack-k8s, with POLICY_SERVER: twelve jobs at once through this program, Buildkite's controller,
#   with a stand-in for Buildkite at the third port after PORT. Pods have to reach this machine under the address of
#   REGISTRY.
# DESCHEDULER=descheduler, the program of kubernetes-sigs: a Job that waits is ended.
# FILES=e2e-tests/cluster/workloads.bats: only these files.
# PORT=6080: another port than 5080.
# NODE_CTR="docker exec --interactive kind-control-plane ctr --namespace k8s.io": incidents on the node.
# RESTART_NODE: a node that restarts. A script that ends the kubelet, containerd and all containers, and starts the first
#   two again.
# STOP_POLICY_SERVER="docker stop policy-server", START_POLICY_SERVER="docker start …": a policy server that is down. STOP
#   ends when the process and its port are gone, START when it is ready.
# STOP_REGISTRY="docker stop registry", START_REGISTRY="docker start registry": a registry that is down.
# INSTALL_KUBEWARDEN: operations.bats installs Kubewarden, with this script, which runs helm install … $HELM_ARGS.
# CONTROLLER: another controller than that of the chart, as a command with `0`, which stops it, or `1`, which starts it.
load lib

# lacking: prints what the tests need and don't find, a line each.
lacking() {
  local program nodes
  for program in busybox curl gojq jq kubectl openssl python3 skopeo $([[ -n ${POLICY_SERVER:-} ]] || echo socat); do
    command -v "$program" >/dev/null || [[ $program == busybox && -n ${BUSYBOX:-} ]] || echo "the program $program"
  done
  [[ -n $REGISTRY ]] && curl --silent --fail --output /dev/null "http://$REGISTRY/v2/" ||
    echo "a registry that accepts deletions, at REGISTRY=${REGISTRY:-172.18.0.2:5000}"
  nodes=$(kubectl get nodes --output json) || echo "a cluster in kubectl's context"
  jq --raw-output '
    def version: [scan("[0-9]+") | tonumber][:2];
    .items[] | .status.nodeInfo as $info | ($info.containerRuntimeVersion | split("://")) as [$runtime, $version]
      | select(($info.kubeletVersion | version) < [1, 35] or ($version | version) < ({containerd: [2, 1], "cri-o": [1, 31]}[$runtime] // [99]))
      | "on \(.metadata.name), an image volume: it has Kubernetes \($info.kubeletVersion) and \($info.containerRuntimeVersion)"
  ' <<<"$nodes"
}

setup_suite() {
  local machine local pushed=true lacks
  export RUN=$BATS_SUITE_TMPDIR PORT=${PORT:-5080} REGISTRY=${REGISTRY:-}
  lacks=$(lacking)
  if [[ -n $lacks ]]; then
    printf 'This host lacks (e2e-tests/cluster/setup_suite.bash):\n%s\n' "$lacks" >&2
    return 1
  fi

  # The cluster reaches this machine under the address from which this machine reaches the registry.
  machine=$(ip -4 route get "${REGISTRY%:*}" | sed -n 's/.* src \([^ ]*\).*/\1/p')
  export WEBHOOKS=https://$machine:$((PORT + 1))
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=cluster-tests -addext "subjectAltName=IP:$machine" \
    -keyout "$RUN/tls.key" -out "$RUN/tls.crt" 2>/dev/null
  python3 e2e-tests/cluster/server.py "$RUN" "$PORT" "$((PORT + 1))" >"$RUN/server.log" 2>&1 3>&- &
  echo "$!" >"$RUN/server.pid"
  # The server ends if another program has a port of it.
  until [[ -e $RUN/server.ready ]]; do
    kill -0 "$!" || { cat "$RUN/server.log" >&2 && return 1; }
    sleep 0.1
  done

  # The tests' images have one layer. Its program is that of this machine, so the nodes need its architecture.
  mkdir -p "$RUN/root/bin" "$RUN/image"
  cp "$(command -v busybox || echo "${BUSYBOX:?Debian: apt-get install busybox-static}")" "$RUN/root/bin/busybox"
  tar --create --file "$RUN/image/layer.tar" --owner 0 --group 0 --directory "$RUN/root" bin
  jq --null-input --arg layer "$(sha256sum <"$RUN/image/layer.tar" | cut -d ' ' -f 1)" --arg machine "$(uname -m)" '
    {architecture: ({x86_64: "amd64", aarch64: "arm64"}[$machine]), os: "linux",
     rootfs: {type: "layers", diff_ids: ["sha256:" + $layer]}}' >"$RUN/config.json"
  echo '[{"Config": "config.json", "Layers": ["layer.tar"]}]' >"$RUN/image/manifest.json"

  if [[ -z ${POLICY_SERVER:-} ]]; then
    # xtask pushes over HTTP to this machine alone.
    local=127.0.0.1:$((PORT + 2))
    socat "TCP-LISTEN:${local#*:},bind=127.0.0.1,fork,reuseaddr" "TCP:$REGISTRY" 3>&- &
    until (: <>"/dev/tcp/${local/://}") 2>/dev/null; do kill -0 "$!" || return 1; sleep 0.1; done
    "${CARGO_TARGET_DIR:-target}/xtask/xtask" push annotated-policy.wasm \
      "$(sed -n "s#^  module: registry://ghcr.io/#registry://$local/#p" examples/agent-stack-k8s.yaml)" || pushed=false
    kill "$!"
    $pushed
  fi
}

teardown_suite() {
  [[ ! -e $BATS_SUITE_TMPDIR/server.pid ]] || kill "$(<"$BATS_SUITE_TMPDIR/server.pid")"
}
