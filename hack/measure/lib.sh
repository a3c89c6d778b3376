# shellcheck shell=bash
# What the scripts of this folder share. They need bash, curl, jq, openssl and ab (Debian: apache2-utils).
#
#   POLICY_SERVER  the program policy-server (else the one on the PATH)
#   PORT           a free port for it (else 3111), and the next one for its readiness
#   ADDRESS        this machine's address, as the API server reaches it (else 127.0.0.1)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
policy_server=${POLICY_SERVER:-policy-server} port=${PORT:-3111} address=${ADDRESS:-127.0.0.1}
module=$PWD/annotated-policy.wasm
tmp=$(mktemp -d)
server=
trap 'cleanup' EXIT
cleanup() { # a script that makes more than a policy server defines this again, and calls stop_server
  stop_server
  rm -rf "$tmp"
}
stop_server() {
  [[ -z $server ]] || { kill "$server" && wait "$server" || true; } 2>/dev/null
  server=
}

# annotate MODULE: adds the metadata that policy-server needs. `make annotated-policy.wasm` built xtask.
annotate() {
  "${CARGO_TARGET_DIR:-target}/xtask/xtask" annotate --metadata-path metadata.yml --usage-path README.md \
    --output-path "$tmp/$(basename "$1")" "$1" >&2
}

# nothing: prints the policy that does nothing.
nothing() {
  cargo build --locked --quiet --release --target wasm32-unknown-unknown --package baseline --example accept_sdk
  annotate "${CARGO_TARGET_DIR:-target}/wasm32-unknown-unknown/release/examples/accept_sdk.wasm"
  policy nothing "$tmp/accept_sdk.wasm" '{}'
}

# policy NAME MODULE SETTINGS: a policy of the policy server. The settings are YAML or JSON.
policy() {
  printf '%s:\n  module: file://%s\n' "$1" "$(realpath "$2")"
  printf '  %s\n' 'allowedToMutate: true' 'hostCapabilities: ["oci/v1/*"]' settings:
  sed 's/^/    /' <<<"$3"
}

# serve POLICIES [OPTION...]: starts policy-server, and waits until it is ready.
serve() {
  echo "$1" >"$tmp/policies.yml"
  KUBECONFIG=/nonexistent "$policy_server" --addr 0.0.0.0 --port "$port" \
    --readiness-probe-port $((port + 1)) --workers 1 --policies "$tmp/policies.yml" \
    --policies-download-dir "$tmp" --sigstore-cache-dir "$tmp" \
    --ignore-kubernetes-connection-failure --log-level error "${@:2}" >"$tmp/log" 2>&1 &
  server=$!
  until curl -fs "http://127.0.0.1:$((port + 1))/readiness" >/dev/null; do
    kill -0 "$server" || { cat "$tmp/log" >&2; exit 1; }
    sleep 0.2
  done
}

# The median of the numbers on the standard input.
median() { sort -n | awk '{ n[NR] = $1 } END { print n[int((NR + 1) / 2)] }'; }

# Applies the JSON patch of an answer (replacements and additions to objects alone) to a review.
patched() { # REVIEW ANSWER
  jq --slurpfile answer "$2" 'reduce ($answer[0].response.patch | @base64d | fromjson[]) as $change (.;
    (["request", "object"] + ($change.path | ltrimstr("/") / "/" | map(gsub("~1"; "/") | gsub("~0"; "~")
      | if test("^[0-9]+$") then tonumber else . end))) as $path | setpath($path; $change.value))' "$1"
}

# rounds NAME URL BODY...: seven rounds of REQUESTS requests (else 1,000), over one connection, to each URL in
# turn. $tmp/NAME.times gets the median of each round, in milliseconds.
rounds() {
  local round name
  for round in {1..7}; do
    set -- "$@" end
    until [[ $1 == end ]]; do
      ab -q -k -c 1 -n "${REQUESTS:-1000}" -T application/json -p "$3" -e "$tmp/csv" "$2" >"$tmp/ab"
      ! grep '^Non-2xx' "$tmp/ab" || { echo "$1, round $round" >&2; exit 1; }
      awk -F, '$1 == 50 { print $2 }' "$tmp/csv" >>"$tmp/$1.times"
      set -- "${@:4}" "$1" "$2" "$3"
    done
    shift
  done
}

# time_of NAME: the median of the rounds.
time_of() { median <"$tmp/$1.times"; }

# webhook NAME NAMESPACE: sends the Pods that are created in NAMESPACE to the policy NAME, which serve_tls serves.
webhook() {
  jq -n --arg name "measure-$1" --arg namespace "$2" --arg url "https://$address:$port/validate/$1" \
    --arg ca "$(base64 -w 0 "$tmp/tls.crt")" '{apiVersion: "admissionregistration.k8s.io/v1",
      kind: "MutatingWebhookConfiguration", metadata: {name: $name}, webhooks: [{name: "\($name).example.com",
      admissionReviewVersions: ["v1"], sideEffects: "None", clientConfig: {url: $url, caBundle: $ca},
      namespaceSelector: {matchLabels: {"kubernetes.io/metadata.name": $namespace}}, reinvocationPolicy: "IfNeeded",
      rules: [{operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"]}]}]}' |
    kubectl apply -f - >&2
}

serve_tls() { # POLICIES
  openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=measure -addext "subjectAltName=IP:$address" \
    -keyout "$tmp/tls.key" -out "$tmp/tls.crt" 2>/dev/null
  serve "$1" --cert-file "$tmp/tls.crt" --key-file "$tmp/tls.key"
}

# namespace NAME: makes it anew.
namespace() {
  kubectl create namespace "$1" >&2
  until kubectl -n "$1" get serviceaccount default >/dev/null 2>&1; do sleep 0.2; done
}

# pod_of REVIEW: the Pod of a captured review, as somebody creates it.
pod_of() {
  jq '.request.object | .metadata |= {name: "measured", labels, annotations} | del(.spec.serviceAccountName,
    .spec.serviceAccount, .status) | .metadata |= with_entries(select(.value))' "test_data/reviews/$1.json"
}

# tags TAG...: gives the image IMAGE of the registry REGISTRY the tags measure-TAG.
tags() {
  local repository=http://$REGISTRY/v2/${IMAGE%:*}/manifests tag
  local accept='application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json'
  curl -fsS -H "Accept: $accept" -D "$tmp/headers" -o "$tmp/manifest" "$repository/${IMAGE##*:}"
  for tag; do
    curl -fsS -X PUT -H "$(grep -i '^content-type' "$tmp/headers" | tr -d '\r')" --data-binary "@$tmp/manifest" \
      "$repository/measure-$tag"
  done
}

node_versions() {
  kubectl get nodes -o json |
    jq -r '.items[0].status.nodeInfo | "kubelet \(.kubeletVersion), \(.containerRuntimeVersion)"'
}

# requests TAG: the requests for the tag measure-TAG in the registry's log.
requests() { bash -c "$REGISTRY_LOG" | grep -c "/manifests/measure-$1 " || true; }
