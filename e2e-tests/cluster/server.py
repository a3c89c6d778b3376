#!/usr/bin/env python3
"""The cluster tests' own server: server.py DIRECTORY HTTP-PORT HTTPS-PORT, with REGISTRY and POLICY_SERVER.

Over HTTP it forwards each request to the registry, and writes it to DIRECTORY/requests. While DIRECTORY/stopped
exists, it answers nothing, like a registry that is away. It serves a repository "private" only to clients with
credentials. Over HTTPS it is two webhooks, and forwards
/validate/NAME to the policy server, because the API server calls nothing over HTTP.
"""
import base64, http.client, json, os, ssl, sys, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

directory, http_port, https_port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def mesh(pod, image):
    """Adds a container with this image, as a mesh does."""
    yield {"op": "add", "path": "/spec/containers/-", "value": {"name": "proxy", "image": image}}


def old_types(pod, _):
    """Drops volumes[].image, as a webhook does that writes a Pod with types that don't know this field."""
    for index, volume in enumerate(pod["spec"].get("volumes", [])):
        if "image" in volume:
            yield {"op": "remove", "path": f"/spec/volumes/{index}/image"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self, server, path, body):
        connection = http.client.HTTPConnection(server.removeprefix("http://").rstrip("/"))
        headers = {key: value for key, value in self.headers.items() if key.lower() not in ("host", "authorization")}
        connection.request(self.command, path, body, headers)
        answer = connection.getresponse()
        self.answer(answer.status, answer.read(), dict(answer.getheaders()))

    def answer(self, status, body, headers):
        self.send_response(status)
        for key, value in headers.items():
            if key.lower() not in ("transfer-encoding", "connection", "date", "server"):
                self.send_header(key, value)
        if not any(key.lower() == "content-length" for key in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if os.path.exists(directory + "/stopped"):
            self.close_connection = True
            return
        with open(directory + "/requests", "a") as requests:
            requests.write(f"{self.command} {self.path}\n")
        if "/private/" in self.path and "Authorization" not in self.headers:
            return self.answer(401, b"", {"WWW-Authenticate": "Basic realm=private"})
        self.forward(os.environ["REGISTRY"], self.path, None)

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/validate/"):
            return self.forward(os.environ["POLICY_SERVER"], self.path, body)
        request = json.loads(body)["request"]
        _, hook, image = self.path.partition("?")[0].split("/", 2)
        patch = list({"mesh": mesh, "old-types": old_types}[hook](request["object"], image))
        response = {"uid": request["uid"], "allowed": True}
        if patch:
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        self.answer(200, json.dumps(review).encode(), {"Content-Type": "application/json"})

    def log_message(self, *_):
        pass


plain = ThreadingHTTPServer(("", http_port), Handler)
tls = ThreadingHTTPServer(("", https_port), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(directory + "/tls.crt", directory + "/tls.key")
tls.socket = context.wrap_socket(tls.socket, server_side=True)
threading.Thread(target=plain.serve_forever, daemon=True).start()
tls.serve_forever()
