import { describe, expect, test } from "vitest";
import type { Json, JsonObject } from "../../src/json.ts";
import { members } from "../../src/objects.ts";
import { group } from "../../src/workloads.ts";
import { bigCluster } from "../cluster.ts";

type Owner = { kind: string; name: string };
const pod = (name: string, owner?: Owner, spec: JsonObject = {}, labels: JsonObject = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name,
    namespace: "n",
    labels,
    ...(owner ? { ownerReferences: [{ ...owner, controller: true }] } : {}),
  },
  spec: { containers: [{ name: "app", image: "a:1" }], ...spec },
});
const job = (name: string, more: JsonObject = {}, labels: JsonObject = {}) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name, namespace: "n", labels, ...more },
  spec: { template: { spec: pod("").spec } },
});
const ends = { restartPolicy: "Never" };
const rows = (...values: Json[]) =>
  group(values, []).workloads.map(({ kind, name, number, variants, objects }) =>
    [kind, name, number, variants.length, objects.length].join(" "),
  );

test("5,000 Pods of 300 controllers and 2,000 Jobs are some hundred workloads", () => {
  for (const withJobs of [false, true]) {
    const { workloads } = group([...members(JSON.parse(bigCluster({ withJobs })))], []);
    // The Jobs have five images.
    expect(workloads).toHaveLength(305);
    expect(workloads.reduce((sum, { number }) => sum + number, 0)).toBe(5000);
    expect(workloads.every(({ variants }) => variants.length === 1)).toBe(true);
  }
});

describe("the objects of one controller are one workload", () => {
  test.each<[string, Json[], string[]]>([
    [
      "a Deployment that isn't there",
      ["web-6d4-a", "web-6d4-b"].map((name) =>
        pod(name, { kind: "ReplicaSet", name: "web-6d4" }, {}, { "pod-template-hash": "6d4" }),
      ),
      ["Deployment web 2 1 0"],
    ],
    [
      "a CronJob, by the name of its Jobs",
      ["report-29919931", "report-29919932"].map((name) => pod(name, { kind: "Job", name }, ends)),
      ["CronJob report 2 1 0"],
    ],
    [
      "a CronJob, by its Jobs",
      [
        job("odd", { ownerReferences: [{ kind: "CronJob", name: "report", controller: true }] }),
        pod("odd-1", { kind: "Job", name: "odd" }, ends),
      ],
      ["CronJob report 1 1 0"],
    ],
    [
      "static Pods, by the names of their nodes",
      ["n1", "n2"].map((node) => pod(`etcd-${node}`, { kind: "Node", name: node })),
      ["static Pod etcd 2 1 0"],
    ],
    [
      "a controller of another kind",
      ["db-1", "db-2"].map((name) => pod(name, { kind: "Cluster", name: "db" })),
      ["Cluster db 2 1 0"],
    ],
    ["and Pods without a controller are two", [pod("a"), pod("b")], ["Pod a 1 1 0", "Pod b 1 1 0"]],
  ])("%s", (_, values, expected) => {
    expect(rows(...values)).toEqual(expected);
  });
});

describe("work that ends is one workload", () => {
  test.each<[string, Json[], string[]]>([
    ["with equal places", [job("ci-a1"), job("ci-b2")], ["Job ci-* 2 1 1"]],
    [
      "also where only the Pods are there",
      ["ci-a", "ci-b"].map((name) => pod(`${name}-x`, { kind: "Job", name }, ends)),
      ["Job ci-* 2 1 0"],
    ],
    [
      "and a Job's Pods belong to it",
      [job("ci-a"), pod("ci-a-1", { kind: "Job", name: "ci-a" }, ends)],
      ["Job ci-a 1 1 1"],
    ],
    [
      "but not with other label keys",
      [job("ci-a"), job("ci-b", {}, { x: "1" })],
      ["Job ci-a 1 1 1", "Job ci-b 1 1 1"],
    ],
    [
      "whatever the labels' values are",
      [job("ci-a", {}, { x: "1" }), job("ci-b", {}, { x: "2" })],
      ["Job ci-* 2 1 1"],
    ],
    [
      "also without a controller",
      [pod("r-1", undefined, ends), pod("r-2", undefined, ends)],
      ["Pod r-* 2 1 0"],
    ],
  ])("%s", (_, values, expected) => {
    expect(rows(...values)).toEqual(expected);
  });

  test("but not if a policy selects only one of them", () => {
    const objectSelector = { matchLabels: { x: "1" } };
    const rules = [{ apiGroups: ["batch"], resources: ["jobs"], operations: ["CREATE"] }];
    const policy = { spec: { rules, objectSelector }, settings: {}, conditions: [], audits: false };
    const values = [job("ci-a", {}, { x: "1" }), job("ci-b", {}, { x: "2" })];
    expect(group(values, [policy]).workloads).toHaveLength(2);
  });
});

test("Pods differ in what this policy reads", () => {
  const owner = { kind: "StatefulSet", name: "db" };
  const [one, other] = ["a:1", "a:2"].map((image) =>
    pod("db", owner, { containers: [{ name: "app", image }] }),
  );
  const env = [{ name: "A", value: "secret" }];
  const same = pod("db", owner, {
    containers: [{ name: "app", image: "a:1", env }],
    hostname: "db-1",
    nodeName: "n1",
    volumes: [{ name: "kube-api-access-x7k2p", projected: {} }],
  });
  expect(rows(one ?? null, other ?? null, same)).toEqual(["StatefulSet db 3 2 0"]);
});

test("a workload without Pods has the Pod that its controller would make", () => {
  const spec = { template: { spec: pod("").spec } };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d", namespace: "n" },
    spec,
  };
  const [workload] = group([deployment], []).workloads;
  expect(workload).toMatchObject({ kind: "Deployment", name: "d", number: 1 });
  expect(JSON.parse(workload?.variants[0]?.pod ?? "")).toMatchObject({
    kind: "Pod",
    spec: pod("").spec,
  });
});

test("repairs that a Pod's record names are undone, and the stored Pod is kept", () => {
  const repaired = pod("a");
  const change = {
    path: "spec.containers[0].imagePullPolicy",
    container: "app",
    from: "Always",
    to: "IfNotPresent",
  };
  const annotations = { "consistent-pull-policy/changes": JSON.stringify([change]) };
  const container = { name: "app", image: "a:1", imagePullPolicy: "IfNotPresent" };
  const stored = {
    ...repaired,
    metadata: { ...repaired.metadata, annotations },
    spec: { containers: [container] },
  };
  const [variant] = group([stored], []).workloads[0]?.variants ?? [];
  expect(JSON.parse(variant?.pod ?? "").spec.containers[0].imagePullPolicy).toBe("Always");
  expect(JSON.parse(variant?.stored ?? "")).toEqual(stored);
});

test("Nodes, Namespaces and everything else are told apart", () => {
  const cluster = group(
    [
      { apiVersion: "v1", kind: "Namespace", metadata: { name: "n", labels: { a: "b" } } },
      {
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: "n1" },
        status: { images: [{ names: ["docker.io/library/a:1"] }] },
      },
      { apiVersion: "v1", kind: "Service", metadata: { name: "s" } },
      pod("a", undefined, { nodeName: "n1" }),
      "text",
    ],
    [],
  );
  expect(cluster.namespaces).toEqual(new Map([["n", { a: "b" }]]));
  expect(cluster.nodes).toEqual([{ name: "n1", images: ["docker.io/library/a:1"] }]);
  expect(cluster.workloads[0]?.variants[0]?.nodes).toEqual(["n1"]);
  expect(cluster.others).toBe(1);
  expect(cluster.problems).toHaveLength(1);
});
