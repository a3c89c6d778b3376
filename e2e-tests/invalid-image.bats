# Tests of the rule invalid-image: references that can't be parsed, and image IDs. The API server accepts
# nearly all such references in a Pod. Without this rule, only the kubelet would report the failure.

load lib

hex=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

@test "a reference that can't be parsed is rejected, and the message names the mistake" {
  while fields image reason; do
    # IfNotPresent is the server default of an image that can't be parsed, so no other rule has a finding.
    pod 'app a x IfNotPresent' '.object.spec.containers[0].image = $image' --arg image "$image"
    evaluate
    # White space and control characters of the image are shown as _.
    rejected "a has no valid image in spec.containers[0].image: \"${image//[[:space:]]/_}\" can't be pulled, $reason"
    found "$(in_jq -n --arg image "$image" '[{rule: "invalid-image", path: "spec.containers[0].image", container: "a", image: $image, found: $image, expected: null}]')"
  done <<ROWS
    NGINX                    | its repository has upper-case letters
    NGINX:latest             | its repository has upper-case letters
    ghcr.io/Team/app:1       | its repository has upper-case letters
    nginx:                   | its tag is not 1 to 128 letters, digits, _ . or -
    nginx::latest            | its tag is not 1 to 128 letters, digits, _ . or -
    nginx:-1                 | its tag is not 1 to 128 letters, digits, _ . or -
    nginx:1+2                | its tag is not 1 to 128 letters, digits, _ . or -
    nginx:${hex}${hex}a      | its tag is not 1 to 128 letters, digits, _ . or -
    nginx@latest             | its digest is not sha256:, sha384: or sha512: and its hex digits
    nginx:latest@sha256:abc  | its digest is not sha256:, sha384: or sha512: and its hex digits
    nginx@sha256:${hex^^}    | its digest is not sha256:, sha384: or sha512: and its hex digits
    nginx@sha512:$hex        | its digest is not sha256:, sha384: or sha512: and its hex digits
    nginx@                   | its digest is not sha256:, sha384: or sha512: and its hex digits
    http://reg/nginx:latest  | a reference has no URL scheme
    docker://nginx           | a reference has no URL scheme
    \$(IMG)                  | a variable in it was not replaced
    \${IMG}:1                | a variable in it was not replaced
    reg.io/\$(IMG):1         | a variable in it was not replaced
    a//b:latest              | its repository is not lower-case letters and digits parted by . _ - or /
    -nginx:latest            | its repository is not lower-case letters and digits parted by . _ - or /
    nginx-                   | its repository is not lower-case letters and digits parted by . _ - or /
    /nginx                   | its repository is not lower-case letters and digits parted by . _ - or /
    nginx/                   | its repository is not lower-case letters and digits parted by . _ - or /
    @sha256:$hex             | its repository is not lower-case letters and digits parted by . _ - or /
    <image>                  | its repository is not lower-case letters and digits parted by . _ - or /
    reg.io/$hex$hex$hex$hex  | its repository is longer than 255 characters
    re_g.io/$hex$hex$hex${hex:0:60} | its repository is longer than 255 characters
    reg:port/nginx           | its registry is not host[:port]
    reg..io/nginx            | its registry is not host[:port]
    ngi nx                   | it has white space
    a i/o timeout            | it has white space
    connection refused       | it has white space
    sha256:$hex | it is an image ID, which no registry is asked for
    sha256:${hex:0:12}      | it is an image ID, which no registry is asked for
    sha256:abc               | it is an image ID, which no registry is asked for
    nginx:.x                 | its tag is not 1 to 128 letters, digits, _ . or -
    nginx:a:b                | its tag is not 1 to 128 letters, digits, _ . or -
    nginx@md5:${hex:0:32}    | its digest is not sha256:, sha384: or sha512: and its hex digits
    {{.Image}}               | a variable in it was not replaced
    a..b                     | its repository is not lower-case letters and digits parted by . _ - or /
    a___b                    | its repository is not lower-case letters and digits parted by . _ - or /
    a._b                     | its repository is not lower-case letters and digits parted by . _ - or /
    nginx,redis              | its repository is not lower-case letters and digits parted by . _ - or /
    $hex$hex$hex${hex:0:56}  | its repository is longer than 255 characters
    localhost:/a             | its registry is not host[:port]
    :5000/a                  | its registry is not host[:port]
    -host.com/a              | its registry is not host[:port]
    [::1/a                   | its registry is not host[:port]
    [::g]:1/a                | its registry is not host[:port]
    []:1/a                   | its registry is not host[:port]
    [::1]x/a                 | its registry is not host[:port]
    foo_bar:5000/a           | its registry is not host[:port]
    $hex                     | it is an image ID, which no registry is asked for
ROWS
}

@test "an image with white space around it, an empty image and a missing image" {
  while IFS='|' read -r image reason; do
    row=$image
    pod 'app a x' ".object.spec.containers[0].image = $image"
    evaluate
    rejected "a has no $reason"
  done <<'ROWS'
" nginx"|valid image in spec.containers[0].image: "_nginx" can't be pulled, it has white space
"nginx "|valid image in spec.containers[0].image: "nginx_" can't be pulled, it has white space
""|image in spec.containers[0].image
"  "|image in spec.containers[0].image
ROWS
  row=none
  for filter in 'del(.object.spec.containers[0].image)' '.object.spec.containers[0].image = null'; do
    pod 'app a x' "$filter"
    evaluate
    rejected 'a has no image in spec.containers[0].image'
  done
}

@test "invalid images are found in every container and volume, and all at once" {
  pod 'init i Bad1, sidecar s Bad2, app a Bad3, app b good, ephemeral e Bad4, volume v Bad5'
  evaluate
  [[ $allowed == false ]] || fail "accepted"
  same paths 'spec.initContainers[0].image
spec.initContainers[1].image
spec.containers[0].image
spec.ephemeralContainers[0].image
spec.volumes[0].image.reference' "$(in_jq -r '.[].path' <<<"$findings")"
  for name in i s a e v; do
    [[ $message == *"$name has no valid image in "* ]] || fail "nothing about $name"
  done
}

@test "in Warn the same sentence is a warning" {
  pod 'app a NGINX IfNotPresent'
  evaluate '{"mode":"Warn"}'
  accepted 'a has no valid image in spec.containers[0].image: "NGINX" can'"'"'t be pulled, its repository has upper-case letters'
}

@test "in a pod template an empty image is accepted, and an invalid one is not" {
  for image in '""' '"  "' null; do
    row=$image
    workload Deployment 'app a x' ".object.spec.template.spec.containers[0].image = $image"
    evaluate '{"mode":"Reject"}'
    untouched
  done
  row=
  workload Deployment 'app a NGINX'
  evaluate '{"templates":"Enforce"}'
  rejected 'a has no valid image in spec.template.spec.containers[0].image: "NGINX" can'"'"'t be pulled, its repository has upper-case letters'
  evaluate
  accepted 'a has no valid image in spec.template....ners[0].image: "NGINX" can'"'"'t be pulled, its repository has upper-case letters'
}

@test "references that look odd but are valid are accepted" {
  while fields image; do
    pod "app a $image"
    evaluate '{"mode":"Reject"}'
    untouched
  done <<ROWS
    a
    localhost/a/b
    localhost:5000/a/b
    [::1]:5000/a/b
    127.0.0.1:5000/a
    Registry.Example.com/nginx
    REGISTRY/nginx
    a__b/c---d.e_f
    nginx:LATEST
    nginx:_1.2-3
    nginx:$hex$hex
    $hex$hex$hex${hex:0:55}
    [fe80::1]/a
    a.b_c/d
    ${hex}a
    $hex:latest
    sha256:latest
    x/sha256:$hex
    sha256/x:${hex:0:12}
    sha256
    x/$hex
    nginx@sha512:$hex$hex
    nginx:1@sha256:$hex
    re-g.io/$hex$hex$hex${hex:0:60}
    re_g.io/$hex$hex$hex${hex:0:55}
ROWS
}
