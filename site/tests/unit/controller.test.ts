import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { podRequest, workloadPod } from "../../src/controller.ts";
import { at, type JsonObject, listAt } from "../../src/json.ts";
import { type Item, readValue } from "../../src/objects.ts";

const captured = (name: string): Item => {
  const file = new URL(`../../../test_data/reviews/${name}.json`, import.meta.url);
  const [item] = readValue(JSON.parse(readFileSync(file, "utf8"))).items;
  if (!item) throw new Error(`${name} has no request`);
  return item;
};
const object = (name: string) => captured(name).request["object"] as JsonObject;

/** The workload with the name and the uid that its Pod's owner had in the cluster. */
function stored(name: string, podName: string): JsonObject {
  const workload = object(name);
  const uid = at(object(podName), "metadata", "ownerReferences", 0, "uid") ?? "";
  return { ...workload, metadata: { ...(workload["metadata"] as JsonObject), uid } };
}

/** Metadata without `managedFields`. */
function metadata(pod: JsonObject | undefined) {
  const { managedFields: _, ...rest } = at(pod, "metadata") as JsonObject;
  return rest;
}

/** Metadata without a cluster's hashes of pod templates, which the page can't compute. */
const withoutHashes = (pod: JsonObject | undefined): unknown =>
  JSON.parse(JSON.stringify(metadata(pod)).replaceAll(/6d4cf56db9|bb6fd895d|6bbc49c7c7/g, "hash"));

/** A Pod's containers without the mount that the API server adds for the ServiceAccount. */
const containers = (pod: JsonObject | undefined, list: string) =>
  listAt(pod, "spec", list).map((container) => {
    const mounts = listAt(container, "volumeMounts").filter(
      (mount) => !String(at(mount, "name")).startsWith("kube-api-access-"),
    );
    const { volumeMounts: _, ...rest } = container as JsonObject;
    return mounts.length > 0 ? { ...rest, volumeMounts: mounts } : rest;
  });

describe("the Pod is the one that the API server got from the controller", () => {
  test.each([
    ["job-create", "pod-create-by-job"],
    ["statefulset-create", "pod-create-by-statefulset"],
    [
      "agent-stack-0.47-real-weak-checks-job-create",
      "agent-stack-0.47-real-weak-checks-pod-create",
    ],
    ["agent-stack-0.47-real-step-image-job-create", "agent-stack-0.47-real-step-image-pod-create"],
    [
      "agent-stack-0.47-real-podspecpatch-image-job-create",
      "agent-stack-0.47-real-podspecpatch-image-pod-create",
    ],
  ])("%s", (workload, pod) => {
    const made = workloadPod(stored(workload, pod));
    const seen = captured(pod);
    const seenPod = object(pod);
    expect(withoutHashes(made?.pod)).toEqual(withoutHashes(seenPod));
    for (const list of ["initContainers", "containers"]) {
      expect(made?.pod && containers(made.pod, list)).toEqual(containers(seenPod, list));
    }
    for (const key of ["hostname", "subdomain"]) {
      expect(at(made?.pod, "spec", key)).toEqual(at(seenPod, "spec", key));
    }
    expect(seen.request["userInfo"]).toMatchObject({
      username: `system:serviceaccount:kube-system:${made?.controller}`,
    });
    expect(made?.between).toBeUndefined();
  });

  test("of a Deployment, with a ReplicaSet between them", () => {
    const made = workloadPod(object("deployment-create"));
    const seen = object("pod-create-by-replicaset");
    const uids = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
    const withoutUids = (pod: JsonObject | undefined) =>
      JSON.parse(JSON.stringify(withoutHashes(pod)).replaceAll(uids, "uid"));
    expect(withoutUids(made?.pod)).toEqual(withoutUids(seen));
    expect(containers(made?.pod, "containers")).toEqual(containers(seen, "containers"));
    expect(made?.controller).toBe("replicaset-controller");
    expect(made?.between).toBe("ReplicaSet d1-6d4cf56db9");
  });
});

const template = {
  metadata: { labels: { app: "x" }, annotations: { note: "y" } },
  spec: { containers: [{ name: "app", image: "app:v1", imagePullPolicy: "Always" }] },
};
const workload = (apiVersion: string, kind: string, spec: object) =>
  ({ apiVersion, kind, metadata: { name: "web", namespace: "shop" }, spec }) as JsonObject;

describe("each controller", () => {
  test("a CronJob's Pod belongs to a Job", () => {
    const made = workloadPod(
      workload("batch/v1", "CronJob", { jobTemplate: { spec: { template } } }),
    );
    expect(made?.between).toMatch(/^Job web-\d+$/);
    const name = made?.between?.replace("Job ", "") ?? "";
    expect(metadata(made?.pod)).toMatchObject({
      generateName: `${name}-`,
      namespace: "shop",
      labels: { app: "x", "job-name": name, "batch.kubernetes.io/job-name": name },
      annotations: { note: "y" },
      ownerReferences: [{ kind: "Job", name, controller: true }],
    });
  });

  test("the Pod of a Job with its own selector has only the template's labels", () => {
    const made = workloadPod(workload("batch/v1", "Job", { manualSelector: true, template }));
    expect(metadata(made?.pod)["labels"]).toEqual({ app: "x" });
  });

  test("the Pods of an Indexed Job have their index", () => {
    const made = workloadPod(workload("batch/v1", "Job", { completionMode: "Indexed", template }));
    expect(metadata(made?.pod)).toMatchObject({
      generateName: "web-0-",
      labels: { "batch.kubernetes.io/job-completion-index": "0" },
      annotations: { "batch.kubernetes.io/job-completion-index": "0" },
    });
    expect(at(made?.pod, "spec", "hostname")).toBe("web-0");
    expect(at(made?.pod, "spec", "containers", 0, "env", 0, "name")).toBe("JOB_COMPLETION_INDEX");
  });

  test("a StatefulSet's Pod has the volumes of its claims", () => {
    const volumes = [
      { name: "data", emptyDir: {} },
      { name: "tmp", emptyDir: {} },
    ];
    const made = workloadPod(
      workload("apps/v1", "StatefulSet", {
        ordinals: { start: 3 },
        volumeClaimTemplates: [{ metadata: { name: "data" } }],
        template: { ...template, spec: { ...template.spec, volumes } },
      }),
    );
    expect(metadata(made?.pod)["name"]).toBe("web-3");
    expect(at(made?.pod, "spec", "volumes")).toEqual([
      { name: "data", persistentVolumeClaim: { claimName: "data-web-3" } },
      { name: "tmp", emptyDir: {} },
    ]);
  });

  test("a DaemonSet's controller chooses the node", () => {
    const required = {
      nodeSelectorTerms: [
        { matchExpressions: [{ key: "kubernetes.io/os", operator: "In", values: ["windows"] }] },
      ],
    };
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
    const made = workloadPod(
      workload("apps/v1", "DaemonSet", {
        template: {
          ...template,
          spec: { ...template.spec, hostNetwork: true, affinity: { nodeAffinity } },
        },
      }),
    );
    const terms = JSON.stringify(at(made?.pod, "spec", "affinity"));
    expect(terms).toContain("metadata.name");
    expect(terms).not.toContain("windows");
    expect(listAt(made?.pod, "spec", "tolerations")).toHaveLength(7);
  });

  test.each([
    ["apps/v1", "ReplicaSet", "replicaset-controller"],
    ["v1", "ReplicationController", "replication-controller"],
  ])("a %s %s makes its Pods itself", (apiVersion, kind, controller) => {
    const made = workloadPod(workload(apiVersion, kind, { template }));
    expect(made).toMatchObject({ controller, between: undefined });
    expect(metadata(made?.pod)).toMatchObject({
      generateName: "web-",
      ownerReferences: [{ apiVersion, kind, name: "web", controller: true }],
    });
  });

  test("no controller makes a Pod from a Pod, a PodTemplate, or another group's Job", () => {
    expect(workloadPod(workload("v1", "Pod", template.spec))).toBeUndefined();
    expect(
      workloadPod({ apiVersion: "v1", kind: "PodTemplate", metadata: {}, template } as JsonObject),
    ).toBeUndefined();
    expect(workloadPod(workload("batch.volcano.sh/v1alpha1", "Job", { template }))).toBeUndefined();
    expect(workloadPod(undefined)).toBeUndefined();
  });
});

describe("the request for the Pod", () => {
  const job = readValue(workload("batch/v1", "Job", { template })).items[0] as Item;

  const request = (item: Item, accepted: boolean) =>
    podRequest({ item, answer: { accepted }, asked: [], invalid: [], names: {} });

  test("is made from the workload", () => {
    const made = request(job, true);
    expect(made?.item.request).toMatchObject({
      operation: "CREATE",
      namespace: "shop",
      kind: { group: "", version: "v1", kind: "Pod" },
      userInfo: { username: "system:serviceaccount:kube-system:job-controller" },
      object: { spec: { containers: [{ imagePullPolicy: "Always" }] } },
    });
    expect(made?.item.name).toBe("web-*");
  });

  test("is not made for a workload that is rejected, deleted or only scaled", () => {
    expect(request(job, false)).toBeUndefined();
    const { object: _, ...bare } = job.request;
    expect(request({ ...job, request: { ...bare, operation: "DELETE" } }, true)).toBeUndefined();
    const scaled = { ...job, request: { ...job.request, subResource: "scale" } };
    expect(request(scaled, true)).toBeUndefined();
  });
});
