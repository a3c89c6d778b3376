# The settings: every problem is reported with its path, and all problems are reported together.

load lib

images_required='registry.images is required for lookups: whoever creates a Pod chooses the hosts of its images, and policy-server connects to them; name your registries, e.g. registry.example.com/*, or write * for all images'

keys='mode, imageChecks, pullOnce, defaults, images, registry, templates, exempt, recordChanges'

@test "no settings, and every way to leave out a setting" {
  review agent-stack-pod-create
  for unset in '{}' null '{"mode":null}' \
    '{"mode":null,"imageChecks":null,"pullOnce":null,"defaults":null,"images":null,"registry":null,"templates":null,"exempt":null,"recordChanges":null}' \
    '{"mode":{},"imageChecks":{},"pullOnce":{},"defaults":{},"images":{},"registry":{},"templates":{},"exempt":{},"recordChanges":{}}' \
    '{"mode":[],"imageChecks":[],"pullOnce":[],"defaults":[],"images":[],"registry":[],"templates":[],"exempt":[],"recordChanges":[]}' \
    '{"imageChecks":{"namePrefixes":null,"coverage":null,"everyPod":null,"as":null,"template":null,"after":null}}' \
    '{"imageChecks":{"namePrefixes":[],"coverage":[],"everyPod":[],"as":{},"template":{},"after":[]},"images":{"requireAlways":[],"forbidAlways":{},"forbidNever":[]}}' \
    '{"imageChecks":{"namePrefixes":[""],"after":["",""]},"images":{"requireAlways":[""]},"registry":{"images":[""]},"exempt":{"containers":[""],"images":[""]}}' \
    '{"defaults":{"imagePullPolicy":null,"imageCheckPullPolicy":{}},"exempt":{"containers":[],"images":null}}' \
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
    '{"mode":"Fix","pullOnce":true,"templates":"Off","recordChanges":true}' \
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

@test "unknown keys are named, at every level" {
  invalid '{"Mode":"Fix"}' "Mode is not a setting: the settings have $keys"
  invalid '{"mode ":"Fix"}' "mode  is not a setting: the settings have $keys"
  invalid '{"imageChecks":{"prefixes":["a-"]}}' 'imageChecks.prefixes is not a setting: it holds namePrefixes, coverage, everyPod, as, template, after'
  invalid '{"imageChecks":{"replaceExisting":true}}' 'imageChecks.replaceExisting is not a setting: it holds namePrefixes, coverage, everyPod, as, template, after'
  invalid '{"defaults":{"replaceServerDefaults":true}}' 'defaults.replaceServerDefaults is not a setting: it holds imagePullPolicy, imageCheckPullPolicy'
  invalid '{"defaults":{"pullPolicy":"Always"}}' 'defaults.pullPolicy is not a setting: it holds imagePullPolicy, imageCheckPullPolicy'
  invalid '{"images":{"require":[]}}' 'images.require is not a setting: it holds requireAlways, forbidAlways, forbidNever'
  invalid '{"registry":{"onError":"Reject"}}' 'registry.onError is not a setting: it holds lookup, images, skipImages, onNotFound, onDenied, onRateLimited, onUnreachable, onUnknown, maxLookups, overrides, platform'
  invalid '{"registry":{"overrides":[{"images":["a"],"maxLookups":1}]}}' 'registry.overrides[0].maxLookups is not a setting: it holds images, lookup, onNotFound, onDenied, onRateLimited, onUnreachable, onUnknown'
  invalid '{"exempt":{"namespaces":["a"]}}' 'exempt.namespaces is not a setting: it holds containers, images'
}

@test "enums: the message has the allowed values and the value that was found" {
  while fields path found allowed; do
    invalid "$(in_jq -c -n --arg path "$path" --argjson found "$found" '{} | setpath($path | split("."); $found)')" \
      "$path must be one of $allowed, not $found"
  done <<'ROWS'
    mode                          | "fix"       | Fix, Reject, Warn
    mode                          | ""          | Fix, Reject, Warn
    mode                          | 5           | Fix, Reject, Warn
    mode                          | true        | Fix, Reject, Warn
    mode                          | false       | Fix, Reject, Warn
    imageChecks.coverage          | "On"        | Off, Warn, Reject, Fix
    imageChecks.coverage          | true        | Off, Warn, Reject, Fix
    imageChecks.as                | "Volume"    | InitContainer, ImageVolume
    templates                     | "Fix"       | Off, Warn, Enforce
    defaults.imagePullPolicy      | "always"    | Always, IfNotPresent, Never, AlwaysUnlessDigest
    defaults.imagePullPolicy      | false       | Always, IfNotPresent, Never, AlwaysUnlessDigest
    defaults.imageCheckPullPolicy | "Sometimes" | Always, IfNotPresent, Never, AlwaysUnlessDigest
    registry.lookup               | "On"        | Off, Verify, Pin
    registry.onNotFound           | "Warn"      | Reject, KeepTag, UseCached
    registry.onDenied             | "keepTag"   | Reject, KeepTag, UseCached
    registry.onRateLimited        | 1           | Reject, KeepTag, UseCached
    registry.onUnreachable        | "Off"       | Reject, KeepTag, UseCached
    registry.onUnknown            | "Accept"    | Reject, KeepTag, UseCached
    registry.platform             | "Fix"       | Off, Warn, Reject
ROWS
  invalid '{"mode":["Fix"]}' 'mode must be one of Fix, Reject, Warn, not a list'
  invalid '{"templates":{"a":"Fix"}}' 'templates must be one of Off, Warn, Enforce, not an object'
}

@test "booleans: true and false only, and no words or numbers" {
  for path in pullOnce recordChanges imageChecks.everyPod; do
    for found in '"true"' '"yes"' 1 0 '""'; do
      row="$path $found"
      invalid "$(in_jq -c -n --arg path "$path" --argjson found "$found" '{} | setpath($path | split("."); $found)')" \
        "$path must be true or false, not $found"
    done
  done
  invalid '{"pullOnce":[true]}' 'pullOnce must be true or false, not a list'
}

@test "sections and lists of the wrong type" {
  for section in imageChecks defaults images registry exempt; do
    invalid "{\"$section\":\"x\"}" "$section must be an object, not a string"
    invalid "{\"$section\":[1]}" "$section must be an object, not a list"
    invalid "{\"$section\":true}" "$section must be an object, not a boolean"
  done
  for path in imageChecks.namePrefixes imageChecks.after images.requireAlways images.forbidAlways images.forbidNever registry.images \
    registry.skipImages exempt.containers exempt.images; do
    row=$path
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); "nginx")')" "$path must be a list, not \"nginx\""
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); {a: 1})')" "$path must be a list, not an object"
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); ["a", 5, null, ["b"]])')" \
      "${path}[1] must be a string, not 5" "${path}[2] must be a string, not null" "${path}[3] must be a string, not a list"
  done
}

@test "patterns that can match nothing" {
  for path in images.requireAlways images.forbidAlways images.forbidNever registry.images registry.skipImages exempt.images; do
    row=$path
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); ["", "a@sha256:b", "https://x/y", "a b", "fine/*", "registry.example.com", "ghcr.io/Team/*"])')" \
      "${path}[1] \"a@sha256:b\" has a digest, but patterns match registry/repository[:tag]" \
      "${path}[2] \"https://x/y\" has a URL scheme, but image names have none" \
      "${path}[3] \"a b\" has white space, but image names have none" \
      "${path}[5] \"registry.example.com\" names a registry, but no image in it: write registry.example.com/* for all its images" \
      "${path}[6] \"ghcr.io/Team/*\" has upper case in a repository, so no image can match it: write ghcr.io/team/*"
  done
  # Problems of image patterns come after those of other values. Each path has the index that the user sees.
  invalid '{"exempt":{"images":["",5,"NGINX"]},"mode":"fix","registry":{"overrides":[{"images":["a"]},{"images":[null,"","a//b"]}],"skipImages":["/a"]}}' \
    'exempt.images[1] must be a string, not 5' \
    'mode must be one of Fix, Reject, Warn, not "fix"' \
    'registry.overrides[1].images[0] must be a string, not null' \
    'exempt.images[2] "NGINX" has upper case in a repository, so no image can match it: write nginx' \
    'registry.overrides[1].images[2] "a//b" has nothing between two slashes, so no image can match it: write a/b' \
    'registry.skipImages[0] "/a" begins with a slash, so no image can match it: write */a'
  # A long pattern is cut in the message.
  cut=xxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  for path in imageChecks.after exempt.containers; do
    row=$path
    invalid "$(in_jq -c -n --arg path "$path" '{} | setpath($path | split("."); ["", "Copy", "a_b", "a/b", "fine-*?", "istio-", "-proxy", "x" * 64])')" \
      "${path}[1] \"Copy\" matches no container's name: it takes lower-case letters, digits, -, * and ?" \
      "${path}[2] \"a_b\" matches no container's name: it takes lower-case letters, digits, -, * and ?" \
      "${path}[3] \"a/b\" matches no container's name: it takes lower-case letters, digits, -, * and ?" \
      "${path}[5] \"istio-\" matches no container's name, as none ends with -: write istio-*" \
      "${path}[6] \"-proxy\" matches no container's name, as none begins with -: write *-proxy" \
      "${path}[7] \"${cut}...${cut:1}\" matches no container's name, as none is longer than 63 characters"
  done
}

@test "a name prefix can start the name of a container, and leaves room for a number" {
  for prefix in A- -a a_b 'a b' a. 'a*'; do
    row=$prefix
    invalid "{\"imageChecks\":{\"namePrefixes\":[\"$prefix\"]}}" \
      "imageChecks.namePrefixes[0] \"$prefix\" can't start a container's name: it takes lower-case letters, digits and -"
  done
  row=
  long=$(printf 'x%.0s' {1..58})
  review agent-stack-pod-create
  evaluate "{\"imageChecks\":{\"namePrefixes\":[\"imagecheck-\",\"$long\"]}}"
  [[ -n $patch ]] || fail "not repaired"
  invalid "{\"imageChecks\":{\"namePrefixes\":[\"${long}x\"]}}" \
    'imageChecks.namePrefixes[0] "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" leaves no room for a number: it takes at most 58 characters'
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
{"images":{"requireAlways":["","app"]}}|{"images":{"requireAlways":["app"]}}
{"images":{"forbidAlways":["","",""],"forbidNever":["app",""]}}|{"images":{"forbidNever":["app"]}}
{"exempt":{"containers":[""],"images":[""]}}|{}
{"exempt":{"containers":["","imagecheck-0"]}}|{"exempt":{"containers":["imagecheck-0"]}}
{"imageChecks":{"namePrefixes":[""]}}|{}
{"imageChecks":{"namePrefixes":["","other"]}}|{"imageChecks":{"namePrefixes":["other"]}}
{"imageChecks":{"after":[""]}}|{}
{"registry":{"images":[""],"skipImages":[""]}}|{}
ROWS
  row=
  invalid '{"registry":{"overrides":[{"images":[""],"lookup":"Pin"}]}}' 'registry.overrides[0].images is required'
  # The check template is a container, so its lists keep their empty strings.
  pod 'app a app:1, app b app:1'
  evaluate '{"imageChecks":{"coverage":"Fix","everyPod":true,"template":{"command":["/x"],"args":[""]}}}'
  after '.spec.initContainers[0].args == [""]'
}

@test "registry.maxLookups is a whole number from 0 to 100" {
  for found in 101 -1 1.5 '"10"' true 1000000000000000000000; do
    row=$found
    problem="registry.maxLookups must be a whole number from 0 to 100, not "
    settings_row="{\"registry\":{\"maxLookups\":$found}}"
    # Each host may write a very large number in its own way, so the message can't be compared exactly.
    if [[ $found == 1000* ]]; then
      invalid_like "$settings_row" "$problem"
    else
      invalid "$settings_row" "$problem$found"
    fi
  done
}

@test "imageChecks.template: name, image and imagePullPolicy can't be set" {
  invalid '{"imageChecks":{"template":{"name":"a","image":"b","imagePullPolicy":"Always","command":["/x"]}}}' \
    "imageChecks.template.name can't be set: every added check has its own" \
    "imageChecks.template.image can't be set: every added check has its own" \
    "imageChecks.template.imagePullPolicy can't be set: every added check has its own"
}

@test "imageChecks.template: fields that a check can't have, because it runs once and ends" {
  for field in lifecycle livenessProbe readinessProbe startupProbe; do
    invalid "{\"imageChecks\":{\"template\":{\"command\":[\"/x\"],\"$field\":{\"exec\":{}}}}}" \
      "imageChecks.template.$field can't be set: init containers have no probes and no lifecycle"
  done
  invalid '{"imageChecks":{"template":{"command":["/x"],"restartPolicy":"Always"}}}' \
    "imageChecks.template.restartPolicy can't be set: a check has to run once and end"
  invalid '{"imageChecks":{"template":{"command":["/x"],"restartPolicyRules":[{"action":"Restart"}]}}}' \
    "imageChecks.template.restartPolicyRules can't be set: a check has to run once and end"
  invalid '{"imageChecks":{"template":{"command":["/x"],"resources":{"claims":[{"name":"gpu"}]}}}}' \
    "imageChecks.template.resources.claims can't be set: the API server refuses a claim that the Pod doesn't have"
}

@test "imageChecks.template: unknown and mistyped fields, with their paths" {
  while fields given problem; do
    invalid "$(in_jq -c '{imageChecks: {template: ({command: ["/x"]} + .)}}' <<<"$given")" "imageChecks.template.$problem"
  done <<'ROWS'
    {"volumeMount":[]}                                       | volumeMount is not a field of a container
    {"Command":["/x"]}                                       | Command is not a field of a container
    {"args":"x"}                                             | args must be a list, not a string
    {"args":["a",5]}                                         | args[1] must be a string, not a number
    {"env":[{"name":"a","valu":"b"}]}                        | env[0].valu is not a field of a container
    {"env":[{"name":"a","value":5}]}                         | env[0].value must be a string, not a number
    {"env":{"a":"b"}}                                        | env must be a list, not an object
    {"env":[{"name":"a","valueFrom":{"secretKeyRef":{"nam":"x"}}}]} | env[0].valueFrom.secretKeyRef.nam is not a field of a container
    {"resources":{"limits":{"cpu":true}}}                    | resources.limits.cpu must be a quantity such as 100m or 64Mi, not a boolean
    {"resources":{"limit":{"cpu":"1"}}}                      | resources.limit is not a field of a container
    {"volumeMounts":[{"name":"v","mountpath":"/x"}]}         | volumeMounts[0].mountpath is not a field of a container
    {"volumeMounts":[{"name":"v","readOnly":"true"}]}        | volumeMounts[0].readOnly must be true or false, not a string
    {"securityContext":{"runAsUser":"0"}}                    | securityContext.runAsUser must be a whole number, not a string
    {"securityContext":{"runAsUser":1.5}}                    | securityContext.runAsUser must be a whole number, not a number
    {"securityContext":{"capabilities":{"drop":"ALL"}}}      | securityContext.capabilities.drop must be a list, not a string
    {"tty":"yes"}                                            | tty must be true or false, not a string
    {"workingDir":5}                                         | workingDir must be a string, not a number
    {"command":{}}                                           | command must be a list, not an object
    {"command":[1]}                                          | command[0] must be a string, not a number
    {"command":[null]}                                       | command[0] must be a string, not null
    {"ports":[{"containerPort":"80"}]}                       | ports[0].containerPort must be a whole number, not a string
    {"resources":{"limits":[]}}                              | resources.limits must be an object, not a list
    {"securityContext":["x"]}                                | securityContext must be an object, not a list
    {"volumeMounts":[{"name":"v"},["a","b"]]}                | volumeMounts[1] must be an object, not a list
ROWS
  invalid '{"imageChecks":{"template":"x"}}' 'imageChecks.template must be an object, not a string'
  invalid '{"imageChecks":{"template":[{}]}}' 'imageChecks.template must be an object, not a list'
}

@test "imageChecks.template: a missing command" {
  for template in '{"args":["x"]}' '{"command":null,"args":["x"]}' '{"command":[],"args":["x"]}'; do
    row=$template
    invalid "{\"imageChecks\":{\"template\":$template}}" \
      "imageChecks.template.command is missing: without it a check would run the image's own program"
  done
}

@test "imageChecks.template: a command of another type is one problem, not two" {
  invalid '{"imageChecks":{"template":{"command":"/x"}}}' 'imageChecks.template.command must be a list, not a string'
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
  after '.spec.initContainers[0] | .name == "imagecheck-0" and .command == ["/x"] and .resources.limits.memory == 1048576
    and .securityContext.capabilities.drop == ["ALL"] and .volumeMounts[0].subPath == "s"'
}

@test "settings that contradict each other" {
  invalid '{"imageChecks":{"coverage":"Fix","everyPod":true}}' \
    'imageChecks.template is missing: with coverage Fix and everyPod true, a Pod without image checks has none to copy, unless imageChecks.as is ImageVolume'
  for glob in '*' 'imagecheck-*' imagecheck-0 imagecheck-7 'imagecheck-??*' 'image*0'; do
    row=$glob
    invalid "{\"imageChecks\":{\"coverage\":\"Fix\"},\"exempt\":{\"containers\":[\"a\",\"$glob\"]}}" \
      "exempt.containers \"$glob\" matches the checks that imageChecks.coverage Fix adds, imagecheck- and a number: name containers that it does not"
  done
  row=
  invalid '{"imageChecks":{"coverage":"Fix","namePrefixes":["check-","b-"]},"exempt":{"containers":["b-1","check-?1","checks"]}}' \
    'exempt.containers "check-?1" matches the checks that imageChecks.coverage Fix adds, check- and a number: name containers that it does not'
  for registry in '"lookup":"Verify"' '"lookup":"Pin","images":[]' '"overrides":[{"images":["docker.io/*"],"lookup":"Pin"}]' '"lookup":"Verify","platform":"Warn"'; do
    row=$registry
    invalid "{\"registry\":{$registry}}" "$images_required"
    # The copy has the same settings as the first installation.
    invalid "{\"mode\":\"Reject\",\"registry\":{\"maxLookups\":0,$registry}}" "$images_required"
  done
  row=
  invalid '{"registry":{"images":["*"],"maxLookups":0,"lookup":"Pin"}}' \
    'registry.maxLookups 0 is for mode Reject or Warn, a copy that accepts what lookups left: in mode Fix set registry.lookup to "Off", which asks nothing either'
  invalid '{"registry":{"images":["*"],"platform":"Warn"}}' \
    'registry.platform needs lookups, and none is made: set registry.lookup, or that of an entry of registry.overrides, to Verify or Pin'
  invalid '{"registry":{"overrides":[{"images":["docker.io/*"]},{"images":["ghcr.io/*","nginx:1.*"]}]}}' \
    'registry.overrides[1].images "nginx:1.*" never decides: "docker.io/*" of registry.overrides[0] matches all that it does; put it before that entry or take it out'
  invalid '{"registry":{"overrides":[{"lookup":"Off"}]}}' 'registry.overrides[0].images is required'
  for empty in '[]' '[""]' '["",""]'; do
    invalid "{\"registry\":{\"overrides\":[{\"images\":$empty,\"lookup\":\"Off\"}]}}" 'registry.overrides[0].images is required'
  done
}

# The user didn't write the default that a setting has if it can't be read.
@test "a contradiction with a setting that can't be read is not reported, and others are" {
  while fields given problem; do
    invalid "$given" "$problem"
  done <<'ROWS'
    {"registry":{"lookup":"pin","platform":"Warn"}} | registry.lookup must be one of Off, Verify, Pin, not "pin"
    {"registry":{"platform":"Warn","overrides":[{"images":["*"],"lookup":1}]}} | registry.overrides[0].lookup must be one of Off, Verify, Pin, not 1
    {"mode":"warn","registry":{"maxLookups":0}} | mode must be one of Fix, Reject, Warn, not "warn"
    {"imageChecks":{"coverage":"Fix","everyPod":true,"template":5}} | imageChecks.template must be an object, not a number
    {"pullOnce":5,"registry":{"images":["*"],"platform":"Warn"}} | pullOnce must be true or false, not 5; registry.platform needs lookups, and none is made: set registry.lookup, or that of an entry of registry.overrides, to Verify or Pin
ROWS
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
    {"mode":"Reject","registry":{"images":["*"],"maxLookups":0,"lookup":"Pin","platform":"Warn"}}
    {"mode":"Warn","registry":{"maxLookups":0}}
    {"registry":{"images":["a"],"platform":"Reject","overrides":[{"images":["a"],"lookup":"Pin"}]}}
    {"registry":{"overrides":[{"images":["nginx:1.*","nginx","nginx"]},{"images":["docker.io/*"]},{"images":["*"]}]}}
ROWS
}

@test "at most a hundred problems are reported" {
  refuse "$(in_jq -cn '{exempt: {containers: [range(1000)]}}')"
  [[ $told == *'; exempt.containers[99] must be a string, not 99' ]] || fail "$told"
}

@test "all problems are reported together" {
  # The host sorts the keys, so the problems are in the order of the sorted keys. Problems of the check
  # template come last.
  invalid '{"mode":"fix","typo":1,"imageChecks":{"coverage":"On","namePrefixes":["A",5],"template":{"image":"x"}},"registry":{"maxLookups":101},"templates":5,"pullOnce":"no"}' \
    'imageChecks.coverage must be one of Off, Warn, Reject, Fix, not "On"' \
    "imageChecks.namePrefixes[0] \"A\" can't start a container's name: it takes lower-case letters, digits and -" \
    'imageChecks.namePrefixes[1] must be a string, not 5' \
    'mode must be one of Fix, Reject, Warn, not "fix"' \
    'pullOnce must be true or false, not "no"' \
    'registry.maxLookups must be a whole number from 0 to 100, not 101' \
    'templates must be one of Off, Warn, Enforce, not 5' \
    "typo is not a setting: the settings have $keys" \
    "imageChecks.template.image can't be set: every added check has its own" \
    "imageChecks.template.command is missing: without it a check would run the image's own program"
}

@test "long and strange values are cut to one line, and the settings as a whole are never repeated" {
  long=$(printf 'x%.0s' {1..200})
  cut=xxxxxxxxxxxxxxxxxxxxxxxxxxxxx
  invalid "{\"$long\":1}" "${cut}...${cut:1} is not a setting: the settings have $keys"
  invalid "{\"mode\":\"$long\"}" "mode must be one of Fix, Reject, Warn, not \"${cut}...${cut:1}\""
  invalid '{"a\nb\u001b":1}' "a_b_ is not a setting: the settings have $keys"
  invalid '{"credentials":{"password":"s3cr3t"},"mode":{"token":"s3cr3t"},"images":{"requireAlways":[["s3cr3t"]]},"imageChecks":{"template":{"env":[{"name":"a","value":"s3cr3t","x":"s3cr3t"}],"command":["s3cr3t"]}}}' \
    "credentials is not a setting: the settings have $keys" \
    'images.requireAlways[0] must be a string, not a list' \
    'mode must be one of Fix, Reject, Warn, not an object' \
    'imageChecks.template.env[0].x is not a field of a container'
  ! grep -q s3cr3t "$BATS_TEST_TMPDIR/stderr" || fail "the settings are repeated"
}
