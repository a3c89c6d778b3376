# The settings: every problem is reported with its path, and all problems are reported together.

load lib

@test "no settings, and every way to leave out a setting" {
  review agent-stack-pod-create
  for unset in '{}' null '{"mode":null}' \
    '{"mode":null,"imageChecks":null,"pullOnce":null,"defaults":null,"images":null,"registry":null,"templates":null,"exempt":null,"recordChanges":null,"validatingCopy":null}' \
    '{"mode":{},"imageChecks":{},"pullOnce":{},"defaults":{},"images":{},"registry":{},"templates":{},"exempt":{},"recordChanges":{},"validatingCopy":{}}' \
    '{"mode":[],"imageChecks":[],"pullOnce":[],"defaults":[],"images":[],"registry":[],"templates":[],"exempt":[],"recordChanges":[],"validatingCopy":[]}' \
    '{"imageChecks":{"namePrefixes":null,"coverage":null,"everyPod":null,"as":null,"template":null,"after":null}}' \
    '{"imageChecks":{"namePrefixes":[],"coverage":[],"everyPod":[],"as":{},"template":{},"after":[]},"images":{"requireAlways":[],"forbidAlways":{},"forbidNever":[]}}' \
    '{"imageChecks":{"namePrefixes":[""],"after":["",""]},"images":{"requireAlways":[""]},"registry":{"images":[""]},"exempt":{"containers":[""],"images":[""]}}' \
    '{"defaults":{"imagePullPolicy":null},"exempt":{"containers":[],"images":null}}' \
    '{"registry":{"lookup":null,"images":[],"skipImages":{},"onNotFound":null,"onDenied":null,"onRateLimited":[],"onUnreachable":null,"onUnknown":null,"maxLookups":null,"overrides":[],"platform":{}}}'; do
    row=$unset
    evaluate "$unset"
    [[ -n $patch && $(in_jq length <<<"$changes") == 2 ]] || fail "not as without settings"
  done
}

@test "every allowed value" {
  # The image is written as in its check, so that the check covers it.
  review agent-stack-pod-create '.object.spec.containers[1].image = "docker.io/library/postgres:16"'
  for given in \
    '{"mode":"Fix","pullOnce":true,"templates":"Off","recordChanges":true,"validatingCopy":false}' \
    '{"mode":"Fix","pullOnce":false,"templates":"Warn","recordChanges":false}' \
    '{"templates":"Enforce","imageChecks":{"namePrefixes":["imagecheck-"],"coverage":"Off","everyPod":false,"after":["copy-*","a?"]}}' \
    '{"imageChecks":{"coverage":"Warn"}}' '{"imageChecks":{"coverage":"Reject"}}' '{"imageChecks":{"coverage":"Fix"}}' \
    '{"imageChecks":{"coverage":false},"templates":false}' \
    '{"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"]}}}' \
    '{"registry":{"lookup":"Off","images":["*"],"skipImages":["nginx"],"onNotFound":"Reject","onDenied":"KeepTag","onRateLimited":"UseCached","onUnreachable":"Reject","onUnknown":"KeepTag","maxLookups":1}}' \
    '{"registry":{"lookup":false,"maxLookups":100,"platform":false}}' \
    '{"registry":{"platform":"Off","overrides":[{"images":["quay.io/*"],"lookup":false},{"images":["docker.io/*","localhost/a"],"onNotFound":"KeepTag","onDenied":"Reject","onRateLimited":"UseCached","onUnreachable":"UseCached","onUnknown":"UseCached"}]}}' \
    '{"imageChecks":{"as":"InitContainer"}}' \
    '{"images":{"requireAlways":["a"],"forbidAlways":["b"],"forbidNever":["*"]}}' \
    '{"exempt":{"containers":["x*"],"images":["quay.io/*","nginx:1.25","localhost:5000/a"]}}'; do
    row=$given
    evaluate "$given"
    [[ -n $patch ]] || fail "not repaired"
  done
}

# The only place with whole messages of settings. The other rows name the path and the values.
@test "each kind of problem" {
  long=$(printf 'x%.0s' {1..64}) cut=xxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  while fields given problem; do
    refuse "${given/LONG/$long}"
    same problems "${problem/CUT/${cut}...${cut:1}}" "$message"
  done <<'ROWS'
    {"Mode":"Fix"}                                           | Mode is not a setting: expected one of mode, imageChecks, pullOnce, defaults, images, registry, templates, exempt, validatingCopy, recordChanges
    {"images":{"require":[]}}                                | images.require is not a setting: expected one of requireAlways, forbidAlways, forbidNever
    {"mode":"fix"}                                           | mode must be one of Fix, Reject, Warn, not "fix"
    {"pullOnce":"yes"}                                       | pullOnce must be true or false, not "yes"
    {"images":"x"}                                           | images must be an object, not a string
    {"images":{"forbidNever":"nginx"}}                       | images.forbidNever must be a list, not "nginx"
    {"images":{"forbidNever":["a",5]}}                       | images.forbidNever[1] must be a string, not 5
    {"defaults":{"imagePullPolicy":"Never"}}                 | defaults.imagePullPolicy "Never" is no default: nothing would pull the image
    {"registry":{"maxLookups":0}}                            | registry.maxLookups must be a whole number from 1 to 100, not 0
    {"registry":{"overrides":[{"lookup":"Off"}]}}            | registry.overrides[0].images is required
    {"exempt":{"images":["a@sha256:b"]}}                     | exempt.images[0] "a@sha256:b" has a digest, but patterns match registry/repository[:tag]
    {"exempt":{"images":["https://x/y"]}}                    | exempt.images[0] "https://x/y" has a URL scheme, but image names have none
    {"exempt":{"images":["a b"]}}                            | exempt.images[0] "a b" has white space, but image names have none
    {"exempt":{"images":["ghcr.io"]}}                        | exempt.images[0] "ghcr.io" names a registry, but no image in it: write ghcr.io/* for all its images
    {"exempt":{"images":["my.app:v1"]}}                      | exempt.images[0] "my.app:v1" names a registry, but no image in it: write docker.io/library/my.app:v1 for an image of this name
    {"exempt":{"images":["ghcr.io/Team/*"]}}                 | exempt.images[0] "ghcr.io/Team/*" can match no image: write ghcr.io/team/*
    {"exempt":{"images":["nginx:a/b"]}}                      | exempt.images[0] "nginx:a/b" can match no image: names are registry/repository[:tag], with lower-case letters and digits parted by . _ - or / in the repository, and letters, digits, _ . - in the tag
    {"exempt":{"containers":["Copy"]}}                       | exempt.containers[0] "Copy" matches no container's name: it takes lower-case letters, digits, -, * and ?
    {"exempt":{"containers":["istio-"]}}                     | exempt.containers[0] "istio-" matches no container's name, as none ends with -: write istio-*
    {"exempt":{"containers":["-proxy"]}}                     | exempt.containers[0] "-proxy" matches no container's name, as none begins with -: write *-proxy
    {"exempt":{"containers":["LONG"]}}                       | exempt.containers[0] "CUT" matches no container's name, as none is longer than 63 characters
    {"imageChecks":{"namePrefixes":["A-"]}}                  | imageChecks.namePrefixes[0] "A-" can't start a container's name: it takes lower-case letters, digits and -
    {"imageChecks":{"namePrefixes":["LONG"]}}                | imageChecks.namePrefixes[0] "CUT" leaves no room for a number: it takes at most 58 characters
    {"imageChecks":{"template":{"args":["x"]}}}              | imageChecks.template.command is missing: without it a check would run the image's own program
    {"imageChecks":{"template":{"command":["/x"],"name":"a"}}} | imageChecks.template.name can't be set: every added check has its own
    {"imageChecks":{"template":{"command":["/x"],"lifecycle":{}}}} | imageChecks.template.lifecycle can't be set: init containers have no probes and no lifecycle
    {"imageChecks":{"template":{"command":["/x"],"restartPolicy":"Always"}}} | imageChecks.template.restartPolicy can't be set: a check has to run once and end
    {"imageChecks":{"template":{"command":["/x"],"resources":{"claims":[{"name":"gpu"}]}}}} | imageChecks.template.resources.claims can't be set: the API server refuses a claim that the Pod doesn't have
    {"imageChecks":{"template":{"command":["/x"],"volumeMount":[]}}} | imageChecks.template.volumeMount is not a field of a container
    {"imageChecks":{"template":{"command":["/x"],"tty":"yes"}}} | imageChecks.template.tty must be true or false, not a string
    {"imageChecks":{"template":{"command":["/x"],"resources":{"limits":{"cpu":true}}}}} | imageChecks.template.resources.limits.cpu must be a quantity such as 100m or 64Mi, not a boolean
    {"imageChecks":{"coverage":"Fix","everyPod":true}}       | imageChecks.template is missing: with coverage Fix and everyPod true, a Pod without image checks has none to copy, unless imageChecks.as is ImageVolume
    {"imageChecks":{"coverage":"Fix"},"exempt":{"containers":["a","*"]}} | exempt.containers "*" matches the checks that imageChecks.coverage Fix adds, imagecheck- and a number: name containers that it does not
    {"validatingCopy":true}                                  | validatingCopy is for mode Reject or Warn: a validating installation changes nothing
    {"registry":{"lookup":"Pin"}}                            | registry.images is required for lookups: whoever creates a Pod chooses the hosts of its images, and policy-server connects to them; name your registries, e.g. registry.example.com/*, or write * for all images
    {"registry":{"images":["*"],"platform":"Warn"}}          | registry.platform needs lookups, and none is made: set registry.lookup, or that of an entry of registry.overrides, to Verify or Pin
    {"registry":{"overrides":[{"images":["docker.io/*"]},{"images":["nginx:1.*"]}]}} | registry.overrides[1].images "nginx:1.*" never decides: "docker.io/*" of registry.overrides[0] matches all that it does; put it before that entry or take it out
ROWS
}

@test "unknown keys are named, at every level" {
  while fields given told; do
    invalid "$given" "$told"
  done <<'ROWS'
    {"mode ":"Fix"}                                           | mode not a setting
    {"imageChecks":{"prefixes":["a-"]}}                       | imageChecks.prefixes not a setting namePrefixes coverage everyPod as template after
    {"imageChecks":{"replaceExisting":true}}                  | imageChecks.replaceExisting not a setting
    {"defaults":{"imageCheckPullPolicy":"Always"}}            | defaults.imageCheckPullPolicy not a setting imagePullPolicy
    {"registry":{"onError":"Reject"}}                         | registry.onError not a setting lookup images skipImages onNotFound onDenied onRateLimited onUnreachable onUnknown maxLookups overrides platform
    {"registry":{"overrides":[{"images":["a"],"maxLookups":1}]}} | registry.overrides[0].maxLookups not a setting images lookup onNotFound onDenied onRateLimited onUnreachable onUnknown
    {"exempt":{"namespaces":["a"]}}                           | exempt.namespaces not a setting containers images
ROWS
}

@test "enums: the message has the allowed values and the value that was found" {
  while fields path found allowed; do
    invalid "$(in_jq -c -n --arg path "$path" --argjson found "$found" '{} | setpath($path | split("."); $found)')" \
      "$path $allowed not $found"
  done <<'ROWS'
    mode                          | "fix"       | Fix, Reject, Warn
    mode                          | ""          | Fix, Reject, Warn
    mode                          | false       | Fix, Reject, Warn
    imageChecks.coverage          | "On"        | Off, Warn, Reject, Fix
    imageChecks.as                | "Volume"    | InitContainer, ImageVolume
    templates                     | "Fix"       | Off, Warn, Enforce
    defaults.imagePullPolicy      | "always"    | Always, IfNotPresent, AlwaysUnlessDigest
    registry.lookup               | "On"        | Off, Verify, Pin
    registry.onNotFound           | "Warn"      | Reject, KeepTag, UseCached
    registry.platform             | "Fix"       | Off, Warn, Reject
ROWS
  invalid '{"mode":["Fix"]}' 'mode Fix Reject Warn not a list'
}

@test "booleans: true and false only, and no words or numbers" {
  for path in pullOnce recordChanges validatingCopy imageChecks.everyPod; do
    for found in '"true"' 1 '""'; do
      row="$path $found"
      invalid "$(in_jq -c -n --arg path "$path" --argjson found "$found" '{} | setpath($path | split("."); $found)')" \
        "$path true or false not $found"
    done
  done
  invalid '{"pullOnce":[true]}' 'pullOnce true or false not a list'
}

@test "sections and lists of the wrong type" {
  for section in imageChecks defaults images registry exempt; do
    invalid "{\"$section\":[1]}" "$section object not a list"
  done
  for path in imageChecks.namePrefixes imageChecks.after images.requireAlways images.forbidAlways images.forbidNever registry.images \
    registry.skipImages exempt.containers exempt.images; do
    row=$path
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); {a: 1})')" "$path list not an object"
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); ["a", 5, null, ["b"]])')" \
      "${path}[1] string not 5" "${path}[2] string not null" "${path}[3] string not a list"
  done
}

@test "patterns that can match nothing" {
  for path in images.requireAlways images.forbidAlways images.forbidNever registry.images registry.skipImages exempt.images; do
    row=$path
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); ["", "fine/*", "a b"])')" "${path}[2] a b white space"
  done
  # Each path has the index that the user sees.
  invalid '{"exempt":{"images":["",5,"NGINX"]},"mode":"fix","registry":{"overrides":[{"images":["a"]},{"images":[null,"","a//b"]}],"skipImages":["/a"]}}' \
    'exempt.images[1] not 5' 'exempt.images[2] NGINX nginx' 'mode not fix' 'registry.overrides[1].images[0] not null' \
    'registry.overrides[1].images[2] a//b a/b' 'registry.skipImages[0] /a */a'
  for path in imageChecks.after exempt.containers; do
    row=$path
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); ["", "a_b", "fine-*?", "istio-"])')" "${path}[1] a_b lower-case" "${path}[3] istio- ends istio-*"
  done
}

@test "a name prefix can start the name of a container, and leaves room for a number" {
  for prefix in A- -a a_b 'a b' a. 'a*'; do
    row=$prefix
    invalid "{\"imageChecks\":{\"namePrefixes\":[\"$prefix\"]}}" "imageChecks.namePrefixes[0] $prefix start lower-case"
  done
  row=
  long=$(printf 'x%.0s' {1..58})
  review agent-stack-pod-create
  evaluate "{\"imageChecks\":{\"namePrefixes\":[\"imagecheck-\",\"$long\"]}}"
  [[ -n $patch ]] || fail "not repaired"
  invalid "{\"imageChecks\":{\"namePrefixes\":[\"${long}x\"]}}" "imageChecks.namePrefixes[0] ${long}x 58"
}

@test "an empty string in a list of the settings counts as absent, as forms leave it behind" {
  while IFS='|' read -r given same_as; do
    row=$given
    pod 'init imagecheck-0 app:1 IfNotPresent, init other app:1 Never, app a app:1 Always'
    evaluate "$same_as"
    expected="$allowed|$message|$warnings|$places"
    evaluate "$given"
    same answers "$expected" "$allowed|$message|$warnings|$places"
  done <<'ROWS'
{"images":{"requireAlways":[""]}}|{}
{"images":{"forbidAlways":["","",""],"forbidNever":["app",""]}}|{"images":{"forbidNever":["app"]}}
{"exempt":{"containers":[""],"images":[""]}}|{}
{"imageChecks":{"namePrefixes":[""]}}|{}
{"imageChecks":{"namePrefixes":["","other"]}}|{"imageChecks":{"namePrefixes":["other"]}}
ROWS
  row=
  invalid '{"registry":{"overrides":[{"images":[""],"lookup":"Pin"}]}}' 'registry.overrides[0].images required'
  # The check template is a container, so its lists keep their empty strings.
  pod 'app a app:1, app b app:1'
  evaluate '{"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"],"args":[""]}}}'
  after '.spec.initContainers[0].args == [""]'
}

@test "registry.maxLookups is a whole number from 1 to 100" {
  for found in 0 101 -1 1.5 '"10"' true 1000000000000000000000; do
    row=$found
    # Each host may write a very large number in its own way.
    [[ $found == 1000* ]] && shown= || shown=$found
    invalid "{\"registry\":{\"maxLookups\":$found}}" "registry.maxLookups whole number 1 to 100 not $shown"
  done
}

@test "imageChecks.template: unknown, mistyped and refused fields, with their paths" {
  while fields given problem; do
    invalid "$(in_jq -c '{imageChecks: {template: ({command: ["/x"]} + .)}}' <<<"$given")" "imageChecks.template.$problem"
  done <<'ROWS'
    {"args":["a",5]}                                         | args[1] string not number
    {"env":[{"name":"a","valu":"b"}]}                        | env[0].valu not a field
    {"env":{"a":"b"}}                                        | env list not object
    {"env":[{"name":"a","valueFrom":{"secretKeyRef":{"nam":"x"}}}]} | env[0].valueFrom.secretKeyRef.nam not a field
    {"volumeMounts":[{"name":"v","mountpath":"/x"}]}         | volumeMounts[0].mountpath not a field
    {"securityContext":{"runAsUser":"0"}}                    | securityContext.runAsUser whole number not string
    {"command":null,"args":["x"]}                            | command missing
    {"command":[],"args":["x"]}                              | command missing
    {"livenessProbe":{"exec":{}}}                            | livenessProbe probes
    {"readinessProbe":{"exec":{}}}                           | readinessProbe probes
    {"startupProbe":{"exec":{}}}                             | startupProbe probes
    {"lifecycle":{"exec":{}}}                                | lifecycle no lifecycle
    {"restartPolicyRules":[{"action":"Restart"}]}            | restartPolicyRules once
    {"command":[null]}                                       | command[0] string not null
    {"ports":[{"containerPort":"80"}]}                       | ports[0].containerPort whole number not string
    {"volumeMounts":[{"name":"v"},["a","b"]]}                | volumeMounts[1] VolumeMount not list
ROWS
  invalid '{"imageChecks":{"template":{"name":"a","image":"b","imagePullPolicy":"Always","command":["/x"]}}}' \
    'imageChecks.template.name own' 'imageChecks.template.image own' 'imageChecks.template.imagePullPolicy own'
  invalid '{"imageChecks":{"template":"x"}}' 'imageChecks.template object not a string'
  invalid '{"imageChecks":{"template":[{}]}}' 'imageChecks.template object not a list'
}

@test "registry.overrides: entries that are malformed" {
  invalid '{"registry":{"overrides":["docker.io/*",null,["a"]]}}' \
    'registry.overrides[0] object not a string' 'registry.overrides[1] object not null' 'registry.overrides[2] object not a list'
  invalid '{"registry":{"overrides":[{"images":["a"]},""]}}' 'registry.overrides[1] object not a string'
  invalid '{"registry":{"overrides":[{"images":["b","/b"],"lookup":"on"}]}}' \
    'registry.overrides[0].images[1] /b */b' 'registry.overrides[0].lookup Off Verify Pin not on'
}

@test "imageChecks.template: all other fields of a container" {
  pod 'app a app:1, app b app:1' '.object.spec.volumes = [{name: "v", emptyDir: {}}]'
  evaluate '{"imageChecks":{"coverage":"Fix","everyPod":true,"template":{
    "command":["/x"],"args":["y"],"workingDir":"/","tty":false,"stdin":true,"stdinOnce":false,
    "env":[{"name":"a","value":"b"},{"name":"c","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}],
    "envFrom":[{"configMapRef":{"name":"x","optional":true},"prefix":"P_"}],
    "resources":{"limits":{"cpu":"100m","memory":1048576},"requests":{"cpu":0.1}},
    "securityContext":{"runAsUser":65534,"runAsNonRoot":true,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"]},"seccompProfile":{"type":"RuntimeDefault"}},
    "terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
    "volumeMounts":[{"name":"v","mountPath":"/v","readOnly":true,"subPath":"s"}]}}}'
  after '.spec.initContainers[0] | .name == "imagecheck-0" and .command == ["/x"] and .resources == {limits: {cpu: "100m", memory: "1048576"}, requests: {cpu: "0.1"}}
    and .securityContext.capabilities.drop == ["ALL"] and .volumeMounts[0].subPath == "s"'
}

@test "settings that contradict each other" {
  for glob in 'imagecheck-*' imagecheck-7 'image*0'; do
    row=$glob
    invalid "{\"imageChecks\":{\"coverage\":\"Fix\"},\"exempt\":{\"containers\":[\"a\",\"$glob\"]}}" \
      "exempt.containers $glob imagecheck-"
  done
  row=
  invalid '{"imageChecks":{"coverage":"Fix","namePrefixes":["check-","b-"]},"exempt":{"containers":["b-1","check-?1","checks"]}}' \
    'exempt.containers check-?1 check-'
  images_required='registry.images required policy-server registries'
  for registry in '"lookup":"Verify"' '"lookup":"Pin","images":[]' '"overrides":[{"images":["docker.io/*"],"lookup":"Pin"}]' '"lookup":"Verify","platform":"Warn"'; do
    row=$registry
    invalid "{\"registry\":{$registry}}" "$images_required"
    # The copy has the same settings as the first installation.
    invalid "{\"mode\":\"Reject\",\"validatingCopy\":true,\"registry\":{$registry}}" "$images_required"
  done
  row=
  for empty in '[]' '[""]' '["",""]'; do
    invalid "{\"registry\":{\"overrides\":[{\"images\":$empty,\"lookup\":\"Off\"}]}}" 'registry.overrides[0].images required'
  done
}

# The user didn't write the default that a setting has if it can't be read.
@test "a contradiction with a setting that can't be read is not reported, and others are" {
  while fields given problem; do
    invalid "$given" "$problem"
  done <<'ROWS'
    {"registry":{"lookup":"pin","platform":"Warn"}} | registry.lookup not pin
    {"registry":{"platform":"Warn","overrides":[{"images":["*"],"lookup":1}]}} | registry.overrides[0].lookup not 1
    {"mode":"reject","validatingCopy":true} | mode not reject
    {"validatingCopy":"true"} | validatingCopy true or false not true
    {"imageChecks":{"coverage":"Fix","everyPod":true,"template":5}} | imageChecks.template object not a number
ROWS
  invalid '{"pullOnce":5,"registry":{"images":["*"],"platform":"Warn"}}' 'pullOnce not 5' 'registry.platform registry.lookup'
}

@test "settings that do not contradict each other" {
  while fields given; do
    pod 'app a app:1'
    evaluate "$given"
    untouched
  done <<'ROWS'
    {"imageChecks":{"coverage":"Fix","everyPod":true,"as":"ImageVolume"}}
    {"imageChecks":{"coverage":"Reject","everyPod":true}}
    {"exempt":{"containers":["imagecheck-*"]}}
    {"exempt":{"containers":["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","*???????????????????????????????????????????????????????????????*"]}}
    {"imageChecks":{"coverage":"Fix"},"exempt":{"containers":["imagecheck-a*","imagecheck-*a","imagecheck-01","imagepullcheck-1"]}}
    {"mode":"Reject","validatingCopy":true,"registry":{"images":["*"],"lookup":"Pin","platform":"Warn"}}
    {"mode":"Warn","validatingCopy":true}
    {"registry":{"images":["a"],"platform":"Reject","overrides":[{"images":["a"],"lookup":"Pin"}]}}
    {"registry":{"overrides":[{"images":["nginx:1.*","nginx","nginx"]},{"images":["docker.io/*"]},{"images":["*"]}]}}
ROWS
}

@test "at most a hundred problems are reported" {
  refuse "$(in_jq -cn '{exempt: {containers: [range(1000)]}}')"
  same 'number of problems' 100 "$(wc -l <<<"$problems")"
  [[ $problems == *$'\nexempt.containers[99] '* ]] || fail "$problems"
}

@test "all problems are reported together" {
  # The host sorts the keys, so the problems are in the order of the sorted keys. Problems of the check
  # template come last.
  invalid '{"mode":"fix","typo":1,"imageChecks":{"coverage":"On","namePrefixes":["A",5],"template":{"image":"x"}},"registry":{"maxLookups":101},"templates":5,"pullOnce":"no"}' \
    'imageChecks.coverage not On' 'imageChecks.namePrefixes[0] A' 'imageChecks.namePrefixes[1] not 5' 'mode not fix' \
    'pullOnce not no' 'registry.maxLookups not 101' 'templates not 5' 'typo not a setting' \
    'imageChecks.template.image own' 'imageChecks.template.command missing'
}

@test "long and strange values are cut to one line, and the settings as a whole are never repeated" {
  long=$(printf 'x%.0s' {1..200})
  cut=xxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  cut=${cut}...${cut:1}
  invalid "{\"$long\":1}" "$cut not a setting"
  invalid "{\"mode\":\"$long\"}" "mode not $cut"
  invalid '{"a\nb\u001b":1}' 'a_b_ not a setting'
  invalid '{"credentials":{"password":"s3cr3t"},"mode":{"token":"s3cr3t"},"images":{"requireAlways":[["s3cr3t"]]},"imageChecks":{"template":{"env":[{"name":"a","value":"s3cr3t","x":"s3cr3t"}],"command":["s3cr3t"]}}}' \
    'credentials not a setting' 'images.requireAlways[0] not a list' 'mode not an object' \
    'imageChecks.template.env[0].x not a field'
  ! grep -q s3cr3t "$BATS_TEST_TMPDIR/stderr" || fail "the settings are repeated"
}
