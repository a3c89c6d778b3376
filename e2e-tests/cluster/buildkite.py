#!/usr/bin/env python3
# A stand-in for Buildkite: buildkite.py PORT. It answers the controller agent-stack-k8s (the Stacks API) and the agents
# in its Pods. The test makes jobs with POST /test/jobs, {"number": 12, "plugin": {...}}, and reads them with GET.
import json, sys, threading, time, uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

jobs, lock = {}, threading.Lock()


def move(job, state, *before):
    """Like Buildkite, a job takes a state only from certain others."""
    if job["state"] not in before:
        return 422, {"message": f"The job is {job['state']}"}
    job["state"] = state
    if state in ("passed", "failed"):
        job["seconds"] = round(time.time() - job.pop("created"), 1)
    return 200, {}


def answer(path, body):
    match path:
        case ["token"]:
            return 200, {"cluster_uuid": "cluster"}
        case ["stacks", "register"]:
            return 200, {"key": body["key"], "cluster_queue_key": body["queue_key"]}
        case ["stacks", _, "scheduled-jobs"]:
            return 200, {"jobs": [{"id": id} for id, job in jobs.items() if job["state"] == "scheduled"]}
        case ["stacks", _, "scheduled-jobs", "batch-reserve"]:
            return 200, {"reserved": [id for id in body["job_uuids"] if move(jobs[id], "reserved", "scheduled")[0] == 200]}
        case ["stacks", _, "jobs", "get-states"]:
            states = {id: jobs[id]["state"] for id in body["job_uuids"]}
            return 200, {"states": {id: "finished" if "seconds" in jobs[id] else state for id, state in states.items()}}
        case ["stacks", _, "jobs", id]:
            plugin = {"github.com/buildkite-plugins/kubernetes-buildkite-plugin": jobs[id]["plugin"]}
            return 200, {"id": id, "command": "true", "env": {"BUILDKITE_PLUGINS": json.dumps([plugin])}}
        case ["stacks", _, "jobs", id, "finish"]:
            jobs[id]["messages"].append(body["detail"])
            return move(jobs[id], "failed", "scheduled", "reserved")
        case ["stacks", _, "notifications"]:
            for notification in body["notifications"]:
                jobs[notification["job_uuid"]]["messages"].append(notification["detail"])
        case ["jobs", id, "start"]:
            return move(jobs[id], "running", "scheduled", "reserved")
        case ["jobs", id, "finish"]:
            return move(jobs[id], "passed", "running")
        case ["test", "jobs"] if body:
            jobs.clear()
            for _ in range(body["number"]):
                jobs[str(uuid.uuid4())] = {"state": "scheduled", "created": time.time(), "messages": [], "plugin": body["plugin"]}
        case ["test", "jobs"]:
            return 200, list(jobs.values())
    return 200, {}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        try:
            with lock:
                code, value = answer(self.path.partition("?")[0].strip("/").split("/"), body)
        except KeyError:
            code, value = 404, {"message": "There is no such job"}
        value = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(value)))
        self.end_headers()
        self.wfile.write(value)

    do_POST = do_PUT = do_GET

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
