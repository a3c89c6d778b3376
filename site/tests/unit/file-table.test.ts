import { expect, test } from "vitest";
import { fileRow, fileTable, inOrder, isForOthers } from "../../src/file-table.ts";
import type { Result } from "../../src/plan.ts";
import type { ExampleFile } from "../../src/selection.ts";

const result = (more: Partial<Result>): Result => ({
  ...{ outcome: "allowed", rules: [], reason: "", before: "starts", after: "starts", worst: {} },
  ...more,
});
const file = (name: string, audits?: boolean): ExampleFile => ({
  name,
  purpose: "",
  policies: audits === undefined ? [] : [{ spec: {}, settings: {}, conditions: [], audits }],
  after: undefined,
});

test("a row counts workloads", () => {
  const row = fileRow(file("one", false), [
    result({ outcome: "changed", before: "half", after: "waits" }),
    result({ outcome: "warned", before: "half", after: "rejected" }),
    result({ outcome: "rejected", after: "rejected" }),
  ]);
  expect(row).toMatchObject({ kind: "admission", selects: 3, changes: 1, warns: 1, rejects: 1 });
  expect(row.before).toEqual({ starts: 1, rejected: 0, waits: 0, half: 2 });
  expect(row.after).toEqual({ starts: 0, rejected: 2, waits: 1, half: 0 });
  const [head, cells] = fileTable([row]);
  expect(Object.fromEntries((head ?? []).map((key, index) => [key, cells?.[index]]))).toEqual({
    ...{ file: "one", selects: 3, changes: 1, warns: 1, rejects: 1, reports: 0 },
    ...{ "waits before": 0, "waits after": 1, "half before": 2, "half after": 0 },
    "rejected after": 2,
  });
});

test("an audit reports and selects nothing", () => {
  const row = fileRow(file("audit", true), [result({ outcome: "reported" }), result({})]);
  expect(row).toMatchObject({ kind: "audit", selects: 0, reports: 1 });
  expect(isForOthers(row)).toBe(false);
});

test("the files that help most come first, and those for others last", () => {
  const saves = [result({ before: "half", after: "starts" })];
  const shows = [result({ before: "half", after: "waits" })];
  const harms = [result({ before: "starts", after: "waits" })];
  const rows = [
    fileRow(file("others", false), []),
    fileRow(file("none"), []),
    fileRow(file("audit", true), []),
    fileRow(file("harms", false), harms),
    fileRow(file("shows", false), shows),
    fileRow(file("saves", false), saves),
    fileRow(undefined, harms),
  ];
  expect(inOrder(rows).map(({ name }) => name)).toEqual([
    ...["", "saves", "shows", "harms", "audit", "others", "none"],
  ]);
});
