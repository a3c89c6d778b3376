#!/usr/bin/env python3
"""Prints what kubectl would print of a large cluster: PODS Pods of 18 KB, of 300 controllers, on three Nodes.
Usage: bench/cluster.py PODS > cluster.json"""
import json
import sys


def item(kind, name, metadata={}, **rest):
    print("," * (kind != "Node" or name != "node-0"),
          json.dumps({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **metadata}, **rest}, indent=4))


print('{"apiVersion": "v1", "items": [')
for number in range(3):
    item("Node", f"node-{number}", status={"nodeInfo": {"kubeletVersion": "v1.36.1"}})
for number in range(20):
    item("Namespace", f"team-{number}")
for number in range(int(sys.argv[1])):
    owner = number % 300
    kind = ["Job", "ReplicaSet", "StatefulSet"][owner % 3]
    # Each Pod has a volume of its own, and programs that nobody reads.
    token = {"name": f"kube-api-access-{number:05d}"}

    def container(place):
        host = ["", "ghcr.io/team/", "quay.io/team/", "registry.example.com/shop/"][(owner + place) % 4]
        return {"name": f"app{place}", "image": f"{host}app-{owner % 90}-{place}:v{owner % 7}",
                "imagePullPolicy": ["Always", "IfNotPresent"][(owner + place) % 2],
                "env": [{"name": "PADDING", "value": "x" * (15000 if place == 0 else 1)}],
                "volumeMounts": [{**token, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]}

    spec = {"nodeName": f"node-{number % 3}", "restartPolicy": "Never" if kind == "Job" else "Always",
            "initContainers": [container(5)] if owner % 4 == 0 else [],
            "containers": [container(place) for place in range(1 + owner % 3)],
            "volumes": [{**token, "projected": {"sources": []}}]}
    controller = {"apiVersion": "apps/v1", "kind": kind, "name": f"app-{owner}-x1", "controller": True}
    labels = {"app": f"app-{owner}", "batch.kubernetes.io/job-name" if kind == "Job" else "pod-template-hash": "x1"}
    metadata = {"namespace": f"team-{owner % 20}", "labels": labels, "ownerReferences": [controller]}
    item("Pod", f"app-{owner}-{number:05d}", metadata, spec=spec,
         status={"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}] * 20})
print('], "kind": "List"}')
