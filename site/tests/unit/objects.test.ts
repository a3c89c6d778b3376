import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { readValue, withServerDefaults } from "../../src/objects.ts";

const pod = (name: string, more = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...more },
  spec: { containers: [{ name: "app", image: "app:v1" }] },
});
const names = (value: Parameters<typeof readValue>[0]) =>
  readValue(value).items.map((item) => `${item.kind} ${item.namespace}/${item.name}`);

describe("a pasted value", () => {
  test("may be an object of any kind with a Pod spec", () => {
    const spec = { template: { spec: { containers: [{ name: "app", image: "app" }] } } };
    for (const [apiVersion, kind, holder] of [
      ["apps/v1", "Deployment", { spec }],
      ["apps/v1", "StatefulSet", { spec }],
      ["apps/v1", "DaemonSet", { spec }],
      ["apps/v1", "ReplicaSet", { spec }],
      ["batch/v1", "Job", { spec }],
      ["batch/v1", "CronJob", { spec: { jobTemplate: { spec } } }],
      ["v1", "ReplicationController", { spec }],
      ["v1", "PodTemplate", spec],
    ] as const) {
      const { items } = readValue({ apiVersion, kind, metadata: { name: "x" }, ...holder });
      const [item] = items.map((item) => withServerDefaults(item, () => "Always"));
      const defaults = [{ list: "containers", name: "app", policy: "Always" }];
      expect(item, kind).toMatchObject({ defaults, request: { kind: { kind } } });
      expect(JSON.stringify(item?.request["object"]), kind).toContain('"imagePullPolicy":"Always"');
    }
  });

  test("may be a list of kubectl, a list of the API, or an empty list", () => {
    expect(
      names({ apiVersion: "v1", kind: "List", items: [pod("a"), pod("b", { namespace: "n" })] }),
    ).toEqual(["Pod default/a", "Pod n/b"]);
    const { apiVersion: _, kind: __, ...bare } = pod("c");
    expect(names({ apiVersion: "v1", kind: "PodList", items: [bare] })).toEqual(["Pod default/c"]);
    expect(names({ apiVersion: "v1", kind: "PodList", items: [] })).toEqual([]);
  });

  test("may have objects that no rule names, and these are left out", () => {
    const read = readValue([
      { apiVersion: "v1", kind: "Service", metadata: { name: "web" } },
      { apiVersion: "batch.volcano.sh/v1alpha1", kind: "Job", metadata: { name: "other" } },
      { apiVersion: "v1", kind: "constructor", metadata: { name: "x" } },
    ]);
    expect(read).toEqual({
      items: [],
      others: ["Service web", "Job other", "constructor x"],
      problems: [],
    });
  });

  test.each([
    ["text", /no Kubernetes object/],
    [{ a: 1 }, /apiVersion and kind/],
    [{ kind: "AdmissionReview", response: {} }, /has no request/],
    [{ kind: "AdmissionReview", request: { uid: "u" } }, /has no kind, no resource, no operation/],
  ])("gives a problem if it has no object: %j", (value, problem) => {
    const read = readValue(value);
    expect(read.items).toEqual([]);
    expect(read.problems.join()).toMatch(problem);
  });

  test("is not changed", () => {
    const object = pod("a");
    readValue(object);
    expect(object).toEqual(pod("a"));
  });

  test("gives a request of the kubelet for a mirror Pod with a uid", () => {
    const mirror = (uid: object) => ({
      ...pod("m", { annotations: { "kubernetes.io/config.mirror": "x" }, ...uid }),
      spec: { nodeName: "n1", containers: [] },
    });
    const groups = (value: object) => readValue(value as never).items[0]?.request["userInfo"];
    expect(groups(mirror({ uid: "1" }))).toMatchObject({
      groups: expect.arrayContaining(["system:nodes"]),
    });
    expect(groups(mirror({}))).toMatchObject({ username: "kubernetes-admin" });
  });
});

describe("a captured review", () => {
  const reviews = new URL("../../../test_data/reviews/", import.meta.url);
  const files = readdirSync(reviews);

  test.each(files)("%s is passed on as it came", (file) => {
    const review = JSON.parse(readFileSync(new URL(file, reviews), "utf8"));
    const { items, others, problems } = readValue(review);
    expect([items.length, others, problems]).toEqual([1, [], []]);
    const [item] = items.map((item) => withServerDefaults(item, () => "Never"));
    expect(item?.request["object"]).toEqual(review.request.object ?? undefined);
    expect(item?.defaults).toEqual([]);
  });

  test("loses null fields, and fields that admission/v1 doesn't have", () => {
    const request = {
      uid: "u",
      kind: { group: "", version: "v1", kind: "Pod", more: 1 },
      resource: { group: "", version: "v1", resource: "pods" },
      operation: "CREATE",
      userInfo: { username: "a", groups: null, more: 1 },
      object: { metadata: { creationTimestamp: null } },
      oldObject: null,
      more: 1,
    };
    // The audit scanner's reviews have no kind.
    expect(readValue({ request }).items).toHaveLength(1);
    expect(readValue({ kind: "AdmissionReview", request }).items[0]?.request).toEqual({
      uid: "u",
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      operation: "CREATE",
      userInfo: { username: "a" },
      object: { metadata: { creationTimestamp: null } },
    });
  });
});
