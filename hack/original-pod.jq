# Prints a repaired Pod as it was before this policy changed it, from the record in its annotations:
#   kubectl get pod NAME --output json | jq --from-file hack/original-pod.jq
# What the API server and the kubelet wrote stays, apart from the status.
def steps: [splits("[.\\[\\]]+") | select(. != "") | tonumber? // .];

[.metadata.annotations["consistent-pull-policy/changes"] // "[]" | fromjson[] | select(.path) | .path |= steps] as $changes
| reduce ($changes[] | select(.from != null)) as $change (.; setpath($change.path; $change.from))
| delpaths([$changes[] | select(.from == null).path])
# The mounts of added volumes have no entries of their own.
| del(.spec.initContainers[]?, .spec.containers[] | .volumeMounts[]? | select(.mountPath | startswith("/.imagecheck/")))
| del(.status, .metadata.annotations["consistent-pull-policy/changes", "consistent-pull-policy/warnings"])
