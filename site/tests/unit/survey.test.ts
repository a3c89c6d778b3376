import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { validateSettings } from "../../src/evaluate.ts";
import type { Chosen, Incident, Moment } from "../../src/incident.ts";
import type { JsonObject } from "../../src/json.ts";
import { type ExampleFile, type Policy, readFiles } from "../../src/selection.ts";
import { type Candidate, candidateOf, fitted, Survey, typedCandidate } from "../../src/survey.ts";
import { group } from "../../src/workloads.ts";
import { policy as module } from "../policy.ts";

const RULES = [{ apiGroups: [""], resources: ["pods"], operations: ["CREATE"] }];
const policyWith = (settings: JsonObject, more: Partial<Policy> = {}): Policy => ({
  spec: { rules: RULES, mutating: true },
  settings,
  conditions: [],
  audits: false,
  ...more,
});
const file = (name: string, policies: Policy[], after?: string): ExampleFile => ({
  ...{ name, purpose: "", policies, after },
});
const candidate = (settings: JsonObject, more: Partial<Policy> = {}): Candidate =>
  candidateOf(file("one", [policyWith(settings, more)]), []);

const containers = (...policies: string[]) =>
  policies.map((imagePullPolicy, index) => ({
    ...{ name: `c${index}`, image: `reg.test/c${index}:1`, imagePullPolicy },
  }));
const pod = (spec: JsonObject, more: JsonObject = {}): JsonObject => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "n", ...more },
  spec: { restartPolicy: "Never", ...spec },
});
const during = (moment: Moment, what: Incident["what"] = "registries", name = ""): Incident => ({
  ...{ what, name, moment },
});

function result(values: JsonObject[], one: Candidate, incident: Chosen = during("meanwhile")) {
  const survey = new Survey(module, group(values, one.policies));
  survey.prepare([one]);
  return survey.result(0, one, incident);
}

test("a policy that selects nothing has no result", () => {
  const objectSelector = { matchLabels: { a: "b" } };
  const one = candidate({}, { spec: { rules: RULES, objectSelector } });
  expect(result([pod({ containers: containers("Always") })], one)).toBeUndefined();
});

test("each of several policies of a file counts, and each Pod of a workload", () => {
  const both = candidateOf(
    file("one", [
      policyWith({ images: { forbidAlways: ["reg.test/c0"] } }),
      policyWith({ mode: "Reject", images: { forbidNever: ["*"] } }),
    ]),
    [],
  );
  const owner = { ownerReferences: [{ kind: "StatefulSet", name: "db", controller: true }] };
  const always = pod({ containers: containers("Always") }, owner);
  expect(result([always], both)).toMatchObject({
    outcome: "changed",
    before: "waits",
    after: "starts",
  });
  const never = pod({ containers: containers("Never") }, owner);
  for (const values of [
    [always, never],
    [never, always],
  ]) {
    expect(result(values, both)).toMatchObject({
      outcome: "rejected",
      before: "waits",
      after: "rejected",
    });
  }
});

test("a workload is examined as the Pod that its controller makes", () => {
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d", namespace: "n" },
    spec: { template: { spec: { containers: containers("Always") } } },
  };
  expect(result([deployment], candidate({ images: { forbidAlways: ["*"] } }))).toMatchObject({
    outcome: "changed",
    after: "starts",
  });
});

test("a policy for Jobs gets the Jobs, and their Pods start as they are", () => {
  const rules = [{ apiGroups: ["batch"], resources: ["jobs"], operations: ["CREATE"] }];
  const one = candidate(
    { templates: "Reject", images: { forbidNever: ["*"] } },
    { spec: { rules } },
  );
  const job = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j", namespace: "n" },
    spec: { template: { spec: { restartPolicy: "Never", containers: containers("Never") } } },
  };
  expect(result([job], one)).toMatchObject({ outcome: "rejected" });
  expect(result([pod({ containers: containers("Never") })], one)).toBeUndefined();
});

test("of a Job that is rejected in an incident, no Pod is made", () => {
  const rules = [{ apiGroups: ["batch"], resources: ["jobs"], operations: ["CREATE"] }];
  const registry = { lookup: "Verify", images: ["*"] };
  const one = candidate({ templates: "Reject", registry }, { spec: { rules } });
  const spec = { restartPolicy: "Never", containers: containers("Always", "IfNotPresent") };
  const job = {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j", namespace: "n" },
    spec: { template: { spec } },
  };
  const gone = (moment: Moment) => result([job], one, during(moment, "image", "reg.test/c0:1"));
  expect(gone("meanwhile")).toMatchObject({
    outcome: "allowed",
    before: "half",
    after: "rejected",
  });
  expect(gone("reboot")).toMatchObject({ before: "half", after: "half" });
});

test("a second policy gets what its first file returns", () => {
  const settings = { imageChecks: { coverage: "Fix", everyPod: true, as: "ImageVolume" } };
  const second = {
    mode: "Reject",
    imageChecks: { coverage: "Reject", everyPod: true, as: "ImageVolume" },
  };
  const first = file("first", [policyWith(settings)]);
  const after = file("second", [policyWith(second, { spec: { rules: RULES } })], "first");
  const values = [pod({ containers: containers("IfNotPresent", "IfNotPresent") })];
  expect(result(values, candidateOf(after, [first, after]))).toMatchObject({ outcome: "allowed" });
  expect(result(values, candidateOf({ ...after, after: undefined }, []))).toMatchObject({
    outcome: "rejected",
  });
});

test("an audit reports stored Pods, and changes nothing", () => {
  const one = candidate({ mode: "Reject" }, { audits: true, conditions: ["false"] });
  const weak = {
    initContainers: [{ ...containers("IfNotPresent")[0], name: "imagecheck-0" }],
    containers: containers("Always"),
  };
  expect(result([pod(weak)], one)).toMatchObject({ outcome: "reported", before: "waits" });
  // Its repair is in its record. The audit scanner gets it repaired.
  const changes = [
    {
      path: "spec.initContainers[0].imagePullPolicy",
      container: "imagecheck-0",
      from: "IfNotPresent",
      to: "Always",
    },
  ];
  const repaired = pod(
    { ...weak, initContainers: [{ ...weak.initContainers[0], imagePullPolicy: "Always" }] },
    { annotations: { "consistent-pull-policy/changes": JSON.stringify(changes) } },
  );
  expect(result([repaired], one)).toMatchObject({ outcome: "allowed" });
});

describe("while registries are away", () => {
  const values = [pod({ containers: containers("Always", "IfNotPresent") })];
  const pins = candidate({ registry: { lookup: "Pin", images: ["*"] } });
  test.each<[Incident, string]>([
    // The lookups fail, so the tags stay. The node has the images under their digests alone.
    [during("meanwhile"), "half waits"],
    [during("reboot"), "half starts"],
    [during("empty"), "waits waits"],
    [during("meanwhile", "registry", "other.test"), "starts starts"],
    [during("meanwhile", "registry", "reg.test"), "half waits"],
    [during("meanwhile", "image", "reg.test/c1:1"), "starts rejected"],
    [during("reboot", "image", "reg.test/c1:1"), "starts starts"],
    [during("empty", "image", "reg.test/c1:1"), "half rejected"],
  ])("%j: a Pod %s", (incident, expected) => {
    const found = result(values, pins, incident);
    expect(`${found?.before} ${found?.after}`).toBe(expected);
    expect(found?.outcome).toBe("changed");
  });
});

test("of the images of a Pod, the one is gone that harms most", () => {
  const values = [pod({ containers: containers("Always", "IfNotPresent") })];
  const any = { what: "any", name: "", moment: "meanwhile" } as const;
  const lowers = candidate({ images: { forbidAlways: ["*"] } });
  const image = during("meanwhile", "image", "reg.test/c0:1");
  expect(result(values, lowers, any)).toMatchObject({
    before: "half",
    after: "starts",
    worst: { before: image },
  });
  const empty = { ...any, moment: "empty" } as const;
  expect(result(values, lowers, empty)).toMatchObject({ before: "half", after: "half" });
});

test("the typed settings are for every object, and are forgotten when they change", () => {
  const values = [pod({ containers: containers("Always") })];
  const survey = new Survey(module, group(values, []));
  const outcome = (settings: JsonObject) => {
    const typed = typedCandidate(settings);
    survey.prepare([typed]);
    return survey.result(0, typed, during("meanwhile"))?.outcome;
  };
  expect(outcome({})).toBe("allowed");
  expect(outcome({ images: { forbidAlways: ["*"] } })).toBe("changed");
});

test("the summary has the registries, the images and the nodes that have them", () => {
  const node = (name: string, ...names: string[]) => ({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name },
    status: { images: [{ names }] },
  });
  const cluster = group(
    [
      node("n1"),
      node("n2", "reg.test/c0:1"),
      node("n3"),
      pod({ containers: containers("Always"), nodeName: "n1" }),
    ],
    [],
  );
  expect(new Survey(module, cluster).summary([candidate({})])).toMatchObject({
    workloads: [{ kind: "Pod", name: "p", number: 1, nodesWith: ["n1", "n2"] }],
    nodes: 3,
    hasNamespaces: false,
    hasJobs: false,
    registries: ["reg.test"],
    registriesOf: { one: ["reg.test"] },
    images: ["reg.test/c0:1"],
  });
});

test("the settings of every example are valid with the seen registries", () => {
  const folder = new URL("../../../examples/", import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  const files = readFiles(
    Object.fromEntries(names.map((name) => [name, readFileSync(new URL(name, folder), "utf8")])),
  );
  const images = ["a", "localhost/a", "127.0.0.1:5000/a", "[::1]:5000/a", "reg.test:443/a"];
  const pods = images.map((image) => pod({ containers: [{ name: "a", image }] }));
  const { registries } = new Survey(module, group(pods, [])).summary([]);
  expect(registries).toHaveLength(images.length);
  for (const { name, policies } of files) {
    for (const { settings } of policies) {
      expect(validateSettings(module, fitted(settings, registries)), name).toMatchObject({
        valid: true,
      });
    }
  }
});

test("the seen registries take the place of invented patterns alone", () => {
  const settings = {
    mode: "Fix",
    exempt: { images: ["docker.io/istio/proxyv2"] },
    images: { requireAlways: ["ghcr.io/example/*"], forbidNever: ["*"] },
  };
  expect(fitted(settings, ["a.test"])).toEqual({
    ...settings,
    images: { requireAlways: ["a.test/*"], forbidNever: ["*"] },
  });
  expect(fitted(settings, [])).toEqual(settings);
});

test("the request for the details is the one that the last policy gets", () => {
  const first = file("first", [policyWith({ images: { forbidAlways: ["*"] } })]);
  const second = file("second", [policyWith({ mode: "Reject" })], "first");
  const one = candidateOf(second, [first, second]);
  const survey = new Survey(module, group([pod({ containers: containers("Always") })], []));
  const text = (found: Candidate) => JSON.stringify(survey.details(0, found)?.request);
  expect(text(one)).toContain("IfNotPresent");
  expect(text(typedCandidate({}))).toContain("Always");
  expect(survey.details(7, one)).toBeUndefined();
});
