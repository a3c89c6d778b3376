# Starts the tests' own server, and makes what all tests use.
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
    printf 'This host lacks (CONTRIBUTING.md):\n%s\n' "$lacks" >&2
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
