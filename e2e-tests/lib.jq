# Functions of the end-to-end tests for requests, answers and JSON patches. lib.bash calls them.

# The keys that lead from an object of this kind to its Pod spec.
def spec_path:
  if . == "Pod" then ["spec"]
  elif . == "PodTemplate" then ["template", "spec"]
  elif . == "CronJob" then ["spec", "jobTemplate", "spec", "template", "spec"]
  else ["spec", "template", "spec"]
  end;

# The list of a Pod spec for each kind of place.
def lists:
  {init: "initContainers", sidecar: "initContainers", app: "containers",
   ephemeral: "ephemeralContainers", volume: "volumes"};

# "init imagecheck-0 app:1 Always, app main app:1" -> a Pod spec. A place without a pull policy gets
# none. Every container has an unknown field, and an environment variable whose value must be in no
# answer. An init container has a command, because a check without a command is never copied.
def spec_of_places:
  reduce (split(", ")[] | split(" ")) as [$kind, $name, $image, $policy] ({};
    .[lists[$kind]] += [
      if $kind == "volume" then
        {name: $name, image: ({reference: $image} + if $policy then {pullPolicy: $policy} else {} end)}
      else
        {name: $name, image: $image, env: [{name: "TOKEN", value: "s3cr3t"}], unknownField: {of: $name}}
        + (if $policy then {imagePullPolicy: $policy} else {} end)
        + (if $kind == "sidecar" then {restartPolicy: "Always"} else {} end)
        + (if $kind == "init" then {command: ["/bin/true"]} else {} end)
      end]);

# A Pod spec -> its places. `lines` writes each as above.
def places_of_spec:
  [ (.initContainers // [] | .[]
      | [(if .restartPolicy == "Always" then "sidecar" else "init" end), .name, .image, .imagePullPolicy]),
    (.containers // [] | .[] | ["app", .name, .image, .imagePullPolicy]),
    (.ephemeralContainers // [] | .[] | ["ephemeral", .name, .image, .imagePullPolicy]),
    (.volumes // [] | .[] | select(.image) | ["volume", .name, .image.reference, .image.pullPolicy])
  ];
def lines: map(map(select(. != null)) | join(" ")) | join("\n");

# A request to create an object of this kind with this Pod spec.
def request($kind; $spec):
  ({Pod: ["", "pods"], PodTemplate: ["", "podtemplates"],
    ReplicationController: ["", "replicationcontrollers"],
    Deployment: ["apps", "deployments"], StatefulSet: ["apps", "statefulsets"],
    DaemonSet: ["apps", "daemonsets"], ReplicaSet: ["apps", "replicasets"],
    Job: ["batch", "jobs"], CronJob: ["batch", "cronjobs"]}[$kind]) as [$group, $resource]
  | {group: $group, version: "v1", kind: $kind} as $gvk
  | {group: $group, version: "v1", resource: $resource} as $gvr
  | ({apiVersion: (if $group == "" then "v1" else $group + "/v1" end), kind: $kind,
      metadata: {name: "test", namespace: "default"}}
     | setpath($kind | spec_path; $spec)) as $object
  | {uid: "1299d386-525b-4032-98ae-1949f69f9cfc", kind: $gvk, resource: $gvr, requestKind: $gvk,
     requestResource: $gvr, name: "test", namespace: "default", operation: "CREATE",
     userInfo: {username: "admin", groups: ["system:authenticated"]},
     object: $object, oldObject: null, dryRun: false, options: null};

# JSON patches (RFC 6902), with the operations that hosts write.
def pointer($document):
  split("/")[1:]
  | map(split("~1") | join("/") | split("~0") | join("~"))
  | reduce .[] as $key ({path: [], at: $document};
      (if (.at | type) != "array" then $key elif $key == "-" then (.at | length) else ($key | tonumber) end) as $step
      | {path: (.path + [$step]), at: (try .at[$step] catch null)})
  | .path;
def apply_patch($operations):
  reduce $operations[] as $operation (.;
    . as $document
    | ($operation.path | pointer($document)) as $path
    | if $operation.op == "remove" then delpaths([$path])
      elif $operation.op == "replace" then
        if getpath($path[:-1]) | has($path[-1]) then . else error("nothing to replace at " + $operation.path) end
        | setpath($path; $operation.value)
      elif $operation.op == "add" and ($path[-1] | type) == "number" then
        setpath($path[:-1]; getpath($path[:-1]) | .[:$path[-1]] + [$operation.value] + .[$path[-1]:])
      elif $operation.op == "add" then setpath($path; $operation.value)
      else error("unexpected operation " + $operation.op)
      end);

# "spec.containers[0].image" -> ["spec", "containers", 0, "image"]
def field_path:
  split("]") | join("") | split("[") | join(".") | split(".") | map(. as $key | try tonumber catch $key);

def record: "consistent-pull-policy/changes";

# The part of an object that no repair may change: all except the pull policies, the record, the
# checks that were added or removed ($names), the mounts of check volumes, and pinned images.
def rest($kind; $names; $pinned):
  def without($list): if has($list) and .[$list] then .[$list] |= map(select(.name as $name | $names | index($name) | not)) else . end
    | if (.[$list] // []) == [] then del(.[$list]) else . end;
  def unmounted: if .volumeMounts then .volumeMounts |= map(select(.mountPath != "/.imagecheck/" + .name)) else . end
    | if (.volumeMounts // []) == [] then del(.volumeMounts) else . end;
  ($kind | spec_path) as $spec
  | setpath($spec; getpath($spec) | without("initContainers") | without("volumes")
      | (.initContainers, .containers | arrays) |= map(unmounted))
  | delpaths([paths | select(.[:($spec | length)] == $spec)
      | select((length == ($spec | length) + 3 and .[-1] == "imagePullPolicy")
        or .[-2:] == ["image", "pullPolicy"]
        or ($pinned and (.[-2:] == ["image", "reference"]
          or (length == ($spec | length) + 3 and .[-1] == "image" and .[-3] != "volumes"))))])
  | if .metadata.annotations then del(.metadata.annotations[record]) else . end
  | if (.metadata.annotations // {}) == {} then del(.metadata.annotations) else . end
  | if (.metadata // {}) == {} then del(.metadata) else . end;

# The audit annotation for a record that was shortened or left out.
def audit_note: .auditAnnotations.record;
def audit($key): (.auditAnnotations // {})[$key] // "[]" | fromjson;
# Whether the settings allow lookups.
def looks_up:
  [(try .registry.lookup catch null), ((try .registry.overrides catch null) // [] | .[].lookup)]
  | any(. != null and . != "Off");
def advice: select(.rule == "missing-check" and .expected == "an image check");

# GitLab Runner (executors/kubernetes/kubernetes.go), Argo Workflows (util/errors/errors.go) and
# Jenkins' kubernetes-plugin treat an error with one of these phrases as an error of the network or of
# a quota, and try again.
def network_phrases:
  ["error dialing backend", "TLS handshake timeout", "connection timed out", "Timeout occurred",
   "request timed out", "client connection lost", "connection refused", "tls: internal error",
   "unexpected EOF", "connection reset by peer", "software caused connection abort", "broken pipe",
   "i/o timeout", "invalid connection", "Connection closed by foreign host",
   "request did not complete within requested timeout", "exceeded quota",
   "client rate limiter Wait returned an error", "resource quota evaluation timed out",
   "etcdserver: leader changed"];

# Whether a sentence is about a failed lookup that may succeed soon. The limit registry.maxLookups stays,
# so its sentence doesn't count. The sentence that counts further findings is ignored.
def is_momentary:
  test("image .* (is not for the policy to see: give the PolicyServer a pull secret|"
    + "hit its registry's rate limit: try later, or skip it with registry.skipImages|"
    + "has a registry that gives no answer: try again later|"
    + "has a registry whose answer is not understood: look at the host's log|"
    + "was not looked up: its registry just gave no answer|"
    + "can't be looked up: grant oci/v1/(manifest_digest|oci_manifest) in hostCapabilities of its policy server)$")
  or test("^and [0-9]+ more findings?$");

# The code of a rejection: 422 if another try doesn't help, 400 if it may. At UPDATE a 422 would make
# `kubectl apply --force` delete the object.
def code_of($message; $request):
  if $request.operation == "UPDATE" or ($message | split("; ") | all(is_momentary)) then 400 else 422 end;

# The broken promises of an answer to any request, one line for each.
def broken_promises($request; $settings):
  . as $answer
  | (.warnings // []) as $warnings
  | [ (if .uid != $request.uid then "the answer has another uid" else empty end),
      ($warnings[] | select(length > 120) | "a warning is longer than 120 characters: " + .),
      ($warnings[], .status.message // "" | select(any(explode[]; . < 32 or . == 127)) | "not one line: " + .),
      ($warnings[], .status.message // "" | ascii_downcase as $told | network_phrases[] | ascii_downcase
        | select(. as $phrase | $told | contains($phrase)) | "a controller may take this for an error of the network: " + .),
      (if ($warnings | length) > 10 then "there are more than 10 warnings" else empty end),
      (if .allowed and .status != null then "an accepted request has a status" else empty end),
      (if .allowed | not then
         (code_of(.status.message // ""; $request) as $code
           | if .status.code != $code then "the code of a rejection is \(.status.code) and not \($code)" else empty end),
         (if (.status.message // "") == "" then "a rejection has no message" else empty end),
         (if .patch then "a rejected request is changed" else empty end)
       else empty end),
      ((.auditAnnotations // {}) | to_entries[] | select(.key != "record") | (.value | fromjson) as $list
        | (if $list == [] then .key + " is an empty annotation" else empty end),
          (if .key == "lookups" then (if $list | map(.image) | . != sort then "lookups is not sorted" else empty end) elif ($list | map(.path | field_path) | . != sort) then .key + " is not sorted" else empty end)),
      (if (.patch == null) and ((.auditAnnotations.changes) != null) then "changes without a patch" else empty end),
      (if del(.patch) | tostring | contains("s3cr3t") then "a secret of the Pod is in the answer" else empty end)
    ];

# The object of a request after re-apply: at UPDATE of a Pod or a Job, stored values may come back.
# The changes don't list these values.
def restored($request; $after; $changes):
  if $request.operation != "UPDATE" or ($request.kind.kind | IN("Pod", "Job") | not) then $request.object
  else
    ($request.kind.kind | spec_path) as $spec
    | ($changes | map(.path)) as $told
    | reduce ("initContainers", "containers", "ephemeralContainers", "volumes") as $list ($request.object;
        reduce range(getpath($spec + [$list]) // [] | length) as $index (.;
          getpath($spec + [$list, $index]).name as $name
          | reduce (if $list == "volumes" then ["image", "reference"], ["image", "pullPolicy"]
              else ["image"], ["imagePullPolicy"] end) as $field (.;
              ($spec + [$list, $index] + $field) as $path
              | (($request.oldObject | getpath($spec + [$list])) // [] | map(select(.name == $name)) | first) as $stored
              | ($after | getpath($path)) as $new
              | if getpath($path) != $new and ($stored | getpath($field)) == $new
                  and ("\($spec | join(".")).\($list)[\($index)].\($field | join("."))" | IN($told[]) | not)
                then setpath($path; $new) else . end)))
  end;

# The broken promises of a patched object, one line for each.
def broken_repair($request; $settings; $after):
  (.auditAnnotations.changes) as $audited |
  ($request.kind.kind) as $kind
  | audit("changes") as $changes
  | restored($request; $after; $changes) as $object
  | ($changes | map(select(.to | type == "object"))) as $added
  | ($changes | map(select(.to == null))) as $gone
  | ($added + $gone | map(.container)) as $names
  | ($changes | any(.path | endswith(".image") or endswith(".reference"))) as $pinned
  | def staying: getpath($kind | spec_path) | places_of_spec
      | map(select((.[0] | IN("init", "volume") | not) or (.[1] | IN($names[]) | not)));
  ($object | staying) as $before_places
  | ($after | staying) as $after_places
  | [ (if ($object | rest($kind; $names; $pinned)) != ($after | rest($kind; $names; $pinned))
       then "the repair changed something else" else empty end),
      (if $audited == null and $object != $after then "a change is not in the audit annotation" else empty end),
      ($changes[] | . as $change
        | (if .to == null then $request.object else $after end | getpath($change.path | field_path)) as $value
        | if .to == null then {value: ($value | {name, image, imagePullPolicy}), told: .from}
          elif (.to | type) == "object" then
            {value: ($value | if .image | type == "object" then . else {name, image, imagePullPolicy} end), told: .to}
          else {$value, told: .to} end
        | select(.value != .told) | "the record says \($change | tojson), but it is \(.value | tojson)"),
      ($changes[] | select(.container == null) | "a change has no container: \(tojson)"),
      ($changes[] | select(.to | type == "string") | . as $change
        | ($after | getpath($change.path | field_path[:-1] | if .[-1] == "image" then .[:-1] else . end).name) as $name
        | select($name != $change.container) | "\($change.path) is no field of \($change.container)"),
      ([$before_places, $after_places] | transpose | map(select(.[0][3] != .[1][3]))) as $changed
        | (if ($changed | length) != ($changes | map(select(.path | endswith("ullPolicy"))) | length)
           then "not every change is recorded, or more than there are" else empty end),
          (if ($changed | map([(.[0][3] | if . == "" then null else . end), .[1][3]]) | sort)
            != ($changes | map(select(.path | endswith("ullPolicy")) | [.from, .to]) | sort)
           then "the record tells other values" else empty end),
      (($after.metadata.annotations // {})[record]) as $record
        | (($request.object.metadata.annotations // {})[record]) as $earlier
        | (audit_note != null) as $noted
        | if $request.operation != "CREATE" or $settings.recordChanges == false then
            if $record != $earlier then "there is a record where none belongs" else empty end
          elif $record == null then if $noted then empty else "there is no record" end
          elif $earlier == null and $record != $audited
            and ($record | fromjson | .[-1] | has("more") | not) then "record and audit annotation differ"
          elif ($record | utf8bytelength) > 16384 then "the record is longer than 16 KiB"
          else empty end
    ];

# The broken promises of the answers to the repaired object, one line for each.
def broken_stability($first; $again; $rejecting; $settings):
  # Images are not compared, because the first run may have pinned them.
  ($first | audit("findings") | map(advice | del(.image))) as $advice
  | ($settings | looks_up | not) as $offline
  # In mode Fix a pod template gets no warning about a missing check that its Pods get silently.
  | (($settings.imageChecks // {}) | .coverage == "Fix" and .everyPod == true) as $everywhere
  | [ ({"its own output": $again, "its own output in mode Reject": $rejecting} | to_entries[]
        | .key as $which | .value
        | (if .allowed | not then "\($which) is rejected: \(.status.message)" else empty end),
          (if .patch then "\($which) is changed: \(.patch | @base64d)" else empty end),
          (if audit("findings") | map(del(.image)) != $advice then "\($which) has findings: \(.auditAnnotations.findings)" else empty end),
          ([$advice[] | select(($everywhere and $which == "its own output" and (.path | contains("template."))) | not)]
            | length) as $lines
          | (if $offline and ((.warnings // []) | length) != ([$lines, 10] | min)
           then "\($which) has warnings: \(.warnings)" else empty end))
    ];

# Whether a second run has to find nothing: this holds for at most registry.maxLookups distinct
# images.
def within_limit($object; $kind):
  (looks_up | not)
  or (((try .registry.maxLookups catch null) // 10) as $limit
    | ($object | getpath($kind | spec_path) | places_of_spec | map(.[2]) | unique | length) <= $limit);

# The settings of the copy, and the broken promises of its answer.
def of_copy: (. // {}) | .mode = "Reject" | .registry = ((.registry // {}) + {maxLookups: 0});
def broken_copy($first; $copying):
  # The copy may have fewer findings, because it makes no lookups and so knows fewer digests. If a pod
  # template only gets warnings, the copy may give the same warnings.
  ($first | audit("findings") | map(if $copying.kind.kind == "Pod" then advice else . end | del(.image))) as $advice
  | [ (if .allowed | not then "the copy rejects: \(.status.message)" else empty end),
      (if .patch then "the copy changes: \(.patch | @base64d)" else empty end),
      (if .auditAnnotations.lookups then "the copy tells of lookups: \(.auditAnnotations.lookups)" else empty end),
      (audit("findings") | map(del(.image)) - $advice
        | if . != [] then "the copy has findings: \(tojson)" else empty end) ];

# An answer -> the values that lib.bash needs, as assignments in the shell.
def assignments($broken):
  @sh "broken=\($broken | join("\n"))",
  @sh "allowed=\(.allowed)",
  @sh "message=\(.status.message // "")",
  @sh "warnings=\(.warnings // [] | join("\n"))",
  @sh "findings=\(audit("findings") | tojson)",
  @sh "changes=\(audit("changes") | tojson)";
# The request to the copy, and its settings. The copy gets the objects that mode Fix accepts, except
# objects with a status: stuck-pull, which Fix ignores, reads the status.
def copying($object; $request; $settings):
  if .allowed and (($settings // {}).mode // "Fix") == "Fix" and ($object | has("status") | not)
  then @sh "copied=\($request | .object = $object | tojson)", @sh "copying=\($settings | of_copy | tojson)"
  else "copied= copying=" end;
# There are two entry points, because jq needs time to compile the functions of the second one.
def summary_of_unchanged($request; $settings):
  assignments(broken_promises($request; $settings)), "patch= places= second= rejecting= stable=",
  copying($request.object; $request; $settings);
def summary_of_changed($request; $settings):
  (.patch | @base64d | fromjson) as $patch
  | ($request.object | apply_patch($patch)) as $after
  | assignments(broken_promises($request; $settings) + broken_repair($request; $settings; $after)),
    @sh "patch=\($patch | tojson)",
    @sh "places=\($after | getpath($request.kind.kind | spec_path) | places_of_spec | lines)",
    @sh "second=\($request | .object = $after | tojson)",
    @sh "rejecting=\($settings // {} | .mode = "Reject" | tojson)",
    @sh "stable=\($settings | if within_limit($after; $request.kind.kind) and ($request.object | has("status") | not) then "yes" else "" end)",
    copying($after; $request; $settings);
