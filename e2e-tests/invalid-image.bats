# Tests of the rule invalid-image: references that can't be parsed, and image IDs. The API server accepts
# nearly all such references in a Pod. Without this rule, only the kubelet would report the failure.

load lib

hex=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef

@test "a reference that can't be parsed is rejected, and the message names the mistake" {
  while fields image words; do
    # IfNotPresent is the server default of an image that can't be parsed, so no other rule has a finding.
    pod 'app a x IfNotPresent' '.object.spec.containers[0].image = $image' --arg image "$image"
    evaluate
    # White space and control characters of the image are shown as _.
    rejected "invalid-image a ${image//[[:space:]]/_} spec.containers[0].image $words"
  done <<ROWS
    NGINX                    | upper-case letters
    NGINX:latest             | upper-case letters
    ghcr.io/Team/app:1       | upper-case letters
    nginx:                   | its tag
    nginx::latest            | its tag
    nginx:1+2                | its tag
    nginx:${hex}${hex}a      | its tag
    nginx@latest             | its digest
    nginx@sha256:${hex^^}    | its digest
    nginx@sha512:$hex        | its digest
    http://reg/nginx:latest  | URL scheme
    \$(IMG)                  | variable
    \${IMG}:1                | variable
    a//b:latest              | its repository lower-case
    nginx-                   | its repository lower-case
    /nginx                   | its repository lower-case
    @sha256:$hex             | its repository lower-case
    reg.io/$hex$hex$hex$hex  | its repository 255
    reg:port/nginx           | its registry
    ngi nx                   | white space
    a i/o timeout            | white space
    connection refused       | white space
    nginx:a:b                | its tag
    {{.Image}}               | variable
    a..b                     | its repository lower-case
    nginx,redis              | its repository lower-case
    :5000/a                  | its registry
    [::1/a                   | its registry
    foo_bar:5000/a           | its registry
    $hex                     | image ID
ROWS
}

# containerd serves the node's image of this ID. It may be an image that a pattern of the settings means.
@test "an image ID is accepted, unless images.requireAlways or images.forbidNever is set" {
  pod "init i sha256:${hex:0:12}, app a sha256:$hex Never, volume v sha256:abc Always"
  for settings_row in '{}' '{"images":{"forbidAlways":["nginx"]}}' '{"defaults":{"imagePullPolicy":"Always"}}' \
    '{"defaults":{"imagePullPolicy":"IfNotPresent"}}' '{"images":{"requireAlways":["*"]},"exempt":{"containers":["?"]}}'; do
    in_each_mode "$settings_row" untouched
  done
  for setting in requireAlways forbidNever; do
    for mode in Fix Reject; do
      row="$mode $setting"
      evaluate "{\"mode\":\"$mode\",\"images\":{\"$setting\":[\"private.example.com/*\"]}}"
      rejected "invalid-image i sha256:${hex:0:12} spec.initContainers[0].image images.$setting" \
        "invalid-image a sha256:$hex spec.containers[0].image images.$setting" \
        "invalid-image v sha256:abc spec.volumes[0].image.reference images.$setting"
    done
  done
  # An UPDATE brings an image ID in place of an image that these patterns mean.
  pod "app a sha256:$hex IfNotPresent" '.operation = "UPDATE" | .oldObject = .object | .oldObject.spec.containers[0].image = "private.example.com/app:1"'
  evaluate
  untouched
  evaluate '{"images":{"requireAlways":["private.example.com/*"]}}'
  rejected "invalid-image a sha256:$hex spec.containers[0].image images.requireAlways"
}

@test "an image with white space around it, an empty image and a missing image" {
  while IFS='|' read -r image words; do
    row=$image
    pod 'app a x' ".object.spec.containers[0].image = $image"
    evaluate
    rejected "invalid-image a $words spec.containers[0].image"
  done <<'ROWS'
" nginx"|_nginx white space
"nginx "|nginx_ white space
""|
"  "|
null|
ROWS
  row='no image'
  pod 'app a x' 'del(.object.spec.containers[0].image)'
  evaluate
  rejected 'invalid-image a spec.containers[0].image'
}

@test "invalid images are found in every container and volume, and all at once" {
  pod 'init i Bad1, sidecar s Bad2, app a Bad3, app b good, ephemeral e Bad4, volume v Bad5'
  evaluate
  rejected 'invalid-image i Bad1 spec.initContainers[0].image' 'invalid-image s Bad2 spec.initContainers[1].image' \
    'invalid-image a Bad3 spec.containers[0].image' 'invalid-image e Bad4 spec.ephemeralContainers[0].image' \
    'invalid-image v Bad5 spec.volumes[0].image.reference'
}

@test "in Warn the same sentence is a warning" {
  pod 'app a NGINX IfNotPresent'
  evaluate '{"mode":"Warn"}'
  accepted 'invalid-image a NGINX spec.containers[0].image upper-case'
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
  rejected 'invalid-image a NGINX spec.template.spec.containers[0].image upper-case'
  evaluate
  accepted 'invalid-image a NGINX spec.template.spec.containers[0].image upper-case'
}

@test "references that look odd but are valid are accepted" {
  while fields image; do
    pod "app a $image"
    evaluate '{"mode":"Reject"}'
    untouched
  done <<ROWS
    [::1]:5000/a/b
    Registry.Example.com/nginx
    REGISTRY/nginx
    $hex$hex$hex${hex:0:55}
    [fe80::1]/a
    a.b_c/d
    ${hex}a
    $hex:latest
    sha256:latest
    x/sha256:$hex
    sha256/x:${hex:0:12}
    re_g.io/$hex$hex$hex${hex:0:55}
ROWS
}
