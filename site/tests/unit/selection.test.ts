import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { readValue } from "../../src/objects.ts";
import { type Policy, readFiles, selects } from "../../src/selection.ts";

const manifest = (name: string, spec: string, more = "") => `# For: Pods of \`x\`
#   in two lines.
# Changes: nothing.
apiVersion: policies.kubewarden.io/v1
kind: ClusterAdmissionPolicy
metadata: {name: ${name}}
spec: ${spec}
---
kind: PolicyServer
spec: {settings: {}}
${more}`;
const RULES = `rules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE, UPDATE]}]`;

const only = (spec: string): Policy => {
  const [file] = readFiles({ one: manifest("one", `{${RULES}, ${spec}}`) });
  if (!file?.policies[0]) throw new Error("no policy");
  return file.policies[0];
};
const request = (pod: JsonObject, more: JsonObject = {}) => {
  const [item] = readValue({ apiVersion: "v1", kind: "Pod", spec: {}, ...pod }).items;
  return { ...item?.request, ...more };
};
const labels = (namespace: string): JsonObject => ({
  "kubernetes.io/metadata.name": namespace,
  ...(namespace === "shop" ? { tier: "gold" } : {}),
});

test("an example file has a purpose and policies", () => {
  const [file] = readFiles({ one: manifest("one", "{mutating: true, settings: {mode: Fix}}") });
  expect(file).toMatchObject({ name: "one", purpose: "Pods of x in two lines." });
  expect(file?.policies.map(({ settings }) => settings)).toEqual([{ mode: "Fix" }]);
  const [other] = readFiles({ other: "# For: nobody.\nkind: MutatingAdmissionPolicy\n" });
  expect(other).toMatchObject({ purpose: "nobody.", policies: [], after: undefined });
});

test("mutating policies of a file come first", () => {
  const text = `${manifest("a", "{mutating: false}")}---\n${manifest("b", "{mutating: true}")}`;
  const [file] = readFiles({ one: text });
  expect(file?.policies.map(({ spec }) => spec["mutating"])).toEqual([true, false]);
});

test("a second policy comes after the file whose selectors and settings it has", () => {
  const selector = "objectSelector: {matchLabels: {a: b}}";
  const settings = (mode: string, checks: string) =>
    `settings: {mode: ${mode}, imageChecks: {as: ImageVolume, ${checks}}}`;
  const files = readFiles({
    other: manifest("other", `{mutating: true, ${settings("Fix", "coverage: Fix")}}`),
    first: manifest("first", `{mutating: true, ${selector}, ${settings("Fix", "coverage: Fix")}}`),
    second: manifest(
      "second",
      `{mutating: false, ${selector}, ${settings("Reject", "coverage: Warn")}}`,
    ),
    alone: manifest("alone", `{mutating: false, ${selector}, settings: {mode: Reject}}`),
  });
  expect(files.map(({ name, after }) => [name, after])).toEqual([
    ["other", undefined],
    ["first", undefined],
    ["second", "first"],
    ["alone", undefined],
  ]);
});

describe("a policy selects", () => {
  test.each<[string, string, JsonObject, JsonObject, boolean]>([
    ["by its rules", "mutating: true", {}, {}, true],
    ["no other operation", "mutating: true", {}, { operation: "DELETE" }, false],
    ["no other subresource", "mutating: true", {}, { subResource: "status" }, false],
    [
      "by the name of a namespace",
      "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]}",
      { metadata: { namespace: "kube-system" } },
      {},
      false,
    ],
    [
      "by a label of a namespace",
      "namespaceSelector: {matchExpressions: [{key: tier, operator: In, values: [gold]}]}",
      { metadata: { namespace: "shop" } },
      {},
      true,
    ],
    [
      "by a label that is not there",
      "objectSelector: {matchExpressions: [{key: aside, operator: DoesNotExist}]}",
      { metadata: { labels: { aside: "" } } },
      {},
      false,
    ],
    [
      "by a label that is there",
      "objectSelector: {matchExpressions: [{key: aside, operator: Exists}]}",
      { metadata: { labels: { aside: "" } } },
      {},
      true,
    ],
    [
      "by a label's value",
      'objectSelector: {matchLabels: {a: "true"}}',
      { metadata: { labels: { a: "1" } } },
      {},
      false,
    ],
  ])("%s", (_, spec, pod, more, expected) => {
    expect(selects(only(spec), request(pod, more), labels)).toBe(expected);
  });

  test("by its matchConditions, which an audit doesn't read", () => {
    const audit = only('matchConditions: [{name: audits-only, expression: "false"}]');
    expect(audit.audits).toBe(true);
    expect(selects(audit, request({}), labels)).toBe(true);
    const text = readFileSync(
      new URL("../../../examples/pin-digests.yaml", import.meta.url),
      "utf8",
    );
    const [updates] = readFiles({ updates: text })[0]?.policies ?? [];
    if (!updates) throw new Error("no policy");
    const pod = (image: string) => ({ kind: "Pod", spec: { containers: [{ image }] } });
    const update = { operation: "UPDATE", oldObject: pod("a:1") };
    const isSent = (image: string, more: JsonObject = update) =>
      selects(updates, { ...request({}), object: pod(image), ...more }, labels);
    expect(isSent("a:2")).toBe(true);
    expect(isSent("a:1")).toBe(false);
    expect(isSent("a:1", { operation: "CREATE" })).toBe(true);
  });

  test("and an operator that is none is an error", () => {
    const policy = only("objectSelector: {matchExpressions: [{key: a, operator: Gt}]}");
    expect(() => selects(policy, request({}), labels)).toThrow("Gt is no operator");
  });
});

test("an unknown expression is an error, and the examples have none", () => {
  expect(() => only('matchConditions: [{name: x, expression: "true"}]')).toThrow(
    "the page doesn't know this expression: true",
  );
  const folder = new URL("../../../examples/", import.meta.url);
  const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
  const files = readFiles(
    Object.fromEntries(names.map((name) => [name, readFileSync(new URL(name, folder), "utf8")])),
  );
  expect(files.filter(({ policies }) => policies.length > 0).length).toBeGreaterThan(8);
});
