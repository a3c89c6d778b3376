#!/usr/bin/env python3
"""A registry that fails on demand, on a free port of 127.0.0.1, which it prints.

  faulty.py [private]

The first part of a repository's name selects the failure: a request for <address>/429/app:1 gets the status 429. With
`private`, clients need a token for every image, and the token server answers 503.
"""

import json
import os
import socket
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# An index without images, and its digest.
MANIFEST = '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":[]}'
DIGEST = "sha256:dff9de10919148711140d349bf03f1a99eb06f94b03e51715ccebfa7cdc518e2"
MANIFEST_TYPE = "application/vnd.oci.image.index.v1+json"
PAGE = "<!DOCTYPE html>\n<html><body>Sign in to continue</body></html>\n"
# The words of other failures, a line break and control characters of a terminal.
MISLEADING = "gone\nWARN Policy has not been granted access; Not authorized: error sending request for url, code: 429 \x1b[31mnow"


def error(code, **more):
    """An error of the OCI distribution specification."""
    return "application/json", json.dumps({"errors": [{"code": code, **more}]})


# Status, type and text of the answer, and a header.
ANSWERS = {
    # Clients request `/v2/` to find out whether this is a registry.
    "": (200, "application/json", "{}"),
    "works": (200, MANIFEST_TYPE, MANIFEST, ("Docker-Content-Digest", DIGEST)),
    "no-digest": (200, MANIFEST_TYPE, MANIFEST),
    "bad-digest": (200, MANIFEST_TYPE, MANIFEST, ("Docker-Content-Digest", "sha256:nonsense")),
    "page": (200, "text/html", PAGE),
    "page-404": (404, "text/html", PAGE),
    "lies": (404, "text/plain", MISLEADING),
    "400": (400, "text/plain", "no"),
    "token": (401, "text/plain", "no", ("WWW-Authenticate", 'Bearer realm="http://{host}/token",service="test"')),
    "401": (401, "text/plain", "no"),
    "403": (403, *error("DENIED", message="requested access to the resource is denied")),
    # A proxy between the client and the registry.
    "403-page": (403, "text/html", PAGE),
    # Artifactory.
    "403-permission": (403, *error("DENIED", message="The client does not have permission for manifest")),
    # Registries that don't tell whether the image exists.
    "404-login": (404, *error("NAME_UNKNOWN", message="repository does not exist or may require 'docker login'")),
    "404-no-message": (404, *error("MANIFEST_UNKNOWN")),
    "410": (410, "text/plain", "gone"),
    # Harbor, about a vulnerable image.
    "412": (412, *error("PROJECTPOLICYVIOLATION", message="current image with 3 vulnerabilities cannot be pulled due to configured policy")),
    "429": (429, *error("TOOMANYREQUESTS", message="You have reached your unauthenticated pull rate limit.")),
    "429-text": (429, "text/plain", "slow down"),
    "451": (451, "text/plain", "no"),
    "500": (500, *error("UNKNOWN", message="unknown error")),
    "503": (503, "text/html", PAGE),
    "redirect": (307, "text/plain", "", ("Location", "/v2/works/manifests/1")),
    "loop": (307, "text/plain", "", ("Location", "{path}")),
    # No program listens on port 1.
    "nowhere": (307, "text/plain", "", ("Location", "http://127.0.0.1:1/")),
}
OTHER = (404, *error("NAME_UNKNOWN", message="repository name not known to registry"))


class Registry(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def handle_one_request(self):
        # Clients try TLS first. A closed connection tells them that this registry has no TLS.
        if self.rfile.peek(1)[:1].isupper():
            super().handle_one_request()
        self.close_connection = True

    def do_GET(self):
        _, _, rest = self.path.partition("/v2/")
        fault = rest.split("/")[0]
        if "private" in sys.argv:
            fault = "token" if self.path.startswith("/v2/") else "503"
        if fault == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return os.close(self.connection.detach())
        if fault == "no-http":
            return self.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")
        status, kind, text, *headers = ANSWERS.get(fault, OTHER)
        self.send_response(status)
        for name, value in [("Content-Type", kind), ("Content-Length", str(len(text))), ("Connection", "close"), *headers]:
            self.send_header(name, value.format(host=self.headers["Host"], path=self.path))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, flush=True)
server.serve_forever()
