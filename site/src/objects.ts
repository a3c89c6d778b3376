/** Turns pasted objects and reviews into the requests that the API server would send. */

import { type Default, type PullPolicy, withDefaults } from "./defaults.ts";
import { at, isObject, type Json, type JsonObject, listAt, textAt } from "./json.ts";

/** An `AdmissionRequest` of admission/v1, as policy-server passes it on. */
export type AdmissionRequest = JsonObject;

/** A request, with the texts that describe it on the page. */
export type Item = {
  request: AdmissionRequest;
  kind: string;
  namespace: string;
  name: string;
  operation: string;
  /** Whether the object is as its author wrote it. In a review, it is as the API server sent it. */
  written: boolean;
  /** The pull policies that `withServerDefaults` has filled in. */
  defaults: Default[];
};

export type Read = {
  items: Item[];
  /** Each object whose kind is not sent to this policy, as `kind name`. */
  others: string[];
  /** Sentences about parts of the text that are neither objects nor reviews. */
  problems: string[];
};

/** The kinds with a Pod spec: their group, their resource, and the path of the Pod spec. */
export const KINDS: Record<string, { group: string; resource: string; spec: string[] }> = {
  Pod: { group: "", resource: "pods", spec: ["spec"] },
  PodTemplate: { group: "", resource: "podtemplates", spec: ["template", "spec"] },
  ReplicationController: {
    group: "",
    resource: "replicationcontrollers",
    spec: ["spec", "template", "spec"],
  },
  Deployment: { group: "apps", resource: "deployments", spec: ["spec", "template", "spec"] },
  StatefulSet: { group: "apps", resource: "statefulsets", spec: ["spec", "template", "spec"] },
  DaemonSet: { group: "apps", resource: "daemonsets", spec: ["spec", "template", "spec"] },
  ReplicaSet: { group: "apps", resource: "replicasets", spec: ["spec", "template", "spec"] },
  Job: { group: "batch", resource: "jobs", spec: ["spec", "template", "spec"] },
  CronJob: {
    group: "batch",
    resource: "cronjobs",
    spec: ["spec", "jobTemplate", "spec", "template", "spec"],
  },
};

/** The entry of `KINDS` for a kind, if the group is equal too. Two groups can share a kind. */
export function knownKind(group: string, kind: string) {
  const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  return known?.group === group ? known : undefined;
}

/** The objects and reviews in a document. Each list is replaced by its items. */
export function* members(value: Json): Generator<Json> {
  if (Array.isArray(value)) {
    for (const element of value) yield* members(element);
    return;
  }
  const kind = isObject(value) ? textAt(value, "kind") : undefined;
  if (!isObject(value) || !kind?.endsWith("List") || !Array.isArray(value["items"])) {
    yield value;
    return;
  }
  const own = kind.slice(0, -"List".length);
  for (const item of value["items"]) {
    // Items of the API's own lists (PodList) have no kind. Items of kubectl's List have one.
    const typed = isObject(item) && own !== "" && !item["kind"];
    yield* members(typed ? { apiVersion: value["apiVersion"] ?? null, kind: own, ...item } : item);
  }
}

/** Reads one document: an object, an AdmissionReview, the request of one, or a list of these. */
export function readValue(value: Json, into: Read = { items: [], others: [], problems: [] }): Read {
  for (const member of members(value)) readMember(member, into);
  return into;
}

function readMember(value: Json, into: Read) {
  if (!isObject(value)) {
    into.problems.push(
      "this is no Kubernetes object: paste a Pod, a workload, a list of them or an AdmissionReview",
    );
  } else if (value["kind"] === "AdmissionReview" || (!("kind" in value) && "request" in value)) {
    // The audit scanner sends reviews without a kind.
    const request = value["request"];
    if (isObject(request)) readRequest(request, into);
    else {
      into.problems.push(
        "the AdmissionReview has no request: paste the one that was sent, not its answer",
      );
    }
  } else if (isObject(value["kind"]) && isObject(value["resource"])) {
    readRequest(value, into);
  } else if (typeof value["kind"] !== "string" || typeof value["apiVersion"] !== "string") {
    into.problems.push("an object needs apiVersion and kind");
  } else {
    readObject(value, into);
  }
}

/** A copy of the object with another value at a path of keys. */
function replaced(object: JsonObject, [key, ...rest]: string[], value: Json): JsonObject {
  if (key === undefined) return object;
  const inner = object[key];
  const next = rest.length > 0 && isObject(inner) ? replaced(inner, rest, value) : value;
  return { ...object, [key]: next };
}

function readObject(object: JsonObject, into: Read) {
  const item = createRequest(object, creator(object));
  if (item) into.items.push(item);
  else {
    const name = textAt(object, "metadata", "name") ?? textAt(object, "metadata", "generateName");
    into.others.push(`${String(object["kind"])} ${name ?? ""}`.trim());
  }
}

/**
 * The CREATE request that the API server would send for an object, without the server defaults.
 * `undefined` if objects of its kind are not sent to this policy.
 */
export function createRequest(object: JsonObject, userInfo: JsonObject): Item | undefined {
  const [version = "", group = ""] = String(object["apiVersion"]).split("/").reverse();
  const kind = String(object["kind"]);
  const name = textAt(object, "metadata", "name");
  const generated = textAt(object, "metadata", "generateName");
  const known = knownKind(group, kind);
  if (!known) return undefined;
  const namespace = textAt(object, "metadata", "namespace") ?? "default";
  const gvk = { group, version, kind };
  const gvr = { group, version, resource: known.resource };
  return {
    request: {
      uid: "00000000-0000-4000-8000-000000000000",
      kind: gvk,
      resource: gvr,
      requestKind: gvk,
      requestResource: gvr,
      ...(name === undefined ? {} : { name }),
      namespace,
      operation: "CREATE",
      userInfo,
      object,
      dryRun: false,
      options: { kind: "CreateOptions", apiVersion: "meta.k8s.io/v1" },
    },
    kind,
    namespace,
    name: name ?? (generated ? `${generated}*` : "(no name)"),
    operation: "CREATE",
    written: true,
    defaults: [],
  };
}

/** The item with the server defaults, if its object is as its author wrote it. */
export function withServerDefaults(item: Item, defaultOf: (image: string) => PullPolicy): Item {
  const object = item.request["object"];
  const spec = podSpec(object);
  const path = KINDS[item.kind]?.spec;
  if (!item.written || !isObject(object) || !spec || !path) return item;
  const { spec: filled, defaults } = withDefaults(spec, defaultOf);
  const request = { ...item.request, object: replaced(object, path, filled) };
  return { ...item, request, defaults };
}

/** The user of the request: an admin, or the kubelet for a mirror Pod that a cluster returned. */
function creator(object: JsonObject): JsonObject {
  const mirror = at(object, "metadata", "annotations", "kubernetes.io/config.mirror");
  const node = textAt(object, "spec", "nodeName");
  if (mirror !== undefined && node && textAt(object, "metadata", "uid")) {
    return { username: `system:node:${node}`, groups: ["system:nodes", "system:authenticated"] };
  }
  return { username: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };
}

const KIND = ["group", "version", "kind"];
const RESOURCE = ["group", "version", "resource"];
/** The fields that policy-server passes on. For some, a list names the inner fields passed on. */
const FIELDS: Record<string, string[] | undefined> = {
  uid: undefined,
  kind: KIND,
  resource: RESOURCE,
  subResource: undefined,
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: undefined,
  name: undefined,
  namespace: undefined,
  operation: undefined,
  userInfo: ["extra", "groups", "uid", "username"],
  object: undefined,
  oldObject: undefined,
  dryRun: undefined,
  options: undefined,
};

/** A request as policy-server passes it on: no null fields, no fields unknown to admission/v1. */
export function passedOn(value: JsonObject, fields = Object.keys(FIELDS)): JsonObject {
  const out: JsonObject = {};
  for (const field of fields) {
    const found = value[field];
    if (found === undefined || found === null) continue;
    const inner = FIELDS[field];
    out[field] = inner && isObject(found) ? passedOn(found, inner) : found;
  }
  return out;
}

function readRequest(value: JsonObject, into: Read) {
  const request = passedOn(value);
  const missing = ["uid", "kind", "resource", "operation", "userInfo"].filter(
    (field) => !(field in request),
  );
  if (missing.length > 0) {
    into.problems.push(`the AdmissionReview's request has no ${missing.join(", no ")}`);
    return;
  }
  const object = request["object"] ?? request["oldObject"];
  const generated = textAt(object, "metadata", "generateName");
  const part = textAt(request, "subResource");
  into.items.push({
    request,
    kind: `${textAt(request, "kind", "kind") ?? ""}${part ? `/${part}` : ""}`,
    namespace: textAt(request, "namespace") ?? "",
    name:
      textAt(object, "metadata", "name") ??
      textAt(request, "name") ??
      (generated ? `${generated}*` : "(no name)"),
    operation: textAt(request, "operation") ?? "",
    written: false,
    defaults: [],
  });
}

/** The Pod spec of an object whose kind is in `KINDS`. */
export function podSpec(object: Json | undefined): JsonObject | undefined {
  const kind = textAt(object, "kind");
  const known = kind && Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  const spec = known && at(object, ...known.spec);
  return isObject(spec) ? spec : undefined;
}

/** Whether an object has a Pod spec with app containers. */
export function hasImages(object: Json | undefined): boolean {
  return listAt(podSpec(object), "containers").length > 0;
}
