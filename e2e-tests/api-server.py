#!/usr/bin/env python3
"""The API server as far as Helm needs it to render: it lists its kinds, and the objects that a test has PUT.

  api-server.py PORT-FILE KIND...    e.g. policies.kubewarden.io/v1/PolicyServer

PORT-FILE gets the port.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

KINDS = ["v1/Namespace", "v1/Node", "v1/Pod", "v1/Secret", *sys.argv[2:]]
# Kinds of objects that are in no namespace.
CLUSTER_WIDE = ["Namespace", "Node", "ClusterAdmissionPolicy", "PolicyServer"]
objects = {}


def plural(kind):
    return kind.lower().removesuffix("y") + "ies" if kind.endswith("y") else kind.lower() + "s"


def discovery(path):
    """The answer about the server's kinds. None if the path is about objects."""
    versions = {kind.rpartition("/")[0] for kind in KINDS}
    groups = sorted(version for version in versions if "/" in version)
    version = path.removeprefix("/apis/").removeprefix("/api/")
    if path == "/version":
        return {"major": "1", "minor": "36", "gitVersion": "v1.36.2"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        group = lambda version: {
            "name": version.split("/")[0],
            "versions": [{"groupVersion": version, "version": version.split("/")[1]}],
            "preferredVersion": {"groupVersion": version, "version": version.split("/")[1]},
        }
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [group(version) for version in groups]}
    if version in versions:
        names = [kind.rpartition("/")[2] for kind in KINDS if kind.rpartition("/")[0] == version]
        resource = lambda kind: {
            "name": plural(kind),
            "singularName": kind.lower(),
            "kind": kind,
            "namespaced": kind not in CLUSTER_WIDE,
            "verbs": ["get", "list"],
        }
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": version,
            "resources": [resource(kind) for kind in names],
        }
    return None


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, body, code=200):
        text = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def not_found(self):
        self.answer({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
                     "message": f"{self.path} not found", "code": 404}, 404)

    def do_GET(self):
        url = urlsplit(self.path)
        found = discovery(url.path)
        if found:
            return self.answer(found)
        if url.path in objects:
            return self.answer(objects[url.path])
        parts = url.path.strip("/").split("/")
        if parts[-1] not in [plural(kind.rpartition("/")[2]) for kind in KINDS]:
            return self.not_found()
        items = [item for path, item in objects.items() if path.startswith(url.path + "/")]
        self.answer({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items})

    def do_PUT(self):
        objects[self.path] = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer(objects[self.path])

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
