import { expect, test } from "vitest";
import type { Answer } from "../../src/evaluate.ts";
import {
  COLUMNS,
  counts,
  csv,
  json,
  judge,
  type PlanRow,
  select,
  tableOf,
  type View,
} from "../../src/plan.ts";

const row = (more: Partial<PlanRow>): PlanRow => ({
  kind: "Pod",
  namespace: "n",
  name: "p",
  number: 1,
  nodes: 0,
  outcome: "allowed",
  rules: [],
  reason: "",
  before: "starts",
  after: "starts",
  worst: {},
  ...more,
});

test("an answer has an outcome, rules and a reason", () => {
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
  const answers: [Answer, object][] = [
    [{ accepted: true }, { outcome: "allowed", rules: [], reason: "" }],
    [
      { accepted: true, warnings: ["a", "b"], audit_annotations: { findings } },
      { outcome: "warned", rules: ["weak-check"], reason: "a; b" },
    ],
    [
      { accepted: true, mutated_object: {}, audit_annotations: { changes } },
      {
        outcome: "changed",
        rules: ["missing-check", "pull-once"],
        reason:
          'spec.containers[0].imagePullPolicy: Always -> IfNotPresent; spec.initContainers[0]: null -> {"name":"c"}',
      },
    ],
    // Only the annotation with the warnings was written.
    [
      { accepted: true, mutated_object: {}, warnings: ["a"] },
      { outcome: "warned", rules: [], reason: "a" },
    ],
    [
      { accepted: false, message: "no", code: 400, warnings: ["w"] },
      { outcome: "rejected", rules: [], reason: "no" },
    ],
  ];
  for (const [answer, expected] of answers) expect(judge(answer)).toEqual(expected);
});

const rows = [
  row({ name: "b", outcome: "changed", rules: ["weak-check", "pull-once"] }),
  row({ name: "a", outcome: "rejected", rules: ["weak-check"], reason: 'says "no", twice' }),
  row({ name: "c", namespace: "m", number: 12, before: "half", after: "waits" }),
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
  expect(Object.fromEntries(outcomes)).toEqual({
    ...{ rejected: 1, reported: 0, changed: 1, warned: 0, allowed: 1 },
  });
  expect(rules).toEqual([
    ["weak-check", 2],
    ["pull-once", 1],
  ]);
});

test("rows are filtered and sorted", () => {
  expect(names({})).toEqual(["a", "b", "c"]);
  expect(names({ descending: true })).toEqual(["c", "b", "a"]);
  expect(names({ sort: "namespace" })).toEqual(["c", "b", "a"]);
  expect(names({ sort: "number", descending: true })).toEqual(["c", "b", "a"]);
  expect(names({ sort: "before", descending: true })).toEqual(["c", "b", "a"]);
  expect(names({ rule: "pull-once" })).toEqual(["b"]);
  expect(names({ outcome: "rejected" })).toEqual(["a"]);
  expect(names({ text: "WEAK no" })).toEqual(["a"]);
  expect(rows.map(({ name }) => name)).toEqual(["b", "a", "c"]);
});

test("CSV has quotes only where they are needed", () => {
  expect(csv(tableOf(rows, COLUMNS)).split("\r\n")).toEqual([
    "kind,namespace,name,number,outcome,before,after,nodes,rules,reason",
    'Pod,n,b,1,changed,starts,starts,0,"weak-check, pull-once",',
    'Pod,n,a,1,rejected,starts,starts,0,weak-check,"says ""no"", twice"',
    "Pod,m,c,12,allowed,half,waits,0,,",
    "",
  ]);
});

test("JSON has the same values", () => {
  expect(JSON.parse(json(rows))[0]).toEqual(rows[0]);
});
