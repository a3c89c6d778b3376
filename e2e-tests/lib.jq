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
# answer. The program of a check comes from a volume, because no other check is ever copied.
def spec_of_places:
  reduce (split(", ")[] | split(" ")) as [$kind, $name, $image, $policy] ({};
    .[lists[$kind]] += [
      if $kind == "volume" then
        {name: $name, image: ({reference: $image} + if $policy then {pullPolicy: $policy} else {} end)}
      else
        {name: $name, image: $image, env: [{name: "TOKEN", value: "s3cr3t"}], unknownField: {of: $name}}
        + (if $policy then {imagePullPolicy: $policy} else {} end)
        + (if $kind == "sidecar" then {restartPolicy: "Always"} else {} end)
        + (if $kind == "init" and ($name | startswith("image")) then
             {command: ["/check/true"], volumeMounts: [{name: "check", mountPath: "/check"}]}
           else {} end)
      end])
  | if any(.initContainers[]?; .volumeMounts) then .volumes += [{name: "check", emptyDir: {}}] else . end;

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

# The annotation with the record of changes.
def record: "consistent-pull-policy/changes";

# Whether a text has a word of the phrases by which GitLab Runner, Argo Workflows and Jenkins recognise an error of
# the network or of a quota (executors/kubernetes/kubernetes.go, util/errors/errors.go, KubernetesLauncher.java of
# its Kubernetes plugin). Such a controller would send the request again, and show the text to nobody. Words of
# an object can't complete such a phrase either, because they have _ for each white space.
def is_retried:
  (. // "") | test("(^| )(connection|dialing|handshake|timeout|timed|refused|eof|pipe|i/o|quota|limiter|etcdserver:)( |$)"; "i");

# A message -> its sentences. After `; ` a sentence begins with a name of the object, or with `and`.
def sentences($names):
  reduce split("; ")[] as $part ([];
    ($part | split(" ")[0] | rtrimstr("'s")) as $first
    | if length == 0 or ($first | IN($names[], "and")) then . + [$part] else .[-1] += "; " + $part end);

# The findings and the failed lookups -> each as a row names it, and its image:
#   RULE CONTAINER IMAGE [[FOUND] EXPECTED]
#   lookup IMAGE FAILURE ACTION
# Like a sentence, a row has _ for the white space of an object's text. A finding that expects any image check
# has no EXPECTED.
def reports($findings; $lookups):
  def shown: gsub("[\\p{Z}\\p{Cc}\\p{Cf}]"; "_");
  ($findings[] | select(.rule)
    | (.expected // "" | if . == "an image check" then "" else sub(" with "; " ") end) as $expected
    | (.image // "" | if test("\\S") then shown else "" end) as $image
    | (if $expected == "" or .found == .image then null else .found end) as $found
    | [[.rule, (.container | shown), $image, $found, $expected | strings | select(. != "")], [$image]]),
  ($lookups[] | select(.image) | [["lookup", .image, .failure, .action], [.image]])
  | map(join(" ")) | join("\t");

# What is wrong with an answer, whatever its request was. Empty if nothing is wrong.
def fault($request):
  [.status.message, .warnings[]? | strings] as $texts
  | if .uid != $request.uid then "the answer has another uid"
    elif any($texts[]; is_retried) then "a controller would read a network error"
    elif any($texts[]; test("[\\p{Cc}\\p{Cf}]")) then "a text has a control or format character"
    elif any(((.auditAnnotations // {}) | del(.changes))[]; test("\\p{Cf}")) then "an audit annotation has a format character"
    elif any(.warnings[]?; length > 120) then "a warning has more than 120 characters"
    elif .warnings | length > 10 then "there are more than ten warnings"
    elif [$texts, .auditAnnotations] | tojson | contains("s3cr3t") then "a secret of the Pod is told"
    elif .allowed and .status != null then "an accepted request has a status"
    elif .allowed == false and $texts[0] == "" then "a rejection has no message"
    else "" end;

# An answer -> the values that lib.bash needs, as assignments in the shell.
def summary($request):
  def audit($key): (.auditAnnotations // {})[$key] // "[]" | fromjson;
  (try [$request.object | getpath($request.kind.kind | spec_path) | places_of_spec[] | .[1]] catch []) as $names
  | @sh "broken=\(fault($request))",
  @sh "allowed=\(.allowed)",
  @sh "message=\(.status.message // "")",
  @sh "sentences=\(.status.message // "" | sentences($names) | join("\n"))",
  @sh "warnings=\(.warnings // [] | join("\n"))",
  @sh "reports=\([reports(audit("findings"); audit("lookups"))] | join("\n"))",
  @sh "findings=\(audit("findings") | tojson)",
  @sh "changes=\(audit("changes") | tojson)",
  if .patch then
    (.patch | @base64d | fromjson) as $patch
    | ($request | .object |= apply_patch($patch)) as $second
    | @sh "patch=\($patch | tojson)",
      @sh "places=\($second.object | getpath($request.kind.kind | spec_path) | places_of_spec | lines)",
      @sh "second=\($second | tojson)"
  else "patch= places= second=" end;
