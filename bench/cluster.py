#!/usr/bin/env python3
"""Prints what kubectl would print of a large cluster: PODS Pods (5000) of 300 controllers, each of BYTES (18000), three
Nodes, and namespaces. Usage: bench/cluster.py [PODS [BYTES]] > cluster.json"""
import json
import random
import sys

pods, size = (int(number) for number in (sys.argv[1:] + ["5000", "18000"][len(sys.argv) - 1:]))
draw = random.Random(1).randrange
hosts = ["", "ghcr.io/team/", "quay.io/team/", "registry.example.com/shop/"]


def item(kind, name, namespace=None, owner=None, labels=(), version="v1", **rest):
    metadata = {"name": name, "uid": f"{kind}-{name}", "labels": dict(labels), "creationTimestamp": "2026-01-01T00:00:00Z"}
    if namespace:
        metadata["namespace"] = namespace
    if owner:
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": owner[0], "name": owner[1],
                                        "uid": f"{owner[0]}-{owner[1]}", "controller": True}]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def template(number):
    def container(place, key):
        return {"name": f"{key}{place}", "image": f"{hosts[(number + place) % 4]}app-{number % 90}-{place}:v{number % 7}",
                "imagePullPolicy": ["Always", "IfNotPresent"][(number + place) % 2],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                "env": [{"name": "PADDING", "value": ""}]}
    return {"containers": [container(place, "app") for place in range(1 + number % 3)],
            "initContainers": [container(5, "init")] if number % 4 == 0 else [],
            "volumes": [{"name": "data", "emptyDir": {}}], "restartPolicy": "Never" if number % 3 == 0 else "Always"}


def every():
    for namespace in range(20):
        yield item("Namespace", f"team-{namespace}")
    for node in range(3):
        yield item("Node", f"node-{node}", status={"nodeInfo": {"kubeletVersion": "v1.36.1"}})
    for number in range(pods):
        owner = number % 300
        kind = ["Job", "ReplicaSet", "StatefulSet"][owner % 3]
        spec = template(owner)
        spec["nodeName"] = f"node-{draw(3)}"
        spec["containers"][0]["env"][0]["value"] = "x" * max(size - 3000, 0)
        token = {"name": f"kube-api-access-{draw(1 << 20):05x}"}
        spec["volumes"].append({**token, "projected": {"sources": []}})
        for one in spec["containers"]:
            one["volumeMounts"].append({**token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"})
        labels = {"app": f"app-{owner}", "batch.kubernetes.io/job-name" if kind == "Job" else "pod-template-hash": "x1"}
        yield item("Pod", f"app-{owner}-{number:05d}", f"team-{owner % 20}", (kind, f"app-{owner}-x1"), labels.items(),
                   spec=spec, status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}] * 20})


print('{"apiVersion": "v1", "items": [')
for index, one in enumerate(every()):
    print("," * (index > 0) + json.dumps(one, indent=4))
print('], "kind": "List"}')
