/**
 * Makes the first Pod of a workload in the same way as Kubernetes' own controllers.
 *
 * Sources: kubernetes/pkg/controller, `GetPodFromTemplate` in controller_utils.go, and the folders
 * job, cronjob, deployment, replicaset, replication, statefulset and daemon.
 * site/tests/unit/controller.test.ts compares the Pods that this file makes with captured requests.
 * Names and uids that a cluster would generate are invented here.
 */

import type { Evaluation } from "./evaluate.ts";
import { at, isObject, type Json, type JsonObject, listAt, textAt } from "./json.ts";
import { createRequest, type Item, knownKind } from "./objects.ts";

/** The first Pod of a workload. */
export type WorkloadPod = {
  /** The Pod, as its controller sends it to the API server. */
  pod: JsonObject;
  /** The controller that makes the Pod, for example `job-controller`. */
  controller: string;
  /** The object that another controller makes between the workload and the Pod, if there is one. */
  between: string | undefined;
};

/** An invented hash. A cluster computes it from the pod template. */
const HASH = "6d4cf56db9";
/** An invented end of a name. A cluster would generate it at random. */
const RANDOM = "x7k2p";
/** An invented time in the name of a CronJob's Job, in minutes since 1970. */
const MINUTES = 29_919_931;

type Owner = { apiVersion: string; kind: string; name: string; uid: string };

/**
 * The first Pod of a workload. `undefined` for an object that is no workload, and for a
 * PodTemplate, because no controller makes Pods from it.
 */
export function workloadPod(workload: Json | undefined): WorkloadPod | undefined {
  if (!isObject(workload)) return undefined;
  const apiVersion = textAt(workload, "apiVersion") ?? "";
  const kind = textAt(workload, "kind") ?? "";
  const [, group = ""] = apiVersion.split("/").reverse();
  if (!knownKind(group, kind)) return undefined;
  const generated = textAt(workload, "metadata", "generateName");
  const owner: Owner = {
    apiVersion,
    kind,
    name: textAt(workload, "metadata", "name") ?? `${generated ?? ""}${RANDOM}`,
    uid: textAt(workload, "metadata", "uid") ?? "00000000-0000-4000-8000-000000000001",
  };
  const template = at(workload, "spec", "template");
  const namespace = textAt(workload, "metadata", "namespace") ?? "default";
  const made = (pod: JsonObject, controller: string, between?: Owner): WorkloadPod => ({
    pod: withMetadata(pod, { namespace }),
    controller,
    between: between && `${between.kind} ${between.name}`,
  });
  switch (kind) {
    case "Job":
      return made(jobPod(owner, at(workload, "spec")), "job-controller");
    case "CronJob": {
      const job = ownedBy(owner, "batch/v1", "Job", String(MINUTES));
      return made(jobPod(job, at(workload, "spec", "jobTemplate", "spec")), "job-controller", job);
    }
    case "Deployment": {
      const replicaSet = ownedBy(owner, "apps/v1", "ReplicaSet", HASH);
      const pod = withLabels(podOf(template, replicaSet), { "pod-template-hash": HASH });
      return made(pod, "replicaset-controller", replicaSet);
    }
    case "ReplicaSet":
      return made(podOf(template, owner), "replicaset-controller");
    case "ReplicationController":
      return made(podOf(template, owner), "replication-controller");
    case "StatefulSet":
      return made(statefulSetPod(owner, workload), "statefulset-controller");
    case "DaemonSet":
      return made(daemonSetPod(owner, template), "daemon-set-controller");
    default:
      return undefined;
  }
}

/**
 * The request that would create the first Pod of a workload. `undefined` if this policy rejects the
 * workload, if no controller makes Pods from the object, or if `item` is a request with a subresource.
 */
export function podRequest({
  item,
  answer,
}: Evaluation): { item: Item; made: WorkloadPod } | undefined {
  const whole = textAt(item.request, "subResource") === undefined;
  if (!answer.accepted || !whole) return undefined;
  const made = workloadPod(item.request["object"]);
  if (!made) return undefined;
  const request = createRequest(made.pod, {
    username: `system:serviceaccount:kube-system:${made.controller}`,
    groups: [
      "system:serviceaccounts",
      "system:serviceaccounts:kube-system",
      "system:authenticated",
    ],
  });
  return request && { item: request, made };
}

/** The object between the workload `owner` and the Pod. Its name is `<name of owner>-<end>`. */
function ownedBy(owner: Owner, apiVersion: string, kind: string, end: string): Owner {
  return {
    apiVersion,
    kind,
    name: `${owner.name}-${end}`,
    uid: "00000000-0000-4000-8000-000000000002",
  };
}

/** A Pod owned by `owner`, with the template's labels, annotations, finalizers and spec. */
function podOf(template: Json | undefined, owner: Owner): JsonObject {
  const metadata: JsonObject = { generateName: `${owner.name}-` };
  for (const key of ["labels", "annotations", "finalizers"]) {
    const value = at(template, "metadata", key);
    if (value !== undefined && value !== null) metadata[key] = value;
  }
  metadata["ownerReferences"] = [{ ...owner, controller: true, blockOwnerDeletion: true }];
  const spec = at(template, "spec");
  return { apiVersion: "v1", kind: "Pod", metadata, spec: isObject(spec) ? spec : {} };
}

function jobPod(owner: Owner, spec: Json | undefined): JsonObject {
  let pod = podOf(at(spec, "template"), owner);
  // The API server adds these labels to a Job's template only after the mutating webhooks, so
  // `spec` doesn't have them yet.
  if (at(spec, "manualSelector") !== true) {
    pod = withLabels(pod, {
      "controller-uid": owner.uid,
      "job-name": owner.name,
      "batch.kubernetes.io/controller-uid": owner.uid,
      "batch.kubernetes.io/job-name": owner.name,
    });
  }
  const tracking = "batch.kubernetes.io/job-tracking";
  const finalizers = listAt(pod, "metadata", "finalizers");
  pod = withMetadata(pod, {
    finalizers: finalizers.includes(tracking) ? finalizers : [...finalizers, tracking],
  });
  return at(spec, "completionMode") === "Indexed" ? firstOfIndexedJob(pod, owner) : pod;
}

/** The Pod with the completion index 0. Its containers read this from `JOB_COMPLETION_INDEX`. */
function firstOfIndexedJob(pod: JsonObject, owner: Owner): JsonObject {
  const key = "batch.kubernetes.io/job-completion-index";
  const annotations = objectAt(pod, "metadata", "annotations");
  const indexed = withMetadata(withLabels(pod, { [key]: "0" }), {
    generateName: `${owner.name}-0-`,
    annotations: { ...annotations, [key]: "0" },
  });
  const variable = {
    name: "JOB_COMPLETION_INDEX",
    valueFrom: { fieldRef: { fieldPath: `metadata.labels['${key}']` } },
  };
  const spec = { ...objectAt(indexed, "spec"), hostname: `${owner.name}-0` };
  for (const list of ["initContainers", "containers"] as const) {
    if (!Array.isArray(at(spec, list))) continue;
    Object.assign(spec, {
      [list]: listAt(spec, list).map((container) => {
        const env = listAt(container, "env");
        const named = env.some((entry) => textAt(entry, "name") === variable.name);
        return isObject(container) && !named
          ? { ...container, env: [...env, variable] }
          : container;
      }),
    });
  }
  return { ...indexed, spec };
}

function statefulSetPod(owner: Owner, workload: JsonObject): JsonObject {
  const first = at(workload, "spec", "ordinals", "start");
  const ordinal = typeof first === "number" ? first : 0;
  const name = `${owner.name}-${ordinal}`;
  const pod = withLabels(podOf(at(workload, "spec", "template"), owner), {
    "apps.kubernetes.io/pod-index": String(ordinal),
    "controller-revision-hash": `${owner.name}-${HASH}`,
    "statefulset.kubernetes.io/pod-name": name,
  });
  const claims = listAt(workload, "spec", "volumeClaimTemplates").map(
    (claim) => textAt(claim, "metadata", "name") ?? "",
  );
  const spec = objectAt(pod, "spec");
  const volumes = [
    ...claims.map((claim) => ({
      name: claim,
      persistentVolumeClaim: { claimName: `${claim}-${name}` },
    })),
    ...listAt(spec, "volumes").filter((volume) => !claims.includes(textAt(volume, "name") ?? "")),
  ];
  const service = textAt(workload, "spec", "serviceName");
  return {
    ...withMetadata(pod, { name }),
    spec: {
      ...spec,
      hostname: name,
      ...(service ? { subdomain: service } : {}),
      ...(volumes.length > 0 ? { volumes } : {}),
    },
  };
}

function daemonSetPod(owner: Owner, template: Json | undefined): JsonObject {
  const pod = withLabels(podOf(template, owner), {
    "controller-revision-hash": HASH,
    "pod-template-generation": "1",
  });
  const spec = objectAt(pod, "spec");
  // The controller chooses the node, so it replaces the node affinity that the template requires.
  const affinity = {
    ...objectAt(spec, "affinity"),
    nodeAffinity: {
      ...objectAt(spec, "affinity", "nodeAffinity"),
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchFields: [{ key: "metadata.name", operator: "In", values: ["node-1"] }] },
        ],
      },
    },
  };
  const tolerations = [
    ["not-ready", "NoExecute"],
    ["unreachable", "NoExecute"],
    ["disk-pressure", "NoSchedule"],
    ["memory-pressure", "NoSchedule"],
    ["pid-pressure", "NoSchedule"],
    ["unschedulable", "NoSchedule"],
    ...(spec["hostNetwork"] === true ? [["network-unavailable", "NoSchedule"]] : []),
  ].map(([taint, effect]) => ({
    key: `node.kubernetes.io/${taint}`,
    operator: "Exists",
    effect: effect ?? "",
  }));
  return {
    ...pod,
    spec: { ...spec, affinity, tolerations: [...listAt(spec, "tolerations"), ...tolerations] },
  };
}

function objectAt(value: Json | undefined, ...path: string[]): JsonObject {
  const found = at(value, ...path);
  return isObject(found) ? found : {};
}

function withMetadata(pod: JsonObject, fields: JsonObject): JsonObject {
  return { ...pod, metadata: { ...objectAt(pod, "metadata"), ...fields } };
}

function withLabels(pod: JsonObject, labels: JsonObject): JsonObject {
  return withMetadata(pod, { labels: { ...objectAt(pod, "metadata", "labels"), ...labels } });
}
