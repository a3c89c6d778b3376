#!/usr/bin/env python3
# The cluster tests' own server: server.py DIRECTORY HTTP-PORT HTTPS-PORT, with REGISTRY and POLICY_SERVER.
#
# Over HTTP it forwards each request to the registry, and writes it to DIRECTORY/requests. While DIRECTORY/stopped
# exists, it answers nothing, like a registry that is unreachable; while DIRECTORY/frozen exists, it also keeps the connection open.
# Repositories /private/ want a user and a password. Over HTTPS it is webhooks, and forwards /validate/NAME
# to the policy server, because the API server calls nothing over HTTP.
import base64, http.client, json, os, ssl, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

directory, http_port, https_port = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def forward(self, server, body):
        connection = http.client.HTTPConnection(server.removeprefix("http://").rstrip("/"))
        own = ("host", "authorization", "transfer-encoding", "connection", "date", "server")
        headers = {key: value for key, value in self.headers.items() if key.lower() not in own}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        headers = {key.lower(): value for key, value in answer.getheaders() if key.lower() not in own}
        self.answer(answer.status, answer.read(), headers)

    def answer(self, status, body, headers):
        self.send_response(status)
        for key, value in ({"content-length": str(len(body))} | headers).items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        while os.path.exists(directory + "/frozen"):
            time.sleep(0.2)
        if os.path.exists(directory + "/stopped"):
            self.close_connection = True
            return
        with open(directory + "/requests", "a") as requests:
            requests.write(f"{self.command} {self.path}\n")
        if "/private/" in self.path and "authorization" not in self.headers:
            return self.answer(401, b"", {"www-authenticate": 'Basic realm="private"'})
        self.forward(os.environ["REGISTRY"], None)

    do_HEAD = do_GET

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.startswith("/validate/"):
            return self.forward(os.environ["POLICY_SERVER"], body)
        request = json.loads(body)["request"]
        if self.path.startswith("/takes-effect"):
            return self.review({"uid": request["uid"], "allowed": False, "status": {"message": "it takes effect"}})
        # /mesh/IMAGE adds a container with this image.
        image = self.path.removeprefix("/mesh/").partition("?")[0]
        patch = [{"op": "add", "path": "/spec/containers/-", "value": {"name": "proxy", "image": image}}]
        patch = base64.b64encode(json.dumps(patch).encode()).decode()
        self.review({"uid": request["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch})

    def review(self, response):
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        self.answer(200, json.dumps(review).encode(), {"content-type": "application/json"})

    def log_message(self, *_):
        pass


plain = ThreadingHTTPServer(("", http_port), Handler)
tls = ThreadingHTTPServer(("", https_port), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(directory + "/tls.crt", directory + "/tls.key")
tls.socket = context.wrap_socket(tls.socket, server_side=True)
open(directory + "/server.ready", "w").close()
threading.Thread(target=plain.serve_forever, daemon=True).start()
tls.serve_forever()
