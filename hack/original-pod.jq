# Prints a repaired Pod as it was before this policy changed it, from the record in its annotations:
#   kubectl get pod POD --output json | jq --from-file hack/original-pod.jq
# What the API server and the kubelet wrote stays, apart from the status. Whoever creates a Pod can write any text into the
# record, so only entries with the form of this policy's own changes count.
def steps: [splits("[.\\[\\]]+") | select(. != "") | tonumber? // .];
def without_empty(field): if [field] == [[]] or [field] == [{}] then del(field) else . end;

[try (.metadata.annotations["consistent-pull-policy/changes"] | fromjson[] | objects
    | select(.path | strings | test("^spec[.](initContainers|containers|volumes)\\[[0-9]{1,6}\\]([.]image([.]reference|[.]pullPolicy|PullPolicy)?)?$"))
    | .path |= steps) catch empty] as $changes
| reduce ($changes[] | select(.from | strings)) as $change (.;
    if (try getpath($change.path) catch null | type) == "string" then setpath($change.path; $change.from) else . end)
| delpaths([$changes[] | select(.from == null).path])
# The mounts of added volumes have no entries of their own.
| [$changes[] | select(.from == null).to | objects.name] as $added
| (.spec.initContainers[]?, .spec.containers[]?) |=
    ((.volumeMounts | arrays) |= map(select(.name as $name | $added | index($name) | not)) | without_empty(.volumeMounts))
| del(.status, .metadata.annotations["consistent-pull-policy/changes", "consistent-pull-policy/warnings"]?)
| without_empty(.metadata.annotations) | without_empty(.spec.volumes) | without_empty(.spec.initContainers)
