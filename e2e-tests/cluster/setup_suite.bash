# Starts the tests' own server, and makes what all tests use.
load lib

setup_suite() {
  local machine
  export RUN=$BATS_SUITE_TMPDIR PORT=${PORT:-5080}
  export REGISTRY=${REGISTRY:?a registry that accepts deletions, such as REGISTRY=172.18.0.2:5000}

  # The image of the Pods' sandboxes. A node lists only its 50 largest images.
  export SANDBOX=${SANDBOX:-$(kubectl get nodes --output json |
    jq --raw-output '[.items[0].status.images[].names[] | select(test("/pause:"))][0]')}

  # The cluster reaches this machine under the address from which this machine reaches the registry.
  machine=$(ip -4 route get "${REGISTRY%:*}" | sed -n 's/.* src \([^ ]*\).*/\1/p')
  export WEBHOOKS=https://$machine:$((PORT + 1))
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=cluster-tests -addext "subjectAltName=IP:$machine" \
    -keyout "$RUN/tls.key" -out "$RUN/tls.crt" 2>/dev/null
  python3 e2e-tests/cluster/server.py "$RUN" "$PORT" "$((PORT + 1))" >"$RUN/server.log" 2>&1 3>&- &
  echo "$!" >"$RUN/server.pid"

  # The only layer of the tests' images. Its program is that of this machine, so the nodes need its architecture.
  mkdir -p "$RUN/root/bin"
  cp "$(command -v busybox || echo "${BUSYBOX:?Debian: apt-get install busybox-static}")" "$RUN/root/bin/busybox"
  tar --create --gzip --file "$RUN/layer" --owner 0 --group 0 --directory "$RUN/root" bin

  if [[ -z ${POLICY_SERVER:-} ]]; then
    echo '{}' >"$RUN/config"
    push "$REGISTRY/$(sed -n 's#^  module: registry://ghcr.io/##p' examples/agent-stack-k8s.yaml)" \
      application/vnd.wasm.config.v1+json "$RUN/config" \
      application/vnd.wasm.content.layer.v1+wasm annotated-policy.wasm
  fi
}

teardown_suite() {
  kill "$(<"$BATS_SUITE_TMPDIR/server.pid")"
}
