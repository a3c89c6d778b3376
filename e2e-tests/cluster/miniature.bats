# The kubelet in miniature, which the promises use, beside a real one: random small Pods in random worlds, as they come in
# and as this policy returns them. It needs NODE_CTR (incidents.bats), and no policy. PODS is their number (else 40), SEED
# another seed.
load lib

settled() {
  kube get pods --output json | python3 e2e-tests/cluster/miniature.py compare "$BATS_TEST_TMPDIR"
}

@test "the same containers start and wait on a node and in the kubelet in miniature" {
  [[ -v NODE_CTR ]] || skip "NODE_CTR is not set (see incidents.bats)"
  PODS=${PODS:-40} SEED=${SEED:-1} cargo run --quiet --locked --profile xtask --package consistent-pull-policy-promises \
    --example cluster-sample >"$BATS_TEST_TMPDIR/sample" 3>&-
  python3 e2e-tests/cluster/miniature.py make "$REGISTRY/$NS" "$BATS_TEST_TMPDIR" <"$BATS_TEST_TMPDIR/sample"
  $NODE_CTR images import - <"$BATS_TEST_TMPDIR/node.tar" >/dev/null
  kube create --filename "$BATS_TEST_TMPDIR/pods.json" >/dev/null
  eventually settled
  sleep 30 # Nothing more starts.
  settled
  echo "# $(<"$BATS_TEST_TMPDIR/output")" >&3
}
