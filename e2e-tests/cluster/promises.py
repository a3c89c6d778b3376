#!/usr/bin/env python3
# promises.py API OBJECTS PREFIX PRESET...: creates each object of the JSON lines in OBJECTS, as a dry run.
#
# The namespace PREFIX-PRESET has the policy of this preset, and PREFIX-none has none. What the API server
# accepts without a policy, and the policy accepts, the API server has to accept with the policy.
import collections, json, sys, time, urllib.error, urllib.request

api, objects, prefix, *presets = sys.argv[1:]


# The answer: (the object, None) or (None, the message).
def create(namespace, thing):
    path = "/api/v1" if thing["apiVersion"] == "v1" else "/apis/" + thing["apiVersion"]
    thing["metadata"]["namespace"] = namespace
    url = f"{api}{path}/namespaces/{namespace}/{thing['kind'].lower()}s?dryRun=All"
    request = urllib.request.Request(url, json.dumps(thing).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer), None
    except urllib.error.HTTPError as error:
        return None, json.load(error)["message"]


invalid = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "invalid"}}
invalid["spec"] = {"containers": [{"name": "main", "image": "INVALID"}]}
for preset in presets:  # A webhook takes effect a moment after it was registered.
    while "invalid image" not in (create(f"{prefix}-{preset}", invalid)[1] or ""):
        time.sleep(1)

counts, broken = collections.Counter(), []
with open(objects) as lines:
    for thing in map(json.loads, lines):
        if create(f"{prefix}-none", thing)[1]:
            continue
        for preset in presets:
            created, message = create(f"{prefix}-{preset}", thing)
            if message and not message.startswith('admission webhook "kw.cap.'):
                broken.append(f"{preset}, {thing['metadata'].get('name')}: {message}")
            repaired = created and "consistent-pull-policy/changes" in created["metadata"].get("annotations", {})
            counts["rejected" if message else "repaired" if repaired else "accepted unchanged"] += 1
print(dict(counts), *broken, sep="\n")
if broken or counts["repaired"] == 0:
    sys.exit("The API server refuses a repaired object, or nothing was repaired.")
