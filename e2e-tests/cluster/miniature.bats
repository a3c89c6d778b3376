# The kubelet in miniature, which the promises and the survey use, beside a real one: random small Pods in random worlds, as
# they come in and as this policy returns them. It needs one node, and no policy. PODS is their number, and SEED another seed.
load lib

# lines FILTER: reads the sample. The Pod number 7 has the image 7-x-1:v1 for the sample's image x:1.
lines() {
  jq --raw-output --arg in "registry.test/$NS" '
    def name($image): "\(input_line_number)-\($image | gsub("[:/]"; "-")):v1";
    def images($node; $in_registry): .world | to_entries[]
      | select(.value | (.node | test($node)) and ([.inRegistry] | inside($in_registry))).key | name(.);
    '"$1" "$BATS_TEST_TMPDIR/sample"
}

# containers: the containers of a Pod, in the order in which they start.
containers='def containers: .pod.spec | [.initContainers[]?, .containers[]];'

settled() {
  kube get pods --output json | jq --slurpfile expected "$BATS_TEST_TMPDIR/expected" '
    [.items[] | {(.metadata.name): (.status | [.initContainerStatuses[]?, .containerStatuses[]?] | {
      started: map(select(.state.waiting | not).name) | sort,
      waiting: map(select(.state.waiting.reason | IN("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull")).name) | sort})}] | add as $found
    | $expected | add | with_entries(select($found[.key] != .value) | .value.found = $found[.key])
    | if . == {} then . else error(tojson) end'
}

@test "the same containers start and wait on a node and in the kubelet in miniature" {
  local name
  cargo run --quiet --locked --profile xtask --package consistent-pull-policy-promises --example cluster-sample \
    "${PODS:-20}" "${SEED:-1}" >"$BATS_TEST_TMPDIR/sample" 3>&-

  # The node pulls the images that it has, old ones too. Then the registry gets or loses those that it has or has not.
  # shellcheck disable=SC2046 # a list of words
  image $(lines 'images("old|current"; [true, false])')
  lines "$containers"'[images("old|current"; [true, false])] | select(. != []) | tojson' | jq --arg in "registry.test/$NS" '
    {apiVersion: "v1", kind: "Pod", metadata: {name: "before-\(input_line_number)", labels: {before: ""}}, spec: {
      terminationGracePeriodSeconds: 0, containers: map({
        name: split(":")[0], image: "\($in)/\(.)", command: ["/bin/busybox"], args: ["sleep", "3600"]})}}' |
    kube create --filename - >/dev/null
  kube wait pods --selector before --for condition=Ready --timeout 600s >/dev/null
  kube delete pods --selector before --now >/dev/null
  image $(lines 'images("old|none"; [true])')
  for name in $(lines 'images("old|current"; [false])'); do delete_image "$name"; done

  lines '.world as $world | input_line_number as $number | {apiVersion: "v1", kind: "Pod", metadata: {name: "pod-\($number)"}, spec: (.pod.spec
    | .terminationGracePeriodSeconds = 0
    | (.containers, .initContainers | values) |= map(.command = ["/bin/busybox"] | .args = ["sleep", "3600"])
    | (.initContainers[]? | select(.restartPolicy != "Always")).args = ["true"]
    | (.initContainers[]?, .containers[]).image |= "\($in)/\(name(.))"
    | (.volumes[] | .image | values).reference |= "\($in)/\(name(.))")}' | kube create --filename - >/dev/null
  # Of the containers that have not started, the first init container or all app containers wait for the images that are
  # waited for, of their own or of volumes.
  lines "$containers"'.waiting as $waiting | .started as $started
    | [containers[] | select(.name | IN($started[]) | not)] as $late
    | (if any(.pod.spec.initContainers[]?; . == $late[0]) then $late[:1] else $late end) as $turn
    | {"pod-\(input_line_number)": {started: ($started | sort),
        waiting: [$turn[] | select(.name, .volumeMounts[]?.name | IN($waiting[])).name] | unique}}' >"$BATS_TEST_TMPDIR/expected"
  eventually settled
  sleep 30 # Nothing more starts.
  settled
  echo "# $(jq --slurp length "$BATS_TEST_TMPDIR/expected") Pods" >&3
}
