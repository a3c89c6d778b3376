#!/usr/bin/env python3
# promises.py API OBJECTS PREFIX EXAMPLE...: creates each object of the JSON lines in OBJECTS, as a dry run.
#
# A namespace PREFIX-EXAMPLE-KIND has the policy of this example, and PREFIX-none-KIND has none. What the API server
# accepts without a policy, and the policy accepts, the API server has to accept with the policy.
import collections, json, sys, urllib.error, urllib.request

api, objects, prefix, *examples = sys.argv[1:]
kinds = ["restricted", "baseline", "quota", "limits"]


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


counts, broken = collections.Counter(), []
with open(objects) as lines:
    for thing in map(json.loads, lines):
        for kind in kinds:
            if create(f"{prefix}-none-{kind}", thing)[1]:
                continue
            for example in examples:
                created, message = create(f"{prefix}-{example}-{kind}", thing)
                if message and not message.startswith('admission webhook "kw.cap.'):
                    broken.append(f"{example}, {kind}, {thing['metadata'].get('name')}: {message}")
                repaired = created and "consistent-pull-policy/changes" in created["metadata"].get("annotations", {})
                counts[kind, "rejected" if message else "repaired" if repaired else "accepted unchanged"] += 1
for (kind, answer), count in sorted(counts.items()):
    print(f"{kind}: {count} {answer}")
print(*broken, sep="\n")
if broken or any(counts[kind, "repaired"] == 0 for kind in kinds):
    sys.exit("The API server refuses a repaired object, or nothing was repaired.")
