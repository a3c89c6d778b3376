/**
 * Groups the objects of a cluster: the objects of one controller are one workload. Of its Pods,
 * those that differ only in what this policy doesn't read count as the same Pod.
 */

import { workloadPod } from "./controller.ts";
import { at, isObject, type Json, type JsonObject, listAt, textAt } from "./json.ts";
import { type Item, knownKind, type Read, readValue } from "./objects.ts";
import { withoutRepairs } from "./record.ts";
import { type Policy, selects } from "./selection.ts";

/** Pods that are the same for this policy. The objects are JSON, because parsed ones cost time. */
export type Variant = {
  /** The Pod as it was before this policy repaired it, or a request about it. */
  pod: string;
  /** The Pod as the cluster has it. */
  stored: string;
  /** The nodes on which such Pods run. */
  nodes: string[];
};

export type Workload = {
  kind: string;
  namespace: string;
  /** Its name. The common start of the names and `*`, if it has several objects. */
  name: string;
  /** The number of its Pods. Without Pods, the number of its objects. */
  number: number;
  /** Its Pods. Without Pods, the one that its controller would make, if there is one. */
  variants: Variant[];
  /** Objects that are no Pods and have no controller, or requests about such objects. */
  objects: string[];
};

export type Node = { name: string; images: string[] };

export type Cluster = {
  workloads: Workload[];
  nodes: Node[];
  /** The labels of the Namespaces that are there, by their names. */
  namespaces: Map<string, JsonObject>;
  /** The number of objects that this policy is not asked about. */
  others: number;
  problems: string[];
};

type Draft = {
  kind: string;
  namespace: string;
  names: Set<string>;
  pods: number;
  variants: Map<string, Variant & { nodes: string[] }>;
  objects: Map<string, string>;
  /** The Pod that the controller would make. */
  made: JsonObject | undefined;
};

/** An object, and the names of its controller: `object` is the controller, if it is there. */
type Root = { kind: string; name: string; object: JsonObject | undefined };

/** The labels of a namespace. The API server gives each one a label with its name. */
export function labelsOf(namespaces: Map<string, JsonObject>): (name: string) => JsonObject {
  const known = new Map<string, JsonObject>();
  return (name) => {
    const labels = known.get(name) ?? {
      ...namespaces.get(name),
      "kubernetes.io/metadata.name": name,
    };
    known.set(name, labels);
    return labels;
  };
}

/** Groups objects and reviews. The Pods of a workload that these policies select differently differ. */
export function group(values: Json[], policies: Policy[]): Cluster {
  const read: Read = { items: [], others: [], problems: [] };
  const namespaces = new Map<string, JsonObject>();
  const nodes: Node[] = [];
  for (const value of values) {
    const kind = textAt(value, "apiVersion") === "v1" ? textAt(value, "kind") : undefined;
    const name = textAt(value, "metadata", "name") ?? "";
    if (kind === "Namespace") {
      const labels = at(value, "metadata", "labels");
      namespaces.set(name, isObject(labels) ? labels : {});
    } else if (kind === "Node") {
      const images = listAt(value, "status", "images").flatMap((image) => listAt(image, "names"));
      nodes.push({ name, images: images.filter((image) => typeof image === "string") });
    } else readValue(value, read);
  }

  const ownerOf = owners(read.items);
  const labels = labelsOf(namespaces);
  const selection = ({ request }: Item) =>
    policies.map((policy) => (selects(policy, request, labels) ? "1" : "0")).join("");
  const drafts = new Map<string, Draft>();
  const keys = new Map<JsonObject, string>();
  const draft = (key: string, kind: string, namespace: string, name: string): Draft => {
    let found = drafts.get(key);
    if (!found) {
      const empty = { pods: 0, variants: new Map(), objects: new Map(), made: undefined };
      drafts.set(key, (found = { kind, namespace, names: new Set(), ...empty }));
    }
    found.names.add(name);
    return found;
  };

  for (const [index, item] of read.items.entries()) {
    const object = item.request["object"];
    if (!item.written || !isObject(object)) {
      // A review stands for itself.
      const own = draft(`review ${index}`, item.kind, item.namespace, item.name);
      const text = JSON.stringify({ kind: "AdmissionReview", request: item.request });
      if (item.kind === "Pod" && item.operation === "CREATE") {
        own.variants.set("", { pod: text, stored: text, nodes: [] });
      } else {
        own.objects.set("", text);
        if (item.operation === "CREATE") own.made = workloadPod(object)?.pod;
      }
      continue;
    }
    const pod = item.kind === "Pod" ? withoutRepairs(object) : undefined;
    const root = ownerOf(object);
    // A Job's Pods have the key of the Job.
    const shared = root.kind === "Job" ? root.object : undefined;
    const key = (shared && keys.get(shared)) ?? keyOf(root, item, pod, selection);
    if (shared) keys.set(shared, key);
    const own = draft(key, root.kind, item.namespace, root.name);
    if (pod) {
      own.pods++;
      const [before] = pod === object ? [item] : readValue(pod).items;
      const same = `${before && selection(before)} ${shape(pod)}`;
      const variant = own.variants.get(same) ?? {
        pod: JSON.stringify(pod),
        stored: JSON.stringify(object),
        nodes: [],
      };
      own.variants.set(same, variant);
      const node = textAt(object, "spec", "nodeName");
      const runs = (textAt(object, "status", "phase") ?? "Running") === "Running";
      if (node && runs && !variant.nodes.includes(node)) variant.nodes.push(node);
      continue;
    }
    const made = workloadPod(object)?.pod;
    own.made ??= made;
    if (root.object === object) {
      const same = `${selection(item)} ${made ? shape(made) : ""}`;
      if (!own.objects.has(same)) own.objects.set(same, JSON.stringify(object));
    }
  }
  const workloads = [...drafts.values()].map(finished);
  return { workloads, nodes, namespaces, others: read.others.length, problems: read.problems };
}

function finished({ kind, namespace, names, pods, variants, objects, made }: Draft): Workload {
  const found = [...variants.values()];
  if (found.length === 0 && made) {
    const text = JSON.stringify(made);
    found.push({ pod: text, stored: text, nodes: [] });
  }
  return {
    kind,
    namespace,
    name: commonName([...names]),
    number: pods || names.size,
    variants: found,
    objects: [...objects.values()],
  };
}

/**
 * Finds the controller of an object, and the controller's own. Of controllers that are not there,
 * the name tells: a ReplicaSet is a Deployment's, and a Job with a time in its name a CronJob's.
 */
function owners(items: Item[]): (object: JsonObject) => Root {
  const index = new Map<string, JsonObject>();
  for (const { written, request } of items) {
    const object = request["object"];
    if (!written || !isObject(object)) continue;
    const uid = textAt(object, "metadata", "uid");
    if (uid) index.set(uid, object);
    const names = ["namespace", "name"].map((key) => textAt(object, "metadata", key) ?? "");
    index.set([textAt(object, "kind"), ...names].join("/"), object);
  }
  return (object) => {
    const namespace = textAt(object, "metadata", "namespace") ?? "";
    let here = object;
    // No chain of controllers is as long. The limit ends a circle.
    for (let step = 0; step < 8; step++) {
      const owner = listAt(here, "metadata", "ownerReferences").find(
        (reference) => at(reference, "controller") === true,
      );
      if (!owner) break;
      const [kind = "", name = ""] = ["kind", "name"].map((key) => textAt(owner, key));
      const next =
        index.get(textAt(owner, "uid") ?? "") ?? index.get([kind, namespace, name].join("/"));
      if (!next) return assumed(kind, name, here);
      here = next;
    }
    const name =
      textAt(here, "metadata", "name") ?? `${textAt(here, "metadata", "generateName") ?? ""}*`;
    return { kind: textAt(here, "kind") ?? "", name, object: here };
  };
}

function assumed(kind: string, name: string, owned: JsonObject): Root {
  const object = undefined;
  if (kind === "ReplicaSet") {
    const hash = textAt(owned, "metadata", "labels", "pod-template-hash");
    if (hash && name.endsWith(`-${hash}`)) {
      return { kind: "Deployment", name: name.slice(0, -hash.length - 1), object };
    }
  }
  const [, cronJob] = /^(.+)-\d{8,}$/.exec(name) ?? [];
  if (kind === "Job" && cronJob) return { kind: "CronJob", name: cronJob, object };
  if (kind === "Node") {
    // The kubelet appends the name of the node to the name of a static Pod.
    const pod = textAt(owned, "metadata", "name") ?? "";
    return {
      kind: "static Pod",
      name: pod.endsWith(`-${name}`) ? pod.slice(0, -name.length - 1) : pod,
      object,
    };
  }
  return { kind, name, object };
}

/**
 * The key of a workload. A CI controller makes thousands of objects whose work ends. Of one
 * namespace, those with equal places and label keys are one workload.
 */
function keyOf(
  root: Root,
  item: Item,
  pod: JsonObject | undefined,
  selection: (item: Item) => string,
): string {
  const object = root.object ?? pod;
  const made = root.kind === "Job" && root.object ? workloadPod(root.object)?.pod : pod;
  const restarts = textAt(made, "spec", "restartPolicy") ?? "Always";
  const isNamed = root.kind !== "Pod" && (knownKind("apps", root.kind) ?? knownKind("", root.kind));
  const ends =
    root.kind === "Job" || (!isNamed && root.kind !== "CronJob" && restarts !== "Always");
  if (!ends || !made) return [root.kind, item.namespace, root.name].join("/");
  const labels = at(object, "metadata", "labels");
  const keys = Object.keys(isObject(labels) ? labels : {}).sort();
  const selected = [root.object, made].map((value) => {
    const [read] = value ? readValue(value).items : [];
    return read ? selection(read) : "";
  });
  return [root.kind, item.namespace, ...selected, ...keys, shape(made)].join("\n");
}

/** What this policy reads of a container. */
const READ = ["name", "image", "imagePullPolicy", "restartPolicy", "volumeMounts", "volumeDevices"];
/** What this policy reads of a Pod's spec, its lists apart. */
const READ_OF_SPEC = [
  "restartPolicy",
  "os",
  "nodeSelector",
  "hostUsers",
  "runtimeClassName",
  "resources",
];

/** A volume with a token. Its name is random. */
const isToken = (volume: Json) =>
  /^kube-api-access-|-token-[a-z0-9]{5}$/.test(textAt(volume, "name") ?? "");

/** What this policy reads of a Pod, as text. */
function shape(pod: JsonObject): string {
  const spec = at(pod, "spec");
  const parts = (value: Json | undefined, keys: string[]) =>
    keys.map((key) => {
      const found = at(value, key);
      return Array.isArray(found) ? found.filter((entry) => !isToken(entry)) : (found ?? null);
    });
  const containers = ["initContainers", "containers", "ephemeralContainers"].map((list) =>
    listAt(spec, list).map((container) => [
      ...parts(container, READ),
      // The program of a check tells whether the check can be copied.
      list === "initContainers" ? (at(container, "command") ?? null) : null,
    ]),
  );
  const volumes = listAt(spec, "volumes")
    .filter((volume) => !isToken(volume))
    .map((volume) => [textAt(volume, "name") ?? "", at(volume, "image") ?? null]);
  const annotations = at(pod, "metadata", "annotations");
  const profiles = Object.keys(isObject(annotations) ? annotations : {}).filter((key) =>
    key.startsWith("container.apparmor."),
  );
  return JSON.stringify([parts(spec, READ_OF_SPEC), containers, volumes, profiles]);
}

/** The common start of some names, up to its last dash, with a `*`. */
function commonName(names: string[]): string {
  const [first = "", ...others] = names;
  if (others.length === 0) return first;
  let length = first.length;
  for (const name of others) {
    while (!name.startsWith(first.slice(0, length))) length--;
  }
  return `${first.slice(0, first.lastIndexOf("-", length - 1) + 1)}*`;
}
