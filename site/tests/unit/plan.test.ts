import { expect, test } from "vitest";
import { readValue } from "../../src/objects.ts";
import type { Answer } from "../../src/evaluate.ts";
import { counts, csv, type PlanRow, planJson, planRow, select, type View } from "../../src/plan.ts";

const [item] = readValue({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p", namespace: "n" },
  spec: { containers: [] },
}).items;
if (!item) throw new Error("no item");
const rowOf = (answer: Answer) => planRow({ item, answer });

const row = (more: Partial<PlanRow>): PlanRow => ({
  kind: "Pod",
  namespace: "n",
  name: "p",
  outcome: "allowed",
  rules: [],
  reason: "",
  ...more,
});

test("a row has the outcome, the rules and the reason", () => {
  const changes = JSON.stringify([
    {
      path: "spec.containers[0].imagePullPolicy",
      from: "Always",
      to: "IfNotPresent",
      rule: "pull-once",
    },
    { path: "spec.initContainers[0]", from: null, to: { name: "c" }, rule: "missing-check" },
  ]);
  const findings = JSON.stringify([{ rule: "weak-check", path: "spec" }]);
  expect(rowOf({ accepted: true })).toEqual(row({}));
  expect(rowOf({ accepted: true, warnings: ["a", "b"], audit_annotations: { findings } })).toEqual(
    row({ outcome: "warned", rules: ["weak-check"], reason: "a; b" }),
  );
  expect(rowOf({ accepted: true, mutated_object: {}, audit_annotations: { changes } })).toEqual(
    row({
      outcome: "changed",
      rules: ["missing-check", "pull-once"],
      reason:
        'spec.containers[0].imagePullPolicy: Always -> IfNotPresent; spec.initContainers[0]: null -> {"name":"c"}',
    }),
  );
  // Only the annotation with the warnings was written.
  expect(rowOf({ accepted: true, mutated_object: {}, warnings: ["a"] })).toEqual(
    row({ outcome: "warned", reason: "a" }),
  );
  expect(rowOf({ accepted: false, message: "no", code: 400, warnings: ["w"] })).toEqual(
    row({ outcome: "rejected", reason: "no" }),
  );
});

const rows = [
  row({ name: "b", outcome: "changed", rules: ["weak-check", "pull-once"] }),
  row({ name: "a", outcome: "rejected", rules: ["weak-check"], reason: 'says "no", twice' }),
  row({ name: "c", namespace: "m" }),
];
const view: View = {
  outcome: undefined,
  rule: undefined,
  text: "",
  sort: "outcome",
  descending: false,
};
const names = (change: Partial<View>) =>
  select(rows, { ...view, ...change }).map(({ name }) => name);

test("rows are counted by outcome and by rule", () => {
  const { outcomes, rules } = counts(rows);
  expect(Object.fromEntries(outcomes)).toEqual({ rejected: 1, changed: 1, warned: 0, allowed: 1 });
  expect(rules).toEqual([
    ["weak-check", 2],
    ["pull-once", 1],
  ]);
});

test("rows are filtered and sorted", () => {
  expect(names({})).toEqual(["a", "b", "c"]);
  expect(names({ descending: true })).toEqual(["c", "b", "a"]);
  expect(names({ sort: "namespace" })).toEqual(["c", "b", "a"]);
  expect(names({ rule: "pull-once" })).toEqual(["b"]);
  expect(names({ outcome: "rejected" })).toEqual(["a"]);
  expect(names({ text: "WEAK no" })).toEqual(["a"]);
  expect(rows.map(({ name }) => name)).toEqual(["b", "a", "c"]);
});

test("CSV has quotes only where they are needed", () => {
  expect(csv(rows).split("\r\n")).toEqual([
    "kind,namespace,name,outcome,rules,reason",
    'Pod,n,b,changed,"weak-check, pull-once",',
    'Pod,n,a,rejected,weak-check,"says ""no"", twice"',
    "Pod,m,c,allowed,,",
    "",
  ]);
});

test("JSON has the same columns", () => {
  expect(JSON.parse(planJson(rows))[0]).toEqual(rows[0]);
});
