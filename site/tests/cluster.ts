/**
 * Objects as a cluster returns them. No two Pods are equal: each has its own name, uid, node, hash
 * and volume with a token.
 */

import { readdirSync, readFileSync } from "node:fs";
import { parse } from "yaml";
import type { JsonObject } from "../src/json.ts";

const REGISTRIES = [
  "docker.io/library",
  "ghcr.io/team",
  "quay.io/team",
  "registry.example.com/shop",
];

/** A number for each step, which looks random and is the same in each run. */
function numbers(seed = 1) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
}

/** A Pod as the API server returns it: with what it, the scheduler and a controller filled in. */
function stored(
  kind: string,
  owner: string,
  name: string,
  spec: JsonObject,
  labels: JsonObject,
  random: (below: number) => number,
): JsonObject {
  const hex = () =>
    random(1 << 24)
      .toString(16)
      .padStart(6, "0");
  const token = `kube-api-access-${hex().slice(0, 5)}`;
  const mount = {
    name: token,
    mountPath: "/var/run/secrets/kubernetes.io/serviceaccount",
    readOnly: true,
  };
  const withToken = (containers: JsonObject[]) =>
    containers.map((container) => ({
      resources: { requests: { cpu: "100m", memory: "64Mi" } },
      terminationMessagePath: "/dev/termination-log",
      terminationMessagePolicy: "File",
      ...container,
      env: [{ name: "RUN", value: hex() }],
      volumeMounts: [...((container["volumeMounts"] as JsonObject[]) ?? []), mount],
    }));
  const reference = { apiVersion: "v1", kind, name: owner, uid: `uid-${owner}`, controller: true };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: spec["namespace"] ?? "default",
      uid: `${hex()}-${hex()}`,
      resourceVersion: String(random(1e6)),
      labels,
      ownerReferences: [reference],
      managedFields: [{ manager: "kube-controller-manager", operation: "Update", fieldsV1: {} }],
    },
    spec: {
      ...spec,
      initContainers: withToken((spec["initContainers"] as JsonObject[]) ?? []),
      containers: withToken((spec["containers"] as JsonObject[]) ?? []),
      volumes: [
        ...((spec["volumes"] as JsonObject[]) ?? []),
        { name: token, projected: { sources: [] } },
      ],
      nodeName: `node-${random(40)}`,
      tolerations: [
        { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
      ],
    },
    status: { phase: "Running", podIP: `10.0.${random(256)}.${random(256)}` },
  };
}

/**
 * 5,000 Pods: 3,000 of 300 controllers, and 2,000 of as many Jobs, which have no controller, with
 * the Jobs or without them.
 */
export function bigCluster({ withJobs = false } = {}): string {
  const random = numbers();
  const items: JsonObject[] = [];
  for (let number = 0; number < 3000; number++) {
    const app = number % 300;
    const kind = ["Deployment", "StatefulSet", "DaemonSet"][app % 3] ?? "";
    const owner = `app-${app}`;
    const image = (part: string) => `${REGISTRIES[app % 4]}/${part}-${app}:v${app % 7}`;
    const hash = "6d4cf56db9";
    const isReplicated = kind === "Deployment";
    const spec = {
      namespace: `team-${app % 25}`,
      containers: [
        { name: "app", image: image("app"), imagePullPolicy: app % 5 ? "IfNotPresent" : "Always" },
        {
          name: "proxy",
          image: image("proxy"),
          imagePullPolicy: app % 2 ? "Always" : "IfNotPresent",
        },
      ],
      restartPolicy: "Always",
    };
    const labels = isReplicated ? { app: owner, "pod-template-hash": hash } : { app: owner };
    const controller = isReplicated ? `${owner}-${hash}` : owner;
    const name = `${controller}-${number}`;
    items.push(stored(isReplicated ? "ReplicaSet" : kind, controller, name, spec, labels, random));
  }
  for (let number = 0; number < 2000; number++) {
    const job = `ci-${random(1 << 24).toString(16)}-${number}`;
    const image = `registry.example.com/ci/build:v${number % 5}`;
    const spec = {
      namespace: "ci",
      restartPolicy: "Never",
      initContainers: [
        {
          name: "copy-agent",
          image: "ghcr.io/buildkite/agent:3.136.2",
          imagePullPolicy: "IfNotPresent",
          command: ["cp"],
        },
        {
          name: "imagecheck-0",
          image,
          imagePullPolicy: "IfNotPresent",
          command: ["/workspace/tini-static"],
          volumeMounts: [{ name: "workspace", mountPath: "/workspace" }],
        },
      ],
      containers: [
        {
          name: "agent",
          image: "ghcr.io/buildkite/agent:3.136.2",
          imagePullPolicy: "IfNotPresent",
        },
        { name: "container-0", image, imagePullPolicy: "Always" },
      ],
      volumes: [{ name: "workspace", emptyDir: {} }],
    };
    const labels = {
      "buildkite.com/job-uuid": job,
      "batch.kubernetes.io/job-name": job,
      "job-name": job,
    };
    const pod = stored("Job", job, `${job}-${random(1e5)}`, spec, labels, random);
    items.push(pod);
    if (withJobs) {
      const { namespace, ...template } = spec;
      items.push({
        apiVersion: "batch/v1",
        kind: "Job",
        metadata: {
          name: job,
          namespace,
          uid: `uid-${job}`,
          labels: { "buildkite.com/job-uuid": job },
        },
        spec: { template: { metadata: { labels }, spec: template as JsonObject } },
      });
    }
  }
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

const data = (path: string) => new URL(`../../test_data/${path}`, import.meta.url);

/** The Pods of `test_data`, and the objects whose creation its reviews have captured. */
export function testData(): JsonObject[] {
  const yaml = readdirSync(data("pods")).filter((file) => file.endsWith(".yaml"));
  const pods = yaml.map((file) => parse(readFileSync(data(`pods/${file}`), "utf8")) as JsonObject);
  const reviews = readdirSync(data("reviews")).filter((file) => file.endsWith("-create.json"));
  const created = reviews.map(
    (file) =>
      JSON.parse(readFileSync(data(`reviews/${file}`), "utf8")).request.object as JsonObject,
  );
  return [...pods, ...created];
}
