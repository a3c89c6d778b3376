#!/usr/bin/env python3
# The Pods of miniature.bats. `miniature.py make REPOSITORY FOLDER <SAMPLE` reads the lines of the example cluster-sample of
# the promises. It pushes the images that the registry has in each line's world, and writes into FOLDER the images that
# the node has (node.tar), the Pods (pods.json) and what has to start and to wait (expected.json).
# `miniature.py compare FOLDER <PODS` compares this with the statuses of `kubectl get pods --output json`.
#
# The Pod number 7 has images of its own, REPOSITORY:7-x for the sample's image x.
import hashlib, http.client, io, json, os, sys, tarfile

command, *arguments = sys.argv[1:]


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Registry:
    def __init__(self, repository):
        self.host, _, self.name = repository.partition("/")
        self.blobs = set()

    def request(self, method, path, body=None, type="application/octet-stream"):
        connection = http.client.HTTPConnection(self.host)
        connection.request(method, path, body, {"Content-Type": type} if body else {})
        answer = connection.getresponse()
        answer.read()
        assert answer.status < 300, f"{method} {path}: {answer.status}"
        return answer.getheader("Location") or ""

    def push(self, tag, image):
        for blob in image["layer"], image["config"]:
            if digest(blob) not in self.blobs:
                place = self.request("POST", f"/v2/{self.name}/blobs/uploads/", b" ")
                path = place.removeprefix(f"http://{self.host}")
                self.request("PUT", path + ("&" if "?" in path else "?") + "digest=" + digest(blob), blob)
                self.blobs.add(digest(blob))
        self.request("PUT", f"/v2/{self.name}/manifests/{tag}", image["manifest"], MANIFEST)


MANIFEST = "application/vnd.oci.image.manifest.v1+json"


# An image with the layer and the configuration of setup_suite.bash, which no other image equals.
def image(label):
    run = os.environ["RUN"]
    with open(run + "/image/layer.tar", "rb") as file:
        layer = file.read()
    with open(run + "/config.json") as file:
        config = json.dumps(json.load(file) | {"config": {"Labels": {"number": label}}}).encode()
    described = [("application/vnd.oci.image.config.v1+json", config), ("application/vnd.oci.image.layer.v1.tar", layer)]
    config_of, layer_of = [{"mediaType": kind, "digest": digest(data), "size": len(data)} for kind, data in described]
    manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config_of, "layers": [layer_of]}
    return {"layer": layer, "config": config, "manifest": json.dumps(manifest).encode()}


# An archive for `ctr images import` with these images by name.
def archive(path, images):
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    index = []
    for name, parts in images.items():
        for part in parts.values():
            files["blobs/" + digest(part).replace(":", "/")] = part
        manifest = parts["manifest"]
        index.append({"mediaType": MANIFEST, "digest": digest(manifest), "size": len(manifest),
                      "annotations": {"io.containerd.image.name": name}})
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": index}).encode()
    with tarfile.open(path, "w") as tar:
        for file, data in files.items():
            entry = tarfile.TarInfo(file)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))


# The sample's Pod with this number's images, and with programs that the tests' image has: init containers end at once.
def runnable(pod, number, name):
    spec = pod["spec"]
    spec["terminationGracePeriodSeconds"] = 0
    for kind in "initContainers", "containers":
        for container in spec.get(kind, []):
            container["image"] = name(container["image"])
            ends = kind == "initContainers" and container.get("restartPolicy") != "Always"
            container["command"] = ["/bin/busybox"] + (["true"] if ends else ["sleep", "3600"])
    for volume in spec["volumes"]:
        if "image" in volume:
            volume["image"]["reference"] = name(volume["image"]["reference"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": spec}


# The containers that wait for an image: those of their own, and those that mount an image volume which is waited for.
def waiting_containers(line):
    spec, waits = line["pod"]["spec"], set(line["waiting"])
    apps = {container["name"] for container in spec["containers"]}
    inits = [container["name"] for container in spec.get("initContainers", [])]
    late = [name for name in inits if name not in line["started"]]
    turn = {late[0]} if late else apps
    mounting = {container["name"] for container in spec.get("initContainers", []) + spec["containers"]
                for mount in container.get("volumeMounts", []) if mount["name"] in waits}
    return sorted((waits | mounting) & turn - set(line["started"]))


# Whether a volume brings an image that another place has with Never. Before its first container, a kubelet pulls all image
# volumes of a Pod, so Never then finds the image. In the miniature, a volume is pulled when its container starts.
def needs_a_volume(line):
    spec, brought, never = line["pod"]["spec"], set(), set()
    for container in spec.get("initContainers", []) + spec["containers"]:
        if container["imagePullPolicy"] == "Never":
            never.add(container["image"])
    for volume in spec["volumes"]:
        if "image" in volume:
            (never if volume["image"]["pullPolicy"] == "Never" else brought).add(volume["image"]["reference"])
    return any(line["world"][name] == {"node": "none", "registry": "current"} for name in never & brought)


def make(repository, folder):
    registry, on_node, pods, expected = Registry(repository), {}, [], {}
    prefix = "registry.test/" + repository.partition("/")[2]
    for number, text in enumerate(sys.stdin):
        line = json.loads(text)
        if needs_a_volume(line):
            continue
        tags = {}
        for name, place in line["world"].items():
            tags[name] = f"{number}-{name.replace(':', '-').replace('/', '-')}"
            current, old = image(tags[name]), image("old-" + tags[name])
            if place["registry"] == "current":
                registry.push(tags[name], current)
            if place["node"] != "none":
                on_node[f"{prefix}:{tags[name]}"] = current if place["node"] == "current" else old
        waiting = waiting_containers(line)
        pods.append(runnable(line["pod"], number, lambda name: f"{prefix}:{tags[name]}"))
        expected[f"pod-{number}"] = {"started": sorted(line["started"]), "waiting": waiting, "line": {
            key: line[key] for key in ("returned", "places", "settings", "world")}}
    archive(folder + "/node.tar", on_node)
    for file, content in ("pods", {"apiVersion": "v1", "kind": "List", "items": pods}), ("expected", expected):
        with open(f"{folder}/{file}.json", "w") as output:
            json.dump(content, output)


def compare(folder):
    with open(folder + "/expected.json") as file:
        expected = json.load(file)
    pods = {pod["metadata"]["name"]: pod["status"] for pod in json.load(sys.stdin)["items"]}
    assert pods.keys() == expected.keys(), pods.keys() ^ expected.keys()
    differences = 0
    for name, wanted in expected.items():
        status = pods[name]
        states = {container["name"]: container["state"]
                  for container in status.get("initContainerStatuses", []) + status.get("containerStatuses", [])}
        started = sorted(name for name, state in states.items() if "waiting" not in state)
        waiting = sorted(name for name, state in states.items()
                         if state.get("waiting", {}).get("reason") in ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull"))
        if (started, waiting) != (wanted["started"], wanted["waiting"]):
            differences += 1
            print(f"{name}: started {started}, waiting {waiting}; expected started {wanted['started']}, "
                  f"waiting {wanted['waiting']}; {json.dumps(wanted['line'])}")
    print(f"{len(expected)} Pods, {differences} differ")
    return 1 if differences else 0


sys.exit({"make": make, "compare": compare}[command](*arguments))
