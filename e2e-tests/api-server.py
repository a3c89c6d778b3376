#!/usr/bin/env python3
"""The API server as far as Helm needs it to render: the kinds of these versions, and the objects FOLDER/RESOURCE/NAME.

  api-server.py FOLDER [GROUP/VERSION...]

FOLDER/port gets the port.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

# The resources of each version: their kind, and whether they are in namespaces.
RESOURCES = {
    "v1": {"namespaces": ("Namespace", False), "nodes": ("Node", False), "pods": ("Pod", True), "secrets": ("Secret", True)},
    "policies.kubewarden.io/v1": {
        "clusteradmissionpolicies": ("ClusterAdmissionPolicy", False),
        "policyservers": ("PolicyServer", False),
    },
    "monitoring.coreos.com/v1": {"prometheusrules": ("PrometheusRule", True)},
}
folder = Path(sys.argv[1])
groups = sys.argv[2:]


def answer(path):
    """The answer to a GET. None if there is no such object."""
    if path == "/version":
        return {"major": "1", "minor": "36", "gitVersion": "v1.36.2"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        names = [{"groupVersion": group, "version": group.split("/")[1]} for group in groups]
        of_groups = [{"name": group.split("/")[0], "versions": [name], "preferredVersion": name} for group, name in zip(groups, names)]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": of_groups}
    _, api, *parts = path.split("/")
    length = 1 if api == "api" else 2
    version, place = "/".join(parts[:length]), parts[length:]
    if version not in ["v1", *groups]:
        return None
    resources = RESOURCES[version]
    if not place:
        listed = [
            {"name": name, "singularName": kind.lower(), "kind": kind, "namespaced": namespaced, "verbs": ["get", "list"]}
            for name, (kind, namespaced) in resources.items()
        ]
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed}
    read = lambda file: {"apiVersion": version, "kind": resources[file.parent.name][0], **json.loads(file.read_text())}
    if place[-1] in resources:
        return {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": [read(file) for file in folder.glob(f"{place[-1]}/*")]}
    file = folder.joinpath(*place[-2:])
    return read(file) if file.exists() else None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is two packets. Otherwise the second one waits 40 ms, until the client has confirmed the first.
    disable_nagle_algorithm = True

    def do_GET(self):
        path = urlsplit(self.path).path
        found = answer(path)
        missing = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "message": f"{path} not found", "code": 404}
        text = json.dumps(found or missing).encode()
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
(folder / "port").write_text(str(server.server_port))
server.serve_forever()
